"""`tracekit query`: streams, formats, exit codes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import MakeRun
from tracekit.cli import main

Golden = Callable[[str, str], None]

KERNEL = """
    device_id, process_id, name,                         start_ns, end_ns
    0,         0,          "void gemm<float, 8>(int)",          0,     60
    0,         0,          relu,                               60,    100
"""


def run_cli(*arguments: object) -> int:
    """Return the exit status."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def run(run_of: MakeRun) -> Path:
    return run_of({"kernel": KERNEL}).path


def test_table(run: Path, capfd: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_cli("query", "kernels.hotspots", run) == 0
    streams = capfd.readouterr()
    golden("cli/query_hotspots.txt", streams.out)
    assert streams.err == "Window: all recorded rows\n"


def test_csv_has_plain_numbers(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli("query", "kernels.hotspots", run, "--format", "csv") == 0
    streams = capfd.readouterr()
    rows = list(csv.DictReader(streams.out.splitlines()))
    assert rows[0]["kernel_name"] == "void gemm<float, 8>(int)"
    assert rows[0]["total_ns"] == "60"
    assert rows[0]["time_share"] == "0.6"
    assert streams.err == ""


def test_json_is_one_array(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli("query", "kernels.hotspots", run, "-f", "json") == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["total_ns"] for row in rows] == [60, 40]


def test_markdown_shows_names_whole(
    run: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_cli("query", "kernels.hotspots", run, "-f", "markdown") == 0
    golden("cli/query_hotspots.md", capfd.readouterr().out)


def test_parquet_goes_to_a_file(
    run: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    assert run_cli("query", "kernels.hotspots", run, "-f", "parquet") == 0
    file = tmp_path / "result.parquet"
    file.write_bytes(capfdbinary.readouterr().out)
    assert pq.read_table(file)["total_ns"].to_pylist() == [60, 40]


def test_csv_safe_disarms_formulas(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of({"kernel": 'device_id, name, start_ns, end_ns\n0, "=1+1", 0, 5'})
    assert run_cli("query", "kernels.hotspots", run.path, "-f", "csv") == 0
    assert '\n"=1+1",' in capfd.readouterr().out
    assert (
        run_cli("query", "kernels.hotspots", run.path, "-f", "csv", "--csv-safe") == 0
    )
    assert '\n"\'=1+1",' in capfd.readouterr().out


def test_null_is_an_empty_cell(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of({"kernel": "device_id, name, start_ns, end_ns\n0, NULL, 0, 5"})
    run_cli("query", "kernels.hotspots", run.path, "-f", "csv")
    assert capfd.readouterr().out.splitlines()[1].startswith(",1,5,")


def test_control_characters_of_names_are_shown_escaped(
    run_of: MakeRun,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    run = run_of(
        {"kernel": 'device_id, name, start_ns, end_ns\n0, "\x1b[31m[bold]x", 0, 5'}
    )
    run_cli("query", "kernels.hotspots", run.path)
    out = capfd.readouterr().out
    assert "\\x1b[31m[bold]x" in out
    assert "\x1b" not in out


def test_the_reason_of_an_empty_answer_goes_to_stderr(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of(absent={"kernel": "CUDA was not traced"})
    assert run_cli("query", "kernels.hotspots", run.path, "-f", "csv", "-q") == 0
    streams = capfd.readouterr()
    assert len(streams.out.splitlines()) == 1
    assert streams.err.strip().endswith("has none of: CUDA was not traced")


def test_several_ranks_come_with_run_and_rank(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of({"kernel": KERNEL}, ranks={3: {"kernel": KERNEL}})
    run_cli("query", "kernels.hotspots", run.path, "-f", "csv", "-p", "limit=1")
    rows = list(csv.DictReader(capfd.readouterr().out.splitlines()))
    assert [row["rank"] for row in rows] == ["0", "3"]
    run_cli("query", "kernels.hotspots", run.path, "-f", "csv", "--rank", "3")
    rows = list(csv.DictReader(capfd.readouterr().out.splitlines()))
    assert {row["rank"] for row in rows} == {"3"}


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["kernels.hotspot", "RUN"], 5, "Error: there is no query `kernels.hotspot`"),
        (
            ["kernels.hotspots", "RUN", "-p", "limt=3"],
            5,
            "Error: kernels.hotspots has no parameter `limt`",
        ),
        (
            ["kernels.hotspots", "RUN", "-p", "limit=few"],
            5,
            "Error: limit is `few`, which is no whole number",
        ),
        (
            ["kernels.hotspots", "RUN", "-p", "limit=-1"],
            5,
            "Error: limit is `-1`, which is less than 0",
        ),
        (
            ["kernels.hotspots", "RUN", "-p", "limit=99999999999999999999"],
            5,
            "Error: limit is `99999999999999999999`, which is too large",
        ),
        (
            ["clocks.throttling", "RUN", "-p", "threshold=nan"],
            5,
            "Error: threshold is `nan`, which is no number",
        ),
        (["kernels.hotspots", "RUN", "RUN"], 5, "Error: the run 2"),
        (["kernels.hotspots", "RUN", "-p", "names=long"], 5, "Error: names is `long`"),
        (["kernels.hotspots", "RUN", "-p", "limit"], 2, "Error: `limit` is no param"),
        (["kernels.hotspots"], 2, "Error: no run was given"),
        (["kernels.hotspots", "RUN", "--window", "x"], 2, "Error: there is no window"),
        (
            ["kernels.hotspots", "RUN", "--window", "20ms:10ms"],
            2,
            "Error: the window 20ms:10ms ends before it begins",
        ),
        (
            ["kernels.hotspots", "RUN", "--window", "range:none"],
            5,
            "Error: this run has no range `none`",
        ),
        (
            ["kernels.hotspots", "RUN", "--window", "steps"],
            5,
            "Error: this run has no steps",
        ),
        (["kernels.hotspots", "RUN", "--rank", "7"], 5, "Hint: the ranks are 0\n"),
        (["kernels.hotspots", "RUN", "--device", "7"], 5, "Hint: the devices are 0\n"),
        (["gpu.utilization", "RUN", "--process", "7"], 5, "Error: there is no process"),
        (["kernels.hotspots", "nothing"], 3, "Error: nothing does not exist"),
        (
            ["kernels.hotspots", "RUN", "--memory-limit", "much"],
            5,
            "Error: `much` is no memory limit",
        ),
        (["kernels.hotspots", "RUN", "--format", "xml"], 2, "--format"),
    ],
)
def test_mistakes_have_one_line_and_a_status(
    run: Path,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    line: str,
) -> None:
    texts = [str(run) if text == "RUN" else text for text in arguments]
    assert run_cli("query", *texts) == status
    streams = capfd.readouterr()
    assert streams.out == ""
    assert line in streams.err
    assert "Traceback" not in streams.err


def test_list_and_describe(capfd: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_cli("query", "--list") == 0
    assert "kernels.hotspots  " in capfd.readouterr().out
    assert run_cli("query", "kernels.hotspots", "--describe") == 0
    golden("cli/query_describe.txt", capfd.readouterr().out)


def test_a_query_of_ones_own(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "longest.sql"
    file.write_text(
        "-- longest: the longest kernel.\n--\n-- reads:\n--   kernel  rows\n"
        "-- parameters:\n--   least_ns  BIGINT = 0  Shortest that counts.\n"
        "-- columns:\n--   longest_ns  BIGINT  Its duration.\n\n"
        "SELECT max(end_ns - start_ns) AS longest_ns FROM kernel\n"
        "WHERE end_ns - start_ns >= $least_ns;\n"
    )
    assert run_cli("query", file, run, "-f", "csv") == 0
    assert capfd.readouterr().out == "longest_ns\n60\n"


def test_help_names_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli("--help") == 0
    out = capfd.readouterr().out
    for command in ("convert", "info", "query", "sql", "demo", "doctor", "clean"):
        assert f"\n  {command} " in out


def test_a_file_without_a_header_is_a_query(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "names.sql"
    file.write_text(
        "-- By start.\nSELECT name, end_ns FROM kernel ORDER BY start_ns;\n"
    )
    assert run_cli("query", file, run, "-f", "csv", "--window", "50:") == 0
    assert capfd.readouterr().out == 'name,end_ns\n"relu",100\n'
    assert run_cli("query", file, run, "-p", "limit=3") == 5
    assert "names has no parameter `limit`" in capfd.readouterr().err
    file.write_text("COPY kernel TO 'stolen.csv';\n")
    assert run_cli("query", file, run) == 5
    assert "names is not one SELECT statement" in capfd.readouterr().err


def test_columns_of_one_name_are_told_apart(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = 'SELECT 1 AS a, 2 AS a, 3 AS "\x1b[1m", sum(end_ns) AS n FROM kernel'
    assert run_cli("sql", text, run, "-f", "json") == 0
    (row,) = json.loads(capfd.readouterr().out)
    assert row == {"a": 1, "a_1": 2, "\x1b[1m": 3, "n": 160}
    assert run_cli("sql", text, run) == 0
    assert "\x1b" not in capfd.readouterr().out


def test_the_names_in_an_error_are_shown_escaped(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run = run_of(
        {
            "kernel": KERNEL,
            "annotation": "process_id, kind, text, start_ns, end_ns\n"
            '0, push_pop, "\x1b[31mred", 0, 5',
        }
    )
    assert run_cli("query", "kernels.hotspots", run.path, "--window", "range:re") == 5
    err = capfd.readouterr().err
    assert "Hint: its ranges are `\\x1b[31mred`" in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["nothing.sql"], 5, "Error: nothing.sql: No such file or directory\n"),
        (
            ["kernels.hotspots", "--window", "range:"],
            2,
            "Error: the window range: names no range\n",
        ),
    ],
)
def test_what_is_wrong_is_named(
    run: Path,
    arguments: list[str],
    status: int,
    error: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli("query", arguments[0], run, *arguments[1:]) == status
    assert capfd.readouterr().err.startswith(error)
