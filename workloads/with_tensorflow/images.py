"""Training of a classifier of images, whatever network it is."""

import keras
import tensorflow as tf

from with_tensorflow.backend import Backend, Learning


def image_training(model: keras.Model, sizes: dict, backend: Backend) -> Learning:
    """Return a classifier in training by SGD with momentum; a sample is an image.

    Args:
        model: Gives the scores of the classes, or a list of them and those of an
            auxiliary classifier, which counts 0.4.
        sizes: The settings of the workload.
        backend: Where it runs.
    """
    count, side, classes = sizes["batch_size"], sizes["image_size"], sizes["classes"]
    numbers = backend.numbers

    def loss_of(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        scores = model(images, training=True)
        parts = scores if isinstance(scores, list) else [scores]
        losses = [
            tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels, tf.cast(part, tf.float32)
                )
            )
            for part in parts
        ]
        return losses[0] + 0.4 * sum(losses[1:])

    return Learning(
        backend,
        model,
        keras.optimizers.SGD(
            sizes["learning_rate"],
            momentum=sizes["momentum"],
            weight_decay=sizes["weight_decay"],
        ),
        loss_of,
        lambda: (
            numbers.randn(count, side, side, 3).astype("float32"),
            numbers.randint(classes, size=count).astype("int32"),
        ),
        sizes["batches"],
        lambda _: count,
    )
