"""Boxes of a detector: overlaps, codes, suppression, features under them.

A box is (left, top, right, bottom) in pixels. With torchvision its kernels suppress and
align, as in users' programs; without it slower ones of PyTorch do.
"""

import math

import torch

try:
    from torchvision import ops
except (ImportError, RuntimeError):  # the latter: made for another PyTorch
    ops = None

USES_TORCHVISION = ops is not None
# A box grows by no more than this at once: as in Detectron.
_LARGEST_GROWTH = math.log(1000 / 16)


def overlap(ones: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Return intersection over union, (one, other)."""
    low = torch.maximum(ones[:, None, :2], others[None, :, :2])
    high = torch.minimum(ones[:, None, 2:], others[None, :, 2:])
    common = (high - low).clamp(min=0).prod(2)
    return common / (_area(ones)[:, None] + _area(others)[None] - common)


def _area(boxes: torch.Tensor) -> torch.Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def encoded(
    boxes: torch.Tensor, base: torch.Tensor, weights: tuple[float, ...]
) -> torch.Tensor:
    """Return how `base` must move and grow to be `boxes`."""
    size, other = base[:, 2:] - base[:, :2], boxes[:, 2:] - boxes[:, :2]
    moved = (boxes[:, :2] + other / 2 - base[:, :2] - size / 2) / size
    code = torch.cat((moved, torch.log(other / size)), 1)
    return code * code.new_tensor(weights)


def decoded(
    code: torch.Tensor, base: torch.Tensor, weights: tuple[float, ...]
) -> torch.Tensor:
    """Return the boxes that `encoded` gives such codes for."""
    code = code / code.new_tensor(weights)
    size = base[:, 2:] - base[:, :2]
    middle = base[:, :2] + size / 2 + code[:, :2] * size
    half = size * code[:, 2:].clamp(max=_LARGEST_GROWTH).exp() / 2
    return torch.cat((middle - half, middle + half), 1)


def kept(boxes: torch.Tensor, scores: torch.Tensor, most: float) -> torch.Tensor:
    """Return the boxes that overlap no better one by more than `most`, best first."""
    if ops is not None:
        return ops.nms(boxes, scores, most)
    order = scores.argsort(descending=True)
    covers = (overlap(boxes[order], boxes[order]) > most).triu(1).cpu()
    alive = torch.ones(len(order), dtype=torch.bool)
    for place in range(len(order)):
        if alive[place]:
            alive &= ~covers[place]
    return order[alive.to(order.device)]


def aligned(
    features: torch.Tensor, boxes: torch.Tensor, scale: float, side: int
) -> torch.Tensor:
    """Return the features under boxes, (box, channel, side, side).

    Args:
        features: Of one image, (1, channel, height, width).
        boxes: In pixels of the image.
        scale: Features a pixel.
        side: Of the square that each box becomes; each point is a mean of four.
    """
    if ops is not None:
        return ops.roi_align(features, [boxes], side, scale, 2, aligned=True)
    height, width = features.shape[2:]
    points = (torch.arange(2 * side, device=boxes.device) + 0.5) / (2 * side)
    span = (boxes[:, 2:] - boxes[:, :2]).unsqueeze(2) * points + boxes[:, :2, None]
    # A pixel's middle is at its half, for both; -1 and 1 are the picture's edges.
    across = span[:, 0] * scale * 2 / width - 1
    down = span[:, 1] * scale * 2 / height - 1
    shape = (len(boxes), 2 * side, 2 * side)
    grid = torch.stack(
        (across[:, None].expand(shape), down[:, :, None].expand(shape)), 3
    )
    found = torch.nn.functional.grid_sample(
        features,
        grid.flatten(0, 1).unsqueeze(0).to(features.dtype),
        padding_mode="border",
        align_corners=False,
    )
    found = found[0].unflatten(1, (len(boxes), 2 * side)).transpose(0, 1)
    return torch.nn.functional.avg_pool2d(found, 2)
