"""Seq2Seq: an LSTM reads a sentence, another one with attention writes it.

As in NMT, which TBD measured: two layers each way, additive attention (Bahdanau), the
source reversed. `lstm=cudnn` runs each LSTM as one call for the whole sentence and
attends afterwards; `lstm=unrolled` runs cell after cell and feeds the attention into
the next one, as the frameworks of that time did: many short kernels.
"""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend

_PADDING, _BEGIN, _FIRST_WORD = 0, 1, 2


class Attention(nn.Module):
    """Additive attention over the states of the encoder."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    def forward(
        self,
        state: torch.Tensor,
        keys: torch.Tensor,
        memory: torch.Tensor,
        padding: torch.Tensor,
    ) -> torch.Tensor:
        """Return what is attended to.

        Args:
            state: States of the decoder, (sentence, target word, hidden).
            keys: `self.key(memory)`.
            memory: States of the encoder, (sentence, source word, hidden).
            padding: Where the source has no word, (sentence, source word).
        """
        mixed = torch.tanh(self.query(state).unsqueeze(2) + keys.unsqueeze(1))
        scores = self.score(mixed).squeeze(3)
        scores = scores.masked_fill(padding.unsqueeze(1), torch.finfo(scores.dtype).min)
        return torch.softmax(scores, 2) @ memory


class Seq2Seq(nn.Module):
    """Encoder and decoder."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        hidden, layers = sizes["hidden"], sizes["layers"]
        self.unrolled = sizes["lstm"] == "unrolled"
        self.source = nn.Embedding(sizes["vocabulary"], hidden)
        self.target = nn.Embedding(sizes["vocabulary"], hidden)
        self.attention = Attention(hidden)
        self.mix = nn.Linear(2 * hidden, hidden, bias=False)
        self.words = nn.Linear(hidden, sizes["vocabulary"])
        if self.unrolled:
            self.encoder = _cells(hidden, hidden, layers)
            self.decoder = _cells(2 * hidden, hidden, layers)
        else:
            self.encoder = nn.LSTM(hidden, hidden, layers, batch_first=True)
            self.decoder = nn.LSTM(hidden, hidden, layers, batch_first=True)
        for weights in self.parameters():
            nn.init.uniform_(weights, -0.1, 0.1)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next words, (sentence, word, vocabulary).

        Args:
            source: Words of the source, (sentence, word).
            target: Words of the target without the last one.
        """
        padding = source == _PADDING
        if self.unrolled:
            return self._unrolled(source, target, padding)
        memory, state = self.encoder(self.source(source))
        decoded, _ = self.decoder(self.target(target), state)
        seen = self.attention(decoded, self.attention.key(memory), memory, padding)
        return self.words(torch.tanh(self.mix(torch.cat((decoded, seen), 2))))

    def _unrolled(
        self, source: torch.Tensor, target: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        states: list = [None] * len(self.encoder)
        memories = []
        for word in self.source(source).unbind(1):
            memories.append(_advance(self.encoder, word, states))
        memory = torch.stack(memories, 1)
        keys = self.attention.key(memory)
        mixed = torch.zeros_like(memories[0])
        outputs = []
        for word in self.target(target).unbind(1):
            state = _advance(self.decoder, torch.cat((word, mixed), 1), states)
            seen = self.attention(state.unsqueeze(1), keys, memory, padding).squeeze(1)
            mixed = torch.tanh(self.mix(torch.cat((state, seen), 1)))
            outputs.append(mixed)
        return self.words(torch.stack(outputs, 1))


def _cells(inputs: int, hidden: int, layers: int) -> nn.ModuleList:
    widths = [inputs] + [hidden] * (layers - 1)
    return nn.ModuleList(nn.LSTMCell(width, hidden) for width in widths)


def _advance(cells: nn.ModuleList, value: torch.Tensor, states: list) -> torch.Tensor:
    """Run one word through the layers; `states` are replaced in place."""
    for place, cell in enumerate(cells):
        states[place] = cell(value, states[place])
        value = states[place][0]
    return value


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._model = Seq2Seq(sizes).to(backend.device)
        self._parameters = list(self._model.parameters())
        self._optimizer = torch.optim.Adam(self._parameters, lr=sizes["learning_rate"])
        backend.make_batches(self._sentences, sizes["batches"])

    def _sentences(self) -> tuple[torch.Tensor, ...]:
        source, target = self._words(), self._words()
        begin = torch.full((len(target), 1), _BEGIN)
        return source.flip(1), torch.cat((begin, target), 1)

    def _words(self) -> torch.Tensor:
        sizes, numbers = self._sizes, self._backend.generator
        shape = (sizes["batch_size"], sizes["longest"])
        words = torch.randint(
            _FIRST_WORD, sizes["vocabulary"], shape, generator=numbers
        )
        lengths = torch.randint(
            sizes["shortest"], sizes["longest"] + 1, (shape[0], 1), generator=numbers
        )
        return words.masked_fill(torch.arange(shape[1]) >= lengths, _PADDING)

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        source, target = self._backend.batch(number)
        with self._backend.precision():
            scores = self._model(source, target[:, :-1])
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=_PADDING
            )
        self._backend.update(
            loss, self._optimizer, self._parameters, self._sizes["largest_gradient"]
        )
        return self._sizes["batch_size"], loss.detach()


def build(sizes: dict, backend: Backend) -> Training:
    """Return Seq2Seq in training; a sample is a pair of sentences."""
    return _Training(sizes, backend)
