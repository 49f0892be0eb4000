"""`tracekit sql`: a statement, a shell, and their errors."""

import io
from pathlib import Path

import pytest

from tests.cli.test_query import KERNEL, run_cli
from tests.conftest import MakeRun


@pytest.fixture
def run(run_of: MakeRun) -> Path:
    return run_of({"kernel": KERNEL}).path


def test_a_select(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT count(*) AS n, max(end_ns) AS last FROM kernel"
    assert run_cli("sql", statement, run, "-f", "csv") == 0
    assert capfd.readouterr().out == "n,last\n2,100\n"


def test_macros_are_there(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    statement = (
        "WITH busy AS (SELECT device_id AS key, start_ns, end_ns FROM gpu_activity) "
        "SELECT * FROM covered('busy')"
    )
    assert run_cli("sql", statement, run, "-f", "csv") == 0
    assert capfd.readouterr().out == "key,covered_ns\n0,100\n"


def test_an_unknown_column_names_the_candidates(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli("sql", "SELECT nam FROM kernel", run) == 5
    err = capfd.readouterr().err
    assert err.startswith('Error: Referenced column "nam" not found')
    assert "name" in err


def test_no_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli("sql", "SELECT 1") == 2
    assert capfd.readouterr().err.startswith("Error: no run was given")


def test_the_shell_answers_statement_after_statement(
    run: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "SELECT 1 AS a;\nSELECT nothing;\nSELECT\n2 AS b;\nSELECT 3 AS c"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert run_cli("sql", "--shell", run, "-f", "csv") == 5
    streams = capfd.readouterr()
    assert streams.out == "a\n1\nb\n2\nc\n3\n"
    assert streams.err.count("Error:") == 1


def test_lists_and_structs_are_json_in_a_csv(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    statement = "SELECT [1, NULL] AS a, {'b': 'x'} AS c, NULL::INTEGER[] AS d"
    assert run_cli("sql", statement, run, "-f", "csv") == 0
    assert capfd.readouterr().out == 'a,c,d\n"[1,null]","{""b"":""x""}",\n'


def test_the_shell_has_commands(
    run_of: MakeRun, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of({"kernel": KERNEL}).path
    lines = ".help\n.tables\n.schema kernel\nSELECT 7 AS seven\n;\n.quit\nSELECT 8;\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert run_cli("sql", "--shell", run, "-f", "csv") == 0
    printed = capfd.readouterr()
    assert ".tables" in printed.err
    rows = printed.out.splitlines()
    assert '"kernel",2' in rows
    assert any(row.startswith('"start_ns","BIGINT"') for row in rows)
    assert rows[-2:] == ["seven", "7"]


def test_a_run_given_twice_is_refused_by_name(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of({"kernel": KERNEL})
    assert run_cli("sql", "SELECT count(*) FROM kernel", run.path, run.path) == 5
    assert f"Error: the run {run.run_id} is given twice\n" in capfd.readouterr().err
