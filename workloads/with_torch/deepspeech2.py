"""Deep Speech 2: convolutions and recurrent layers turn spectrograms into text.

Two convolutions, seven bidirectional GRU layers with batch norm before each, CTC. The
clips of a batch have one length, drawn for each batch from the buckets of the MXNet
example that TBD measured. A spectrum is of 10 ms.
"""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend

_SPECTRA_PER_SECOND = 100
_LETTERS = 29


class Recurrent(nn.Module):
    """Batch norm and a bidirectional GRU whose two directions are added."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.body = nn.GRU(width, hidden, batch_first=True, bidirectional=True)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Return the features of (clip, time, width)."""
        sound = self.norm(sound.transpose(1, 2)).transpose(1, 2)
        both, _ = self.body(sound)
        forward, backward = both.chunk(2, 2)
        return forward + backward


class DeepSpeech(nn.Module):
    """The network."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        channels, hidden = sizes["channels"], sizes["hidden"]
        self.listening = nn.Sequential(
            nn.Conv2d(1, channels, (41, 11), (2, 2), (20, 5), bias=False),
            nn.BatchNorm2d(channels),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(channels, channels, (21, 11), (2, 1), (10, 5), bias=False),
            nn.BatchNorm2d(channels),
            nn.Hardtanh(0, 20, inplace=True),
        )
        # Each convolution halves the frequencies, rounding up.
        width = channels * ((sizes["frequencies"] + 3) // 4)
        widths = [width] + [hidden] * (sizes["layers"] - 1)
        self.recurrent = nn.Sequential(*(Recurrent(each, hidden) for each in widths))
        self.norm = nn.BatchNorm1d(hidden)
        self.letters = nn.Linear(hidden, _LETTERS)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Return scores of the letters, (time, clip, letter).

        Args:
            sound: Spectrograms, (clip, frequency, time).
        """
        features = self.listening(sound.unsqueeze(1)).flatten(1, 2).transpose(1, 2)
        features = self.recurrent(features)
        features = self.norm(features.transpose(1, 2)).permute(2, 0, 1)
        return self.letters(features)


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._model = DeepSpeech(sizes).to(backend.device)
        self._parameters = list(self._model.parameters())
        self._optimizer = torch.optim.SGD(
            self._parameters,
            lr=sizes["learning_rate"],
            momentum=sizes["momentum"],
            nesterov=True,
        )
        backend.make_batches(self._clips, sizes["batches"])

    def _clips(self) -> tuple[torch.Tensor, ...]:
        sizes, numbers = self._sizes, self._backend.generator
        buckets = range(sizes["shortest"], sizes["longest"] + 1, sizes["bucket"])
        length = buckets[int(torch.randint(len(buckets), (), generator=numbers))]
        count = sizes["batch_size"]
        # People say about 14 letters a second.
        said = max(1, length * 14 // _SPECTRA_PER_SECOND)
        return (
            torch.randn((count, sizes["frequencies"], length), generator=numbers),
            torch.randint(1, _LETTERS, (count, said), generator=numbers),
        )

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        sound, letters = self._backend.batch(number)
        with self._backend.precision():
            scores = self._model(sound)
        chances = torch.log_softmax(scores.float(), 2)
        time, count, _ = chances.shape
        loss = nn.functional.ctc_loss(
            chances,
            letters,
            torch.full((count,), time),
            torch.full((count,), letters.shape[1]),
            zero_infinity=True,
        )
        self._backend.update(
            loss, self._optimizer, self._parameters, self._sizes["largest_gradient"]
        )
        return count * sound.shape[2] / _SPECTRA_PER_SECOND, loss.detach()


def build(sizes: dict, backend: Backend) -> Training:
    """Return Deep Speech 2 in training; a sample is a second of audio."""
    return _Training(sizes, backend)
