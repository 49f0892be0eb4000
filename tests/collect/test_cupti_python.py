"""What cupti-python hands over is written as the native collector writes it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Ran, run
from tests.support.rows import rows, rows_of_run
from tracekit.collect import checks
from tracekit.store.run import open_run

_STAND_IN = Path(__file__).parents[1] / "support/cupti/python/cupti_stand_in.py"


@pytest.fixture
def collect(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    packages = tmp_path / "packages"
    (packages / "cupti").mkdir(parents=True)
    (packages / "cupti" / "__init__.py").touch()
    shutil.copy(_STAND_IN, packages / "cupti" / "cupti.py")
    (packages / "torch.py").write_text("__version__ = '2.11'\n")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    monkeypatch.setattr(checks, "DEVICES", tmp_path / "dev")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.chdir(tmp_path)

    def call(code: str, *options: str) -> Ran:
        command = ["-o", "net.run", *options, "--", sys.executable, "-c", code]
        return run(capfd, "collect", "--with", "cupti-python", *command)

    return call


def test_records_become_a_run(collect: Callable[..., Ran], tmp_path: Path) -> None:
    done = collect("import torch; print('done')")
    assert (done.status, done.out) == (0, b"done\n"), done.err
    assert "tens of microseconds a launch" in done.err
    run_ = open_run(tmp_path / "net.run")
    (kernel,) = rows_of_run(run_, "kernel")
    expected = {
        "start_ns": 1000,
        "end_ns": 1011,
        "name": "add(float*, float*, int)",
        "mangled_name": "_Z3addPfS_i",
        "graph_id": 5,
        "graph_node_id": 0xFFFFFFFF00000001 - 2**64,
        "grid_x": 2,
        "cluster_x": None,
        "registers_per_thread": 17,
        "local_bytes_total": 22,
        "correlation_id": 1,
        "stream_id": 7,
    }
    assert {name: kernel[name] for name in expected} == expected
    # Calls that neither launch, copy, allocate nor wait are left out.
    assert rows(run_, "api_call", "name", "domain", "start_ns") == [
        ("cudaLaunchKernel", "runtime", 900)
    ]
    copies = rows(run_, "memcpy", "bytes", "copy_kind", "copy_count")
    assert copies == [(6_000_000_000, "HtoD", 2)]
    ranges = rows(run_, "annotation", "text", "start_ns", "end_ns", "kind")
    assert ranges == [("step 0", 100, 200, "push_pop")]
    (skipped,) = run_.manifest.skipped
    assert (skipped.what, skipped.count) == ("record", 3)
    facts = dict(rows(run_, "run_fact", "key", "value"))
    assert facts["torch"] == "2.11"


def test_all_calls_on_request(collect: Callable[..., Ran], tmp_path: Path) -> None:
    assert collect("import torch", "--preset", "calls").status == 0
    names = rows(open_run(tmp_path / "net.run"), "api_call", "name")
    assert sorted(names) == [("cudaGetLastError",), ("cudaLaunchKernel",)]


def test_a_program_that_imports_no_framework_is_told(
    collect: Callable[..., Ran],
) -> None:
    done = collect("print(1)")
    assert done.status == 125
    assert "no process of the program used CUDA" in done.error
    assert "pip install cupti-python" in done.err


def test_an_interpreter_without_it_runs_the_program(
    collect: Callable[..., Ran], tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "packages" / "cupti")
    done = collect("import torch; print('done')")
    assert (done.status, done.out) == (125, b"done\n")
    assert "nothing is recorded: No module named 'cupti'" in done.err


def test_only_the_whole_run(collect: Callable[..., Ran]) -> None:
    done = collect("print(1)", "--range", "cudaProfilerApi")
    assert done.status == 2
    assert "cannot record `cudaProfilerApi` only" in done.error


def test_a_baseline_is_part_of_the_run(
    collect: Callable[..., Ran], tmp_path: Path
) -> None:
    done = collect("import torch; print('done')", "--baseline")
    assert (done.status, done.out) == (0, b"done\ndone\n"), done.err
    assert "again, without a profiler" in done.err
    facts = dict(rows(open_run(tmp_path / "net.run"), "run_fact", "key", "value"))
    ratio = int(facts["collect.program_ns"]) / int(facts["baseline.program_ns"])
    assert facts["overhead.ratio"] == f"{ratio:.4f}"
    assert f"a program takes {ratio:.4f} times as long" in done.err
