"""Joins counters to the kernels of a timeline."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tracekit.convert.counters.held import Write
from tracekit.convert.counters.units import align
from tracekit.convert.names import base_name, demangle
from tracekit.schema import TABLES
from tracekit.store.manifest import Joined

_TABLE = TABLES["kernel_metric"]
_GRID = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
_OF_KERNEL = ("kernel_id", "process_id", "device_id", "correlation_id")
_MATCH = (*_OF_KERNEL, "match_kind", "unit_repeat")
_KERNEL_COLUMNS = (
    *_OF_KERNEL,
    "start_ns",
    "name",
    "mangled_name",
    "short_name",
    *_GRID,
)
_BATCH_ROWS = 262_144
_MOST_NAMES = 20


@dataclass
class _Found:
    """What matched so far of one capture."""

    launches: set[int] = field(default_factory=set)
    kernels: int = 0
    kernels_matched: int = 0


def join(
    batches: Sequence[pa.RecordBatch],
    kernels: Mapping[int, Path],
    rank: int,
    write: Write,
    *,
    by_correlation: bool,
) -> Joined:
    """Write the counters of a capture, matched to kernels; say how well they matched.

    A launch that several kernels repeat gives rows for each of them.

    Args:
        batches: Rows of `kernel_metric`.
        kernels: The files of the table `kernel`, by rank.
        rank: Where rows that belong to no kernel go.
        write: Takes table, rank and rows.
        by_correlation: Whether the capture holds the measured kernels themselves.
    """
    metrics = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(metrics, pl.DataFrame)
    if by_correlation:
        return _join_by_correlation(metrics, kernels, rank, write)
    return _join_by_unit(metrics, kernels, rank, write)


def _join_by_unit(
    metrics: pl.DataFrame, kernels: Mapping[int, Path], rank: int, write: Write
) -> Joined:
    """Match launches of a counter file to those of a timeline recorded apart."""
    launches = (
        metrics.filter(pl.col("launch_index").is_not_null())
        .select("launch_index", "kernel_name", "mangled_name", *_GRID)
        .unique("launch_index", maintain_order=True)
        .sort("launch_index")
    )
    found = _Found()
    for of_rank, path in kernels.items():
        frame = pl.read_parquet(path, columns=list(_KERNEL_COLUMNS))
        found.kernels += frame.height
        for _, process in frame.group_by("process_id", maintain_order=True):
            matches = _matches(launches, process)
            found.launches.update(matches["launch_index"].to_list())
            found.kernels_matched += matches.height
            _write_matches(matches, metrics, of_rank, write)
    rest = metrics.filter(
        ~pl.col("launch_index").is_in(list(found.launches)).fill_null(value=False)
    )
    _write_unmatched(rest, rank, write, has_kernels=bool(kernels))
    return _outcome(metrics, launches, found)


def _join_by_correlation(
    metrics: pl.DataFrame, kernels: Mapping[int, Path], rank: int, write: Write
) -> Joined:
    """Match counters to kernels of the same capture by their launch."""
    keys = ["process_id", "correlation_id"]
    found = _Found()
    matched = metrics.clear()
    of_kernel = pl.DataFrame(schema={"kernel_id": pl.Int64})
    for path in kernels.values():
        frame = pl.read_parquet(path, columns=[*_OF_KERNEL, "name"])
        found.kernels += frame.height
        of_kernel = frame.unique(keys, keep="first", maintain_order=True)
        # A database without API calls names no process, of kernels and counters alike.
        matched = metrics.drop("kernel_id", "device_id", "match_kind").join(
            of_kernel, on=keys, how="inner", nulls_equal=True, maintain_order="left"
        )
        matched = matched.with_columns(
            match_kind=pl.lit("correlation"),
            kernel_name=pl.coalesce("kernel_name", "name"),
        )
    _write_rows(matched, rank, write)
    if matched.height:
        found.launches.update(matched["launch_index"].drop_nulls().to_list())
        found.kernels_matched = matched["kernel_id"].n_unique()
        rest = metrics.join(
            of_kernel, on=keys, how="anti", nulls_equal=True, maintain_order="left"
        )
    else:
        rest = metrics
    _write_rows(rest, rank, write)
    launches = (
        metrics.filter(pl.col("launch_index").is_not_null())
        .select("launch_index", "kernel_name")
        .unique("launch_index", maintain_order=True)
    )
    return _outcome(metrics, launches, found)


def _matches(launches: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return kernels of one process with the launch that each repeats."""
    symbols = set(kernels["mangled_name"].drop_nulls().to_list())
    keys = [_launch_key(row, symbols) for row in launches.iter_rows(named=True)]
    wanted = set(keys)
    bases: dict[tuple[Any, ...], set[str]] = {}
    for kind, name, *shape in wanted:
        if kind == "shape":
            bases.setdefault(tuple(shape), set()).add(name)
    if kernels["correlation_id"].null_count() == 0:
        # A process numbers its calls: kernels of several streams start in another
        # order than they were launched in.
        kernels = kernels.sort("correlation_id", "start_ns", maintain_order=True)
    key_of: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
    of_kernels = []
    for row in kernels.select("name", "mangled_name", "short_name", *_GRID).iter_rows():
        if row not in key_of:
            found = (k for k in _kernel_keys(*row, bases=bases) if k in wanted)
            key_of[row] = next(found, None)
        of_kernels.append(key_of[row])
    matches = align(keys, of_kernels)
    indices = launches["launch_index"].to_list()
    return (
        kernels.select(_OF_KERNEL)
        .with_columns(
            pl.Series(
                "launch_index",
                [None if m is None else indices[m.launch] for m in matches],
                pl.Int64,
            ),
            pl.Series(
                "match_kind",
                [None if k is None else k[0] for k in of_kernels],
                pl.String,
            ),
            pl.Series(
                "unit_repeat",
                [None if m is None else m.repeat for m in matches],
                pl.Int32,
            ),
        )
        .filter(pl.col("launch_index").is_not_null())
    )


def _launch_key(row: dict[str, Any], symbols: set[str]) -> tuple[Any, ...]:
    shape = tuple(row[name] for name in _GRID)
    name = base_name(demangle(row["kernel_name"] or row["mangled_name"] or ""))
    if None in shape:
        return ("name", name)
    # A function of C is its own symbol.
    symbol = row["mangled_name"] or row["kernel_name"]
    if symbol in symbols:
        return ("mangled_name", symbol, *shape)
    return ("shape", name, *shape)


def _kernel_keys(
    name: str | None,
    symbol: str | None,
    short_name: str | None,
    *shape: int | None,
    bases: Mapping[tuple[Any, ...], set[str]],
) -> Iterator[tuple[Any, ...]]:
    if symbol is not None:
        yield ("mangled_name", symbol, *shape)
    # The tool's own base name first: a demangler does not know every symbol.
    base = short_name or base_name(demangle(symbol or name or ""))
    yield ("shape", base, *shape)
    yield ("name", base)
    if base.startswith("_Z"):
        # It stayed a symbol. There a name follows its length; only one will do.
        inside = [b for b in bases.get(shape, ()) if f"{len(b)}{b}" in base]
        if len(inside) == 1:
            yield ("shape", inside[0], *shape)


def _write_matches(
    matches: pl.DataFrame, metrics: pl.DataFrame, rank: int, write: Write
) -> None:
    counters = metrics.drop(_MATCH)
    launches = max(1, counters["launch_index"].n_unique())
    step = max(1, _BATCH_ROWS * launches // max(1, counters.height))
    for start in range(0, matches.height, step):
        rows = matches.slice(start, step).join(
            counters, on="launch_index", how="inner", maintain_order="left_right"
        )
        _write_rows(rows, rank, write)


def _write_unmatched(
    rows: pl.DataFrame, rank: int, write: Write, *, has_kernels: bool
) -> None:
    if has_kernels:
        # Its devices are numbered by the counter file, not by the run.
        rows = rows.with_columns(device_id=pl.lit(None, pl.Int32))
    _write_rows(rows, rank, write)


def _write_rows(rows: pl.DataFrame, rank: int, write: Write) -> None:
    for start in range(0, rows.height, _BATCH_ROWS):
        part = rows.slice(start, _BATCH_ROWS)
        table = part.select(_TABLE.arrow.names).to_arrow().cast(_TABLE.arrow)
        for batch in table.to_batches():
            write(_TABLE.name, rank, batch)


def _outcome(metrics: pl.DataFrame, launches: pl.DataFrame, found: _Found) -> Joined:
    unmatched: Counter[str] = Counter(
        row["kernel_name"] or "unnamed"
        for row in launches.iter_rows(named=True)
        if row["launch_index"] not in found.launches
    )
    return Joined(
        tool=metrics["tool"][0] or "unknown",
        launches=launches.height,
        matched=len(found.launches),
        kernels=found.kernels,
        kernels_matched=found.kernels_matched,
        unmatched=dict(unmatched.most_common(_MOST_NAMES)),
    )
