"""Deep Speech 2: convolutions and recurrent layers turn spectrograms into text."""

from typing import TYPE_CHECKING

import mxnet as mx
from mxnet import gluon, init
from mxnet.gluon import nn, rnn

from with_mxnet.backend import Backend, Learning

if TYPE_CHECKING:
    import numpy as np
    from training import Training

_SPECTRA_PER_SECOND = 100
_LETTERS = 29


class DeepSpeech(gluon.Block):
    """The network; it gives scores of the letters, (clip, time, letter)."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        channels, hidden = sizes["channels"], sizes["hidden"]
        with self.name_scope():
            self.listening = nn.HybridSequential()
            for kernel, stride in (((41, 11), (2, 2)), ((21, 11), (2, 1))):
                padding = (kernel[0] // 2, kernel[1] // 2)
                self.listening.add(
                    nn.Conv2D(channels, kernel, stride, padding, use_bias=False),
                    nn.BatchNorm(),
                    nn.HybridLambda(lambda F, found: F.clip(found, 0, 20)),  # noqa: N803 - MXNet's name
                )
            self.norms, self.layers = nn.Sequential(), nn.Sequential()
            for _ in range(sizes["layers"]):
                self.norms.add(nn.BatchNorm(axis=2))
                self.layers.add(rnn.GRU(hidden, layout="NTC", bidirectional=True))
            self.norm = nn.BatchNorm(axis=2)
            self.letters = nn.Dense(_LETTERS, flatten=False)

    def forward(self, sound: mx.nd.NDArray) -> mx.nd.NDArray:
        """Return the scores of the letters, of (clip, frequency, time)."""
        found = self.listening(sound.expand_dims(1))
        found = found.reshape((0, -3, 0)).swapaxes(1, 2)
        for norm, layer in zip(self.norms, self.layers):
            forward, backward = mx.nd.split(layer(norm(found)), 2, axis=2)
            found = forward + backward
        return self.letters(self.norm(found))


def build(sizes: dict, backend: Backend) -> "Training":
    """Return Deep Speech 2 in training; a sample is a second of audio."""
    model, numbers, count = DeepSpeech(sizes), backend.numbers, sizes["batch_size"]
    model.initialize(init.Xavier(), ctx=backend.context)
    buckets = range(sizes["shortest"], sizes["longest"] + 1, sizes["bucket"])
    ctc = gluon.loss.CTCLoss("NTC", "NT")

    def make() -> "tuple[np.ndarray, ...]":
        length = buckets[numbers.randint(len(buckets))]
        said = max(1, length * 14 // _SPECTRA_PER_SECOND)
        return (
            numbers.randn(count, sizes["frequencies"], length).astype("float32"),
            # MXNet's blank is the last letter.
            numbers.randint(0, _LETTERS - 1, (count, said)).astype("float32"),
        )

    def loss_of(sound: mx.nd.NDArray, letters: mx.nd.NDArray) -> mx.nd.NDArray:
        return ctc(model(sound), letters).mean() / letters.shape[1]

    return Learning(
        backend,
        model,
        "nag",
        {"learning_rate": sizes["learning_rate"], "momentum": sizes["momentum"]},
        loss_of,
        make,
        sizes["batches"],
        lambda batch: count * batch[0].shape[2] / _SPECTRA_PER_SECOND,
        sizes["largest_gradient"],
    )
