"""ResNet-50: 50 layers of convolutions with short cuts, on images.

The blocks of "Deep Residual Learning for Image Recognition" (2015) with the stride in
the 3x3 convolution, as in torchvision and NVIDIA's examples.
"""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend
from with_torch.images import ImageTraining

_EXPANSION = 4


class Bottleneck(nn.Module):
    """Convolutions 1x1, 3x3, 1x1 beside a short cut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * _EXPANSION
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.short_cut = nn.Identity()
        if stride != 1 or channels != out:
            self.short_cut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features of `images`."""
        return self.relu(self.body(images) + self.short_cut(images))


class ResNet(nn.Module):
    """The stages of a ResNet of bottlenecks.

    Attributes:
        stem: Before the stages.
        stages: Each with half the resolution of the one before.
        channels: Channels that each stage gives.
    """

    def __init__(self, blocks: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.stages = nn.ModuleList()
        self.channels: list[int] = []
        channels = width
        for place, count in enumerate(blocks):
            stage = []
            for block in range(count):
                stride = 2 if place and not block else 1
                stage.append(Bottleneck(channels, width << place, stride))
                channels = (width << place) * _EXPANSION
            self.stages.append(nn.Sequential(*stage))
            self.channels.append(channels)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Return the features after each stage."""
        features = self.stem(images)
        found = []
        for stage in self.stages:
            features = stage(features)
            found.append(features)
        return found


class Classifier(nn.Module):
    """ResNet-50 with its classes."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.body = ResNet((3, 4, 6, 3), width)
        self.head = nn.Linear(self.body.channels[-1], classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the scores of the classes."""
        return self.head(self.body(images)[-1].mean((2, 3)))


def build(sizes: dict, backend: Backend) -> Training:
    """Return ResNet-50 in training; a sample is an image."""
    network = Classifier(sizes["width"], sizes["classes"])
    return ImageTraining(network, sizes, backend)
