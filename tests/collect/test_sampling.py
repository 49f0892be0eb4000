"""What is sampled beside a program is what the kernel and the driver say."""

import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.support.rows import rows, rows_of_run
from tracekit.collect import cpus
from tracekit.collect.gpus import Gpus
from tracekit.collect.sampling import Sampler
from tracekit.convert import convert
from tracekit.store.run import Run

# Burns time itself, in a child that it waits for, and in one that outlives the looks.
_PROGRAM = """
import subprocess, sys, time
burn = "import time\\nwhile time.process_time() < %s: pass"
subprocess.run([sys.executable, "-c", burn % 0.2])
wait = "\\nimport os; os.read(0, 1)"
command = [sys.executable, "-c", burn % 0.3 + wait]
child = subprocess.Popen(command, stdin=subprocess.PIPE)
exec(burn % 0.25)
print("burnt", flush=True)
sys.stdin.read()
child.kill()
"""


class NvmlError(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stands in for the management library: one GPU, whose power is not told."""
    found = types.ModuleType("pynvml")
    module: Any = found
    module.NVMLError = NvmlError
    module.NVML_CLOCK_SM, module.NVML_CLOCK_MEM = 1, 2
    module.nvmlInit = module.nvmlShutdown = lambda: None
    module.nvmlSystemGetDriverVersion = lambda: b"580.1"
    module.nvmlDeviceGetCount = lambda: 1
    module.nvmlDeviceGetHandleByIndex = lambda index: f"gpu {index}"
    module.nvmlDeviceGetName = lambda _: "NVIDIA H200"
    module.nvmlDeviceGetUUID = lambda _: "GPU-01234567-89ab-cdef-0123-456789abcdef"
    module.nvmlDeviceGetPciInfo = lambda _: types.SimpleNamespace(
        busId="00000000:0A:00.0"
    )
    module.nvmlDeviceGetClockInfo = lambda _, clock: {1: 1980, 2: 3201}[clock]
    module.nvmlDeviceGetMemoryInfo = lambda _: types.SimpleNamespace(used=5 << 30)

    def refuse(_: object) -> int:
        raise NvmlError("Not Supported")

    module.nvmlDeviceGetPowerUsage = refuse
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return found


@pytest.fixture
def sampled(nvml: types.ModuleType, tmp_path: Path) -> tuple[Run, float, int]:  # noqa: ARG001 - it is loaded by name
    """The run of the samples of a program; its CPU seconds; when it had burnt them."""
    path = tmp_path / "net.samples.jsonl"
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with Sampler(path, lambda: program.pid, 0.05) as sampler:
        assert program.stdout is not None
        assert program.stdout.readline() == "burnt\n"
        # Its second child burns on: wait until it has burnt its share.
        (child,) = psutil.Process(program.pid).children()
        while sum(child.cpu_times()[:2]) < 0.27:
            time.sleep(0.02)
        time.sleep(0.1)
        burnt_ns = time.time_ns()
        sampler.note({"torch": "2.11"})
        time.sleep(0.1)
    program.communicate("")
    return convert([path], tmp_path / "net.run"), 0.75, burnt_ns


def series(run: Run, metric: str, instance: str | None) -> list[tuple[int, float]]:
    names = ("metric", "instance", "time_ns", "value")
    return [
        (time_ns, value)
        for found, of, time_ns, value in rows(run, "counter_sample", *names)
        if (found, of) == (metric, instance)
    ]


def test_the_time_of_the_program_and_of_all_that_it_started(
    sampled: tuple[Run, float, int],
) -> None:
    run, burnt_s, burnt_ns = sampled
    used = series(run, "CPU time", "process tree")
    values = [value for _, value in used]
    assert values == sorted(values)
    before = [value for time_ns, value in used if time_ns <= burnt_ns]
    # What each interpreter takes to start and to end comes on top.
    assert burnt_s - 0.05 <= before[-1] <= burnt_s + 2
    resident = series(run, "memory used", "process tree")
    assert max(value for _, value in resident) > 5 << 20


def test_every_core_is_sampled(sampled: tuple[Run, float, int]) -> None:
    run, _, _ = sampled
    names = ("metric", "cpu", "value", "unit", "source")
    cores = [
        (cpu, value)
        for metric, cpu, value, unit, source in rows(run, "counter_sample", *names)
        if (metric, unit, source) == ("CPU utilization", "1", "cpu")
    ]
    assert {cpu for cpu, _ in cores} == set(range(psutil.cpu_count() or 0))
    assert all(0 <= value <= 1 for _, value in cores)
    # The program alone kept a core busy.
    system = [value for _, value in series(run, "CPU time", "system")]
    assert system[-1] - system[0] >= 0.4


def test_the_clocks_and_the_memory_of_the_gpu(sampled: tuple[Run, float, int]) -> None:
    run, _, _ = sampled
    names = ("source", "device_id", "metric", "unit", "value")
    assert {row for row in rows(run, "counter_sample", *names) if row[0] == "nvml"} == {
        ("nvml", 0, "SM clock", "Hz", 1.98e9),
        ("nvml", 0, "memory clock", "Hz", 3.201e9),
        ("nvml", 0, "memory used", "B", 5.0 * 2**30),
    }
    assert rows(run, "device", "name", "uuid", "bus") == [
        ("NVIDIA H200", "01234567-89ab-cdef-0123-456789abcdef", "0000:0a:00.0")
    ]


def test_facts_of_the_run(sampled: tuple[Run, float, int]) -> None:
    run, _, _ = sampled
    facts = {row["key"]: row["value"] for row in rows_of_run(run, "run_fact")}
    assert facts["torch"] == "2.11"
    assert facts["driver_version"] == run.manifest.driver_version == "580.1"
    assert float(facts["cpu_cores"]) == cpus.usable_cores()
    assert float(facts["sampler_cpu_s"]) > 0


def test_a_machine_without_the_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Gpus().failure == "nvidia-ml-py is not installed"


def test_a_folder_that_is_gone_ends_no_program(tmp_path: Path) -> None:
    with Sampler(tmp_path / "none" / "x.samples.jsonl", lambda: None, 0.01):
        pass


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"a/b/cpu.max": "150000 100000", "a/cpu.max": "max 100000"}, 1.5),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ({"a/b/cpu.max": "max 100000"}, None),
        ({}, None),
    ],
)
def test_quotas_of_the_groups_above_hold(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    cores: float | None,
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    membership = tmp_path / "membership"
    membership.write_text("0::/a/b\n")
    monkeypatch.setattr(cpus, "MEMBERSHIP", membership)
    assert cpus.quota(tmp_path) == cores


def test_a_line_that_was_cut_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "net.samples.jsonl"
    lines: list[Any] = [{"tracekit_samples": 1, "host": "box"}]
    lines += [{"t": 10**9 * n, "cpu_s": [n / 4], "tree_s": n} for n in (1, 2, 3)]
    text = b"\n".join(msgspec.json.encode(line) for line in lines)
    path.write_bytes(text + b'\n{"t": 400000')
    run = convert([path], tmp_path / "net.run")
    names = ("time_ns", "metric", "value")
    assert sorted(rows(run, "counter_sample", *names)) == [
        (10**9, "CPU time", 0.25),
        (10**9, "CPU time", 1.0),
        (2 * 10**9, "CPU time", 0.5),
        (2 * 10**9, "CPU time", 2.0),
        (2 * 10**9, "CPU utilization", 0.25),
        (3 * 10**9, "CPU time", 0.75),
        (3 * 10**9, "CPU time", 3.0),
        (3 * 10**9, "CPU utilization", 0.25),
    ]
    (skipped,) = run.manifest.skipped
    assert (skipped.what, skipped.count) == ("line", 1)
