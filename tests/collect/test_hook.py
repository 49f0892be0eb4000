"""Frameworks' profilers are switched on from outside, in Python 3.6 to 3.13."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Ran
from tests.support.framework_modules import install
from tests.support.rows import rows_of_run
from tracekit.assets import assets
from tracekit.store.run import open_run

Collect = Callable[..., Ran]

pytestmark = pytest.mark.usefixtures("gpu_machine")

HOOK = Path(str(assets("collectors") / "python"))
VERSIONS = [f"3.{minor}" for minor in range(6, 14)]
TRAIN = """
import mxnet, sys
trainer = mxnet.gluon.Trainer()
for number in range({steps}):
    assert trainer.step(number) == number
print("trained")
"""


def interpreter(version: str) -> str:
    """Return an interpreter of a version, or skip the test."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    found = shutil.which(f"python{version}")
    for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        found = found or str(path)
    if found is None:
        pytest.skip(f"Python {version} is not installed")
    return found


def events(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("events.*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def train(
    folder: Path,
    program: str = TRAIN.format(steps=4),
    python: str = sys.executable,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a program with the hook and the stand-in for MXNet."""
    modules = install(folder / "modules")
    (folder / "captures").mkdir(exist_ok=True)
    return subprocess.run(
        [python, "-c", program],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{HOOK}:{modules}",
            "TRACEKIT_HOOKS": "profiler",
            "TRACEKIT_PROFILER": "mxnet",
            "TRACEKIT_PROFILER_FOLDER": str(folder / "captures"),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names(folder: Path) -> list[str]:
    """Return the operators and tasks of the one capture."""
    (path,) = (folder / "captures").glob("*.mxnet.json")
    found = json.loads(path.read_text())["traceEvents"]
    return [event["name"] for event in found if event["ph"] in "Bb"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_is_recorded_in_every_python(tmp_path: Path, version: str) -> None:
    python = interpreter(version)
    done = train(tmp_path, python=python)
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained\n", "")
    # What began after the last update is no step.
    assert names(tmp_path) == [
        name for n in range(4) for name in ("sgd_update", f"step{n}")
    ]
    told = events(tmp_path / "captures")
    assert [event["event"] for event in told] == ["imported", "captured"]
    assert told[1]["steps"] == 4


@pytest.mark.parametrize(
    ("asked", "recorded"), [("1:3", [1, 2]), ("0:2", [0, 1]), ("2:9", [2, 3])]
)
def test_steps_are_recorded_alone(
    tmp_path: Path, asked: str, recorded: list[int]
) -> None:
    done = train(tmp_path, TRACEKIT_PROFILER_STEPS=asked)
    assert done.returncode == 0, done.stderr
    expected = [name for n in recorded for name in ("sgd_update", f"step{n}")]
    assert names(tmp_path) == expected


def test_updates_after_gradients_were_clipped_are_steps(tmp_path: Path) -> None:
    program = TRAIN.format(steps=3).replace(".step(number)", ".update(number)")
    assert train(tmp_path, program).returncode == 0
    assert names(tmp_path) == ["step0", "step1", "step2"]


def test_steps_that_never_come_are_told(tmp_path: Path) -> None:
    assert train(tmp_path, TRACEKIT_PROFILER_STEPS="7:9").returncode == 0
    told = events(tmp_path / "captures")
    assert [event["event"] for event in told] == ["imported", "never_started"]
    assert told[1]["steps"] == 4


@pytest.mark.parametrize("when", ["run", "stop"])
def test_a_profiler_that_fails_leaves_the_program_alone(
    tmp_path: Path, when: str
) -> None:
    done = train(tmp_path, FAKE=f"cannot_{when}")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "tracekit: the profiler failed" in done.stderr
    (failed,) = [e for e in events(tmp_path / "captures") if e["event"] == "failed"]
    assert failed["error"] == f"RuntimeError: the profiler cannot {when}"


def test_an_exit_an_error_and_a_signal_keep_the_capture(tmp_path: Path) -> None:
    train_ = TRAIN.format(steps=2)
    ends = {
        "exit": ("sys.exit(3)", 3),
        "error": ("raise ValueError", 1),
        "signal": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    }
    for name, (code, status) in ends.items():
        done = train(tmp_path / name, train_ + code)
        assert done.returncode == status, name
        assert names(tmp_path / name)[-1] == "step1"


def test_a_program_that_handles_the_signal_keeps_its_handler(tmp_path: Path) -> None:
    program = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        + TRAIN.format(steps=1)
        + "import os; os.kill(os.getpid(), signal.SIGTERM); print('alive')"
    )
    assert train(tmp_path, program).stdout == "trained\nalive\n"


def test_a_child_that_is_forked_writes_nothing(tmp_path: Path) -> None:
    program = (
        TRAIN.format(steps=1)
        + "import os\nchild = os.fork()\n"
        + "trainer.step(1)\nif child: os.waitpid(child, 0)\n"
    )
    assert train(tmp_path, program).returncode == 0
    assert names(tmp_path).count("step1") == 1


def test_a_rank_is_in_the_name_and_a_launcher_is_left_alone(tmp_path: Path) -> None:
    train(tmp_path / "rank", RANK="3", WORLD_SIZE="4")
    (path,) = (tmp_path / "rank" / "captures").glob("*.json")
    assert path.name.startswith("rank-3.pid-")
    (tmp_path / "launcher" / "captures").mkdir(parents=True)
    launcher = tmp_path / "torchrun"
    launcher.write_text(TRAIN.format(steps=1))
    install(tmp_path / "launcher" / "modules")
    done = subprocess.run(
        [sys.executable, launcher],
        env={
            "PYTHONPATH": f"{HOOK}:{tmp_path / 'launcher' / 'modules'}",
            "TRACEKIT_HOOKS": "profiler",
            "TRACEKIT_PROFILER": "mxnet",
            "TRACEKIT_PROFILER_FOLDER": str(tmp_path / "launcher" / "captures"),
        },
        timeout=60,
        check=True,
    )
    assert done.returncode == 0
    assert not events(tmp_path / "launcher" / "captures")


def test_the_interpreters_own_sitecustomize_is_run(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sitecustomize.py").write_text("print('own')")
    assert train(tmp_path).stdout == "own\ntrained\n"


def test_one_command_records_and_converts(
    collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install(tmp_path / "modules")))
    done = collect(
        *("--with", "mxnet", "-o", "net.run", "--range", "steps:1:3"),
        *(sys.executable, "-c", TRAIN.format(steps=4)),
    )
    assert done.status == 0, done.err
    assert done.out == b"trained\n"
    run = open_run(tmp_path / "net.run")
    assert [row["step_index"] for row in rows_of_run(run, "step")] == [1, 2]
    assert run.manifest.rows("operator") == 2
    assert list((tmp_path / "net.mxnet").glob("pid-*.mxnet.json"))


def test_ranks_make_one_run_and_other_processes_one_each(
    collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install(tmp_path / "modules")))
    launch = """
import os, subprocess, sys
for number in range(2):
    rank = {"RANK": str(number), "WORLD_SIZE": "2"} if sys.argv[2] == "ranks" else {}
    code = sys.argv[1].replace("range(4)", "range(%d)" % (number + 2))
    environment = dict(os.environ, **rank)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
"""
    words = [sys.executable, "-c", launch, TRAIN.format(steps=4)]
    done = collect("--with", "mxnet", "-o", "job.run", *words, "ranks")
    assert done.status == 0, done.err
    manifest = open_run(tmp_path / "job.run").manifest
    assert [rank.rank for rank in manifest.ranks] == [0, 1]
    assert manifest.rows("step") == 2 + 3
    done = collect("--with", "mxnet", "-o", "two.run", *words, "processes")
    assert done.status == 0, done.err
    # The one that did most is the first.
    assert open_run(tmp_path / "two.run").manifest.rows("step") == 3
    assert open_run(tmp_path / "two.2.run").manifest.rows("step") == 2


@pytest.mark.parametrize(
    ("program", "options", "status", "error"),
    [
        ("print(1)", [], 125, "no Python process of the program imported mxnet"),
        (
            TRAIN.format(steps=2),
            ["--range", "steps:5:6"],
            125,
            "after 2 training steps",
        ),
        ("import mxnet, os; os._exit(7)", [], 125, "wrote no capture"),
        ("", ["--range", "cudaProfilerApi"], 2, "cannot record `cudaProfilerApi` only"),
        ("", ["--range", "steps:3:3"], 2, "--range is `steps:3:3`"),
        ("", ["-p", "shapes"], 2, "there is no preset `shapes`"),
    ],
)
def test_why_no_capture_came_is_told(
    collect: Collect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    options: list[str],
    status: int,
    error: str,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install(tmp_path / "modules")))
    done = collect(
        *("--with", "mxnet", "-o", "n.run", *options), sys.executable, "-c", program
    )
    assert done.status == status
    assert error in done.error


def test_timelines_know_no_steps(collect: Collect) -> None:
    for profiler in ("nsys", "cupti", "ncu"):
        done = collect(
            *("--with", profiler, "-o", "n.run", "--range", "steps:1:2"),
            *(sys.executable, "-c", ""),
        )
        assert done.status == 2
        assert "it knows no training steps" in done.error


def test_an_interrupted_program_keeps_its_capture(tmp_path: Path) -> None:
    program = TRAIN.format(steps=2) + "import os; os.kill(os.getpid(), signal.SIGINT)"
    # A background job of a shell begins with the signal ignored.
    handler = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    )
    done = train(tmp_path, handler + program)
    assert done.returncode == -signal.SIGINT
    assert names(tmp_path)[-1] == "step1"
