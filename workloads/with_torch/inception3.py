"""Inception-v3: branches of convolutions side by side, on images.

After "Rethinking the Inception Architecture for Computer Vision" (2015), with the
auxiliary classifier; the channels are those of torchvision, divided by `divide`.
"""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend
from with_torch.images import ImageTraining


class Convolution(nn.Sequential):
    """A convolution with batch norm and ReLU."""

    def __init__(
        self,
        channels: int,
        out: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        *,
        pads: bool = False,
    ) -> None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = tuple(side // 2 for side in sides) if pads else 0
        super().__init__(
            nn.Conv2d(channels, out, kernel, stride, padding, bias=False),
            nn.BatchNorm2d(out, eps=0.001),
            nn.ReLU(inplace=True),
        )


class Branches(nn.Module):
    """Branches whose channels are put one after the other."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features of all branches."""
        return torch.cat([branch(images) for branch in self.branches], 1)


class Inception(nn.Module):
    """The network; in training it gives the scores of both classifiers."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        parts = _Parts(sizes["divide"])
        of, one = parts.channels, parts.convolution
        self.stem = nn.Sequential(
            Convolution(3, of(32), 3, 2),
            one(32, 32, 3),
            one(32, 64, 3, pads=True),
            nn.MaxPool2d(3, 2),
            one(64, 80, 1),
            one(80, 192, 3),
            nn.MaxPool2d(3, 2),
        )
        self.body = nn.Sequential(
            parts.squares(192, 32),
            parts.squares(256, 64),
            parts.squares(288, 64),
            parts.halved(288),
            *(parts.strips(inner) for inner in (128, 160, 160, 192)),
        )
        self.auxiliary = None
        if sizes["auxiliary"]:
            self.auxiliary = nn.Sequential(
                nn.AvgPool2d(5, 3),
                one(768, 128, 1),
                one(128, 768, 5),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(of(768), sizes["classes"]),
            )
        self.top = nn.Sequential(
            parts.halved_again(),
            parts.wide(1280),
            parts.wide(2048),
            nn.AdaptiveAvgPool2d(1),
            nn.Dropout(sizes["dropout"]),
            nn.Flatten(),
            nn.Linear(of(2048), sizes["classes"]),
        )

    def forward(
        self, images: torch.Tensor
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Return scores of the classes, (main, auxiliary) where there are both."""
        features = self.body(self.stem(images))
        scores = self.top(features)
        if self.auxiliary is None:
            return scores
        return scores, self.auxiliary(features)


class _Parts:
    """Makes the modules, all channels divided by one number."""

    def __init__(self, divide: int) -> None:
        self._divide = divide

    def channels(self, count: int) -> int:
        return count // self._divide

    def convolution(
        self,
        channels: int,
        out: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        *,
        pads: bool = False,
    ) -> Convolution:
        of = self.channels
        return Convolution(of(channels), of(out), kernel, stride, pads=pads)

    def chain(self, channels: int, *layers: tuple) -> nn.Sequential:
        """Return convolutions of (channels, kernel); of stride 2 with a third entry."""
        chain = []
        for out, kernel, *stride in layers:
            chain.append(
                self.convolution(channels, out, kernel, *stride, pads=not stride)
            )
            channels = out
        return nn.Sequential(*chain)

    def pooled(self, channels: int, out: int) -> nn.Sequential:
        return nn.Sequential(nn.AvgPool2d(3, 1, 1), self.convolution(channels, out, 1))

    def squares(self, channels: int, pooled: int) -> Branches:
        return Branches(
            self.chain(channels, (64, 1)),
            self.chain(channels, (48, 1), (64, 5)),
            self.chain(channels, (64, 1), (96, 3), (96, 3)),
            self.pooled(channels, pooled),
        )

    def halved(self, channels: int) -> Branches:
        return Branches(
            self.chain(channels, (384, 3, 2)),
            self.chain(channels, (64, 1), (96, 3), (96, 3, 2)),
            nn.MaxPool2d(3, 2),
        )

    def strips(self, inner: int) -> Branches:
        row, column = (1, 7), (7, 1)
        return Branches(
            self.chain(768, (192, 1)),
            self.chain(768, (inner, 1), (inner, row), (192, column)),
            self.chain(
                768,
                (inner, 1),
                (inner, column),
                (inner, row),
                (inner, column),
                (192, row),
            ),
            self.pooled(768, 192),
        )

    def halved_again(self) -> Branches:
        return Branches(
            self.chain(768, (192, 1), (320, 3, 2)),
            self.chain(768, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)),
            nn.MaxPool2d(3, 2),
        )

    def wide(self, channels: int) -> Branches:
        def both() -> Branches:
            return Branches(
                self.convolution(384, 384, (1, 3), pads=True),
                self.convolution(384, 384, (3, 1), pads=True),
            )

        return Branches(
            self.chain(channels, (320, 1)),
            nn.Sequential(self.chain(channels, (384, 1)), both()),
            nn.Sequential(self.chain(channels, (448, 1), (384, 3)), both()),
            self.pooled(channels, 192),
        )


def build(sizes: dict, backend: Backend) -> Training:
    """Return Inception-v3 in training; a sample is an image."""
    return ImageTraining(Inception(sizes), sizes, backend)
