"""Faster R-CNN with ResNet-101 and a feature pyramid: finds and names objects.

After "Faster R-CNN" (2015) and "Feature Pyramid Networks" (2016). How many boxes are
kept depends on what the network says, so kernels differ from iteration to iteration.
"""

import torch
from torch import nn
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    interpolate,
    smooth_l1_loss,
)
from training import Training

from with_torch import boxes as of_boxes
from with_torch.backend import Backend
from with_torch.resnet50 import ResNet

_RATIOS = (0.5, 1.0, 2.0)
_STRIDES = (4, 8, 16, 32, 64)
_SIDE = 7
_SIZE_OF_LEVEL_4 = 224
_PLAIN, _SCALED = (1.0, 1.0, 1.0, 1.0), (10.0, 10.0, 5.0, 5.0)


class Pyramid(nn.Module):
    """ResNet's stages as features of one width, and a level more."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        self.body = ResNet((3, 4, sizes["third_stage"], 3), sizes["width"])
        wide = sizes["pyramid"]
        self.inner = nn.ModuleList(nn.Conv2d(c, wide, 1) for c in self.body.channels)
        self.outer = nn.ModuleList(
            nn.Conv2d(wide, wide, 3, 1, 1) for _ in self.body.channels
        )

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Return the levels, the finest first."""
        stages = self.body(images)
        above = self.inner[-1](stages[-1])
        levels = [self.outer[-1](above)]
        for place in (2, 1, 0):
            here = self.inner[place](stages[place])
            above = here + interpolate(above, size=here.shape[2:])
            levels.insert(0, self.outer[place](above))
        levels.append(nn.functional.max_pool2d(levels[-1], 1, 2))
        return levels


class Detector(nn.Module):
    """Proposals, then classes and boxes of them."""

    def __init__(self, sizes: dict) -> None:
        super().__init__()
        wide, head, self.classes = sizes["pyramid"], sizes["head"], sizes["classes"]
        self.sizes = sizes
        self.pyramid = Pyramid(sizes)
        self.proposing = nn.Sequential(nn.Conv2d(wide, wide, 3, 1, 1), nn.ReLU())
        self.objectness = nn.Conv2d(wide, len(_RATIOS), 1)
        self.moves = nn.Conv2d(wide, 4 * len(_RATIOS), 1)
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Linear(wide * _SIDE * _SIDE, head),
            nn.ReLU(),
            nn.Linear(head, head),
            nn.ReLU(),
        )
        self.named = nn.Linear(head, self.classes + 1)
        self.refined = nn.Linear(head, 4 * (self.classes + 1))
        for layer in (self.objectness, self.moves, self.named, self.refined):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)

    def forward(
        self, images: torch.Tensor, truth: torch.Tensor, names: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss: of objectness, proposals, classes and boxes.

        Args:
            images: (image, 3, height, width).
            truth: The boxes that are there, (image, box, 4).
            names: Their classes from 1, (image, box).
        """
        levels = self.pyramid(images)
        anchors = [_anchors(level, stride) for level, stride in _with_strides(levels)]
        hidden = [self.proposing(level) for level in levels]
        objectness = [_flat(self.objectness(level), 1) for level in hidden]
        moves = [_flat(self.moves(level), 4) for level in hidden]
        loss = images.new_zeros(())
        for place in range(len(images)):
            scores = [each[place, :, 0].float() for each in objectness]
            codes = [each[place].float() for each in moves]
            loss = loss + _proposal_loss(
                torch.cat(anchors), torch.cat(scores), torch.cat(codes), truth[place]
            )
            with torch.no_grad():
                found = self._proposals(anchors, scores, codes, images.shape[2:])
            mine = [level[place : place + 1] for level in levels[:-1]]
            loss = loss + self._head_loss(mine, found, truth[place], names[place])
        return loss / len(images)

    def _proposals(
        self,
        anchors: list[torch.Tensor],
        scores: list[torch.Tensor],
        codes: list[torch.Tensor],
        extent: torch.Size,
    ) -> torch.Tensor:
        """Return the boxes that most likely hold something, best first."""
        boxes, sure = [], []
        for base, score, code in zip(anchors, scores, codes, strict=True):
            best, index = score.topk(min(self.sizes["candidates"], len(score)))
            box = of_boxes.decoded(code[index], base[index], _PLAIN)
            height, width = extent
            box = box.clamp(min=0).minimum(box.new_tensor((width, height) * 2))
            large = ((box[:, 2:] - box[:, :2]) >= 1).all(1)
            box, best = box[large], best[large]
            index = of_boxes.kept(box, best, 0.7)
            boxes.append(box[index])
            sure.append(best[index])
        everything = torch.cat(sure)
        count = min(self.sizes["proposals"], len(everything))
        return torch.cat(boxes)[everything.topk(count)[1]]

    def _head_loss(
        self,
        levels: list[torch.Tensor],
        found: torch.Tensor,
        truth: torch.Tensor,
        names: torch.Tensor,
    ) -> torch.Tensor:
        found = torch.cat((found, truth))
        best, which = of_boxes.overlap(found, truth).max(1)
        chosen = _sample(best >= 0.5, best < 0.5, self.sizes["sampled"], 0.25)
        found, which = found[chosen], which[chosen]
        is_object = best[chosen] >= 0.5
        labels = torch.where(is_object, names[which], 0)
        features = self.head(_under(levels, found))
        scores, codes = self.named(features).float(), self.refined(features).float()
        loss = cross_entropy(scores, labels)
        objects = is_object.nonzero().squeeze(1)
        codes = codes.view(len(labels), -1, 4)[objects, labels[objects]]
        aims = of_boxes.encoded(truth[which[objects]], found[objects], _SCALED)
        return loss + smooth_l1_loss(codes, aims, reduction="sum") / len(labels)


def _with_strides(levels: list[torch.Tensor]) -> zip:
    return zip(levels, _STRIDES, strict=True)


def _flat(scores: torch.Tensor, width: int) -> torch.Tensor:
    """Return (image, box, width) of (image, ratio * width, height, width)."""
    return scores.unflatten(1, (-1, width)).permute(0, 3, 4, 1, 2).flatten(1, 3)


def _anchors(level: torch.Tensor, stride: int) -> torch.Tensor:
    """Return the boxes that proposals start from, one of each ratio a feature."""
    height, width = level.shape[2:]
    down, across = torch.meshgrid(
        (torch.arange(height, device=level.device) + 0.5) * stride,
        (torch.arange(width, device=level.device) + 0.5) * stride,
        indexing="ij",
    )
    middle = torch.stack((across, down), 2)[:, :, None]
    ratios = torch.tensor(_RATIOS, device=level.device).sqrt()
    half = 4 * stride * torch.stack((1 / ratios, ratios), 1)
    return torch.cat((middle - half, middle + half), 3).flatten(0, 2)


def _sample(
    good: torch.Tensor, bad: torch.Tensor, count: int, share: float
) -> torch.Tensor:
    """Return a random choice of places, `share` of them good if there are so many."""
    goods, bads = good.nonzero().squeeze(1), bad.nonzero().squeeze(1)
    goods = goods[torch.randperm(len(goods), device=good.device)]
    goods = goods[: int(count * share)]
    bads = bads[torch.randperm(len(bads), device=good.device)]
    return torch.cat((goods, bads[: count - len(goods)]))


def _proposal_loss(
    anchors: torch.Tensor,
    scores: torch.Tensor,
    codes: torch.Tensor,
    truth: torch.Tensor,
) -> torch.Tensor:
    overlaps = of_boxes.overlap(anchors, truth)
    best, which = overlaps.max(1)
    # The anchors that a box overlaps most stand for it, however little that is.
    good = (best >= 0.7) | (overlaps == overlaps.max(0).values).any(1)
    chosen = _sample(good, ~good & (best < 0.3), 256, 0.5)
    labels = good[chosen].float()
    loss = binary_cross_entropy_with_logits(scores[chosen], labels)
    objects = chosen[good[chosen]]
    aims = of_boxes.encoded(truth[which[objects]], anchors[objects], _PLAIN)
    moved = smooth_l1_loss(codes[objects], aims, beta=1 / 9, reduction="sum")
    return loss + moved / len(chosen)


def _under(levels: list[torch.Tensor], found: torch.Tensor) -> torch.Tensor:
    """Return the features under boxes, each of the level for its size."""
    size = (found[:, 2:] - found[:, :2]).prod(1).clamp(min=1).sqrt()
    level = (4 + torch.log2(size / _SIZE_OF_LEVEL_4 + 1e-6)).floor().long() - 2
    level = level.clamp(0, len(levels) - 1)
    channels = levels[0].shape[1]
    features = levels[0].new_zeros(len(found), channels, _SIDE, _SIDE)
    for place, here in enumerate(levels):
        index = (level == place).nonzero().squeeze(1)
        if len(index):
            part = of_boxes.aligned(here, found[index], 1 / _STRIDES[place], _SIDE)
            features = features.index_put((index,), part)
    return features


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._backend = backend
        self._sizes = sizes
        self._model = Detector(sizes).to(backend.device)
        self._parameters = list(self._model.parameters())
        self._optimizer = torch.optim.SGD(
            self._parameters, lr=sizes["learning_rate"], momentum=sizes["momentum"]
        )
        backend.make_batches(self._pictures, sizes["batches"])

    def _pictures(self) -> tuple[torch.Tensor, ...]:
        sizes, numbers = self._sizes, self._backend.generator
        count, objects = sizes["batch_size"], sizes["objects"]
        extent = torch.tensor((sizes["image_width"], sizes["image_height"]))
        share = torch.rand((count, objects, 4), generator=numbers)
        size = extent * (0.1 + 0.4 * share[..., :2])
        corner = (extent - size) * share[..., 2:]
        return (
            torch.randn(
                (count, 3, sizes["image_height"], sizes["image_width"]),
                generator=numbers,
            ),
            torch.cat((corner, corner + size), 2),
            torch.randint(1, sizes["classes"] + 1, (count, objects), generator=numbers),
        )

    def step(self, number: int) -> tuple[float, torch.Tensor]:
        images, truth, names = self._backend.batch(number)
        with self._backend.precision():
            loss = self._model(images, truth, names)
        self._backend.update(
            loss, self._optimizer, self._parameters, self._sizes["largest_gradient"]
        )
        return self._sizes["batch_size"], loss.detach()

    def facts(self) -> dict[str, object]:
        return {"torchvision": of_boxes.USES_TORCHVISION}


def build(sizes: dict, backend: Backend) -> Training:
    """Return Faster R-CNN in training; a sample is an image."""
    return _Training(sizes, backend)
