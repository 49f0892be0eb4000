"""Transformer, the base model: attention instead of recurrence, for translation.

As in tensor2tensor, which TBD measured: 6 and 6 layers of 512, 8 heads, label
smoothing, Adam with a warm-up. A batch is counted in tokens of the target.
"""

import math

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend

_BEGIN, _FIRST_WORD = 0, 1


class Transformer(nn.Module):
    """Encoder, decoder and one table of words for both and for the output."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        hidden = sizes["hidden"]
        self.scale = math.sqrt(hidden)
        self.words = nn.Embedding(sizes["vocabulary"], hidden)
        nn.init.normal_(self.words.weight, std=hidden**-0.5)
        self.dropout = nn.Dropout(sizes["dropout"])
        self.body = nn.Transformer(
            hidden,
            sizes["heads"],
            sizes["layers"],
            sizes["layers"],
            sizes["inner"],
            sizes["dropout"],
            batch_first=True,
        )
        length = sizes["sentence"]
        self.register_buffer("places", _places(length, hidden), persistent=False)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next words, (sentence, word, vocabulary)."""
        features = self.body(
            self._embedded(source),
            self._embedded(target),
            tgt_mask=self.mask,
            tgt_is_causal=True,
        )
        return nn.functional.linear(features, self.words.weight)

    def _embedded(self, words: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.words(words) * self.scale + self.places)


def _places(length: int, hidden: int) -> torch.Tensor:
    """Return the sines and cosines that tell the places apart, (place, hidden)."""
    angles = torch.arange(length).unsqueeze(1) * torch.exp(
        torch.arange(0, hidden, 2) * (-math.log(10_000) / hidden)
    )
    return torch.stack((angles.sin(), angles.cos()), 2).flatten(1)


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._sentences = max(1, sizes["batch_size"] // sizes["sentence"])
        self._model = Transformer(sizes).to(backend.device)
        self._optimizer = torch.optim.Adam(
            self._model.parameters(), betas=(0.9, 0.98), eps=1e-9
        )
        shape = (self._sentences, sizes["sentence"])
        backend.make_batches(
            lambda: tuple(
                torch.randint(
                    _FIRST_WORD,
                    sizes["vocabulary"],
                    shape,
                    generator=backend.generator,
                )
                for _ in range(2)
            ),
            sizes["batches"],
        )

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        source, target = self._backend.batch(number)
        sizes = self._sizes
        rate = min((number + 1) ** -0.5, (number + 1) * sizes["warm_up"] ** -1.5)
        for group in self._optimizer.param_groups:
            group["lr"] = sizes["learning_rate"] * sizes["hidden"] ** -0.5 * rate
        begin = torch.full_like(target[:, :1], _BEGIN)
        with self._backend.precision():
            scores = self._model(source, torch.cat((begin, target[:, :-1]), 1))
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1),
                target.flatten(),
                label_smoothing=sizes["label_smoothing"],
            )
        self._backend.update(loss, self._optimizer)
        return target.numel(), loss.detach()


def build(sizes: dict, backend: Backend) -> Training:
    """Return the Transformer in training; a sample is a token of the target."""
    return _Training(sizes, backend)
