"""What SQL may not do: see anything but the given runs, or write anything at all."""

import hashlib
import io
from pathlib import Path

import pytest

from tests.cli.test_query import KERNEL
from tests.conftest import MakeRun
from tests.support.command import Ran, run

SECRET = "planted-secret"

READS = [
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_csv('{secret}', header = false)",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{other}/kernel/rank=0/part-0.parquet')",
    "SELECT * FROM parquet_schema('{other}/kernel/rank=0/part-0.parquet')",
    "SELECT * FROM parquet_metadata('{other}/kernel/rank=0/part-0.parquet')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM '{other}/kernel/rank=0/part-0.parquet'",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM read_text('{run}/../secret.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('{secret}')",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "SELECT /* a */ * FROM /* b */ read_text('{secret}') -- c",
    "WITH a AS (FROM read_text('{secret}')) FROM a",
    "SELECT getenv('PLANTED')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_text('https://example.com/')",
    "SELECT * FROM read_parquet('s3://bucket/key')",
]
WRITES = [
    "COPY kernel TO '{run}/stolen.csv'",
    "COPY kernel TO '{folder}/stolen.csv'",
    "COPY (SELECT 1) TO '{run}/kernel/rank=0/part-0.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{run}/export'",
    "IMPORT DATABASE '{run}'",
    "ATTACH '{run}/new.duckdb' AS n",
    "DETACH memory",
    "EXPLAIN ANALYZE COPY kernel TO '{run}/stolen.csv'",
    "EXPLAIN COPY kernel TO '{run}/stolen.csv'",
    "EXPLAIN ANALYZE SELECT 1",
    "WITH a AS (INSERT INTO kernel VALUES (1) RETURNING *) SELECT * FROM a",
    "WITH a AS (DELETE FROM kernel RETURNING *) SELECT * FROM a",
    "INSERT INTO kernel SELECT * FROM kernel",
    "DELETE FROM kernel",
    "UPDATE kernel SET name = 'x'",
    "MERGE INTO kernel USING kernel AS k ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE kernel",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY kernel TO '{run}/stolen.csv'",
    "SELECT 1) ; COPY kernel TO '{run}/stolen.csv'; SELECT (1",
    "SELECT 1 /* ; */ ; DROP VIEW kernel",
    "CREATE TABLE t AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE SECRET (TYPE s3)",
    "CREATE MACRO m() AS 1",
    "DROP VIEW kernel",
    "ALTER VIEW kernel RENAME TO k",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "USE memory",
    "SELECT * FROM query('COPY kernel TO ''{run}/stolen.csv''')",
    "SELECT * FROM query('SELECT 1; SELECT 2')",
    "SELECT * INTO t FROM kernel",
]


@pytest.fixture
def places(run_of: MakeRun, tmp_path: Path) -> dict[str, Path]:
    secret = tmp_path / "secret.csv"
    secret.write_text(f"a\n{SECRET}\n")
    kernel = KERNEL.replace("relu", SECRET)
    return {
        "run": run_of({"kernel": KERNEL}).path,
        "other": run_of({"kernel": kernel}).path,
        "secret": secret,
        "folder": tmp_path,
    }


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _sql(
    text: str, place: Path, capfd: pytest.CaptureFixture[str], _: pytest.MonkeyPatch
) -> Ran:
    return run(capfd, "sql", text, place, "-f", "csv")


def _shell(
    text: str,
    place: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ran:
    # The shell takes a `;` at the end of a line as the end of the statement.
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n;\n"))
    return run(capfd, "sql", "--shell", place, "-f", "csv")


def _file(
    text: str, place: Path, capfd: pytest.CaptureFixture[str], _: pytest.MonkeyPatch
) -> Ran:
    file = place.parent.parent / f"{place.parent.name}-own.sql"
    file.write_text(
        "-- own: a query of one's own.\n--\n-- reads:\n--   kernel  rows\n"
        f"-- columns:\n--   a  VARCHAR  Something.\n\n{text};\n"
    )
    try:
        return run(capfd, "query", file, place, "-f", "csv")
    finally:
        file.unlink()


WAYS = [_sql, _shell, _file]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", [*READS, *WRITES])
def test_sql_is_locked_to_the_runs(
    way: object,
    text: str,
    places: dict[str, Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    before = checksums(places["folder"])
    assert callable(way)
    ran = way(text.format(**places), places["run"], capfd, monkeypatch)
    assert ran.status == 5, ran.out
    assert ran.error
    assert SECRET not in ran.out.decode()
    assert SECRET not in ran.err
    assert checksums(places["folder"]) == before


@pytest.mark.parametrize(
    "text",
    [
        "FROM duckdb_secrets()",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_tables()",
        "SELECT current_setting('home_directory')",
    ],
)
def test_what_the_engine_says_of_itself_holds_nothing_of_the_machine(
    text: str,
    places: dict[str, Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/planted-user")
    ran = _sql(text, places["run"], capfd, monkeypatch)
    assert "planted-user" not in ran.out.decode()
    assert ran.status == 0


@pytest.mark.parametrize(
    "value",
    ["x'; DROP VIEW kernel; --", 'x" OR 1=1', "$limit", "x') UNION SELECT 1 --", "\\"],
)
def test_parameters_and_windows_are_values_and_no_sql(
    value: str, places: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    before = checksums(places["folder"])
    query = ("query", "kernels.hotspots", places["run"], "-f", "csv")
    ran = run(capfd, *query, "-p", f"names={value}")
    assert (ran.status, ran.error) == (5, f"names is `{value}`")
    ran = run(capfd, *query, "--window", f"range:{value}")
    assert (ran.status, ran.error.partition(" (")[0]) == (
        5,
        f"this run has no range `{value}`",
    )
    ran = run(capfd, *query, "--memory-limit", f"1GB{value}")
    assert ran.status == 5
    assert "is no memory limit" in ran.error
    for option in ("--device", "--rank", "--process"):
        assert run(capfd, *query, option, value).status == 2
    assert checksums(places["folder"]) == before


def test_a_run_in_a_folder_with_a_strange_name_is_only_data(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = run_of({"kernel": KERNEL}).path
    strange = tmp_path / "it's [a] {run}* ?'); DROP VIEW kernel; --"
    path.rename(strange)
    ran = run(capfd, "sql", "SELECT count(*) AS n FROM kernel", strange, "-f", "csv")
    assert (ran.status, ran.out) == (0, b"n\n2\n"), ran.err
