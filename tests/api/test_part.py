"""Which launches are measured so that they stand for those of a run."""

from pathlib import Path

import pytest

from tests.support.runs import make_run
from tracekit.api import part
from tracekit.api.part import part_to_measure
from tracekit.errors import UsageError
from tracekit.store.run import open_run

# Steps begin each 100 ns. The first five are of another length, so that the median of
# five steps is that of the later ones from step 3 on, the first stable one.
_STEPS = [f"{n}, 0, {100 * n}, {100 * n + (60 if n < 5 else 90)}" for n in range(20)]
STEP = "\n".join(["step_index, process_id, start_ns, end_ns", *_STEPS])


def run_of(place: Path, kernels: list[tuple[str, int, int]], step: str = "") -> Path:
    """Write a run of kernels: symbol, start of the launch, duration."""
    rows = [
        f"{number}, 0, 0, {number}, {call + 5}, {call + 5 + length}, {name}, _Z{name}, "
        f"{name}"
        for number, (name, call, length) in enumerate(kernels)
    ]
    calls = [
        f"0, 0, runtime, cudaLaunchKernel, {call}, {call + 2}, {number}"
        for number, (_, call, _) in enumerate(kernels)
    ]
    head = "kernel_id, process_id, device_id, correlation_id, start_ns, end_ns, name,"
    tables = {
        "kernel": "\n".join([f"{head} mangled_name, short_name", *rows]),
        "api_call": "\n".join(
            [
                "process_id, thread_id, domain, name, start_ns, end_ns, correlation_id",
                *calls,
            ]
        ),
    }
    if step:
        tables["step"] = step
    return make_run(place, tables).path


def test_the_first_stable_step_is_measured(tmp_path: Path) -> None:

    kernels = [("a", 100 * n + at, 3) for n in range(20) for at in (1, 2, 3)]
    # One more in the warm-up, and one between two steps.
    kernels += [("b", 4, 3), ("b", 395, 3)]
    run = open_run(run_of(tmp_path / "a.run", kernels, STEP))
    found = part_to_measure(run)
    # Before it three of each of three steps, and one more.
    assert (found.skip, found.count, found.names) == (10, 3, ())


def test_of_some_kernels_only_their_launches_count(tmp_path: Path) -> None:

    kernels = [(name, 100 * n + 1, 3) for n in range(20) for name in "aab"]
    kernels += [("long", 1, 90), ("long", 330, 90)]
    run = open_run(run_of(tmp_path / "a.run", kernels, STEP))
    found = part_to_measure(run, top=1)
    assert (found.skip, found.count, found.names) == (1, 1, ("_Zlong",))
    assert part_to_measure(run, top=2).names == ("_Zlong", "_Za")


def test_without_steps_a_short_run_is_measured_whole(tmp_path: Path) -> None:

    kernels = [("a", 10 * n, 3) for n in range(7)]
    found = part_to_measure(open_run(run_of(tmp_path / "a.run", kernels)))
    assert (found.skip, found.count, found.names) == (0, 7, ())


def test_of_a_long_run_without_steps_the_second_half_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(part, "MOST_LAUNCHES", 6)
    kernels = [("a", 10 * n, 3) for n in range(20)]
    found = part_to_measure(open_run(run_of(tmp_path / "a.run", kernels)))
    assert (found.skip, found.count, found.names) == (9, 6, ("_Za",))


def test_a_run_without_kernels_tells_none(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a.run", {})
    with pytest.raises(UsageError, match="has no kernels"):
        part_to_measure(run)
