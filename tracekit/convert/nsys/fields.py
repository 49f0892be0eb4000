"""How a column of a normalized table is filled from columns of an export table."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.devices import Devices
from tracekit.convert.nsys.identity import Identity
from tracekit.convert.nsys.stacks import Stacks
from tracekit.convert.nsys.strings import Strings

_NO_DEVICE = 0xFFFFFFFF


@dataclass(frozen=True)
class Lookups:
    """What ids and enumerations of an export mean."""

    strings: Strings
    identity: Identity
    devices: Devices
    stacks: Stacks


class Field(ABC):
    """Fills one column of a normalized table."""

    @property
    @abstractmethod
    def needs(self) -> Mapping[str, pa.DataType]:
        """The export columns that it reads, with their types."""

    @property
    def uses(self) -> Mapping[str, pa.DataType]:
        """Further export columns that it reads where they are there."""
        return {}

    @abstractmethod
    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""


@dataclass(frozen=True)
class _FromOne(Field):
    """A field that reads one integer column."""

    source: str

    @property
    def needs(self) -> Mapping[str, pa.DataType]:
        return {self.source: pa.int64()}


@dataclass(frozen=True)
class Number(_FromOne):
    """A number as it stands; `unset` is how the export writes "not recorded"."""

    unset: int | None = None

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:  # noqa: ARG002
        """Return the column for `rows`, which hold what it needs."""
        return without(rows.column(self.source), self.unset)


@dataclass(frozen=True)
class Name(_FromOne):
    """The text of a string id, changed by `change`."""

    change: Callable[[str], str] | None = None

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        return lookups.strings.column(rows.column(self.source), self.change)


@dataclass(frozen=True)
class OneOf(_FromOne):
    """The word for a number of an enumeration; NULL for an unknown number."""

    words: Mapping[int, str]

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:  # noqa: ARG002
        """Return the column for `rows`, which hold what it needs."""
        return map_distinct(rows.column(self.source), self.words.get, pa.string())


@dataclass(frozen=True)
class Constant(Field):
    """The same word for every row."""

    word: str

    @property
    def needs(self) -> Mapping[str, pa.DataType]:
        """The export columns that it reads: none."""
        return {}

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:  # noqa: ARG002
        """Return the column for `rows`, which hold what it needs."""
        zeros = pa.repeat(pa.scalar(0, pa.int32()), rows.num_rows)
        return pa.DictionaryArray.from_arrays(zeros, pa.array([self.word]))


@dataclass(frozen=True)
class Process(_FromOne):
    """The process_id of a globalPid or globalTid."""

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        return lookups.identity.processes(rows.column(self.source))


@dataclass(frozen=True)
class Thread(_FromOne):
    """The thread_id of a globalTid."""

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        return lookups.identity.threads(rows.column(self.source))


@dataclass(frozen=True)
class Device(_FromOne):
    """The device_id of a CUDA ordinal of the process `process`."""

    process: str = "globalPid"

    @property
    def needs(self) -> Mapping[str, pa.DataType]:
        """The export columns that it reads, with their types."""
        return {self.source: pa.int64(), self.process: pa.int64()}

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        ordinals = without(rows.column(self.source), _NO_DEVICE)
        return lookups.devices.column(rows.column(self.process), ordinals)


@dataclass(frozen=True)
class DeviceOfContext(_FromOne):
    """The device_id of a context of the process `process`."""

    process: str = "globalPid"

    @property
    def needs(self) -> Mapping[str, pa.DataType]:
        """The export columns that it reads, with their types."""
        return {self.source: pa.int64(), self.process: pa.int64()}

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        processes, contexts = rows.column(self.process), rows.column(self.source)
        return lookups.devices.of_context(processes, contexts)


@dataclass(frozen=True)
class Stack(_FromOne):
    """The call_stack_id of a call chain of the export table `table`."""

    table: str

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        return lookups.stacks.column(rows.column(self.source), self.table)


@dataclass(frozen=True)
class CanonicalName(Field):
    """The demangled symbol; where none was recorded, the name in that spelling."""

    mangled: str
    recorded: str

    @property
    def needs(self) -> Mapping[str, pa.DataType]:
        """The export columns that it reads, with their types."""
        return {self.recorded: pa.int64()}

    @property
    def uses(self) -> Mapping[str, pa.DataType]:
        """Further export columns that it reads where they are there."""
        return {self.mangled: pa.int64()}

    def fill(self, rows: pa.RecordBatch, lookups: Lookups) -> pa.Array:
        """Return the column for `rows`, which hold what it needs."""
        from tracekit.convert.names import demangle, normal_form

        strings = lookups.strings
        if self.mangled not in rows.schema.names:
            return strings.column(rows.column(self.recorded), normal_form)
        mangled = rows.column(self.mangled)
        demangled = strings.column(mangled, demangle)
        if not demangled.null_count:
            return demangled
        recorded = strings.column(rows.column(self.recorded), normal_form)
        text = pa.string()
        return pc.coalesce(demangled.cast(text), recorded.cast(text))


def without(column: pa.Array, unset: int | None) -> pa.Array:
    """Return the column with NULL in place of `unset`."""
    if unset is None:
        return column
    nothing = pa.scalar(None, column.type)
    return pc.if_else(pc.equal(column, unset), nothing, column)


@dataclass(frozen=True)
class Keep:
    """Takes the rows in which a number column has one of some values."""

    source: str
    values: frozenset[int]
    reason: str

    def mask(self, column: pa.Array) -> pa.Array:
        """Return which rows are taken."""
        return pc.is_in(column, pa.array(sorted(self.values), pa.int64()))


@dataclass(frozen=True)
class Drop(Keep):
    """Takes the rows in which a number column has none of some values."""

    def mask(self, column: pa.Array) -> pa.Array:
        """Return which rows are taken."""
        return pc.invert(super().mask(column))


@dataclass(frozen=True)
class EventTable:
    """Which export table fills which normalized table, and how.

    Attributes:
        source: The export table.
        target: The normalized table.
        fields: How its columns are filled; the others are NULL.
        required: Export columns without which the table cannot be read.
        owner: The export column that tells the process of a row, or None for rows of
            the host.
        keep: Which rows are taken; the others are counted as skipped.
    """

    source: str
    target: str
    fields: Mapping[str, Field]
    required: frozenset[str]
    owner: str | None = "globalPid"
    keep: Keep | None = None
