"""Runs `nsys export` on a report, and explains why it failed.

The texts that nsys 2020 to 2026 print are told apart here; whatever it printed stands
in the error as well.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import (
    MissingToolError,
    OutputError,
    TracekitError,
    UnreadableTraceError,
)
from tracekit.tools.libraries import install_advice, library_named_in
from tracekit.tools.nsys import Nsys, Version, child_environment, version_text

FLAGS = ("--include-blobs=true", "--include-json=true")
_SHOWN_LINES = 12
_POLL_S = 0.05
_SLOW_POLL_S = 1.0
# A big report takes minutes, and prints how far it is. One that neither prints nor
# writes for this long waits for something that will not come.
STALLED_S = 600.0

_UNKNOWN_OPTION = re.compile(r"unrecogni[sz]ed option '?(?P<option>--[a-z-]+)", re.I)
_UNKNOWN_TYPE = re.compile(
    r"unsupported export type|(invalid|illegal|unknown|unrecogni[sz]ed)"
    r"[^\n]*(type|parquetdir)|argument[^\n]*parquetdir",
    re.I,
)
_USAGE = re.compile(r"^\s*usage: nsys", re.I | re.M)
_NO_IMPORTER = "Unable to retrieve the importer version"
_NEWER = re.compile(
    r"newer version|version [^\n]*(is )?not supported|unsupported [^\n]*version"
    r"|incompatible[^\n]*version",
    re.I,
)
_NO_SPACE = re.compile(r"no space left|disk is full|quota exceeded", re.I)
_PROGRESS = re.compile(r"\[[=# >-]*\s*\d+\s*%[^\]]*\]")


@dataclass(frozen=True)
class _Attempt:
    type: str
    flags: tuple[str, ...]

    def arguments(self, output: Path | str, report: Path | str) -> list[str]:
        return ["export", "-t", self.type, *self.flags, "-o", str(output), str(report)]


@dataclass(frozen=True)
class _Ended:
    """How nsys ended; `status` is None where it stood still and was stopped."""

    status: int | None
    printed: str

    @property
    def quoted(self) -> str:
        lines = self.printed.splitlines()[-_SHOWN_LINES:]
        return "".join(f"\n  | {line}" for line in lines)


def export_report(
    nsys: Nsys, report: Path, written_by: Version, folder: Path, log: CaptureLog
) -> Path:
    """Export a report into `folder` and return what nsys made there.

    An nsys that does not know the wanted form or an option is asked for less, down to
    a plain SQLite export.

    Args:
        nsys: The program.
        report: The report.
        written_by: The nsys that wrote it, where known.
        folder: An empty folder; nsys's own temporary files go there too.
        log: Takes what was lost by asking for less.

    Returns:
        A folder of Parquet files, or a SQLite file.

    Raises:
        MissingToolError: A library that nsys needs is missing, or it is too old.
        OutputError: The disk is full.
        UnreadableTraceError: nsys cannot read the report.
    """
    attempt: _Attempt | None = _Attempt("parquetdir", FLAGS)
    temporary = folder / "tmp"
    temporary.mkdir()
    number = 0
    while attempt is not None:
        number += 1
        place = folder / f"export-{number}"
        place.mkdir()
        name = "export.sqlite" if attempt.type == "sqlite" else "export_pqtdir"
        ended = _run(
            [str(nsys.path), *attempt.arguments(place / name, report)],
            temporary,
            folder,
        )
        made = _made(place)
        if ended.status == 0 and made is not None:
            _tell_what_was_lost(attempt, nsys, log)
            _tell_of_age(nsys, written_by, log)
            return made
        last, attempt = attempt, _less(attempt, ended.printed)
    raise _explained(nsys, report, written_by, last, ended)


def _made(place: Path) -> Path | None:
    """Return what is in `place`; nsys may add a suffix of its own to a name."""
    for path in sorted(place.iterdir()):
        if path.is_dir() and any(path.iterdir()):
            return path
        if path.is_file() and path.stat().st_size and path.suffix != ".sqlite-journal":
            return path
    return None


def _less(attempt: _Attempt, printed: str) -> _Attempt | None:
    """Return what to ask for instead, or None if the request was understood."""
    unknown = _UNKNOWN_OPTION.search(printed)
    if unknown:
        kept = tuple(
            flag for flag in attempt.flags if not flag.startswith(unknown["option"])
        )
        if kept != attempt.flags:
            return replace(attempt, flags=kept)
    refused = _UNKNOWN_TYPE.search(printed) or _USAGE.search(printed)
    if refused and attempt.type != "sqlite":
        return replace(attempt, type="sqlite")
    if _USAGE.search(printed) and attempt.flags:
        return replace(attempt, flags=())
    return None


def _run(command: list[str], temporary: Path, folder: Path) -> _Ended:
    printed = temporary / "printed.txt"
    with printed.open("wb") as sink:
        try:
            # A group of its own: nsys starts further programs, which must end too.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=child_environment(TMPDIR=str(temporary)),
                start_new_session=True,
            )
        except OSError as error:
            return _Ended(126, str(error))
        try:
            status = _wait(process, folder)
        finally:
            _stop(process)
    return _Ended(status, _readable(printed.read_bytes()))


def _wait(process: subprocess.Popen[bytes], folder: Path) -> int | None:
    seen = -1
    since = time.monotonic()
    pause = _POLL_S
    while True:
        try:
            return process.wait(pause)
        except subprocess.TimeoutExpired:
            pause = min(pause * 2, _SLOW_POLL_S)
        written = _bytes_below(folder)
        if written != seen:
            seen, since = written, time.monotonic()
        elif time.monotonic() - since > STALLED_S:
            return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _readable(printed: bytes) -> str:
    """Return the lines without progress bars and without the help it points to."""
    return "\n".join(_lines(printed.decode("utf-8", "replace")))


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for part in line.split("\r"):
            stripped = part.rstrip()
            if stripped and not _PROGRESS.search(stripped):
                yield stripped


def _tell_what_was_lost(attempt: _Attempt, nsys: Nsys, log: CaptureLog) -> None:
    left_out = [flag.partition("=")[0] for flag in FLAGS if flag not in attempt.flags]
    if left_out:
        log.diagnose(
            "warning",
            f"{nsys} does not know {' and '.join(left_out)}: payloads of NVTX events "
            "may be missing",
        )


def _tell_of_age(nsys: Nsys, written_by: Version, log: CaptureLog) -> None:
    # Builds that come with other products tell another third number than they export.
    if _is_newer(written_by[:2], nsys.version):
        log.diagnose(
            "warning",
            f"the report was written by nsys {version_text(written_by)} and exported "
            f"by {nsys}, which is older: newer kinds of events may be missing",
        )


def _is_newer(report: Version, program: Version) -> bool:
    return bool(report and program) and report > program[: len(report)]


def _explained(
    nsys: Nsys, report: Path, written_by: Version, attempt: _Attempt, ended: _Ended
) -> TracekitError:
    by_hand = " ".join(
        [str(nsys.path), *attempt.arguments(f"{report.stem}_pqtdir", report.name)]
    )
    printed = ended.quoted
    library = library_named_in(ended.printed)
    if library:
        return missing_library(nsys, library, printed)
    if _NO_IMPORTER in ended.printed:
        return MissingToolError(
            f"the importer of {nsys} does not start, mostly because libdw.so.1 is "
            f"missing{printed}",
            hint=install_advice("libdw.so.1"),
        )
    if _NO_SPACE.search(ended.printed):
        return OutputError(
            f"the disk filled up while {nsys} exported {report.name}{printed}",
            hint="write the run to a disk with more room: -o RUN",
        )
    if _is_newer(written_by, nsys.version) or _NEWER.search(ended.printed):
        wanted = version_text(written_by) if written_by else "the version that wrote it"
        return MissingToolError(
            f"{report.name} was written by a newer nsys ({wanted}) than the newest "
            f"here ({version_text(nsys.version) or 'unknown'}){printed}",
            hint=f"install Nsight Systems {wanted} or newer, or where it is: {by_hand}",
        )
    if ended.status is None:
        return UnreadableTraceError(
            f"{nsys} neither printed nor wrote anything for {STALLED_S:.0f} s while it "
            f"exported {report.name}, and was stopped{printed}",
            hint=f"run the command by hand: {by_hand}",
        )
    return UnreadableTraceError(
        f"{nsys} ended with status {ended.status} and exported nothing of "
        f"{report.name}{printed}",
        hint=f"run the command by hand: {by_hand}",
    )


def missing_library(nsys: Nsys, library: str, printed: str) -> MissingToolError:
    """Return the error for a shared library that nsys needs and that is not there."""
    return MissingToolError(
        f"{nsys} cannot run: the shared library {library} is missing{printed}",
        hint=install_advice(library),
    )
