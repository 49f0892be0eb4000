"""Writes what the profiler and the hooks recorded of a PyTorch process.

The file is gzipped JSON with columns as lists: `docs/formats/torch-memory.md` of
tracekit lists them. It holds no environment, no paths and no values of tensors.
"""

import gzip
import json
import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any

FORMAT = "tracekit torch memory"
VERSION = 1
_NODE = "autograd::engine::evaluate_function: "
_STEP = "Optimizer.step#"
# What makes a tensor is not what it is made for.
_MAKERS = ("aten::empty", "aten::resize_", "aten::new_empty")
_COLUMNS = (
    "time_ns",
    "device",
    "address",
    "bytes",
    "allocated",
    "reserved",
    "thread",
    "operator",
    "operator_end_ns",
    "phase",
    "phase_end_ns",
)
_SEEN = ("time_ns", "device", "address", "class", "layer", "tag", "shape", "type")


def has_cuda(torch: ModuleType) -> bool:
    """Tell whether the program has used a GPU."""
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def device_facts(torch: ModuleType) -> list[dict[str, Any]]:
    """Return what the program's GPUs are, and the most that was allocated on each."""
    if not has_cuda(torch):
        return []
    facts = []
    for ordinal in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(ordinal)
        torch.cuda.synchronize(ordinal)
        uuid = getattr(properties, "uuid", None)
        facts.append(
            {
                "ordinal": ordinal,
                "name": properties.name,
                "uuid": None if uuid is None else f"GPU-{uuid}",
                "memory_bytes": properties.total_memory,
                "max_allocated": torch.cuda.max_memory_allocated(ordinal),
                "max_reserved": torch.cuda.max_memory_reserved(ordinal),
            }
        )
    return facts


def write(
    folder: str, torch: ModuleType, tree: Iterable[Any], record: dict[str, Any]
) -> None:
    """Write one process's file into the folder, whole or not at all."""
    names: dict[str, int] = {}
    rows = sorted(_allocations(tree, names), key=lambda row: row[0])
    seen = [
        (*row[:6], None if row[6] is None else list(row[6]), str(row[7])[6:])
        for row in record.pop("seen")
    ]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "torch": torch.__version__,
        "pid": os.getpid(),
        "rank": _number("RANK"),
        "local_rank": _number("LOCAL_RANK"),
        **record,
        "operators": list(names),
        "events": _columns(_COLUMNS, rows),
        "seen": _columns(_SEEN, seen),
    }
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, f"{os.getpid()}.memory.json.gz")
    with gzip.open(f"{place}.part", "wt", compresslevel=3) as file:
        json.dump(content, file, separators=(",", ":"))
    os.replace(f"{place}.part", place)


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None


def _allocations(tree: Iterable[Any], names: dict[str, int]) -> list[tuple[Any, ...]]:
    """Return the allocations of a tree of events, each with what ran around it."""
    rows = []
    # An event, the innermost operator around it, and the phase.
    todo: list[tuple[Any, Any, str | None, int | None]] = [
        (event, None, None, None) for event in tree
    ]
    while todo:
        event, operator, phase, phase_end = todo.pop()
        kind = event.typed[0].name
        if kind == "Allocation":
            fields = event.typed[1]
            name = None
            if operator is not None:
                name = names.setdefault(operator.name, len(names))
            device = fields.device
            rows.append(
                (
                    event.start_time_ns,
                    -1 if device.type == "cpu" else device.index or 0,
                    fields.ptr,
                    fields.alloc_size,
                    fields.total_allocated,
                    fields.total_reserved,
                    event.start_tid,
                    name,
                    None if operator is None else operator.end_time_ns,
                    phase,
                    phase_end,
                )
            )
        elif kind == "TorchOp":
            if event.name.startswith(_NODE):
                phase, phase_end = "backward", event.end_time_ns
            elif event.name.startswith(_STEP):
                phase, phase_end = "optimizer", event.end_time_ns
            elif not event.name.startswith(_MAKERS):
                operator = event
        todo += [(child, operator, phase, phase_end) for child in event.children]
    return rows
