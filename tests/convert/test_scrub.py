"""tracekit scrub: the same capture, of the same format, fit to share."""

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.command import run
from tests.support.exports import (
    KINDS,
    decompressed,
    edit,
    export_in,
    insert,
    select,
)
from tests.support.shared import NSYS
from tracekit.convert import Redact, Request, convert
from tracekit.convert.nsys.nvtx import _INTEGERS, _REALS, _TEXTS
from tracekit.convert.nsys.samples import _SAMPLES
from tracekit.convert.nsys.share_rules import RULES, rule_for
from tracekit.convert.nsys.tables import EVENT_TABLES
from tracekit.convert.scrub import scrub
from tracekit.errors import UnreadableTraceError, UsageError
from tracekit.store.run import Run

OWN = [
    KINDS,
    *sorted((NSYS / "h200").glob("*.sqlite")),
    *sorted((NSYS / "h200").glob("*_pqtdir")),
]


def tables_of(run: Run) -> dict[str, pa.Table]:
    found = {}
    for table, parts in run.manifest.tables.items():
        for part in parts:
            (file,) = (
                f for f in run.files(table) if f.parent.name == f"rank={part.rank}"
            )
            found[f"{table}/{part.rank}"] = pq.read_table(file)
    return found


def changed(table: pa.Table, column: str, change: object) -> pa.Table:
    cells = [None if c is None else change(c) for c in table[column].to_pylist()]  # type: ignore[operator]
    place = table.schema.get_field_index(column)
    return table.set_column(place, column, pa.array(cells, pa.string()))


def without_paths(text: str) -> str:
    return re.sub(r"(?<=[\s'])~?/(?:[^/\s':,]+/)*", "", text)


def withheld(name: str, table: pa.Table) -> pa.Table:
    """Return the rows as they are after what is withheld is gone."""
    base = name.partition("/")[0]
    if base == "call_stack":
        return changed(table, "module", lambda text: Path(text).name)
    if base in ("process", "thread"):
        return changed(table, "name", lambda text: Path(text).name)
    if base == "diagnostic":
        return changed(table, "text", without_paths)
    if base == "device":
        return table.drop_columns("uuid")
    if base == "run_fact":
        # The name of a kernel of one's own stands behind its version.
        version = re.compile(r"^(6[\d.]+)-.*")
        return changed(table, "value", lambda text: version.sub(r"\1", text))
    return table


@pytest.mark.parametrize("capture", OWN, ids=lambda path: path.name)
def test_a_scrubbed_capture_converts_to_the_same_tables(
    capture: Path, tmp_path: Path
) -> None:
    scrubbed = tmp_path / capture.name
    scrub(capture, scrubbed)
    redact = Request(redact=Redact.HOST | Redact.PATHS)
    expected = tables_of(convert([capture], tmp_path / "a", redact))
    found = tables_of(convert([scrubbed], tmp_path / "b"))
    assert found.keys() == expected.keys()
    for name, table in expected.items():
        assert withheld(name, found[name]) == withheld(name, table), name


def test_what_tells_of_people_and_machines_is_gone(tmp_path: Path) -> None:
    export = export_in(
        tmp_path,
        "INSERT INTO META_DATA_CAPTURE VALUES"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_KEY=\"planted1\"'),"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME=\"/home/planteduser\"'),"
        " ('PROCESS_0:ARGUMENT_0', '/data/planted2/train.py'),"
        " ('PROCESS_0:WORKING_DIR', '/planted3'), ('PROCESS_0:USER_NAME', 'planted4'),"
        " ('DEVICE_DISPLAY_NAME', 'planted5'), ('PLANTED6', 'planted6')",
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES"
        " (1, 'planted7', 'DeviceEnvironment', 610, 'A=planted8;RANK=0;B=planted9'),"
        " (1, '', 'planted10', 1, 'planted11'),"
        " (1, '', 'Hostname', 619, 'planted12.example')",
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_USER', 'planted13'),"
        " ('EXPORT_PARAM_INPUT_PATH', '/planted14/x'), ('EXPORT_HOST', 'planted15')",
        "INSERT INTO StringIds VALUES (90001, 'planted16'), (90002, 'planted17'),"
        " (90003, '/opt/planted18/lib/library.so')",
        "INSERT INTO ProcessStreams VALUES (1, 90001, 90002)",
        "INSERT INTO ANALYSIS_FILE VALUES (9, '/planted19/f', 90002, 1)",
        "UPDATE OSRT_CALLCHAINS SET module = 90003 WHERE id = 1",
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES"
        " (1, 2, 59, 'load /home/planteduser/planted20/data.bin', 281484036407836),"
        " (2, 3, 59, 'from planted12 and planted12.example', 281484036407836)",
        "INSERT INTO DIAGNOSTIC_EVENT VALUES"
        " (1, 1, 1, 1, 'see /planted21/log --api-key planted22', 1)",
        "UPDATE TARGET_INFO_GPU SET uuid = '00000000-0000-4000-8000-00001234abcd',"
        " ctrlDevPath = '/planted23'",
        "CREATE TABLE planted24 (planted25 TEXT)",
        "INSERT INTO planted24 VALUES ('planted26')",
        "ALTER TABLE PROCESSES ADD COLUMN note TEXT",
        "UPDATE PROCESSES SET note = 'planted27', name = '/planted28/bin/python3'",
        "INSERT INTO PROCESSES VALUES (77, 77, 'planted29', NULL)",
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (7, 'planted30', '')",
    )
    output = tmp_path / "shared.sqlite"
    scrub(export, output)
    content = output.read_bytes()
    assert not re.findall(rb"(?i)planted\w*", content)
    assert b"1234abcd" not in content
    texts = {text for (text,) in select(output, "SELECT text FROM NVTX_EVENTS")}
    assert "load ~/data.bin" in texts
    # One machine, with and without its domain.
    assert any(re.fullmatch(r"from (host-\d) and \1", text or "") for text in texts)
    strings = {value for (value,) in select(output, "SELECT value FROM StringIds")}
    assert "library.so" in strings
    assert select(output, "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%ENV%'")
    assert select(output, "SELECT name, note FROM PROCESSES") == [("python3", None)]


def test_no_page_ever_held_anything_else(tmp_path: Path) -> None:
    output = tmp_path / "shared.sqlite"
    scrub(KINDS, output)
    assert select(output, "PRAGMA freelist_count") == [(0,)]
    assert select(output, "PRAGMA integrity_check") == [("ok",)]


def test_tables_are_declared_as_before(tmp_path: Path) -> None:
    export, output = export_in(tmp_path), tmp_path / "shared.sqlite"
    scrub(export, output)
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    assert set(select(output, query)) == set(select(export, query))


def test_a_column_that_is_not_known_is_emptied(tmp_path: Path) -> None:
    export = export_in(
        tmp_path,
        "ALTER TABLE OSRT_API ADD COLUMN a TEXT",
        "ALTER TABLE OSRT_API ADD COLUMN b TEXT NOT NULL DEFAULT 'x'",
        "ALTER TABLE OSRT_API ADD COLUMN c INTEGER NOT NULL DEFAULT 5",
        "UPDATE OSRT_API SET a = 'secret', b = 'secret', c = 77",
    )
    output = tmp_path / "shared.sqlite"
    scrub(export, output)
    cells = select(output, "SELECT a, b, c FROM OSRT_API")
    assert set(cells) == {(None, "", 0)}


def test_text_in_a_column_of_numbers_does_not_pass(tmp_path: Path) -> None:
    export = export_in(
        tmp_path,
        "UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET bytes = 'secret', start = 'secret'",
    )
    output = tmp_path / "shared.sqlite"
    scrub(export, output)
    assert b"secret" not in output.read_bytes()
    # Neither is it a time of 0: the rows stay rejected.
    assert convert([output], tmp_path / "run").manifest.rows("memset") == 0


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_the_name_says_how_the_copy_is_compressed(suffix: str, tmp_path: Path) -> None:
    export, plain = export_in(tmp_path), tmp_path / "plain.sqlite"
    packed = tmp_path / f"packed.sqlite{suffix}"
    scrub(export, plain)
    scrub(KINDS, packed)
    unpack = decompressed if suffix == ".zst" else gzip_content
    assert unpack(packed) == plain.read_bytes()
    assert tmp_path.name.encode() not in packed.read_bytes()[:100]


def gzip_content(path: Path) -> bytes:
    with gzip.open(path) as file:
        return file.read()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_folder_of_tables_is_scrubbed_to_one(kind: str, tmp_path: Path) -> None:
    export = tmp_path / "export"
    export.mkdir()
    plain = export_in(tmp_path)
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    for (name,) in select(plain, tables):
        write_table(plain, name, export / f"{name}.{kind}", kind)
    variable = {"name": ["PROCESS_0:ENVIRONMENT_VARIABLE"], "value": ["A=planted1"]}
    write_arrow(pa.table(variable), export / f"META_DATA_CAPTURE.{kind}", kind)
    write_arrow(pa.table({"a": ["planted2"]}), export / f"OTHER.{kind}", kind)
    strings = pa.table({"id": [0, 361, 7], "value": ["", "iteration 0", "planted3"]})
    write_arrow(strings, export / f"StringIds.{kind}", kind)
    output = tmp_path / "shared"
    lines = scrub(export, output)
    content = b"".join(every_byte(path) for path in sorted(output.iterdir()))
    assert b"iteration 0" in content
    assert b"planted" not in content
    assert not (output / f"OTHER.{kind}").exists()
    assert any("1 environment variables" in line for line in lines)
    run = convert([output], tmp_path / "run")
    assert run.manifest.rows("kernel") == 116


def write_table(export: Path, table: str, target: Path, kind: str) -> None:
    rows = select(export, f'SELECT * FROM "{table}"')
    names = [row[1] for row in select(export, f"PRAGMA table_info({table})")]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    # Declared as text, the binary payloads hold any bytes.
    cells = [[_latin(cell) for cell in column] for column in columns]
    write_arrow(pa.table(dict(zip(names, cells, strict=True))), target, kind)


def _latin(cell: object) -> object:
    return cell.decode("latin-1") if isinstance(cell, bytes) else cell


def write_arrow(table: pa.Table, target: Path, kind: str) -> None:
    if kind == "parquet":
        pq.write_table(table, target)
        return
    with pa.OSFile(str(target), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as s:
        s.write_table(table)


def every_byte(path: Path) -> bytes:
    if path.suffix == ".arrow":
        return path.read_bytes()
    names = pq.read_schema(path).names
    dictionaries = pq.read_table(path, read_dictionary=names)
    return path.read_bytes() + str(dictionaries.to_pydict()).encode()


def test_a_payload_keeps_its_numbers_and_nothing_between_them(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    (before,) = select(
        export, "SELECT binaryData FROM NVTX_EVENTS WHERE binaryData IS NOT NULL"
    )[0]
    # The last four of the 24 bytes pad the struct.
    with closing(sqlite3.connect(export)) as connection, connection:
        connection.execute(
            "UPDATE NVTX_EVENTS SET binaryData = ? WHERE binaryData IS NOT NULL",
            (before[:-4] + b"LEAK",),
        )
    output = tmp_path / "shared.sqlite"
    scrub(export, output)
    kept = select(output, "SELECT DISTINCT binaryData FROM NVTX_EVENTS")
    assert kept == [(None,), (before[:-4] + bytes(4),)]
    assert len(before) == 56


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = 75 WHERE idx = 1",  # a C string
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET flags = 2 WHERE idx = 1",  # an array
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = 9999 WHERE idx = 1",
        "DELETE FROM NVTX_PAYLOAD_SCHEMA_ENTRIES",
        "UPDATE NVTX_EVENTS SET binaryData = x'01' WHERE binaryData IS NOT NULL",
        "UPDATE NVTX_EVENTS SET binaryData = 'text' WHERE binaryData IS NOT NULL",
    ],
)
def test_a_payload_that_may_hold_text_is_left_behind(
    spoil: str, tmp_path: Path
) -> None:
    export, output = export_in(tmp_path, spoil), tmp_path / "shared.sqlite"
    lines = scrub(export, output)
    assert select(output, "SELECT count(binaryData) FROM NVTX_EVENTS") == [(0,)]
    assert "Left behind: 4 binary payloads (they may hold text)" in lines


def test_everything_the_readers_map_is_on_the_list() -> None:
    for table in (*EVENT_TABLES, _SAMPLES):
        needed = {name for field in table.fields.values() for name in field.needs}
        needed |= table.required | {table.owner or "start"}
        rule = RULES[table.source]
        # `timestamp` and `start` are names of one thing in different tables.
        missing = needed - rule.columns - {"start", "timestamp"}
        assert not missing, f"{table.source}: {sorted(missing)}"
    assert {*_INTEGERS, *_REALS, *_TEXTS} <= RULES["NVTX_EVENTS"].columns


def test_a_version_in_the_name_of_a_table_is_no_other_table() -> None:
    assert rule_for("NVTX_EVENTS_V3") is RULES["NVTX_EVENTS"]
    assert rule_for("NVTX_EVENTS_Vx") is None
    assert rule_for("CUPTI_ACTIVITY_KIND_MEMCPY2") is None


def test_what_was_left_behind_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = export_in(
        tmp_path,
        "INSERT INTO META_DATA_CAPTURE VALUES"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'A=\"1\"'),"
        " ('PROCESS_0:ARGUMENT_0', 'x'), ('PROCESS_0:ARGUMENT_1', 'y')",
        "INSERT INTO ProcessStreams VALUES (1, 0, 0)",
        "CREATE TABLE other (a)",
        "INSERT INTO other VALUES (1), (2)",
    )
    ran = run(capfd, "scrub", export, "-o", tmp_path / "shared.sqlite")
    assert (ran.status, ran.out) == (0, b"")
    assert ran.err.splitlines() == [
        "Left behind: 2 command-line arguments (never shared)",
        "Left behind: 1 environment variables"
        " (not on the list of variables that are copied)",
        "Left behind: 2 rows of other (a table that is not shared)",
        "Left behind: 1 texts that were printed (never copied)",
        f"Wrote {tmp_path / 'shared.sqlite'}",
    ]


def test_nothing_is_overwritten_unless_asked_to(tmp_path: Path) -> None:
    output = tmp_path / "out.sqlite"
    output.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        scrub(KINDS, output)
    assert output.read_text() == "mine"
    scrub(KINDS, output, replace=True)
    assert output.read_bytes().startswith(b"SQLite")
    assert [path.name for path in tmp_path.iterdir()] == ["out.sqlite"]


def test_a_dangling_link_is_something_too(tmp_path: Path) -> None:
    output = tmp_path / "out.sqlite"
    output.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists already"):
        scrub(KINDS, output)
    assert not (tmp_path / "elsewhere").exists()


def test_a_capture_is_not_its_own_copy(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    with pytest.raises(UsageError, match="is the capture itself"):
        scrub(export, export, replace=True)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("no capture")
    with pytest.raises(UnreadableTraceError, match=r"no reader accepts other\.txt"):
        scrub(other, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


def test_a_folder_is_not_compressed_to_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    strings = pa.table({"id": [1], "value": [""]})
    write_arrow(strings, folder / "StringIds.parquet", "parquet")
    with pytest.raises(UsageError, match="a folder cannot be compressed"):
        scrub(folder, tmp_path / "out.zst")
    assert not (tmp_path / "out.zst").exists()


def test_rows_that_break_their_own_declaration_are_damage(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    with closing(sqlite3.connect(export)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE GPU_METRICS (rawTimestamp,"
            " timestamp, typeId, metricId, value CHECK (value < 0))'"
            " WHERE name = 'GPU_METRICS'"
        )
    with pytest.raises(UnreadableTraceError, match="CHECK constraint"):
        scrub(export, tmp_path / "out.sqlite")
    assert not (tmp_path / "out.sqlite").exists()


def test_all_rows_keep_their_order(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    insert(export, "GPU_METRICS", [(9, 9, 1, 1, 1), (1, 1, 1, 1, 2)])
    edit(export, "DELETE FROM GPU_METRICS WHERE rowid BETWEEN 5 AND 50")
    output = tmp_path / "shared.sqlite"
    scrub(export, output)
    query = "SELECT * FROM GPU_METRICS ORDER BY rowid"
    assert select(output, query) == select(export, query)
