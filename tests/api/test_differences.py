"""`tracekit diff`: what is planted is found and named, and nothing else."""

import json
from pathlib import Path

import pytest

from tests.conftest import MakeRun
from tests.support.command import run
from tests.support.shared import NSYS, needs_shared
from tracekit.api.differences import compare
from tracekit.api.noise import Measured, margin, mean_of
from tracekit.report.difference import Basis, Difference
from tracekit.store.run import Run

STEPS = 6
STEP_NS = 100_000
# How a step differs from the others, in parts of a thousand.
JITTER = (0, 3, -2, 4, -4, 1)
KERNELS = {
    "gemm": 15_000,
    "relu": 5_000,
    "norm": 9_000,
    "twice": 3_000,
    "gone": 1_000,
    "new": 1_000,
}


def training(
    run_of: MakeRun,
    *,
    factors: dict[str, float] | None = None,
    launches: dict[str, int] | None = None,
    with_steps: bool = True,
    run_id: str = "20261201t000000z-base-00000000",
) -> Run:
    """Make a run of six steps, kernels of which may be slower or more often."""
    kernels = "process_id, device_id, stream_id, start_ns, end_ns, canonical_name, name"
    steps = "step_index, process_id, name, start_ns, end_ns, source"
    for step in range(STEPS):
        at = step * STEP_NS
        steps += f"\n{step}, 0, step, {at}, {at + STEP_NS}, annotation"
        for name, plain_ns in KERNELS.items():
            for _ in range((launches or {}).get(name, 2)):
                factor = (factors or {}).get(name, 1) * (1 + JITTER[step] / 1000)
                end = at + round(plain_ns * factor)
                kernels += f"\n0, 0, 7, {at}, {end}, {name}, {name}"
                at = end
    tables = {"kernel": kernels, **({"step": steps} if with_steps else {})}
    return run_of(tables, run_id=run_id)


def named(difference: Difference, kind: str = "kernel") -> dict[str, str]:
    return {
        row["name"]: row["change"]
        for row in difference.changes.to_pylist()
        if row["kind"] == kind
    }


def test_a_run_does_not_differ_from_itself(run_of: MakeRun) -> None:
    base = training(run_of)
    found = compare(base, training(run_of))
    assert found.changes.num_rows == 0
    assert found.basis is Basis.STEP


def planted(run_of: MakeRun, *, with_steps: bool) -> dict[str, dict[str, object]]:
    """Return the changed kernels of a run in which every kind of change is planted."""
    base = training(run_of, launches={"new": 0}, with_steps=with_steps)
    other = training(
        run_of,
        factors={"relu": 1.1, "norm": 1.01, "gemm": 0.8, "twice": 1.1},
        launches={"twice": 4, "gone": 0},
        with_steps=with_steps,
    )
    found = compare(base, other)
    assert found.basis is (Basis.STEP if with_steps else Basis.WHOLE)
    rows = found.changes.to_pylist()
    return {row["name"]: row for row in rows if row["kind"] == "kernel"}


def test_every_planted_change_is_named_and_a_hundredth_is_noise(
    run_of: MakeRun,
) -> None:
    rows = planted(run_of, with_steps=True)
    assert {name: row["change"] for name, row in rows.items()} == {
        "relu": "slower",
        "gemm": "faster",
        "twice": "more launches",
        "gone": "removed",
        "new": "added",
    }
    relu, twice = rows["relu"], rows["twice"]
    assert relu["relative"] == pytest.approx(0.1, abs=0.001)
    assert relu["by_launches"] == 0
    assert relu["by_time_each"] == relu["difference"]
    # 6,000 ns a step before; two more launches of 3,000; four times 300 more.
    assert (twice["base_launches"], twice["other_launches"]) == (2, 4)
    assert twice["by_launches"] == pytest.approx(6_000, rel=0.001)
    assert twice["by_time_each"] == pytest.approx(1_200, rel=0.001)


def test_without_steps_the_spread_of_launches_says_what_is_noise(
    run_of: MakeRun,
) -> None:
    rows = planted(run_of, with_steps=False)
    assert rows.keys() == {"relu", "gemm", "twice", "gone", "new"}
    assert rows["relu"]["change"] == "slower"
    assert rows["twice"]["base_launches"] == 12


def test_steps_of_different_number_are_compared_by_step(run_of: MakeRun) -> None:
    base = training(run_of)
    kernel = "process_id, device_id, stream_id, start_ns, end_ns, canonical_name"
    step = "step_index, process_id, name, start_ns, end_ns, source"
    for index in range(3):
        at = index * STEP_NS
        step += f"\n{index}, 0, step, {at}, {at + STEP_NS}, annotation"
        for name, duration in KERNELS.items():
            for _ in range(2):
                kernel += f"\n0, 0, 7, {at}, {at + duration}, {name}"
                at += duration
    assert named(compare(base, run_of({"kernel": kernel, "step": step}))) == {}


def test_the_margin_is_welchs() -> None:
    # Equal deviations of 10 over 3 values: error 10 sqrt(2/3), 4 degrees of freedom.
    found = margin(mean_of(100, 10, 3), mean_of(120, 10, 3))
    assert found == pytest.approx(4.60 * 10 * (2 / 3) ** 0.5)
    assert margin(Measured(100), Measured(50)) == 2


def test_a_metric_over_its_limit_ends_with_1(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    base, other = training(run_of), training(run_of, factors={"gemm": 1.5})
    over = run(
        capfd, "diff", base.path, other.path, "--fail-above", "5%",
        "--metric", "kernel_busy_ns", "-f", "json",
    )  # fmt: skip
    assert over.status == 1
    # 15,000 x 0.5 of 34,000 ns: 22.1 %.
    assert (
        "Over the limit: kernel_busy_ns is 22.1 % worse (5 % are allowed)" in over.err
    )
    content = json.loads(over.out)
    assert content["limit"]["is_over"] is True
    assert {row["name"] for row in content["changes"]} >= {"gemm"}


def test_a_ratio_is_worse_when_it_falls(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    base, other = training(run_of), training(run_of, factors={"gemm": 0.5})
    ran = run(
        capfd, "diff", base.path, other.path, "--fail-above", "5%",
        "--metric", "kernel_utilization", "-f", "markdown",
    )  # fmt: skip
    assert ran.status == 1
    text = ran.out.decode()
    assert text.startswith("### 20261201t000000z-base-00000000 → ")
    assert "| kernel | gemm | faster |" in text
    better = run(
        capfd, "diff", base.path, other.path, "--fail-above", "5%",
        "--metric", "kernel_busy_ns",
    )  # fmt: skip
    assert better.status == 0


def test_a_metric_that_is_not_there_is_named(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    place = training(run_of).path
    ran = run(capfd, "diff", place, place, "--fail-above", "5%", "--metric", "fps")
    assert ran.status == 5
    assert "has no metric `fps`" in ran.error


@pytest.mark.parametrize("limit", ["5", "-5%", "five"])
def test_a_limit_that_is_no_percentage_is_refused(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str], limit: str
) -> None:
    place = run_of().path
    ran = run(capfd, "diff", place, place, f"--fail-above={limit}")
    assert ran.status == 2
    assert "is no percentage" in ran.error


@needs_shared
def test_missing_work_is_found(tmp_path: Path) -> None:
    """The pair of public captures: 68 launches of attention became 60."""
    from tracekit.convert import convert

    base, other = (
        convert([NSYS / "public" / f"mfu_2gpu_{when}.sqlite"], tmp_path / when)
        for when in ("before", "after")
    )
    found = compare(base, other)
    flash = next(
        row for row in found.changes.to_pylist() if "flash_fwd_kernel" in row["name"]
    )
    assert flash["change"] == "fewer launches"
    assert (flash["base_launches"], flash["other_launches"]) == (68, 60)
    assert (flash["base_value"], flash["other_value"]) == (272_317_378, 240_755_667)
