"""Spoils a folder of Parquet files as bytes say: files, columns, cells."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.sqlite_program import Choices

_LONGEST_PROGRAM = 12
_TYPES = (
    pa.int64(),
    pa.uint64(),
    pa.int32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.bool_(),
    pa.timestamp("ns"),
    pa.list_(pa.int64()),
)
_EDGES = (0, 1, -1, 2**31, 2**63 - 1, -(2**63))


def load(folder: Path) -> dict[str, pa.Table]:
    """Return the tables of a folder by file name."""
    return {path.name: pq.read_table(path) for path in sorted(folder.glob("*.parquet"))}


def write_spoiled(seed: dict[str, pa.Table], folder: Path, choices: Choices) -> None:
    """Write the tables into `folder`, changed."""
    tables = dict(seed)
    cut: dict[str, int] = {}
    for _ in range(choices.ConsumeIntInRange(1, _LONGEST_PROGRAM)):
        names = sorted(tables)
        if not names:
            break
        name = names[choices.ConsumeIntInRange(0, len(names) - 1)]
        action = choices.ConsumeIntInRange(0, 7)
        if action == 0:
            del tables[name]
        elif action == 1:
            cut[name] = choices.ConsumeIntInRange(0, 2000)
        else:
            tables[name] = _changed(tables[name], choices, action)
    for name, table in tables.items():
        path = folder / name
        pq.write_table(table, path)
        if name in cut:
            path.write_bytes(path.read_bytes()[: cut[name]])


def _changed(table: pa.Table, choices: Choices, action: int) -> pa.Table:
    if not table.num_columns:
        return table
    index = choices.ConsumeIntInRange(0, table.num_columns - 1)
    name = table.schema.field(index).name
    if action == 2:
        return table.remove_column(index)
    if action == 3:
        return table.slice(0, choices.ConsumeIntInRange(0, 2))
    kind = _TYPES[choices.ConsumeIntInRange(0, len(_TYPES) - 1)]
    if action == 4:
        return table.set_column(index, name, pa.nulls(table.num_rows, kind))
    if pa.types.is_string(kind):
        value: object = choices.ConsumeUnicode(12).encode("utf-8", "replace").decode()
    elif pa.types.is_binary(kind):
        value = choices.ConsumeBytes(12)
    elif pa.types.is_boolean(kind):
        value = True
    elif pa.types.is_list(kind):
        value = [1]
    else:
        value = _EDGES[choices.ConsumeIntInRange(0, len(_EDGES) - 1)]
    try:
        column = pa.repeat(pa.scalar(value, kind), table.num_rows)
    except (pa.ArrowException, OverflowError, ValueError):
        return table
    return table.set_column(index, name, column)
