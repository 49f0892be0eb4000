"""Every schema version is read: each table against rows made by hand.

The exports are synthetic. Those recorded by nsys itself are compared in
`tests/conformance`; docs/formats/nsys.md says which version has which.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.columnar import columnar_copy
from tests.support.exports import edit
from tests.support.nsys_history import SINCE, answers
from tests.support.nsys_schemas import RELEASES, UNVERSIONED, make_export
from tests.support.nsys_story import ROWS
from tests.support.rows import all_rows, rows_of_run
from tests.support.shared import ROOT
from tracekit.convert import convert
from tracekit.convert.scrub import scrub
from tracekit.schema import TABLES
from tracekit.store.run import Run

Row = dict[str, Any]
NEWEST = RELEASES[-1]


def found(run: Run) -> dict[str, list[Row]]:
    """Return what is not NULL, without what the converter says of itself."""
    tables = {
        table: [
            {name: cell for name, cell in row.items() if cell is not None}
            for row in rows
            if row.get("source") != "converter"
        ]
        for table, rows in all_rows(run).items()
    }
    return {table: rows for table, rows in tables.items() if rows}


def said(run: Run, severity: str) -> list[str]:
    return [
        row["text"]
        for row in rows_of_run(run, "diagnostic")
        if row["source"] == "converter" and row["severity"] == severity
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_every_table_of_a_version_is_read(release: str, tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", release, ROWS)
    run = convert([export], tmp_path / "run")
    assert found(run) == answers(release)
    assert said(run, "warning") == said(run, "error") == []
    stated = None if release in UNVERSIONED else release
    assert run.manifest.source.schema_version == stated
    (rank,) = run.manifest.ranks
    epoch = None if release in ("2019", "2020") else 1_600_000_000_000_000_000
    assert rank.origin_utc_ns == epoch


@pytest.mark.parametrize("release", RELEASES)
def test_a_column_that_a_version_lacks_is_null_with_a_note(
    release: str, tmp_path: Path
) -> None:
    export = make_export(tmp_path / "story.sqlite", release, ROWS)
    run = convert([export], tmp_path / "run")
    notes = [re.search(r"NULL in (\w+): (.*)", note) for note in said(run, "info")]
    noted = {
        (note[1], column) for note in notes if note for column in note[2].split(", ")
    }
    # These are read from tables that describe the capture, not from event tables.
    elsewhere = {"device", "process", "context", "stream", "cpu_slice"}
    lacking = {
        (table, column)
        for (table, column), since in SINCE.items()
        if RELEASES.index(release) < RELEASES.index(since)
        and table not in elsewhere
        and table in answers(release)
    }
    assert lacking <= noted


def test_the_oldest_and_the_newest_differ() -> None:
    """The tests above would not notice a story that all versions tell alike."""
    oldest, newest = answers("2019"), answers(NEWEST)
    assert len(newest) - len(oldest) == 11
    assert "mangled_name" not in oldest["kernel"][0]
    assert answers("3.24.0")["kernel"] != answers("3.20.3")["kernel"]


def test_the_answers_name_columns_that_exist() -> None:
    for table, rows in answers(NEWEST).items():
        for row in rows:
            assert row.keys() <= TABLES[table].column_names


@pytest.mark.parametrize("release", ["2.9.1", "3.16.1", NEWEST])
def test_a_parquetdir_of_a_version_gives_the_same(release: str, tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", release, ROWS)
    folder = columnar_copy(export, tmp_path / "story_pqtdir")
    assert found(convert([folder], tmp_path / "run")) == answers(release)


@pytest.mark.parametrize(
    ("version", "warnings"),
    [("3.30.99", 0), ("3.31.0", 1), ("4.0.0", 1), ("x.y", 0)],
)
def test_a_newer_version_is_read_as_far_as_its_columns_allow(
    version: str, warnings: int, tmp_path: Path
) -> None:
    export = make_export(tmp_path / "story.sqlite", NEWEST, ROWS, version=version)
    edit(
        export,
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN warpDrive INTEGER",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN gridX TO gridWidth",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_TELEPORT (start INTEGER, end INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_TELEPORT VALUES (1, 2), (3, 4)",
    )
    run = convert([export], tmp_path / "run")
    expected = answers(NEWEST)
    del expected["kernel"][0]["grid_x"]
    assert found(run) == expected
    warning = (
        f"the export has schema {version}, newer than 3.30, which is the newest "
        "known: it is read as far as its columns allow"
    )
    assert said(run, "warning") == [warning] * warnings
    (note,) = [note for note in said(run, "info") if "KIND_KERNEL" in note]
    assert note.endswith("has no gridX; NULL in kernel: grid_x")
    skipped = {(note.what, note.count) for note in run.manifest.skipped}
    assert ("CUPTI_ACTIVITY_KIND_TELEPORT", 2) in skipped


def test_a_table_without_a_column_it_needs_is_skipped_and_told(tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", NEWEST, ROWS)
    edit(export, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName")
    run = convert([export], tmp_path / "run")
    expected = answers(NEWEST)
    del expected["kernel"]
    assert found(run) == expected
    reason = "CUPTI_ACTIVITY_KIND_KERNEL has no column `demangledName`"
    assert said(run, "error") == [f"{reason}: its 1 rows are not read"]
    assert run.manifest.absent["kernel"] == reason


def test_work_without_a_process_belongs_to_the_only_one(tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", "2019", ROWS)
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        edit(export, f"ALTER TABLE CUPTI_ACTIVITY_KIND_{table} DROP COLUMN globalPid")
    run = convert([export], tmp_path / "run")
    assert found(run) == answers("2019")
    assert said(run, "warning") == [
        "the capture does not say which process GPU work belongs to"
    ]


def test_a_version_in_the_name_of_a_table_is_read(tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", "3.25.0", ROWS)
    edit(export, "ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V3")
    assert found(convert([export], tmp_path / "run")) == answers("3.25.0")


def test_the_page_has_a_row_for_every_version() -> None:
    page = (ROOT / "docs" / "formats" / "nsys.md").read_text()
    for release in RELEASES:
        assert re.search(rf"^\| [^|]*\| {re.escape(release)} \|", page, re.M), release


def test_events_of_other_sources_are_no_gpu_metrics(tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", "3.0.0", ROWS)
    skipped = convert([export], tmp_path / "run").manifest.skipped
    assert ("GENERIC_EVENTS", 1, "an event of FTrace") in {
        (note.what, note.count, note.reason) for note in skipped
    }


def test_scrubbed_events_of_other_sources_are_no_gpu_metrics(tmp_path: Path) -> None:
    export = make_export(tmp_path / "story.sqlite", "3.0.0", ROWS)
    scrub(export, tmp_path / "scrubbed.sqlite")
    before = rows_of_run(convert([export], tmp_path / "a"), "counter_sample")
    after = rows_of_run(
        convert([tmp_path / "scrubbed.sqlite"], tmp_path / "b"), "counter_sample"
    )
    assert "common_pid" not in {row["metric"] for row in after}
    assert [(r["metric"], r["value"]) for r in after] == [
        (r["metric"], r["value"]) for r in before
    ]
