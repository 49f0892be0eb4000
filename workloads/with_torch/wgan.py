"""WGAN with gradient penalty: two ResNets of 14 layers, one makes images of 64x64.

After "Improved Training of Wasserstein GANs" (2017) and its `gan_64x64`: an iteration
trains the critic five times and the generator once.
"""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend

_NOISE = 128
_SIDE = 64


class Block(nn.Module):
    """Two convolutions beside a short cut, which double or halve the side."""

    def __init__(self, channels: int, out: int, *, grows: bool) -> None:
        super().__init__()
        inner = out if grows else channels
        size = nn.Upsample(scale_factor=2) if grows else nn.AvgPool2d(2)
        # The critic's penalty is for each image, which batch norm would mix.
        norm = nn.BatchNorm2d if grows else _LayerNorm
        early, late = (size, nn.Identity()) if grows else (nn.Identity(), size)
        self.body = nn.Sequential(
            norm(channels),
            nn.ReLU(),
            early,
            nn.Conv2d(channels, inner, 3, 1, 1, bias=False),
            norm(inner),
            nn.ReLU(),
            nn.Conv2d(inner, out, 3, 1, 1),
            late,
        )
        self.short_cut = nn.Sequential(early, nn.Conv2d(channels, out, 1), late)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features of `images`."""
        return self.body(images) + self.short_cut(images)


class _LayerNorm(nn.GroupNorm):
    def __init__(self, channels: int) -> None:
        super().__init__(1, channels)


def _generator(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(_NOISE, 4 * 4 * 8 * width),
        nn.Unflatten(1, (8 * width, 4, 4)),
        Block(8 * width, 8 * width, grows=True),
        Block(8 * width, 4 * width, grows=True),
        Block(4 * width, 2 * width, grows=True),
        Block(2 * width, width, grows=True),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 3, 3, 1, 1),
        nn.Tanh(),
    )


def _critic(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1),
        Block(width, 2 * width, grows=False),
        Block(2 * width, 4 * width, grows=False),
        Block(4 * width, 8 * width, grows=False),
        Block(8 * width, 8 * width, grows=False),
        nn.Flatten(),
        nn.Linear(4 * 4 * 8 * width, 1),
    )


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._generator = _generator(sizes["width"]).to(backend.device)
        self._critic = _critic(sizes["width"]).to(backend.device)
        self._generating, self._judging = (
            torch.optim.Adam(
                network.parameters(), lr=sizes["learning_rate"], betas=(0.0, 0.9)
            )
            for network in (self._generator, self._critic)
        )
        shape = (sizes["batch_size"], 3, _SIDE, _SIDE)
        backend.make_batches(
            lambda: (torch.rand(shape, generator=backend.generator) * 2 - 1,),
            sizes["batches"],
        )

    def _made(self) -> torch.Tensor:
        noise = torch.randn(
            self._sizes["batch_size"], _NOISE, device=self._backend.device
        )
        return self._generator(noise)

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        rounds = self._sizes["critic_steps"]
        for turn in range(rounds):
            (real,) = self._backend.batch(number * rounds + turn)
            with self._backend.precision():
                with torch.no_grad():
                    made = self._made()
                distance = self._critic(made).mean() - self._critic(real).mean()
            loss = distance.float() + self._sizes["penalty"] * self._penalty(real, made)
            self._backend.update(loss, self._judging)
        with self._backend.precision():
            made_well = -self._critic(self._made()).mean()
        self._backend.update(made_well, self._generating)
        return rounds * self._sizes["batch_size"], loss.detach()

    def _penalty(self, real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        """Return how far the critic's slope is from 1 between the images."""
        share = torch.rand(len(real), 1, 1, 1, device=real.device)
        between = (share * real + (1 - share) * made.float()).requires_grad_()
        with self._backend.precision():
            judged = self._critic(between)
        (slope,) = torch.autograd.grad(judged.sum(), between, create_graph=True)
        return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()

    def measures(self) -> dict[str, float]:
        with torch.no_grad():
            (real,) = self._backend.batch(0)
            distance = self._critic(real).mean() - self._critic(self._made()).mean()
        return {"distance": float(distance)}


def build(sizes: dict, backend: Backend) -> Training:
    """Return WGAN in training; a sample is a real image that the critic saw."""
    return _Training(sizes, backend)
