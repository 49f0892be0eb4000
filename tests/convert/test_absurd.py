"""Exports whose values, columns or tables make no sense: read as far as they do."""

from pathlib import Path

import duckdb
import pytest

from tests.support.command import run
from tests.support.exports import export_in, folder_of, select
from tracekit.convert import convert
from tracekit.convert.scrub import scrub
from tracekit.store.run import Run

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
INT64 = 2**63 - 1


def rejected(run_: Run) -> dict[tuple[str, str], int]:
    return {
        (note.what, note.reason): note.count
        for note in run_.manifest.rejected
        if note.what == "kernel"
    }


def repaired(run_: Run) -> dict[tuple[str, str], int]:
    return {(note.what, note.reason): note.count for note in run_.manifest.repaired}


@pytest.mark.parametrize(
    ("change", "count", "reason"),
    [
        ("end = start - 1", 116, "the end is before the start"),
        ("end = -9223372036854775808", 116, "the end is before the start"),
        ("end = 0", 116, "the end is 0"),
        ("start = 9223372036854775807", 116, "the end is before the start"),
        ("start = 'soon'", 116, "no start was recorded"),
        ("start = 1e300", 116, "no start was recorded"),
        ("end = x'00ff'", 116, "no end was recorded"),
        ("end = 9e999", 116, "no end was recorded"),
    ],
)
def test_times_that_cannot_be_are_rejected_and_counted(
    change: str, count: int, reason: str, tmp_path: Path
) -> None:
    made = convert(
        [export_in(tmp_path, f"UPDATE {KERNEL} SET {change}")], tmp_path / "r"
    )
    assert rejected(made) == {("kernel", reason): count}
    assert made.manifest.rows("kernel") == 0


def test_the_largest_times_are_no_overflow(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = export_in(
        tmp_path,
        f"UPDATE {KERNEL} SET start = {-(2**63)} WHERE rowid = 1",
        f"UPDATE {KERNEL} SET end = {INT64} WHERE rowid = 1",
    )
    made = convert([export], tmp_path / "run")
    assert made.manifest.rows("kernel") == 116
    window = made.manifest.window
    assert window is not None
    assert (window.start_ns, window.end_ns) == (-(2**63), INT64)
    # A length of 2^64 ns has no BIGINT: one line, no number that wrapped around.
    ran = run(capfd, "query", "gpu.utilization", tmp_path / "run", "-f", "csv")
    assert ran.status in (0, 5)
    assert "Traceback" not in ran.err
    if ran.status == 0:
        (kernel_busy,) = [row.split(b",")[2] for row in ran.out.splitlines()[1:]]
        assert int(kernel_busy) == 2**64 - 1


@pytest.mark.parametrize("number", [INT64, -(2**63), 2**32, -1])
@pytest.mark.parametrize("column", ["deviceId", "contextId", "streamId", "gridX"])
def test_huge_ids_are_kept_or_null_and_never_another_number(
    column: str, number: int, tmp_path: Path
) -> None:
    export = export_in(tmp_path, f"UPDATE {KERNEL} SET {column} = {number}")
    made = convert([export], tmp_path / "run")
    assert made.manifest.rows("kernel") == 116
    name = {"contextId": "context_id", "streamId": "stream_id", "gridX": "grid_x"}
    (file,) = made.files("kernel")
    if column in name:
        cells = duckdb.execute(
            f"SELECT DISTINCT {name[column]} FROM read_parquet('{file}')"
        ).fetchall()
        assert cells in ([(number,)], [(None,)])


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("PROCESSES", "name"),
        ("ThreadNames", "nameId"),
        ("TARGET_INFO_GPU_METRICS", "metricId"),
        ("TARGET_INFO_CUDA_DEVICE", "cudaId"),
        ("TARGET_INFO_CUDA_CONTEXT_INFO", "deviceId"),
        ("DIAGNOSTIC_EVENT", "globalPid"),
        ("NVTX_EVENTS", "globalTid"),
        ("StringIds", "value"),
    ],
)
def test_a_column_that_is_missing_takes_nothing_else_with_it(
    table: str, column: str, tmp_path: Path
) -> None:
    export = export_in(tmp_path, f"ALTER TABLE {table} DROP COLUMN {column}")
    made = convert([export], tmp_path / "run")
    assert made.manifest.rows("kernel") == 116


def test_a_table_without_a_column_it_needs_is_a_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = export_in(tmp_path, f"ALTER TABLE {KERNEL} DROP COLUMN end")
    ran = run(capfd, "convert", export, "-o", tmp_path / "run")
    assert ran.status == 0
    line = f"Warning: {KERNEL} has no column `end`: its 116 rows are not read"
    assert line in ran.err.splitlines()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("TARGET_INFO_CUDA_CONTEXT_INFO", "processId"),
        ("TARGET_INFO_CUDA_STREAM", "priority"),
        ("TARGET_INFO_GPU", "smCount"),
        ("DIAGNOSTIC_EVENT", "timestamp"),
        ("ThreadNames", "nameId"),
    ],
)
@pytest.mark.parametrize(
    "value", ["'text'", "x'ff00'", "CAST(x'ff41' AS TEXT)", "1e300"]
)
def test_what_is_no_number_is_repaired_and_counted(
    table: str, column: str, value: str, tmp_path: Path
) -> None:
    export = export_in(tmp_path, f"UPDATE {table} SET {column} = {value}")
    ((rows,),) = select(export, f"SELECT count(*) FROM {table}")
    made = convert([export], tmp_path / "run")
    assert repaired(made)[f"{table}.{column}", "no number"] == rows


def test_extra_tables_are_counted_and_left(tmp_path: Path) -> None:
    export = export_in(
        tmp_path,
        'CREATE TABLE "odd ""name" (a)',
        'INSERT INTO "odd ""name" VALUES (1), (2)',
        "CREATE VIEW trap AS SELECT * FROM missing",
        "CREATE TABLE empty (a)",
    )
    made = convert([export], tmp_path / "run")
    skipped = {note.what: note.count for note in made.manifest.skipped}
    assert skipped['odd "name'] == 2
    assert "empty" not in skipped


def test_call_chains_of_one_symbol_over_and_over_are_read_once(tmp_path: Path) -> None:
    export = export_in(tmp_path, "UPDATE OSRT_CALLCHAINS SET symbol = 1, module = 1")
    made = convert([export], tmp_path / "run")
    assert made.manifest.rows("call_stack") == 153


def test_text_that_is_not_utf8_is_mended_and_counted(tmp_path: Path) -> None:
    export = export_in(
        tmp_path, "UPDATE StringIds SET value = CAST(x'ff41fe' AS TEXT) WHERE id > 0"
    )
    made = convert([export], tmp_path / "run")
    assert made.manifest.rows("kernel") == 116
    ((count,),) = select(export, "SELECT count(*) FROM StringIds WHERE id > 0")
    assert repaired(made)["StringIds.value", "text that is not UTF-8"] == count


@pytest.mark.parametrize("kind", ["sqlite", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("table", "column", "rows"),
    [("PROCESSES", "globalPid", 1), ("ThreadNames", "globalTid", 30)],
)
def test_names_of_processes_that_nothing_tells_are_not_shared(
    table: str, column: str, rows: int, kind: str, tmp_path: Path
) -> None:
    export = export_in(tmp_path, f"ALTER TABLE {table} DROP COLUMN {column}")
    if kind != "sqlite":
        export = folder_of(export, tmp_path / "kinds", kind)
    scrubbed = tmp_path / f"out.{kind}"
    lines = scrub(export, scrubbed)
    assert f"Left behind: {rows} rows of {table} (without a column {column})" in lines
    made = convert([scrubbed], tmp_path / "run")
    assert made.manifest.rows("kernel") == 116
    target = "process" if table == "PROCESSES" else "thread"
    (file,) = made.files(target)
    # The process alone is named by nothing else; NVTX names some threads.
    named = duckdb.execute(f"SELECT count(name) FROM '{file}'").fetchall()
    whole = convert([scrub_whole(tmp_path)], tmp_path / "whole")
    (other,) = whole.files(target)
    assert named < duckdb.execute(f"SELECT count(name) FROM '{other}'").fetchall()


def scrub_whole(folder: Path) -> Path:
    scrubbed = folder / "whole.sqlite"
    scrub(export_in(folder / "whole_in"), scrubbed)
    return scrubbed


PAYLOADS = "SELECT count(*) FROM NVTX_EVENTS WHERE binaryData IS NOT NULL"


def shared_payloads(folder: Path, *changes: str) -> int:
    export = export_in(folder, *changes)
    scrub(export, folder / "out.sqlite")
    ((count,),) = select(
        folder / "out.sqlite",
        "SELECT count(*) FROM NVTX_EVENTS WHERE binaryData IS NOT NULL",
    )
    return int(count)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE NVTX_EVENTS DROP COLUMN domainId",
        "UPDATE NVTX_EVENTS SET domainId = 'text'",
        "UPDATE NVTX_EVENTS SET domainId = CAST(x'ff41' AS TEXT)",
        "UPDATE NVTX_EVENTS SET domainId = x'00'",
        "UPDATE NVTX_EVENTS SET domainId = 9e999",
    ],
)
def test_a_payload_of_no_known_domain_is_not_shared(
    change: str, tmp_path: Path
) -> None:
    assert shared_payloads(tmp_path / "whole") > 0
    assert shared_payloads(tmp_path / "changed", change) == 0


@pytest.mark.parametrize("kind", ["sqlite", "parquet", "arrow"])
def test_a_string_that_is_null_stays_null(kind: str, tmp_path: Path) -> None:
    unbound = "CREATE TABLE s AS SELECT id, value FROM StringIds"
    export = export_in(
        tmp_path,
        unbound,
        "DROP TABLE StringIds",
        "UPDATE s SET value = NULL WHERE id IN (SELECT demangledName FROM"
        f" {KERNEL} ORDER BY rowid LIMIT 1)",
        "ALTER TABLE s RENAME TO StringIds",
    )
    if kind != "sqlite":
        export = folder_of(export, tmp_path / "kinds", kind)
    scrub(export, tmp_path / f"out.{kind}")
    made = convert([tmp_path / f"out.{kind}"], tmp_path / "run")
    (file,) = made.files("kernel")
    ((names, kernels),) = duckdb.execute(
        f"SELECT count(name), count(*) FROM '{file}'"
    ).fetchall()
    assert 0 < names < kernels == 116
