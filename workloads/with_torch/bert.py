"""BERT-large in pre-training: masked words and the order of two sentences."""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend

_FIRST_WORD = 1
_SEGMENTS = 2


class Bert(nn.Module):
    """The encoder and the two heads of pre-training."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        hidden = sizes["hidden"]
        self.words = nn.Embedding(sizes["vocabulary"], hidden)
        self.places = nn.Embedding(sizes["places"], hidden)
        self.segments = nn.Embedding(_SEGMENTS, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.dropout = nn.Dropout(sizes["dropout"])
        layer = nn.TransformerEncoderLayer(
            hidden,
            sizes["heads"],
            4 * hidden,
            sizes["dropout"],
            "gelu",
            1e-12,
            batch_first=True,
        )
        self.body = nn.TransformerEncoder(
            layer, sizes["layers"], enable_nested_tensor=False
        )
        self.pooler = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())
        self.mixed = nn.Sequential(
            nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden, eps=1e-12)
        )
        self.bias = nn.Parameter(torch.zeros(sizes["vocabulary"]))
        self.order = nn.Linear(hidden, _SEGMENTS)
        for table in (self.words, self.places, self.segments):
            nn.init.normal_(table.weight, std=0.02)

    def forward(
        self, words: torch.Tensor, segments: torch.Tensor, masked: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores of the masked words and of the order.

        Args:
            words: (sequence, place).
            segments: Which of the two sentences a word is of, as `words`.
            masked: Places of the masked words, (sequence, masked word).
        """
        places = self.places.weight[: words.shape[1]]
        features = self.words(words) + places + self.segments(segments)
        features = self.body(self.dropout(self.norm(features)))
        index = masked.unsqueeze(2).expand(-1, -1, features.shape[2])
        scores = nn.functional.linear(
            self.mixed(features.gather(1, index)), self.words.weight, self.bias
        )
        return scores, self.order(self.pooler(features[:, 0]))


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._model = Bert(sizes).to(backend.device)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=sizes["learning_rate"], weight_decay=0.01
        )
        backend.make_batches(self._sequences, sizes["batches"])

    def _sequences(self) -> tuple[torch.Tensor, ...]:
        sizes, numbers = self._sizes, self._backend.generator
        count, length, masked = (
            sizes["batch_size"],
            sizes["sequence"],
            sizes["masked"],
        )

        def words(width: int) -> torch.Tensor:
            return torch.randint(
                _FIRST_WORD, sizes["vocabulary"], (count, width), generator=numbers
            )

        second = torch.arange(length) >= length // 2
        order = torch.rand((count, length), generator=numbers).argsort(1)
        return (
            words(length),
            second.long().expand(count, length).contiguous(),
            order[:, :masked].contiguous(),
            words(masked),
            torch.randint(_SEGMENTS, (count,), generator=numbers),
        )

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        words, segments, masked, hidden_words, order = self._backend.batch(number)
        with self._backend.precision():
            scores, ordered = self._model(words, segments, masked)
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1), hidden_words.flatten()
            ) + nn.functional.cross_entropy(ordered, order)
        self._backend.update(loss, self._optimizer)
        return words.numel(), loss.detach()


def build(sizes: dict, backend: Backend) -> Training:
    """Return BERT in training; a sample is a token."""
    return _Training(sizes, backend)
