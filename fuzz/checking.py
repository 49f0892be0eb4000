"""What must hold whatever a capture says: rows fit the schema, or one clear error."""

import shutil
from pathlib import Path

import pyarrow as pa

from tracekit.convert.bundle import found_in
from tracekit.convert.readers.base import CaptureLog, Reader, Reading
from tracekit.convert.redaction import Redact, Redactor
from tracekit.convert.scrub import scrub
from tracekit.convert.validity import part
from tracekit.errors import TracekitError
from tracekit.schema import TABLES


def check(reader: Reader, capture: Path, scratch: Path) -> str:
    """Read a capture as a conversion does, and return what became of it.

    Returns:
        `other` where the reader does not accept it, `read`, or the message of the
        error that a user would be told.

    Raises:
        AssertionError: A row does not fit the schema, or an error has several lines.
        Exception: Anything but a `TracekitError` is a finding.
    """
    if not reader.accepts(capture):
        return "other"
    log = CaptureLog()
    reading = Reading(
        name=capture.name, tables=frozenset(TABLES), log=log, scratch=scratch
    )
    redactor = Redactor(Redact.HOST | Redact.PATHS)
    try:
        for batch in reader.read(capture, reading):
            redactor.learn(log.private)
            table = TABLES[batch.table]
            assert batch.rows.schema.names == table.arrow.names, batch.table
            for field, expected in zip(batch.rows.schema, table.arrow, strict=True):
                kind = field.type
                if pa.types.is_dictionary(kind):
                    kind = kind.value_type
                assert kind == expected.type, (batch.table, field, expected)
            good, _ = part(table, batch.rows)
            redactor.rows(batch.table, good)
    except TracekitError as error:
        outcome = str(error)
    else:
        outcome = "read"
    assert len(outcome.splitlines()) == 1, outcome
    return outcome


def check_bundle(capture: Path, scratch: Path) -> str:
    """Unpack what may be compressed or a tar file, and read what is in it.

    Returns:
        `read` where something was read, or the message of the error.

    Raises:
        AssertionError: As `check`; or something unpacked lies outside of `scratch`.
    """
    outcome = "nothing"
    try:
        for found in found_in(capture, scratch, scratch / "run"):
            inside = found.path == capture or scratch in found.path.parents
            assert inside, found.path
            outcome = check(found.reader, found.path, scratch)
    except TracekitError as error:
        outcome = str(error)
    assert not any(scratch.iterdir()), list(scratch.iterdir())
    assert len(outcome.splitlines()) == 1, outcome
    return outcome


def check_scrub(capture: Path, scratch: Path) -> str:
    """Scrub a capture.

    Returns:
        `read` where a scrubbed copy came of it, or the message of the error.

    Raises:
        AssertionError: Something is left behind, or an error has several lines.
    """
    made = scratch / "scrubbed"
    try:
        scrub(capture, made)
    except TracekitError as error:
        outcome = str(error)
        assert not made.exists()
    else:
        outcome = "read"
        if made.is_dir():
            shutil.rmtree(made)
        else:
            made.unlink()
    assert len(outcome.splitlines()) == 1, outcome
    return outcome
