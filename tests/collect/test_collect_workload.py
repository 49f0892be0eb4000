"""A workload is traced in the user's interpreter, and its record joins the capture."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Ran, run
from tests.support.exports import SCALE_PARQUET
from tests.support.interpreters import StandInPython, stand_in_python
from tests.support.kineto import rows
from tests.support.nsys_program import StandIn, stand_in
from tracekit.collect import checks
from tracekit.store.run import open_run
from tracekit.tools import nsys as program

Collect = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _a_machine_with_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    monkeypatch.setattr(checks, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(program, "INSTALL_PATTERNS", ())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("RANK", "WORLD_SIZE", "CUDA_INJECTION64_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def nsys(tmp_path: Path) -> StandIn:
    return stand_in(
        tmp_path / "bin",
        exports={"parquetdir": SCALE_PARQUET},
        types=("parquetdir",),
    )


@pytest.fixture
def collect(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Collect:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def call(python: StandInPython, *arguments: str) -> Ran:
        where = ("--with", "nsys", "--python", python.path, "-o", "net.run")
        return run(capfd, "collect", "--workload", "resnet50", *where, *arguments)

    return call


def profiled(nsys: StandIn) -> list[list[str]]:
    starts = [words for words in nsys.asked if words[:1] == ["profile"]]
    return [words for words in starts if words != ["profile", "--help"]]


def asked_to_profile(nsys: StandIn) -> list[str]:
    (asked,) = profiled(nsys)
    return asked


def facts(path: Path) -> dict[str, str]:
    return {row["key"]: row["value"] for row in rows(open_run(path), "run_fact")}


def test_a_workload_is_traced_in_the_users_interpreter(
    nsys: StandIn, collect: Collect, tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "env")
    done = collect(python, "--preset", "memory", "--preset", "tiny", "--steps", "9")
    assert done.status == 0, done.err
    words = asked_to_profile(nsys)
    at = words.index(str(python.path))
    assert words[at + 2 :] == [
        *("resnet50", "--framework", "torch", "--preset", "tiny", "--steps", "9")
    ]
    # The other preset is the profiler's.
    assert "--cuda-memory-usage=true" in words
    assert (tmp_path / "net.workload.jsonl").is_file()
    assert facts(tmp_path / "net.run")["workload"] == "resnet50"


def test_a_profiler_that_waits_is_started_after_the_warm_up(
    nsys: StandIn, collect: Collect, tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "env")
    done = collect(python, "--range", "cudaProfilerApi", "--steps", "20")
    assert done.status == 0, done.err
    assert "--capture-range=cudaProfilerApi" in asked_to_profile(nsys)
    assert python.asked[-2:] == ["--profile", "5:20"]


def test_a_sweep_makes_a_run_for_each_size(
    nsys: StandIn, collect: Collect, tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "env")
    done = collect(python, "--sweep", "batch-size=4,16")
    assert done.status == 0, done.err
    assert [words[-1] for words in profiled(nsys)] == ["4", "16"]
    for name in ("net-b4.run", "net-b16.run"):
        assert facts(tmp_path / name)["workload.outcome"] == "done"


def test_a_sweep_ends_where_the_memory_does_not_suffice(
    nsys: StandIn, collect: Collect, tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "env", status=86)
    done = collect(python, "--sweep", "batch-size=4,16")
    assert done.status == 0, done.err
    assert "b4 is beyond the memory" in done.err
    assert facts(tmp_path / "net-b4.run")["workload.outcome"] == "out_of_memory"
    assert not (tmp_path / "net-b16.run").exists()
    assert len(profiled(nsys)) == 1


def test_out_of_memory_is_a_failure_of_a_single_run(
    nsys: StandIn, collect: Collect, tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "env", status=86)
    assert collect(python).status == 86
    assert asked_to_profile(nsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workload", "resnet50", "--", "true"], "both a program and --workload"),
        (["--steps", "3", "--", "true"], "no workload"),
        (["--sweep", "batch-size=8", "--", "true"], "no workload"),
        (["--workload", "resnet51"], "no workload `resnet51`"),
        (["--workload", "resnet50", "--sweep", "steps=8"], "--sweep is `steps=8`"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    arguments: list[str], said: str, nsys: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "collect", "--with", "nsys", *arguments)
    assert done.status == 2
    assert said in done.error
    assert profiled(nsys) == []
