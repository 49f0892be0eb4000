"""Counters joined to the kernels of a timeline, on the recorded demo."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.exports import DEMO
from tests.support.ncu import identity, raw_page
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.convert.names import base_name
from tracekit.store.run import Run

UNIT = 725


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The kernels of the demo, three iterations of 725, in launch order."""
    run = convert([DEMO], tmp_path_factory.mktemp("demo") / "run")
    rows = sorted(rows_of_run(run, "kernel"), key=lambda row: row["correlation_id"])
    assert len(rows) == 3 * UNIT
    return rows


def cells(kernel: dict[str, Any], place: int, name: str) -> list[object]:
    told = identity(place, name)
    told[7] = f"({kernel['block_x']}, {kernel['block_y']}, {kernel['block_z']})"
    told[8] = f"({kernel['grid_x']}, {kernel['grid_y']}, {kernel['grid_z']})"
    return told


def page(kernels: list[dict[str, Any]], column: str) -> str:
    """Measure kernels: the value of the n-th is n."""
    launches = [
        (cells(kernel, place, kernel[column]), (str(place),))
        for place, kernel in enumerate(kernels)
    ]
    return raw_page({"x__y.sum": ""}, launches)


def joined(tmp_path: Path, text: str, *, timeline_first: bool = True) -> Run:
    counters = tmp_path / "counters.csv"
    counters.write_text(text)
    captures = [DEMO, counters] if timeline_first else [counters, DEMO]
    return convert(captures, tmp_path / "joined")


@pytest.mark.parametrize("column", ["mangled_name", "name", "short_name"])
@pytest.mark.parametrize("timeline_first", [True, False])
def test_each_kernel_has_the_counters_of_its_launch_in_the_iteration(
    column: str,
    timeline_first: bool,  # noqa: FBT001 - a parameter of the test
    kernels: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    text = page(kernels[UNIT : 2 * UNIT], column)
    run = joined(tmp_path, text, timeline_first=timeline_first)
    found = {row["kernel_id"]: row for row in rows_of_run(run, "kernel_metric")}
    assert len(found) == run.manifest.rows("kernel_metric") == 3 * UNIT
    for place, kernel in enumerate(kernels):
        row = found[kernel["kernel_id"]]
        assert row["value"] == row["launch_index"] == place % UNIT
        assert row["unit_repeat"] == place // UNIT
        same = ("process_id", "device_id", "correlation_id", "grid_x", "block_x")
        assert [row[n] for n in same] == [kernel[n] for n in same]
        # A function of C has the same name as a symbol.
        is_symbol = kernel[column] == kernel["mangled_name"]
        assert row["match_kind"] == ("mangled_name" if is_symbol else "shape")
    (outcome,) = run.manifest.joined
    assert (outcome.launches, outcome.matched) == (UNIT, UNIT)
    assert (outcome.kernels, outcome.kernels_matched) == (3 * UNIT, 3 * UNIT)
    assert outcome.unmatched == {}
    # The timeline gives the run its name, its GPU and its facts.
    assert run.manifest.command == "python3"
    assert run.manifest.gpus == ["NVIDIA H200"]
    assert run.manifest.source.format == "ncu-csv+nsys-sqlite"
    assert run.manifest.rows("device") == 1


def test_kernels_that_ncu_left_out_keep_none(
    kernels: list[dict[str, Any]], tmp_path: Path
) -> None:
    # ncu -k regex:nchwToNhwcKernel
    chosen = [k for k in kernels[:UNIT] if k["short_name"] == "nchwToNhwcKernel"]
    run = joined(tmp_path, page(chosen, "name"))
    found = Counter(row["kernel_id"] for row in rows_of_run(run, "kernel_metric"))
    wanted = [k["kernel_id"] for k in kernels if k["short_name"] == "nchwToNhwcKernel"]
    assert found == Counter(wanted)
    assert len(wanted) == 3 * len(chosen) > 100


def test_launches_that_no_kernel_repeats_are_told(
    kernels: list[dict[str, Any]], tmp_path: Path
) -> None:
    other = {**kernels[0], "name": "void ns::other<float>(float*)"}
    larger = {**kernels[1], "grid_x": kernels[1]["grid_x"] + 1}
    run = joined(tmp_path, page([kernels[0], other, other, larger], "name"))
    rows = [r for r in rows_of_run(run, "kernel_metric") if r["kernel_id"] is None]
    assert [row["launch_index"] for row in rows] == [1, 2, 3]
    assert {(row["match_kind"], row["device_id"]) for row in rows} == {(None, None)}
    (outcome,) = run.manifest.joined
    assert (outcome.launches, outcome.matched) == (4, 1)
    assert outcome.unmatched == {other["name"]: 2, larger["name"]: 1}
    messages = [row["text"] for row in rows_of_run(run, "diagnostic")]
    assert any("3 of 4 measured launches match no kernel" in text for text in messages)


def test_without_shapes_the_base_name_tells(
    kernels: list[dict[str, Any]], tmp_path: Path
) -> None:
    head = '"ID","Process ID","Kernel Name","Kernel Time","Section Name","Metric Name",'
    head += '"Metric Unit","Metric Value"\n'
    lines = [
        f'"{place}","1","{base_name(kernel["name"])}","t","S","x__y.sum","","{place}"\n'
        for place, kernel in enumerate(kernels[:UNIT])
    ]
    run = joined(tmp_path, head + "".join(lines))
    rows = rows_of_run(run, "kernel_metric")
    assert {row["match_kind"] for row in rows} == {"name"}
    found = {row["kernel_id"]: row["value"] for row in rows}
    assert found == {k["kernel_id"]: i % UNIT for i, k in enumerate(kernels)}


def test_counters_of_another_gpu_are_warned_of(
    kernels: list[dict[str, Any]], tmp_path: Path
) -> None:
    text = raw_page(
        {"device__attribute_display_name": "", "x__y.sum": ""},
        [(cells(kernels[0], 0, kernels[0]["name"]), ("NVIDIA A100", "1"))],
    )
    run = joined(tmp_path, text)
    messages = [row["text"] for row in rows_of_run(run, "diagnostic")]
    expected = "the counters were measured on NVIDIA A100, the timeline on NVIDIA H200"
    assert expected in messages
    assert [row["name"] for row in rows_of_run(run, "device")] == ["NVIDIA H200"]


def test_a_table_that_was_not_asked_for_is_not_made(
    kernels: list[dict[str, Any]], tmp_path: Path
) -> None:
    from tracekit.convert import Request

    counters = tmp_path / "counters.csv"
    counters.write_text(page(kernels[:5], "name"))
    request = Request(tables=frozenset({"kernel"}))
    run = convert([DEMO, counters], tmp_path / "run", request)
    assert run.manifest.rows("kernel_metric") == 0
    assert run.manifest.rows("kernel") == 3 * UNIT


def test_a_symbol_that_no_demangler_knows_is_told_by_the_name_in_it(
    tmp_path: Path,
) -> None:
    symbol = "_Z_not_a_symbol6KernelILi4EE"
    event = {
        "ph": "X",
        "cat": "kernel",
        "pid": 0,
        "tid": 7,
        "name": symbol,
        "ts": 10.0,
        "dur": 5.0,
        "args": {"device": 0, "stream": 7, "grid": [8, 1, 1], "block": [32, 1, 1]},
    }
    trace = tmp_path / "trace.json"
    content = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": [event]}
    trace.write_text(json.dumps(content))
    counters = tmp_path / "counters.csv"
    other = identity(0, "void ns::Other<4>(T1::Params)")
    same = identity(1, "void ns::Kernel<4>(T1::Params)")
    counters.write_text(raw_page({"x__y.sum": ""}, [(other, ("1",)), (same, ("2",))]))
    run = convert([trace, counters], tmp_path / "run")
    found = {r["kernel_id"]: r["value"] for r in rows_of_run(run, "kernel_metric")}
    assert found == {0: 2.0, None: 1.0}
