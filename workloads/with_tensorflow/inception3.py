"""Inception-v3: branches of convolutions side by side, on images."""

from functools import partial

import keras
from keras import layers
from training import Training

from with_tensorflow.backend import Backend
from with_tensorflow.images import image_training

Tensor = keras.KerasTensor
_ROW, _COLUMN = (1, 7), (7, 1)


def _convolution(
    features: Tensor,
    out: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    padding: str = "same",
) -> Tensor:
    found = layers.Conv2D(out, kernel, stride, padding, use_bias=False)(features)
    found = layers.BatchNormalization(epsilon=0.001, scale=False)(found)
    return layers.ReLU()(found)


def _chain(divide: int, features: Tensor, *steps: tuple) -> Tensor:
    """Run convolutions of (channels, kernel); a third entry halves, without a pad."""
    for out, kernel, *stride in steps:
        step, padding = (stride[0], "valid") if stride else (1, "same")
        features = _convolution(features, out // divide, kernel, step, padding)
    return features


def network(sizes: dict) -> keras.Model:
    """Return the network; the channels are divided by `divide`."""
    divide = sizes["divide"]
    chain = partial(_chain, divide)
    images = layers.Input((sizes["image_size"], sizes["image_size"], 3))
    found = _convolution(images, 32 // divide, 3, 2, "valid")
    found = _convolution(found, 32 // divide, 3, 1, "valid")
    found = layers.MaxPooling2D(3, 2)(chain(found, (64, 3)))
    found = _convolution(chain(found, (80, 1)), 192 // divide, 3, 1, "valid")
    found = layers.MaxPooling2D(3, 2)(found)
    for pooled in (32, 64, 64):
        found = layers.Concatenate()(
            [
                chain(found, (64, 1)),
                chain(found, (48, 1), (64, 5)),
                chain(found, (64, 1), (96, 3), (96, 3)),
                chain(layers.AveragePooling2D(3, 1, "same")(found), (pooled, 1)),
            ]
        )
    found = layers.Concatenate()(
        [
            chain(found, (384, 3, 2)),
            chain(found, (64, 1), (96, 3), (96, 3, 2)),
            layers.MaxPooling2D(3, 2)(found),
        ]
    )
    for inner in (128, 160, 160, 192):
        found = layers.Concatenate()(
            [
                chain(found, (192, 1)),
                chain(found, (inner, 1), (inner, _ROW), (192, _COLUMN)),
                chain(
                    found,
                    (inner, 1),
                    (inner, _COLUMN),
                    (inner, _ROW),
                    (inner, _COLUMN),
                    (192, _ROW),
                ),
                chain(layers.AveragePooling2D(3, 1, "same")(found), (192, 1)),
            ]
        )
    outputs = [_top(chain, found, sizes)]
    if sizes["auxiliary"]:
        side = layers.AveragePooling2D(5, 3)(found)
        side = _convolution(chain(side, (128, 1)), 768 // divide, 5, 1, "valid")
        side = layers.GlobalAveragePooling2D()(side)
        outputs.append(layers.Dense(sizes["classes"])(side))
    return keras.Model(images, outputs if len(outputs) > 1 else outputs[0])


def _top(chain: partial, found: Tensor, sizes: dict) -> Tensor:
    found = layers.Concatenate()(
        [
            chain(found, (192, 1), (320, 3, 2)),
            chain(found, (192, 1), (192, _ROW), (192, _COLUMN), (192, 3, 2)),
            layers.MaxPooling2D(3, 2)(found),
        ]
    )
    for _ in range(2):
        narrow, deep = chain(found, (384, 1)), chain(found, (448, 1), (384, 3))
        found = layers.Concatenate()(
            [
                chain(found, (320, 1)),
                *(chain(x, (384, k)) for x in (narrow, deep) for k in ((1, 3), (3, 1))),
                chain(layers.AveragePooling2D(3, 1, "same")(found), (192, 1)),
            ]
        )
    found = layers.GlobalAveragePooling2D()(found)
    return layers.Dense(sizes["classes"])(layers.Dropout(sizes["dropout"])(found))


def build(sizes: dict, backend: Backend) -> Training:
    """Return Inception-v3 in training; a sample is an image."""
    return image_training(network(sizes), sizes, backend)
