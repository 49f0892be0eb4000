"""Compares an answer with what `nsys stats --format csv` printed.

Rows are matched by key, since ties have no order there; reports of single events have
no key and are compared as multisets of whole rows. Integers are identical. A printed
decimal is equal if our unrounded number rounds to it, half away from zero.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.support.shared import NSYS
from tracekit.store.run import Run

Row = dict[str, Any]
Cell = Callable[[Row], Any]

MEGA = 1_000_000


@dataclass(frozen=True)
class Column:
    """A column of a report and what it equals in a row of ours.

    Attributes:
        title: Its title in the report.
        value: Our value: the name of a column, or a function of the row.
        key: Whether it tells rows apart.
    """

    title: str
    value: str | Cell
    key: bool = False

    def of(self, row: Row) -> object:
        """Return our value."""
        return row[self.value] if isinstance(self.value, str) else self.value(row)


def key(title: str, value: str | Cell) -> Column:
    """Return a column that tells rows apart."""
    return Column(title, value, key=True)


def statistics(
    prefix: str = "", *, total: str = "Total Time (ns)", count: str = "Instances"
) -> tuple[Column, ...]:
    """Return the columns that every summary of durations has, but for its key."""
    return (
        Column("Time (%)", lambda row: row[f"{prefix}time_share"] * 100),
        Column(total, f"{prefix}total_ns"),
        Column(count, lambda row: row[_count_of(row)]),
        Column("Avg (ns)", f"{prefix}mean_ns"),
        Column("Med (ns)", f"{prefix}median_ns"),
        Column("Min (ns)", f"{prefix}min_ns"),
        Column("Max (ns)", f"{prefix}max_ns"),
        Column("StdDev (ns)", f"{prefix}stddev_ns"),
    )


def quantities(
    titles: str, ours: str, *, unit: str = "ns", divisor: int = 1
) -> tuple[Column, ...]:
    """Return mean, median, minimum, maximum and deviation of one quantity.

    Args:
        titles: What their titles begin with, such as `T` for `TAvg (ns)`.
        ours: What our columns begin with, such as `total_`.
        unit: The unit in their titles.
        divisor: How many of our units make one of theirs.
    """
    named = {
        "Avg": "mean",
        "Med": "median",
        "Min": "min",
        "Max": "max",
        "StdDev": "stddev",
    }
    ending = "bytes" if unit == "MB" else unit

    def cell(name: str) -> Cell:
        def of(row: Row) -> object:
            value = row[name]
            return value if value is None or divisor == 1 else Fraction(value) / divisor

        return of

    return tuple(
        Column(f"{titles}{theirs} ({unit})", cell(f"{ours}{mine}_{ending}"))
        for theirs, mine in named.items()
    )


def megabytes(name: str) -> Cell:
    """Return a column of bytes, or of bytes per second, in 10^6."""

    def of(row: Row) -> object:
        return None if row[name] is None else Fraction(row[name]) / MEGA

    return of


def with_thread_numbers(run: Run, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Add the recorded numbers of process and thread, which reports print."""
    pids = {row["process_id"]: row["os_pid"] for row in _rows(run, "process")}
    tids = {row["thread_id"]: row["os_tid"] for row in _rows(run, "thread")}
    return [
        {
            **row,
            "os_pid": pids[row["process_id"]],
            "os_tid": tids.get(row.get("thread_id")),
        }
        for row in rows
    ]


def with_recorded_ids(run: Run, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Add recorded ids and the name of the device, which reports print."""
    names = {row["device_id"]: row["name"] for row in _rows(run, "device")}
    ordinals = {
        (row["process_id"], row["device_id"]): row["cuda_ordinal"]
        for row in _rows(run, "context")
    }
    return [
        {
            **row,
            "cuda_ordinal": ordinals[row["process_id"], row["device_id"]],
            "device_name": names[row["device_id"]],
        }
        for row in with_thread_numbers(run, rows)
    ]


def _rows(run: Run, table: str) -> list[Row]:
    return [row for file in run.files(table) for row in pq.read_table(file).to_pylist()]


def _count_of(row: Row) -> str:
    names = ("launches", "calls", "count", "instances")
    return next(name for name in names if name in row)


def reports(report: str) -> list[Path]:
    """Return the files of a report that captures here have, sorted."""
    return sorted(NSYS.glob(f"*/*.stats/*_{report}.csv"))


def stats_folders() -> list[Path]:
    """Return the folders of reports that captures here have, sorted."""
    return sorted(NSYS.glob("*/*.stats"))


def capture_of(report: Path) -> Path:
    """Return the capture that a report is of."""
    folder = report.parent
    return folder.with_suffix(".sqlite")


def printed(report: Path) -> list[dict[str, str]]:
    """Return the rows of a report; none where it was printed empty."""
    with report.open(newline="") as file:
        return list(csv.DictReader(file))


def assert_equal(
    report: Path, ours: Iterable[Mapping[str, Any]], columns: Iterable[Column]
) -> None:
    """Compare every row and every column of a report with our rows."""
    columns = tuple(columns)
    theirs = printed(report)
    if theirs:
        assert set(theirs[0]) == {column.title for column in columns}
    rows = [dict(row) for row in ours]
    assert len(rows) == len(theirs), f"{len(rows)} rows, {len(theirs)} printed"
    keys = [column for column in columns if column.key]
    if not keys:
        _assert_same_multiset(theirs, rows, columns)
        return
    by_key = {tuple(_text(c.of(row)) for c in keys): row for row in rows}
    assert len(by_key) == len(rows), "our rows have no unique key"
    for line in theirs:
        place = tuple(_squeezed(line[column.title]) for column in keys)
        assert place in by_key, f"we have no row {place}"
        row = by_key[place]
        for column in columns:
            value, text = column.of(row), line[column.title]
            assert same(value, text), f"{place}: {column.title} {value!r} is {text!r}"


def _assert_same_multiset(
    theirs: list[dict[str, str]], rows: list[Row], columns: tuple[Column, ...]
) -> None:
    # Each of our values is written as the report writes that column.
    digits = {
        column.title: max((_decimals(line[column.title]) for line in theirs), default=0)
        for column in columns
    }
    expected = Counter(
        tuple(_squeezed(line[column.title]) for column in columns) for line in theirs
    )
    found = Counter(
        tuple(_written(column.of(row), digits[column.title]) for column in columns)
        for row in rows
    )
    assert found == expected, (
        f"only ours: {list((found - expected).items())[:3]}; "
        f"only theirs: {list((expected - found).items())[:3]}"
    )


def same(value: object, text: str) -> bool:
    """Tell whether our value is what was printed."""
    if value is None:
        return text == ""
    if isinstance(value, float | Fraction):
        return text != "" and _rounded(value, _decimals(text)) == Decimal(text)
    if isinstance(value, int) and "." in text:
        return Decimal(value) == Decimal(text)
    return _text(value) == _squeezed(text)


def _written(value: object, decimals: int) -> str:
    if value is None:
        return ""
    if isinstance(value, float | Fraction):
        return str(_rounded(value, decimals))
    return _text(value)


def _rounded(value: float | Fraction, decimals: int) -> Decimal:
    step = Decimal(1).scaleb(-decimals)
    if isinstance(value, Fraction):
        # Exact: the quotient of two integers, to more digits than are printed.
        exact = Decimal(value.numerator) / Decimal(value.denominator)
    else:
        exact = Decimal(value)
    return exact.quantize(step, ROUND_HALF_UP)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _text(value: object) -> str:
    return "" if value is None else _squeezed(str(value))


def _squeezed(text: str) -> str:
    """Return text with runs of spaces as one: grids are printed in columns."""
    return " ".join(text.split())


Complete = Callable[[Run, Iterable[Mapping[str, Any]]], Iterable[Mapping[str, Any]]]


def as_answered(
    _run: Run, rows: Iterable[Mapping[str, Any]]
) -> Iterable[Mapping[str, Any]]:
    """Return the rows as they are."""
    return rows


@dataclass(frozen=True)
class Report:
    """A report, the query that equals it, and how.

    `complete` adds what the report prints and the query does not say.
    """

    name: str
    query: str
    columns: tuple[Column, ...]
    parameters: dict[str, str] = field(default_factory=dict)
    complete: Complete = as_answered
