"""Inception-v3: branches of convolutions side by side, on images.

Without the auxiliary classifier; the channels are divided by `divide`.
"""

from typing import TYPE_CHECKING

import cntk
from cntk import layers

from with_cntk.backend import ImageTraining

if TYPE_CHECKING:
    from training import Training

    from with_cntk.backend import Backend

_ROW, _COLUMN = (1, 7), (7, 1)


class _Parts:
    """Makes the parts, all channels divided by one number."""

    def __init__(self, divide: int) -> None:
        self._divide = divide

    def chain(self, features: object, *steps: tuple) -> object:
        """Run convolutions of (channels, kernel); a third entry is the stride.

        Those without a stride are padded.
        """
        for out, kernel, *stride in steps:
            features = layers.Convolution2D(
                (kernel, kernel) if isinstance(kernel, int) else kernel,
                out // self._divide,
                strides=stride[0] if stride else 1,
                pad=not stride,
                bias=False,
                init=cntk.he_normal(),
            )(features)
            features = layers.BatchNormalization(map_rank=1, epsilon=0.001)(features)
            features = cntk.relu(features)
        return features

    def pooled(self, features: object, out: int) -> object:
        pooled = layers.AveragePooling((3, 3), strides=1, pad=True)(features)
        return self.chain(pooled, (out, 1))

    def squares(self, features: object, pooled: int) -> object:
        return _joined(
            self.chain(features, (64, 1)),
            self.chain(features, (48, 1), (64, 5)),
            self.chain(features, (64, 1), (96, 3), (96, 3)),
            self.pooled(features, pooled),
        )

    def halved(self, features: object) -> object:
        return _joined(
            self.chain(features, (384, 3, 2)),
            self.chain(features, (64, 1), (96, 3), (96, 3, 2)),
            _smaller(features),
        )

    def strips(self, features: object, inner: int) -> object:
        both = ((inner, _COLUMN), (inner, _ROW))
        return _joined(
            self.chain(features, (192, 1)),
            self.chain(features, (inner, 1), (inner, _ROW), (192, _COLUMN)),
            self.chain(features, (inner, 1), *both, (inner, _COLUMN), (192, _ROW)),
            self.pooled(features, 192),
        )

    def halved_again(self, features: object) -> object:
        return _joined(
            self.chain(features, (192, 1), (320, 3, 2)),
            self.chain(features, (192, 1), (192, _ROW), (192, _COLUMN), (192, 3, 2)),
            _smaller(features),
        )

    def wide(self, features: object) -> object:
        narrow = self.chain(features, (384, 1))
        deep = self.chain(features, (448, 1), (384, 3))
        return _joined(
            self.chain(features, (320, 1)),
            *(
                self.chain(part, (384, kernel))
                for part in (narrow, deep)
                for kernel in ((1, 3), (3, 1))
            ),
            self.pooled(features, 192),
        )


def _smaller(features: object) -> object:
    return layers.MaxPooling((3, 3), strides=2)(features)


def _joined(*parts: object) -> object:
    return cntk.splice(*parts, axis=0)


def network(images: object, sizes: dict) -> object:
    """Return the scores of the classes."""
    parts = _Parts(sizes["divide"])
    found = parts.chain(images, (32, 3, 2), (32, 3, 1), (64, 3))
    found = parts.chain(_smaller(found), (80, 1), (192, 3, 1))
    found = _smaller(found)
    for pooled in (32, 64, 64):
        found = parts.squares(found, pooled)
    found = parts.halved(found)
    for inner in (128, 160, 160, 192):
        found = parts.strips(found, inner)
    found = parts.wide(parts.wide(parts.halved_again(found)))
    found = layers.GlobalAveragePooling()(found)
    found = layers.Dropout(sizes["dropout"])(found)
    return layers.Dense(sizes["classes"])(found)


def build(sizes: dict, backend: "Backend") -> "Training":
    """Return Inception-v3 in training; a sample is an image."""
    return ImageTraining(lambda images: network(images, sizes), sizes, backend)
