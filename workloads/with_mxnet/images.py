"""Training of a classifier of images, whatever network it is."""

from typing import TYPE_CHECKING

from mxnet import gluon, init

from with_mxnet.backend import Backend, Learning

if TYPE_CHECKING:
    import mxnet as mx


def image_training(
    network: gluon.HybridBlock, sizes: dict, backend: Backend
) -> Learning:
    """Return a classifier in training by SGD with momentum; a sample is an image."""
    count, side = sizes["batch_size"], sizes["image_size"]
    network.initialize(init.Xavier(magnitude=2), ctx=backend.context)
    network.hybridize()
    softmax = gluon.loss.SoftmaxCrossEntropyLoss()
    numbers = backend.numbers

    def loss_of(images: "mx.nd.NDArray", labels: "mx.nd.NDArray") -> "mx.nd.NDArray":
        return softmax(network(images), labels).mean()

    return Learning(
        backend,
        network,
        "sgd",
        {
            "learning_rate": sizes["learning_rate"],
            "momentum": sizes["momentum"],
            "wd": sizes["weight_decay"],
        },
        loss_of,
        lambda: (
            numbers.randn(count, 3, side, side).astype("float32"),
            numbers.randint(sizes["classes"], size=count).astype("float32"),
        ),
        sizes["batches"],
        lambda _: count,
    )
