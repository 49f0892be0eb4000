"""ResNet-50 of MXNet's model zoo, of any width."""

from typing import TYPE_CHECKING

from mxnet.gluon.model_zoo.vision import BottleneckV1, ResNetV1

from with_mxnet.images import image_training

if TYPE_CHECKING:
    from training import Training

    from with_mxnet.backend import Backend


def build(sizes: dict, backend: "Backend") -> "Training":
    """Return ResNet-50 in training; a sample is an image."""
    width = sizes["width"]
    channels = [width] + [width * 4 << stage for stage in range(4)]
    network = ResNetV1(BottleneckV1, [3, 4, 6, 3], channels, sizes["classes"])
    return image_training(network, sizes, backend)
