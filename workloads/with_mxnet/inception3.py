"""Inception-v3: branches of convolutions side by side, on images.

As in MXNet's model zoo, which has no auxiliary classifier; the channels are divided by
`divide`.
"""

from typing import TYPE_CHECKING

from mxnet.gluon import nn
from mxnet.gluon.contrib.nn import HybridConcurrent

from with_mxnet.images import image_training

if TYPE_CHECKING:
    from training import Training

    from with_mxnet.backend import Backend

_ROW, _COLUMN = (1, 7), (7, 1)


class _Parts:
    """Makes the blocks, all channels divided by one number."""

    def __init__(self, divide: int) -> None:
        self._divide = divide

    def chain(self, *steps: tuple) -> nn.HybridSequential:
        """Return convolutions of (channels, kernel); a third entry is the stride.

        Those without a stride are padded.
        """
        chain = nn.HybridSequential()
        for out, kernel, *stride in steps:
            sides = (kernel, kernel) if isinstance(kernel, int) else kernel
            padding = 0 if stride else tuple(side // 2 for side in sides)
            chain.add(
                nn.Conv2D(
                    out // self._divide,
                    sides,
                    stride[0] if stride else 1,
                    padding,
                    use_bias=False,
                ),
                nn.BatchNorm(epsilon=0.001),
                nn.Activation("relu"),
            )
        return chain

    def pooled(self, out: int) -> nn.HybridSequential:
        return _sequence(nn.AvgPool2D(3, 1, 1), self.chain((out, 1)))

    def squares(self, pooled: int) -> HybridConcurrent:
        return _branches(
            self.chain((64, 1)),
            self.chain((48, 1), (64, 5)),
            self.chain((64, 1), (96, 3), (96, 3)),
            self.pooled(pooled),
        )

    def halved(self) -> HybridConcurrent:
        return _branches(
            self.chain((384, 3, 2)),
            self.chain((64, 1), (96, 3), (96, 3, 2)),
            nn.MaxPool2D(3, 2),
        )

    def strips(self, inner: int) -> HybridConcurrent:
        both = ((inner, _COLUMN), (inner, _ROW))
        return _branches(
            self.chain((192, 1)),
            self.chain((inner, 1), (inner, _ROW), (192, _COLUMN)),
            self.chain((inner, 1), *both, (inner, _COLUMN), (192, _ROW)),
            self.pooled(192),
        )

    def halved_again(self) -> HybridConcurrent:
        return _branches(
            self.chain((192, 1), (320, 3, 2)),
            self.chain((192, 1), (192, _ROW), (192, _COLUMN), (192, 3, 2)),
            nn.MaxPool2D(3, 2),
        )

    def wide(self) -> HybridConcurrent:
        def both() -> HybridConcurrent:
            return _branches(self.chain((384, (1, 3))), self.chain((384, (3, 1))))

        return _branches(
            self.chain((320, 1)),
            _sequence(self.chain((384, 1)), both()),
            _sequence(self.chain((448, 1), (384, 3)), both()),
            self.pooled(192),
        )


def _sequence(*blocks: nn.HybridBlock) -> nn.HybridSequential:
    chain = nn.HybridSequential()
    chain.add(*blocks)
    return chain


def _branches(*blocks: nn.HybridBlock) -> HybridConcurrent:
    branches = HybridConcurrent(axis=1)
    branches.add(*blocks)
    return branches


def build(sizes: dict, backend: "Backend") -> "Training":
    """Return Inception-v3 in training; a sample is an image."""
    parts = _Parts(sizes["divide"])
    network = _sequence(
        parts.chain((32, 3, 2), (32, 3, 1), (64, 3)),
        nn.MaxPool2D(3, 2),
        parts.chain((80, 1), (192, 3, 1)),
        nn.MaxPool2D(3, 2),
        *(parts.squares(pooled) for pooled in (32, 64, 64)),
        parts.halved(),
        *(parts.strips(inner) for inner in (128, 160, 160, 192)),
        parts.halved_again(),
        parts.wide(),
        parts.wide(),
        nn.GlobalAvgPool2D(),
        nn.Dropout(sizes["dropout"]),
        nn.Dense(sizes["classes"]),
    )
    return image_training(network, sizes, backend)
