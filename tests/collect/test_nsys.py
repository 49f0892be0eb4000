"""A program is run under nsys; every way in which no capture comes of it is told."""

import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Ran, finish, run, start
from tests.support.exports import KINDS, SCALE_PARQUET, decompressed, edit
from tests.support.nsys_program import NO_LIBDW, Profiling, StandIn, stand_in
from tracekit.collect import checks
from tracekit.store.run import open_run
from tracekit.tools import nsys as program
from tracekit.tools import permissions

Collect = Callable[..., Ran]
PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _a_machine_with_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    monkeypatch.setattr(checks, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(permissions, "DRIVER", tmp_path / "driver")
    monkeypatch.setattr(permissions, "PARANOID", tmp_path / "paranoid")
    monkeypatch.setattr(program, "INSTALL_PATTERNS", ())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("RANK", "WORLD_SIZE", "CUDA_INJECTION64_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def nsys(tmp_path: Path) -> Callable[..., StandIn]:
    def make(export: Path = SCALE_PARQUET, **profiling: object) -> StandIn:
        does = Profiling(**profiling)  # type: ignore[arg-type] # checked by msgspec
        return stand_in(
            tmp_path / "bin",
            exports={"parquetdir": export, "sqlite": export},
            types=("parquetdir",) if export.is_dir() else ("sqlite",),
            profiling=does,
        )

    return make


@pytest.fixture
def collect(capfd: pytest.CaptureFixture[str]) -> Collect:
    def call(*arguments: str | Path) -> Ran:
        return run(capfd, "collect", *arguments)

    return call


def printing(out: str, err: str = "", status: int = 0) -> list[str]:
    code = f"import sys; print({out!r}); print({err!r}, file=sys.stderr)"
    return [PYTHON, "-c", f"{code}; sys.exit({status})"]


def without_gpu_work(folder: Path) -> Path:
    path = folder / "idle.sqlite"
    path.write_bytes(decompressed(KINDS))
    edit(
        path,
        *(
            f"DELETE FROM CUPTI_ACTIVITY_KIND_{kind}"
            for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
        ),
    )
    return path


def asked_to_profile(nsys: StandIn) -> list[str]:
    (asked,) = [words for words in nsys.asked if words[:1] == ["profile"]]
    return asked


def test_a_program_is_traced_and_ends_with_a_run(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    asked = nsys()
    done = collect("-o", "net.run", "--", *printing("out text", "err text"))
    assert done.status == 0, done.err
    assert done.out == b"out text\n"
    assert "err text\n" in done.err
    assert open_run(tmp_path / "net.run").manifest.rows("kernel") == 2
    assert (tmp_path / "net.nsys-rep").is_file()
    words = asked_to_profile(asked)
    assert words[:5] == [
        "profile",
        "--trace=cuda,nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        "--force-overwrite=true",
    ]
    assert words[5] == f"--output={tmp_path / 'net'}"
    assert words[-3:] == printing("out text", "err text")


def test_the_exact_command_is_printed(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    asked = nsys()
    done = collect("-o", "net.run", *printing("a b 'c'"))
    (line,) = [x for x in done.err.splitlines() if x.startswith("Running ")]
    words = shlex.split(line.removeprefix("Running "))
    assert words == [str(tmp_path / "bin" / "nsys"), *asked_to_profile(asked)]


def test_what_nsys_prints_is_kept_and_is_no_output_of_the_program(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys()
    done = collect("-o", "net.run", *printing("only this"))
    assert done.out == b"only this\n"
    assert "Collecting data..." in done.err
    log = (tmp_path / "net.log").read_text()
    assert "Collecting data...\n" in log
    assert f"Generated:\n\t{tmp_path / 'net.nsys-rep'}" in log


def test_output_comes_through_an_nsys_that_closes_files(
    nsys: Callable[..., StandIn], collect: Collect
) -> None:
    nsys(closes_files=True)
    done = collect("-o", "net.run", *printing("out text", "err text"))
    assert done.status == 0
    assert b"out text\n" in done.out
    assert "err text\n" in done.err


@pytest.mark.parametrize("of_nsys", [0, 1])
def test_the_status_is_the_programs(
    nsys: Callable[..., StandIn], collect: Collect, of_nsys: int
) -> None:
    nsys(status=of_nsys)
    assert collect("-o", "a.run", *printing("", status=37)).status == 37
    kill = f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})"
    assert collect("-o", "b.run", PYTHON, "-c", kill).status == 128 + signal.SIGSEGV
    assert collect("-o", "c.run", *printing("")).status == 0


def test_no_gpu_work_is_a_failure_and_says_what_nsys_said(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys(without_gpu_work(tmp_path))
    done = collect("-o", "net.run", *printing(""))
    assert done.status == 125
    assert done.error.startswith("net.nsys-rep holds no GPU work")
    assert (tmp_path / "net.nsys-rep").is_file()
    done = collect("-o", "kept.run", "--no-convert", *printing(""))
    assert done.status == 125
    assert not (tmp_path / "kept.run").exists()


def test_a_program_that_failed_without_gpu_work_tells_its_own_status(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys(without_gpu_work(tmp_path))
    done = collect("-o", "net.run", *printing("", status=3))
    assert done.status == 3
    assert "Warning: net.nsys-rep holds no GPU work" in done.err


def test_without_conversion_the_capture_is_kept_and_looked_at(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys()
    done = collect("-o", "net.run", "--no-convert", *printing(""))
    assert done.status == 0, done.err
    assert (tmp_path / "net.nsys-rep").is_file()
    assert not (tmp_path / "net.run").exists()


def test_no_report_is_a_failure(nsys: Callable[..., StandIn], collect: Collect) -> None:
    nsys(makes="nothing")
    done = collect("-o", "net.run", *printing(""))
    assert done.status == 125
    assert "made no report, although the program ended with status 0" in done.error
    done = collect("-o", "net.run", "--range", "nvtx:epoch", *printing(""))
    assert done.status == 125
    assert "never entered the range `nvtx:epoch`" in done.error


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_raw_stream_is_kept_and_its_cause_told(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path, *, elsewhere: bool
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    nsys(makes="stream", streams_to=str(place) if elsewhere else "")
    importer = tmp_path / "bin" / "QdstrmImporter"
    importer.write_text(f"#!/bin/sh\necho '{NO_LIBDW}' >&2\nexit 127\n")
    importer.chmod(0o755)
    done = collect("-o", "net.run", *printing(""))
    assert done.status == 125
    assert "its importer needs libdw.so.1, which is missing" in done.error
    stream = tmp_path / "net.qdstrm"
    assert stream.read_bytes().startswith(b"U3w[END]")
    assert f"{importer} -i net.qdstrm -o net.nsys-rep" in done.err
    assert "libdw1" in done.err


def test_an_nsys_that_fails_is_quoted(
    nsys: Callable[..., StandIn], collect: Collect
) -> None:
    nsys(fails="Illegal --foo argument")
    done = collect("-o", "net.run", *printing("never"))
    assert done.status == 125
    assert "the program did not end under it" in done.error
    assert "| Illegal --foo argument" in done.err
    assert done.out == b""


def test_presets_add_up(nsys: Callable[..., StandIn], collect: Collect) -> None:
    asked = nsys()
    done = collect("-o", "n.run", "-p", "cpu", "-p", "graphs", *printing(""))
    assert done.status == 0, done.err
    words = next(words for words in asked.asked if words[1:2] != ["--help"])
    assert "--trace=cuda,nvtx,osrt" in words
    assert "--sample=process-tree" in words
    assert "--sample=none" not in words
    assert "--cuda-graph-trace=node" in words


def test_an_option_has_the_name_that_this_nsys_knows(
    nsys: Callable[..., StandIn], collect: Collect
) -> None:
    asked = nsys(unknown=["--gpu-metrics-devices"])
    assert collect("-o", "n.run", "-p", "metrics", *printing("")).status == 0
    words = next(words for words in asked.asked if words[1:2] != ["--help"])
    assert "--gpu-metrics-device=all" in words


def test_an_option_that_this_nsys_lacks_is_refused(
    nsys: Callable[..., StandIn], collect: Collect
) -> None:
    nsys(unknown=["--pytorch"])
    done = collect("-o", "n.run", "-p", "shapes", *printing("never"))
    assert done.status == 4
    assert "does not know --pytorch, which the preset `shapes` needs" in done.error
    assert done.out == b""


def test_ranges_become_options(nsys: Callable[..., StandIn], collect: Collect) -> None:
    asked = nsys()
    collect("-o", "a.run", "--range", "cudaProfilerApi", *printing(""))
    collect("-o", "b.run", "--range", "nvtx:step 3@train", *printing(""))
    first, second = [words for words in asked.asked if words[0] == "profile"]
    assert "--capture-range=cudaProfilerApi" in first
    assert "--capture-range-end=stop" in first
    assert "--capture-range=nvtx" in second
    assert "--nvtx-capture=step 3@train" in second
    assert "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0" in second


def test_a_repeated_range_makes_several_runs(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys(makes="numbered")
    assert collect("-o", "n.run", *printing("")).status == 0
    assert open_run(tmp_path / "n.run").manifest.rows("kernel") == 2
    assert open_run(tmp_path / "n.2.run").manifest.rows("kernel") == 2


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "3", "WORLD_SIZE": "8"},
        {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"},
    ],
)
def test_each_rank_has_a_report_of_its_own(
    nsys: Callable[..., StandIn],
    collect: Collect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked = nsys()
    done = collect("-o", "100% job.run", *printing(""))
    assert done.status == 0, done.err
    name = next(iter(variables))
    output = f"--output={tmp_path}/100%% job-rank-%q{{{name}}}"
    assert output in asked_to_profile(asked)
    assert (tmp_path / "100% job-rank-3.nsys-rep").is_file()
    manifest = open_run(tmp_path / "100% job-rank-3.run").manifest
    assert [(rank.rank, rank.source) for rank in manifest.ranks] == [(3, "file_name")]


def test_a_batch_script_is_no_rank(
    nsys: Callable[..., StandIn],
    collect: Collect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    nsys()
    assert collect("-o", "job.run", *printing("")).status == 0
    assert (tmp_path / "job.nsys-rep").is_file()


def test_a_taken_name_is_refused_before_anything_runs(
    nsys: Callable[..., StandIn], collect: Collect
) -> None:
    nsys()
    assert collect("-o", "net.run", *printing("once")).status == 0
    done = collect("-o", "net.run", *printing("twice"))
    assert (done.status, done.out) == (2, b"")
    done = collect("-o", "net.run", "--no-convert", *printing("twice"))
    assert (done.status, done.out) == (2, b"")
    assert "net.nsys-rep exists" in done.error
    done = collect("-o", "net.run", "--force", *printing("twice"))
    assert (done.status, done.out) == (0, b"twice\n")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CUDA_INJECTION64_PATH", "/opt/libother.so"),
        ("NSYS_PROFILING_SESSION_ID", "4711"),
        ("KINETO_USE_DAEMON", "1"),
    ],
)
def test_a_second_profiler_is_refused(
    nsys: Callable[..., StandIn],
    collect: Collect,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
) -> None:
    nsys()
    monkeypatch.setenv(variable, value)
    done = collect("-o", "net.run", *printing("never"))
    assert (done.status, done.out) == (2, b"")
    assert done.error.startswith(f"{variable} is set")
    assert f"unset {variable}" in done.err


def test_no_gpu_is_refused(
    nsys: Callable[..., StandIn], collect: Collect, tmp_path: Path
) -> None:
    nsys()
    (tmp_path / "dev" / "nvidia0").unlink()
    (tmp_path / "dev" / "nvidiactl").touch()
    done = collect("-o", "net.run", *printing("never"))
    assert (done.status, done.out) == (4, b"")
    assert "no NVIDIA GPU" in done.error


def test_no_permission_is_refused(
    nsys: Callable[..., StandIn],
    collect: Collect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nsys()
    monkeypatch.setattr(permissions, "is_admin", lambda: False)
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "params").write_text("RmProfilingAdminOnly: 1\n")
    (tmp_path / "paranoid").write_text("3\n")
    for preset, what in (("metrics", "GPU counters"), ("cpu", "CPU sampling")):
        done = collect("-o", "net.run", "-p", preset, *printing("never"))
        assert (done.status, done.out) == (4, b"")
        assert f"the preset `{preset}` needs {what}" in done.error
    assert collect("-o", "net.run", *printing("")).status == 0


def test_no_nsys_is_refused(collect: Collect) -> None:
    done = collect("--with", "nsys", "-o", "net.run", *printing("never"))
    assert (done.status, done.out) == (4, b"")
    assert "TRACEKIT_NSYS" in done.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--"], "there is no program to trace"),
        (["--", "no-such-program"], "`no-such-program` is no program"),
        (["--", "srun", "python"], "srun starts its tasks outside"),
        (["-p", "everything", "--", PYTHON], "there is no preset `everything`"),
        (["--range", "epoch", "--", PYTHON], "--range is `epoch`"),
        (["--range", "nvtx:", "--", PYTHON], "--range is `nvtx:`"),
    ],
)
def test_mistakes_of_the_user_are_one_line(
    nsys: Callable[..., StandIn], collect: Collect, arguments: list[str], expected: str
) -> None:
    nsys()
    done = collect("-o", "net.run", *arguments)
    assert done.status == 2
    assert done.error.startswith(expected)


def test_presets_are_listed_with_their_cost(collect: Collect) -> None:
    done = collect("--with", "nsys", "--list-presets")
    assert done.status == 0
    text = done.out.decode()
    for name in ("light", "memory", "metrics", "graphs", "shapes", "cpu"):
        assert f"\n{name} " in text


def test_the_presets_are_those_of_the_tool_that_would_record(
    collect: Collect, nsys: Callable[..., StandIn]
) -> None:
    assert "presets of cupti; others: --with nsys" in collect("--list-presets").err
    nsys()
    assert "presets of nsys; others: --with cupti" in collect("--list-presets").err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_and_keeps_the_capture(
    nsys: Callable[..., StandIn], tmp_path: Path, number: signal.Signals
) -> None:
    nsys()
    started = tmp_path / "started"
    # Its child must end as well: a profiler waits for all that a program started.
    code = (
        "import pathlib, subprocess, time; "
        "child = subprocess.Popen(['sleep', '60']); "
        f"pathlib.Path({str(started)!r}).write_text(str(child.pid)); "
        "time.sleep(60)"
    )
    process = start(
        *("collect", "-o", "net.run", "--", PYTHON, "-c", code),
        before=f"""
import pathlib
from tracekit.collect import checks
checks.DEVICES = pathlib.Path({str(tmp_path / "dev")!r})
""",
        folder=tmp_path,
    )
    until = time.monotonic() + 30
    while not (started.exists() and started.read_text()):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(number)
    done = finish(process)
    assert done.status == 128 + number, done.err
    assert open_run(tmp_path / "net.run").manifest.rows("kernel") == 2
    assert has_ended(int(started.read_text()))


def has_ended(process: int) -> bool:
    """Tell whether a process that nobody has waited for yet runs no more."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in "ZX"
