"""The manifest of a run: what was captured, how, and what became of it."""

import re
from pathlib import Path
from typing import Any

import msgspec

from tracekit.errors import UnreadableTraceError
from tracekit.schema import MAJOR, VERSION

MANIFEST = "manifest.json"
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the capture consists of."""

    name: str
    bytes: int
    sha256: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The capture that a run was made from.

    Attributes:
        format: Name of the reader that read it.
        files: Its files; names only, never paths.
        sha256: SHA-256 of the file, or over the sorted lines `name NUL sha256`.
        tools: Versions of the programs that made it, by program.
        schema_version: Version that the capture format states, or None.
    """

    format: str
    files: list[SourceFile]
    sha256: str
    tools: dict[str, str] = {}
    schema_version: str | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One Parquet file: `<table>/rank=<rank>/part-0.parquet`."""

    rank: int
    rows: int
    bytes: int
    sha256: str


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """A rank of the job.

    Attributes:
        rank: Its number.
        origin_utc_ns: UTC time of 0 on the rank's recorded clock, or None.
        source: What said so: file_name, environment, profiler, or none.
        hosts: Machines its processes ran on.
    """

    rank: int
    origin_utc_ns: int | None
    source: str
    hosts: list[str] = []


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """First start and last end of GPU activity, in ns on the recorded clock."""

    start_ns: int
    end_ns: int


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was skipped, repaired or left behind, how often, and why."""

    what: str
    count: int
    reason: str


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """How the counters of one capture were matched to kernels.

    Attributes:
        tool: Who measured: ncu, nvprof.
        launches: Launches in the counter file.
        matched: Those that belong to at least one kernel of the timeline.
        kernels: Kernels of the timeline.
        kernels_matched: Those that have counters.
        unmatched: Launches that belong to no kernel, by name; the most frequent ones.
    """

    tool: str
    launches: int
    matched: int
    kernels: int
    kernels_matched: int
    unmatched: dict[str, int] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run says about itself.

    Attributes:
        schema_version: Version of the normalized tables.
        tracekit_version: Version that converted the capture.
        run_id: Identity of the run in an archive.
        name: Lower-cased stem of the capture.
        source: The capture.
        command: The traced command line, values of secret options masked, or None.
        settings: How the profiler was set.
        gpus: Names of the GPUs that worked, one each.
        driver_version: Version of the GPU driver, or None.
        ranks: The ranks.
        window: First to last GPU activity over all devices and ranks, or None.
        tables: The files of each table.
        absent: Why a table is empty, by table.
        rejected: Rows in no metric: invalid intervals and the like.
        skipped: What the capture holds and the run does not.
        repaired: What was mended on the way.
        left_behind: What was withheld on purpose: variables, output, user names.
        joined: How counters were matched to kernels, by tool.
    """

    schema_version: str = VERSION
    tracekit_version: str
    run_id: str
    name: str
    source: Source
    command: str | None = None
    settings: dict[str, str] = {}
    gpus: list[str] = []
    driver_version: str | None = None
    ranks: list[Rank]
    window: Window | None = None
    tables: dict[str, list[Part]]
    absent: dict[str, str] = {}
    rejected: list[Note] = []
    skipped: list[Note] = []
    repaired: list[Note] = []
    left_behind: list[Note] = []
    joined: list[Joined] = []

    def rows(self, table: str) -> int:
        """Return the number of rows of `table` over all ranks."""
        return sum(part.rows for part in self.tables.get(table, ()))


def write_manifest(manifest: Manifest, run: Path) -> None:
    """Write `manifest.json` into the folder `run`."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (run / MANIFEST).write_bytes(text + b"\n")


def read_manifest(run: Path) -> Manifest:
    """Read the manifest of the folder `run`.

    Raises:
        UnreadableTraceError: There is none, it is damaged, or a newer major version
            of the schema wrote it.
    """
    path = run / MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise UnreadableTraceError(f"{run} is no run: it holds no {MANIFEST}") from None
    except OSError as error:
        raise UnreadableTraceError(f"{path}: {error.strerror}") from error
    try:
        major = int(
            msgspec.json.decode(text, type=_Version).schema_version.split(".")[0]
        )
        if major == MAJOR:
            manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, ValueError) as error:
        raise UnreadableTraceError(f"{path} is damaged: {error}") from error
    if major != MAJOR:
        raise UnreadableTraceError(
            f"{run} has schema version {major}.x, this tracekit reads {MAJOR}.x",
            hint="pip install --upgrade tracekit" if major > MAJOR else None,
        )
    if not _RUN_ID.fullmatch(manifest.run_id):
        raise UnreadableTraceError(f"{path} holds the bad run id {manifest.run_id!r}")
    return manifest


class _Version(msgspec.Struct):
    schema_version: str


def as_builtins(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as plain dicts and lists."""
    plain: dict[str, Any] = msgspec.to_builtins(manifest)
    return plain
