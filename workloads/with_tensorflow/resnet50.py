"""ResNet-50 of the second version (activation first), which TBD measured."""

import keras
from keras import layers
from training import Training

from with_tensorflow.backend import Backend
from with_tensorflow.images import image_training

_STAGES = (3, 4, 6, 3)


def _activated(features: keras.KerasTensor) -> keras.KerasTensor:
    return layers.ReLU()(layers.BatchNormalization(epsilon=1.001e-5)(features))


def _block(
    features: keras.KerasTensor, width: int, stride: int, *, is_first: bool
) -> keras.KerasTensor:
    active = _activated(features)
    short_cut = features
    if is_first:
        short_cut = layers.Conv2D(4 * width, 1, stride)(active)
    elif stride > 1:
        short_cut = layers.MaxPooling2D(1, stride)(features)
    found = layers.Conv2D(width, 1, use_bias=False)(active)
    found = layers.ZeroPadding2D(1)(_activated(found))
    found = layers.Conv2D(width, 3, stride, use_bias=False)(found)
    found = layers.Conv2D(4 * width, 1)(_activated(found))
    return layers.Add()([short_cut, found])


def network(sizes: dict) -> keras.Model:
    """Return the network; it gives the scores of the classes."""
    images = layers.Input((sizes["image_size"], sizes["image_size"], 3))
    found = layers.ZeroPadding2D(3)(images)
    found = layers.Conv2D(sizes["width"], 7, 2)(found)
    found = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(found))
    for stage, count in enumerate(_STAGES):
        width = sizes["width"] << stage
        for block in range(count):
            # The last block of a stage halves the side, but for the last stage.
            halves = block == count - 1 and stage < len(_STAGES) - 1
            found = _block(found, width, 2 if halves else 1, is_first=block == 0)
    found = layers.GlobalAveragePooling2D()(_activated(found))
    return keras.Model(images, layers.Dense(sizes["classes"])(found))


def build(sizes: dict, backend: Backend) -> Training:
    """Return ResNet-50 in training; a sample is an image."""
    return image_training(network(sizes), sizes, backend)
