"""Training of a classifier of images, whatever network it is."""

import torch
from torch import nn
from training import Training

from with_torch.backend import Backend


class ImageTraining(Training):
    """SGD with momentum on random images; a sample is an image.

    The network gives the scores of the classes, or a tuple of them and those of an
    auxiliary classifier, which counts 0.4.
    """

    def __init__(self, network: nn.Module, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._samples = sizes["batch_size"]
        self._network = network.to(backend.device)
        self._optimizer = torch.optim.SGD(
            self._network.parameters(),
            lr=sizes["learning_rate"],
            momentum=sizes["momentum"],
            weight_decay=sizes["weight_decay"],
        )
        shape = (self._samples, 3, sizes["image_size"], sizes["image_size"])
        numbers = backend.generator
        backend.make_batches(
            lambda: (
                torch.randn(shape, generator=numbers),
                torch.randint(sizes["classes"], shape[:1], generator=numbers),
            ),
            sizes["batches"],
        )

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        images, labels = self._backend.batch(number)
        with self._backend.precision():
            scores = self._network(images)
            if isinstance(scores, tuple):
                main, auxiliary = scores
                loss = nn.functional.cross_entropy(main, labels)
                loss = loss + 0.4 * nn.functional.cross_entropy(auxiliary, labels)
            else:
                loss = nn.functional.cross_entropy(scores, labels)
        self._backend.update(loss, self._optimizer)
        return self._samples, loss.detach()
