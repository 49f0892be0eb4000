"""Functions for SQL that go through a list in order, each step after the one before.

SQL has no such loop that is fast enough: a recursive query makes a table of each step,
and the path through a million kernels has millions of steps. Here a step is a list
access. Everything else of the queries that use them is SQL.
"""

from array import array
from collections.abc import Iterator

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

NONE = -1
"""Stands for NULL in the lists: they are read as plain 64-bit integers."""
_NEVER = -(2**63)


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a connection the functions.

    `walk_back(previous, last)` is the list of positions from `last` on, each followed
    by what `previous` has at it, until that is -1.

    `replay(first, second, third, first_lag, second_lag, third_lag, extra)` is the list
    of times at which things happen, each at the latest of up to three earlier ones
    (positions, -1 for none) and their lags, and `extra` after it; what follows nothing
    happens at `extra`.
    """
    numbers = "BIGINT[]"
    connection.create_function(
        "walk_back",
        _walk_back,
        [numbers, "BIGINT"],
        numbers,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    connection.create_function(
        "replay",
        _replay,
        [numbers] * 7,
        numbers,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _walk_back(previous: pa.ChunkedArray, last: pa.ChunkedArray) -> pa.Array:
    paths = []
    for links, start in zip(_lists(previous), last.to_pylist(), strict=True):
        path = array("q")
        position = NONE if start is None else start
        while position != NONE:
            path.append(position)
            # Each comes after what it follows, so the walk ends.
            following = links[position]
            assert following < position
            position = following
        paths.append(path)
    return _column(paths)


def _replay(
    first: pa.ChunkedArray,
    second: pa.ChunkedArray,
    third: pa.ChunkedArray,
    first_lag: pa.ChunkedArray,
    second_lag: pa.ChunkedArray,
    third_lag: pa.ChunkedArray,
    extra: pa.ChunkedArray,
) -> pa.Array:
    columns = (first, second, third, first_lag, second_lag, third_lag, extra)
    replays = []
    for lists in zip(*map(_lists, columns), strict=True):
        times = array("q")
        for a, b, c, lag_a, lag_b, lag_c, after in zip(*lists, strict=True):
            ready = _NEVER
            if a != NONE:
                ready = times[a] + lag_a
            if b != NONE and times[b] + lag_b > ready:
                ready = times[b] + lag_b
            if c != NONE and times[c] + lag_c > ready:
                ready = times[c] + lag_c
            times.append((0 if ready == _NEVER else ready) + after)
        replays.append(times)
    return _column(replays)


def _lists(column: pa.ChunkedArray) -> Iterator[memoryview]:
    for chunk in column.chunks:
        for number in range(len(chunk)):
            values = chunk[number].values
            if values is None or not len(values):
                yield memoryview(b"").cast("q")
                continue
            content = memoryview(values.buffers()[1]).cast("q")
            yield content[values.offset : values.offset + len(values)]


def _column(lists: "list[array[int]]") -> pa.Array:
    ends = [0]
    values = array("q")
    for numbers in lists:
        values.extend(numbers)
        ends.append(len(values))
    content = pa.Array.from_buffers(
        pa.int64(), len(values), [None, pa.py_buffer(values)]
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), content)
