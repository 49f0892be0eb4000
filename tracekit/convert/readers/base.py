"""The contract that every trace reader fulfils."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import pyarrow as pa

from tracekit.convert.redaction import Private


class Batch(NamedTuple):
    """Rows of one normalized table and one rank."""

    table: str
    rank: int
    rows: pa.RecordBatch


@dataclass
class RankFacts:
    """What is known of a rank: see `tracekit.store.manifest.Rank`."""

    source: str = "none"
    origin_utc_ns: int | None = None
    hosts: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Diagnosis:
    """A message of the converter about the capture."""

    severity: str
    text: str


@dataclass
class CaptureLog:
    """What a reader learns about a capture beside its rows.

    Attributes:
        tools: Versions of the programs that made the capture, by program.
        schema_version: Version of its format, where it states one.
        command: The traced command line, as recorded.
        settings: How the profiler was set, by setting.
        driver_version: Version of the GPU driver.
        start_utc_ns: UTC time of the start of the capture.
        private: Names of people and machines, to be taken out of text on request;
            filled before rows are yielded.
        ranks: What is known of each rank; filled before its rows are yielded.
        absent: Why a table has no rows, by table.
        diagnoses: What the user should be told.
        has_timeline: Whether the capture has times; counters alone belong to no rank
            until they are joined to a capture that has.
        is_beside: Whether it was sampled beside a timeline: its times are UTC, and it
            has no rank of its own.
    """

    tools: dict[str, str] = field(default_factory=dict)
    schema_version: str | None = None
    command: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    driver_version: str | None = None
    start_utc_ns: int | None = None
    private: Private = field(default_factory=Private)
    ranks: dict[int, RankFacts] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    has_timeline: bool = True
    is_beside: bool = False
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    repaired: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_behind: Counter[tuple[str, str]] = field(default_factory=Counter)

    def skip(self, what: str, reason: str, count: int = 1) -> None:
        """Count rows that the capture holds and the run does not."""
        self.skipped[what, reason] += count

    def repair(self, what: str, reason: str, count: int = 1) -> None:
        """Count values that were mended on the way."""
        self.repaired[what, reason] += count

    def leave_behind(self, what: str, reason: str, count: int = 1) -> None:
        """Count values that were withheld on purpose."""
        self.left_behind[what, reason] += count

    def diagnose(self, severity: str, text: str) -> None:
        """Tell the user something; `severity` is info, warning or error."""
        message = Diagnosis(severity, text)
        if message not in self.diagnoses:
            self.diagnoses.append(message)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is wanted of a reader, and where it may leave things.

    Attributes:
        name: Name of the capture as the user gave it, for the rank pattern.
        tables: The normalized tables that are wanted.
        log: Takes facts, counts and messages.
        scratch: A folder for what a reader must put on the disk; it is gone after
            the conversion.
    """

    name: str
    tables: frozenset[str]
    log: CaptureLog
    scratch: Path


class Reader(Protocol):
    """Turns one capture into batches of the normalized tables.

    A reader only parses: it neither aggregates nor writes files, so a new format
    touches no other package.
    """

    name: ClassVar[str]

    def accepts(self, capture: Path) -> bool:
        """Tell from the content, not the suffix, whether this reader fits."""
        ...

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables, and note in the log what is no row.

        Each batch has the columns of its table in the schema's order; text may be
        dictionary-encoded. Rows come in the order of the capture.

        Args:
            capture: The file or folder, decompressed.
            reading: What is wanted.

        Raises:
            UnreadableTraceError: The capture is damaged.
        """
        ...
