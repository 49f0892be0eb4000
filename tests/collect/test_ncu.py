"""Counters are read of a bounded part of a program, alone or beside a timeline."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Ran
from tests.support.exports import SCALE_PARQUET
from tests.support.ncu import identity, raw_page
from tests.support.ncu_program import (
    NO_KERNELS,
    NOT_ALLOWED,
    NcuStandIn,
    ncu_stand_in,
)
from tests.support.nsys_program import Profiling, stand_in
from tests.support.rows import rows_of_run
from tracekit.collect.ncu_metrics import generations
from tracekit.store.run import open_run
from tracekit.tools import permissions

Collect = Callable[..., Ran]

pytestmark = pytest.mark.usefixtures("gpu_machine")

PROGRAM = [sys.executable, "-c", "print('out text')"]
HOPPER = generations()["hopper"]
LIGHT = (*HOPPER.needed, *HOPPER.wanted)
KNOWN = [metric.partition(".")[0] for metric in (*LIGHT, *HOPPER.tensor)]
FADD, FMUL, FFMA = HOPPER.needed[1:]


def scale_of(path: Path) -> dict[str, Any]:
    """Return a kernel of the timeline that the stand-in for nsys makes."""
    run = open_run(path)
    return rows_of_run(run, "kernel")[0]


@pytest.fixture
def ncu(tmp_path: Path) -> Callable[..., NcuStandIn]:
    def make(
        metrics: Sequence[str] = KNOWN,
        device: str = "NVIDIA H200 (GH100)",
        fails: str = "",
    ) -> NcuStandIn:
        cells = identity(0, "_Z5scalePfS_f", 1, 1)
        table = tmp_path / "printed.csv"
        units = {"gpu__time_duration.sum": "ns", FADD: "inst", FMUL: "inst"}
        units |= {FFMA: "inst"}
        table.write_text(raw_page(units, [(cells, ["1,000", "1", "20", "300"])]))
        return ncu_stand_in(
            tmp_path / "bin", table, metrics=metrics, device=device, fails=fails
        )

    return make


@pytest.fixture
def timeline(tmp_path: Path) -> None:
    """Put an nsys beside ncu."""
    exports = {"parquetdir": SCALE_PARQUET}
    stand_in(
        tmp_path / "bin", exports=exports, types=("parquetdir",), profiling=Profiling()
    )


def after(words: list[str], option: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == option]


def test_a_range_is_measured(
    ncu: Callable[..., NcuStandIn], collect: Collect, tmp_path: Path
) -> None:
    asked = ncu()
    done = collect(
        *("--with", "ncu", "-o", "net.run", "--range", "cudaProfilerApi"), *PROGRAM
    )
    assert done.status == 0, done.err
    assert done.out == b"out text\n"
    (words,) = asked.asked
    assert words[:4] == ["--target-processes", "all", "--clock-control", "none"]
    assert after(words, "--metrics") == [",".join(LIGHT)]
    assert after(words, "--profile-from-start") == ["off"]
    assert after(words, "--launch-count") == ["5000"]
    assert words[-3:] == PROGRAM
    assert (tmp_path / "net.ncu-rep").is_file()
    rows = rows_of_run(open_run(tmp_path / "net.run"), "kernel_metric")
    assert {row["metric"]: row["value"] for row in rows} == {
        "gpu__time_duration.sum": 1000.0,
        FADD: 1.0,
        FMUL: 20.0,
        FFMA: 300.0,
    }
    assert {row["mangled_name"] for row in rows} == {"_Z5scalePfS_f"}


def test_a_nvtx_range_is_a_filter_with_its_marks_escaped(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    asked = ncu()
    range_ = ("--range", "nvtx:step 3/4@train")
    assert collect("--with", "ncu", "-o", "n.run", *range_, *PROGRAM).status == 0
    (words,) = asked.asked
    assert after(words, "--nvtx-include") == [
        "train@step 3\\/4/",
        "train@step 3\\/4",
    ]


def test_what_nothing_bounds_is_refused(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    ncu()
    done = collect("--with", "ncu", "-o", "n.run", *PROGRAM)
    assert (done.status, done.out) == (2, b"")
    for way in ("--like RUN", "--top N", "--range cudaProfilerApi", "--counters"):
        assert way in done.err


@pytest.mark.usefixtures("timeline")
def test_counters_are_joined_to_the_timeline_by_one_command(
    ncu: Callable[..., NcuStandIn], collect: Collect, tmp_path: Path
) -> None:
    ncu()
    assert collect("-o", "plain.run", *PROGRAM).status == 0
    kernel = scale_of(tmp_path / "plain.run")
    grid = f"({kernel['grid_x']}, {kernel['grid_y']}, {kernel['grid_z']})"
    block = f"({kernel['block_x']}, {kernel['block_y']}, {kernel['block_z']})"
    cells = identity(0, kernel["mangled_name"])
    cells[7:9] = [block, grid]
    units = dict.fromkeys((FADD, FMUL, FFMA), "inst")
    (tmp_path / "printed.csv").write_text(
        raw_page(units, [(cells, ["1", "20", "300"])])
    )
    done = collect("--counters", "-o", "net.run", *PROGRAM)
    assert done.status == 0, done.err
    assert done.out == b"out text\n" * 2
    assert "measuring the first stable step (launches: 1)" in done.err
    run = open_run(tmp_path / "net.run")
    assert run.manifest.rows("kernel") == 2
    (joined,) = run.manifest.joined
    assert (joined.launches, joined.matched, joined.kernels_matched) == (1, 1, 2)
    metrics = rows_of_run(run, "kernel_metric")
    assert sum(row["value"] for row in metrics) == 2 * 321.0


@pytest.mark.usefixtures("timeline")
def test_the_kernels_with_most_time_of_an_earlier_run(
    ncu: Callable[..., NcuStandIn], collect: Collect, tmp_path: Path
) -> None:
    asked = ncu()
    assert collect("-o", "plain.run", *PROGRAM).status == 0
    symbol = scale_of(tmp_path / "plain.run")["mangled_name"]
    done = collect(
        *("--with", "ncu", "--like", "plain.run", "--top", "1", "-o", "n.run"), *PROGRAM
    )
    assert done.status == 0, done.err
    (words,) = asked.asked
    assert after(words, "--kernel-name-base") == ["mangled"]
    assert after(words, "--kernel-name") == [f"regex:^({symbol})$"]
    assert after(words, "--launch-count") == ["1"]
    assert after(words, "--launch-skip") == []


@pytest.mark.usefixtures("timeline")
@pytest.mark.parametrize(
    ("says", "status", "error"),
    [
        (NOT_ALLOWED, 4, "may not read GPU counters"),
        (NO_KERNELS, 125, "measured no kernel of the first stable step (launches: 1)"),
        ("==ERROR== LibraryNotLoaded", 125, "ended with status 1 and made no report"),
    ],
)
def test_a_timeline_is_kept_where_counters_fail(
    ncu: Callable[..., NcuStandIn],
    collect: Collect,
    tmp_path: Path,
    says: str,
    status: int,
    error: str,
) -> None:
    ncu(fails=says)
    done = collect("--counters", "-o", "net.run", *PROGRAM)
    assert done.status == status
    assert error in done.error
    assert "net.run has the timeline without counters" in done.err
    assert open_run(tmp_path / "net.run").manifest.rows("kernel") == 2
    if status == 4:
        assert "NVreg_RestrictProfilingToAdminUsers=0" in done.err


@pytest.mark.usefixtures("timeline")
def test_what_rules_counters_out_is_told_before_anything_runs(
    ncu: Callable[..., NcuStandIn],
    collect: Collect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = collect("--counters", "-o", "n.run", *PROGRAM)
    assert (done.status, done.out) == (4, b"")
    assert "TRACEKIT_NCU" in done.err
    ncu()
    done = collect("--counters", "-o", "n.run", "--range", "nvtx:epoch", *PROGRAM)
    assert (done.status, done.out) == (2, b"")
    (tmp_path / "n.ncu.csv").touch()
    done = collect("--counters", "-o", "n.run", *PROGRAM)
    assert (done.status, done.out) == (2, b"")
    assert "n.ncu.csv exists" in done.error
    with monkeypatch.context() as ranked:
        ranked.setenv("RANK", "0")
        ranked.setenv("WORLD_SIZE", "2")
        done = collect("--counters", "-o", "m.run", *PROGRAM)
        assert (done.status, done.out) == (2, b"")
        assert "one kernel at a time" in done.error
    monkeypatch.setattr(permissions, "is_admin", lambda: False)
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "params").write_text("RmProfilingAdminOnly: 1\n")
    done = collect("--counters", "-o", "m.run", *PROGRAM)
    assert (done.status, done.out) == (4, b"")
    assert "ERR_NVGPUCTRPERM" in done.error


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--with", "ncu", "--counters"], "--counters adds counters to a timeline"),
        (["--like", "a.run"], "--like chooses kernels for --with ncu"),
        (["--top", "3"], "--top chooses kernels by their time in an earlier run"),
        (["--counters", "--no-convert"], "--counters measures what the run says"),
        (["--with", "ncu", "-p", "graphs"], "there is no preset `graphs`"),
    ],
)
def test_options_that_contradict_each_other(
    ncu: Callable[..., NcuStandIn], collect: Collect, options: list[str], error: str
) -> None:
    ncu()
    done = collect("-o", "n.run", "--range", "cudaProfilerApi", *options, *PROGRAM)
    assert (done.status, done.out) == (2, b"")
    assert done.error.startswith(error)


@pytest.mark.usefixtures("timeline")
def test_operations_of_tensor_cores_are_a_preset(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    asked = ncu()
    done = collect("--counters", "-p", "tensor", "-o", "n.run", *PROGRAM)
    assert done.status == 0, done.err
    (words,) = asked.asked
    assert after(words, "--metrics") == [",".join((*LIGHT, *HOPPER.tensor))]
    listed = collect("--with", "ncu", "--list-presets").out.decode()
    assert "\nlight " in listed
    assert "\ntensor " in listed


RANGE = ("--with", "ncu", "-o", "n.run", "--range", "cudaProfilerApi")


def test_a_metric_that_is_needed_and_not_there_is_told_before_the_run(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    ncu(metrics=[name for name in KNOWN if "_ffma_" not in name])
    done = collect(*RANGE, *PROGRAM)
    assert (done.status, done.out) == (4, b"")
    assert f"has no metric {FFMA} on GH100" in done.error


def test_other_metrics_are_left_out_where_there_are_none(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    asked = ncu(metrics=[name for name in KNOWN if name != "dram__bytes"])
    done = collect(*RANGE, *PROGRAM)
    assert done.status == 0, done.err
    assert "Not measured, as ncu 2025.3.1.0 has none here: dram__bytes.sum" in done.err
    (words,) = asked.asked
    (metrics,) = after(words, "--metrics")
    assert "dram__bytes.sum" not in metrics.split(",")
    assert FFMA in metrics.split(",")


def test_packed_operations_are_asked_for_where_the_chip_has_them(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    packed = generations()["blackwell"]
    names = [metric.partition(".")[0] for metric in (*packed.needed, *packed.wanted)]
    asked = ncu(device="NVIDIA B200 (GB100)", metrics=names)
    assert collect(*RANGE, *PROGRAM).status == 0
    (words,) = asked.asked
    (metrics,) = after(words, "--metrics")
    assert "smsp__sass_thread_inst_executed_op_ffma2_pred_on.sum" in metrics


def test_a_chip_that_no_list_names_gets_what_it_has(
    ncu: Callable[..., NcuStandIn], collect: Collect
) -> None:
    asked = ncu(device="NVIDIA R100 (GR100)", metrics=[*KNOWN[:4], "dram__bytes"])
    assert collect(*RANGE, *PROGRAM).status == 0
    (words,) = asked.asked
    assert after(words, "--metrics") == [",".join((*HOPPER.needed, "dram__bytes.sum"))]


def test_each_generation_names_its_metrics_once() -> None:
    for name, generation in generations().items():
        metrics = [*generation.needed, *generation.wanted, *generation.tensor]
        assert len(metrics) == len(set(metrics)), name
        assert {FADD, FMUL, FFMA, "gpu__time_duration.sum"} <= set(generation.needed)
    chips = [chip for one in generations().values() for chip in one.chips]
    assert len(chips) == len(set(chips))
