"""ResNet-50: 50 layers of convolutions with short cuts, on images."""

from typing import TYPE_CHECKING

import cntk
from cntk import layers

from with_cntk.backend import ImageTraining

if TYPE_CHECKING:
    from training import Training

    from with_cntk.backend import Backend

_STAGES = (3, 4, 6, 3)


def _convolution(
    features: object, out: int, kernel: int, stride: int = 1, *, is_active: bool = True
) -> object:
    found = layers.Convolution2D(
        (kernel, kernel),
        out,
        strides=stride,
        pad=True,
        bias=False,
        init=cntk.he_normal(),
    )(features)
    found = layers.BatchNormalization(map_rank=1)(found)
    return cntk.relu(found) if is_active else found


def network(images: object, sizes: dict) -> object:
    """Return the scores of the classes."""
    found = _convolution(images, sizes["width"], 7, 2)
    found = layers.MaxPooling((3, 3), strides=2, pad=True)(found)
    for stage, count in enumerate(_STAGES):
        width = sizes["width"] << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            short_cut = found
            if not block:
                short_cut = _convolution(found, 4 * width, 1, stride, is_active=False)
            inner = _convolution(_convolution(found, width, 1), width, 3, stride)
            inner = _convolution(inner, 4 * width, 1, is_active=False)
            found = cntk.relu(inner + short_cut)
    found = layers.GlobalAveragePooling()(found)
    return layers.Dense(sizes["classes"])(found)


def build(sizes: dict, backend: "Backend") -> "Training":
    """Return ResNet-50 in training; a sample is an image."""
    return ImageTraining(lambda images: network(images, sizes), sizes, backend)
