"""Planted secrets are in no file that tracekit writes, and what is mapped is kept."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.command import finish, run, start
from tests.support.exports import decompressed, export_in, folder_of, select

# Each place holds a marker of its own, so that a failure names the place.
PLANTS = (
    # The environment, in the three places where nsys writes it.
    "INSERT INTO META_DATA_CAPTURE VALUES"
    " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'AWS_SECRET_ACCESS_KEY=\"planted01\"'),"
    " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'MY_SETTING=\"planted02\"'),"
    " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'LINES=\"a\nplanted03\"'),"
    " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=\"0\"')",
    "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES"
    " (1, '', 'DeviceEnvironment', 610, 'TOKEN=planted04;RANK=0;X=a;planted05;B=1'),"
    " (1, '', 'Unlisted', 1, 'planted06')",
    "INSERT INTO StringIds VALUES (90001, 'HF_TOKEN=planted07'),"
    " (90002, 'planted08 on standard output'), (90003, 'planted09 on standard error'),"
    " (90004, 'whole file planted10')",
    "INSERT INTO ProcessStreams VALUES (1, 90002, 90003)",
    "INSERT INTO ANALYSIS_FILE VALUES (9, '/planted11/f', 90004, 1)",
    # The command line.
    "DELETE FROM META_DATA_CAPTURE WHERE name LIKE '%:COMMAND'"
    " OR name LIKE '%:ARGUMENT%'",
    "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'kept_program'),"
    " ('PROCESS_0:ARGUMENT_0', '--api-key=planted12'),"
    " ('PROCESS_0:ARGUMENT_1', '--token'), ('PROCESS_0:ARGUMENT_2', 'planted13'),"
    " ('PROCESS_0:ARGUMENT_3', '--db-password'),"
    " ('PROCESS_0:ARGUMENT_4', 'planted14 with spaces'),"
    " ('PROCESS_0:ARGUMENT_5', 'WANDB_API_KEY=planted15 python train.py'),"
    " ('PROCESS_0:ARGUMENT_6', 'https://user:planted16@host/x'),"
    " ('PROCESS_0:ARGUMENT_7', '--client_secret=planted17'),"
    " ('PROCESS_0:ARGUMENT_8', '--kept-option=kept_value'),"
    # People and places.
    " ('PROCESS_0:USER_NAME', 'planted18'), ('PROCESS_0:WORKING_DIR', '/planted19/w')",
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_USER', 'planted20')",
    "INSERT INTO DIAGNOSTIC_EVENT VALUES"
    " (1, 1, 1, 1, 'kept message: --password planted21 API_TOKEN=planted22', 1)",
    # Tables and columns that nobody knows.
    "CREATE TABLE SECRETS (planted23 TEXT)",
    "INSERT INTO SECRETS VALUES ('planted24')",
    "ALTER TABLE PROCESSES ADD COLUMN note TEXT",
    "UPDATE PROCESSES SET note = 'planted25'",
    # What is mapped is kept.
    "INSERT INTO StringIds VALUES (90010, 'kept_range')",
    "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid)"
    " SELECT start + 1, start + 2, 59, 90010, globalTid FROM NVTX_EVENTS"
    " WHERE eventType = 59 LIMIT 1",
    # What lay in memory beside a payload.
    "UPDATE NVTX_EVENTS SET binaryData = binaryData || CAST('planted26' AS BLOB)"
    " WHERE binaryData IS NOT NULL",
)
MARK = re.compile(rb"planted\d*")


@pytest.fixture(params=["sqlite", "parquet", "arrow"])
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    # The name of the folder is no secret: it lies outside of what is searched.
    export = export_in(tmp_path / "in", *PLANTS)
    if request.param == "sqlite":
        return export
    return folder_of(export, tmp_path / "in" / "export", request.param)


def every_byte(path: Path) -> bytes:
    """Return a file as it stands, and what its compressed pages hold."""
    content = path.read_bytes()
    if path.suffix == ".zst":
        return content + decompressed(path)
    if content.startswith(b"SQLite"):
        # A text may lie on two pages.
        names = select(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [select(path, f'SELECT * FROM "{name}"') for (name,) in names]
        return content + repr(tables).encode()
    if path.suffix != ".parquet":
        return content
    metadata = pq.read_metadata(path)
    names = metadata.schema.to_arrow_schema().names
    # Read as dictionaries, a column shows what no row refers to as well.
    columns = pq.read_table(path, read_dictionary=names).columns
    parts = [str(chunk).encode() for column in columns for chunk in column.chunks]
    for column in columns:
        for chunk in column.chunks:
            held = getattr(chunk, "dictionary", chunk)
            parts.append(repr(held.to_pylist()).encode())
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            parts.append(str(metadata.row_group(group).column(index)).encode())
    parts += [str(metadata.metadata).encode(), *frames(content)]
    return content + b"\n".join(parts)


def frames(content: bytes) -> list[bytes]:
    """Return what each zstd frame in a file holds, whatever file it is.

    A page is a frame. Its header says how long the content is (RFC 8878, 3.1.1.1).
    """
    found = []
    for match in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), content):
        head = content[match.end()]
        is_single, size_flag = head >> 5 & 1, head >> 6
        begin = match.end() + 1 + (1 - is_single) + (0, 1, 2, 4)[head & 3]
        length = (is_single, 2, 4, 8)[size_flag]
        size = int.from_bytes(content[begin : begin + length], "little")
        size += 256 if length == 2 else 0
        source = pa.BufferReader(content[match.start() :])
        try:
            found.append(pa.CompressedInputStream(source, "zstd").read(size))
        except OSError:
            # These four bytes begin no frame.
            continue
    return found


def found(folder: Path, mark: re.Pattern[bytes] = MARK) -> dict[str, set[bytes]]:
    """Return what of the planted text the files of a folder hold, by file."""
    hits = {
        str(path.relative_to(folder)): set(mark.findall(every_byte(path)))
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert hits, "nothing was written"
    return {name: texts for name, texts in hits.items() if texts}


def test_the_search_finds_what_is_planted(capture: Path) -> None:
    marks = set().union(*found(capture.parent).values())
    numbers = {f"planted{number:02d}".encode() for number in range(1, 27)}
    assert numbers <= marks


def test_the_search_sees_what_pages_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    texts = [f"planted{number:04d}" for number in range(1000)]
    pq.write_table(pa.table({"a": texts}), path, compression="zstd")
    assert b"planted0500" not in path.read_bytes()
    pages = b"".join(frames(path.read_bytes()))
    assert all(text.encode() in pages for text in texts)


def test_a_run_holds_no_secret(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    ran = run(capfd, "convert", capture, "-o", out / "run")
    assert ran.status == 0
    assert found(out) == {}
    assert not MARK.search(ran.err.encode())
    kept = set().union(*found(out, re.compile(rb"kept_?\w*")).values())
    assert {b"kept_range", b"kept_program", b"kept_value", b"kept"} <= kept
    for line in (
        "environment variables?",
        "user names?",
        "working director(y|ies)",
    ):
        assert re.search(rf"Left behind: [1-9]\d* {line} ", ran.err), ran.err
    assert "Left behind: 1 standard output and error text" in ran.err
    assert "Left behind: 1 whole file " in ran.err


def test_answers_and_the_cache_hold_no_secret(
    capture: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without a right to write beside it the cache is the user's own.
    cache, out = tmp_path / "cache", tmp_path / "out"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (capture.parent / ".tracekit").write_text("no folder")
    out.mkdir()
    tables = ("run_fact", "diagnostic", "annotation", "process", "thread", "rejected")
    for table in tables:
        for kind in ("csv", "json"):
            ran = run(capfd, "sql", f"FROM {table}", capture, "-f", kind)
            assert ran.status == 0, ran.err
            (out / f"{table}.{kind}").write_bytes(ran.out)
    for name in ("annotations.summary", "quality.capture"):
        ran = run(capfd, "query", name, capture, "-f", "json")
        assert ran.status == 0, ran.err
        (out / f"{name}.json").write_bytes(ran.out)
    with (out / "annotation.parquet").open("wb") as file:
        target = file.fileno()
        command = ("sql", "FROM annotation", capture, "-f", "parquet")
        assert finish(start(*command, out=target)).status == 0
    assert found(out) == {}
    kept = found(out, re.compile(rb"kept_range"))
    assert {f"annotation.{kind}" for kind in ("csv", "json", "parquet")} <= kept.keys()
    # The cache is there, was searched, and holds what is mapped.
    assert list(cache.glob("tracekit/*/manifest.json"))
    assert found(cache) == {}
    assert any("annotation" in n for n in found(cache, re.compile(rb"kept_range")))
    ran = run(capfd, "info", capture)
    assert b"kept_program" in ran.out
    assert not MARK.search(ran.out)


def test_a_scrubbed_capture_holds_no_secret(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    ran = run(capfd, "scrub", capture, "-o", out / "scrubbed")
    assert ran.status == 0, ran.err
    assert found(out) == {}
    kept = set().union(*found(out, re.compile(rb"kept_?\w*")).values())
    assert {b"kept_range", b"kept_program"} <= kept
    answers = [
        run(capfd, "query", "kernels.hotspots", path, "-f", "csv").out
        for path in (capture, out / "scrubbed")
    ]
    assert answers[0] == answers[1]
