"""Seq2Seq: an LSTM reads a sentence, another one with additive attention writes it.

`lstm=cudnn` runs an LSTM as one operator for a sentence, `lstm=unrolled` cell after
cell; the attention follows the decoder either way.
"""

from typing import TYPE_CHECKING

import mxnet as mx
import numpy as np
from mxnet import gluon, init
from mxnet.gluon import nn, rnn

from with_mxnet.backend import Backend, Learning

if TYPE_CHECKING:
    from training import Training

_PADDING, _BEGIN, _FIRST_WORD = 0, 1, 2
_NEVER = -1e9


class Seq2Seq(gluon.Block):
    """Encoder, decoder and the attention between them."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        hidden, vocabulary = sizes["hidden"], sizes["vocabulary"]
        self._unrolls = sizes["lstm"] == "unrolled"
        with self.name_scope():
            self.source = nn.Embedding(vocabulary, hidden)
            self.target = nn.Embedding(vocabulary, hidden)
            self.encoder = self._lstm(hidden, sizes["layers"])
            self.decoder = self._lstm(hidden, sizes["layers"])
            self.query = nn.Dense(hidden, use_bias=False, flatten=False)
            self.key = nn.Dense(hidden, use_bias=False, flatten=False)
            self.score = nn.Dense(1, use_bias=False, flatten=False)
            self.mix = nn.Dense(hidden, "tanh", use_bias=False, flatten=False)
            self.words = nn.Dense(vocabulary, flatten=False)

    def _lstm(self, hidden: int, layers: int) -> gluon.Block:
        if not self._unrolls:
            return rnn.LSTM(hidden, layers, layout="NTC", input_size=hidden)
        cells = rnn.SequentialRNNCell()
        for _ in range(layers):
            cells.add(rnn.LSTMCell(hidden, input_size=hidden))
        return cells

    def _read(
        self, lstm: gluon.Block, words: mx.nd.NDArray, states: "list | None"
    ) -> tuple:
        if self._unrolls:
            return lstm.unroll(
                words.shape[1], words, states, layout="NTC", merge_outputs=True
            )
        if states is None:
            states = lstm.begin_state(words.shape[0], ctx=words.context)
        return lstm(words, states)

    def forward(self, source: mx.nd.NDArray, begun: mx.nd.NDArray) -> mx.nd.NDArray:
        """Return the scores of the next words, (sentence, word, vocabulary)."""
        memory, states = self._read(self.encoder, self.source(source), None)
        decoded, _ = self._read(self.decoder, self.target(begun), states)
        query = self.query(decoded).expand_dims(2)
        mixed = mx.nd.tanh(mx.nd.broadcast_add(query, self.key(memory).expand_dims(1)))
        scores = self.score(mixed).squeeze(3)
        padding = (source == _PADDING).expand_dims(1) * _NEVER
        weights = mx.nd.softmax(mx.nd.broadcast_add(scores, padding), axis=2)
        seen = mx.nd.batch_dot(weights, memory)
        return self.words(self.mix(mx.nd.concat(decoded, seen, dim=2)))


def build(sizes: dict, backend: Backend) -> "Training":
    """Return Seq2Seq in training; a sample is a pair of sentences."""
    model, numbers, count = Seq2Seq(sizes), backend.numbers, sizes["batch_size"]
    model.initialize(init.Uniform(0.1), ctx=backend.context)
    softmax = gluon.loss.SoftmaxCrossEntropyLoss()

    def words() -> np.ndarray:
        longest = sizes["longest"]
        found = numbers.randint(_FIRST_WORD, sizes["vocabulary"], (count, longest))
        lengths = numbers.randint(sizes["shortest"], longest + 1, (count, 1))
        found[np.arange(longest) >= lengths] = _PADDING
        return found.astype("float32")

    def make() -> "tuple[np.ndarray, ...]":
        source, target = words()[:, ::-1], words()
        begin = np.full((count, 1), _BEGIN, "float32")
        return source, np.concatenate((begin, target[:, :-1]), 1), target

    def loss_of(
        source: mx.nd.NDArray, begun: mx.nd.NDArray, target: mx.nd.NDArray
    ) -> mx.nd.NDArray:
        counts = (target != _PADDING).expand_dims(2)
        losses = softmax(model(source, begun), target, counts)
        return losses.sum() * sizes["longest"] / counts.sum()

    return Learning(
        backend,
        model,
        "adam",
        {"learning_rate": sizes["learning_rate"]},
        loss_of,
        make,
        sizes["batches"],
        lambda _: count,
        sizes["largest_gradient"],
    )
