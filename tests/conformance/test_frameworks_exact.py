"""Traces of TensorFlow, MXNet and CNTK equal plain Python passes over their JSON."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.rows import rows
from tests.support.shared import TRACES, needs_shared
from tracekit.store.run import Run

pytestmark = needs_shared

FRAMEWORKS = TRACES / "frameworks"
MXNET = FRAMEWORKS / "mxnet" / "mxnet1.9.1_cpu_imperative_4steps.json"
MXNET_TOTALS = (
    MXNET.with_suffix(".aggregate.json"),
    MXNET.with_suffix(".aggregate.txt"),
)
CNTK = FRAMEWORKS / "cntk" / "cntk2.7_cpu_4steps.detail.json"
CNTK_SUMMARY = FRAMEWORKS / "cntk" / "cntk2.7_cpu_4steps.summary.txt"
TENSORFLOW = FRAMEWORKS / "tensorflow"
TF_2_4 = TENSORFLOW / "tf2.4.4_cpu_4steps.trace.json.gz"
TF_2_21 = TENSORFLOW / "tf2.21.0_cpu_4steps.xprof_trace_viewer.json.gz"

# What stands in the folder and is no capture.
NO_CAPTURE = {
    "MANIFEST.md": "a list of the files",
    "cntk_tiny.py": "a program",
    "mx_tiny.py": "a program",
    "tf_tiny.py": "a program",
    "torch_tiny.py": "a program",
}
# Captures that another test opens.
ELSEWHERE = {"torch": "traces of PyTorch"}


def files() -> list[Path]:
    found = FRAMEWORKS.rglob("*") if FRAMEWORKS.is_dir() else []
    return sorted(
        path
        for path in found
        if path.is_file()
        and path.name not in NO_CAPTURE
        and path.parent.name not in ELSEWHERE
    )


def spans(run: Run, *tables: str) -> Counter[tuple[int, int]]:
    found = Counter[tuple[int, int]]()
    for table in tables:
        found.update((a, b) for a, b in rows(run, table, "start_ns", "end_ns"))
    return found


@pytest.mark.parametrize(
    "capture", files() or [Path("none")], ids=lambda path: path.name
)
def test_every_file_of_a_framework_opens(capture: Path, converted: Converted) -> None:
    assert converted(capture).manifest.tables


def test_the_legacy_trace_tells_what_the_xplane_file_does(converted: Converted) -> None:
    trace, xplane = (
        converted(TF_2_4),
        converted(TENSORFLOW / "tf2.4.4_cpu_4steps.xplane.pb"),
    )
    for table in ("operator", "annotation", "step"):
        # The trace counts from the same 0, and has the same ns.
        assert spans(trace, table) == spans(xplane, table)
    names = ["name", "scope"]
    assert Counter(rows(trace, "operator", *names)) == Counter(
        rows(xplane, "operator", *names)
    )


@pytest.mark.parametrize("capture", [TF_2_4, TF_2_21], ids=["2.4", "2.21"])
def test_every_span_of_tensorflow_is_read(capture: Path, converted: Converted) -> None:
    entries = json.loads(gzip.decompress(capture.read_bytes()))["traceEvents"]
    kinds = Counter(entry.get("ph") for entry in entries)
    run = converted(capture)
    read = run.manifest.rows("operator") + run.manifest.rows("annotation")
    skipped = {note.what: note.count for note in run.manifest.skipped}
    assert read == kinds["X"]
    assert skipped.pop("event") == 1 == kinds[None]
    assert skipped.get("ThreadpoolListener::* events", 0) == kinds["i"]
    names = rows(run, "step", "step_index", "name")
    assert names == [(index, f"train {index}") for index in range(4)]


def test_operators_of_mxnet(converted: Converted) -> None:
    entries = json.loads(MXNET.read_text())["traceEvents"]
    started: dict[tuple[str, int], list[int]] = defaultdict(list)
    expected = Counter[tuple[str, int, int]]()
    for entry in entries:
        if entry.get("cat") == "operator" and entry["ph"] in "BE":
            key = (entry["name"], entry["tid"])
            if entry["ph"] == "B":
                started[key].append(entry["ts"])
            else:
                begun = started[key].pop()
                expected[entry["name"], begun * 1000, entry["ts"] * 1000] += 1
    run = converted(MXNET)
    assert Counter(rows(run, "operator", "name", "start_ns", "end_ns")) == expected
    count = Counter(name for (name,) in rows(run, "operator", "name"))
    assert count["Convolution"] == count["_backward_Convolution"] == 8
    assert count.total() == 256
    assert rows(run, "step", "step_index", "name") == [
        (index, f"step{index}") for index in range(4)
    ]
    (peak,) = {
        max(
            value
            for metric, value in rows(run, "counter_sample", "metric", "value")
            if metric == "memory in use"
        )
    }
    assert peak == 1_114_208


@pytest.mark.parametrize("totals", MXNET_TOTALS, ids=lambda path: path.suffix)
def test_totals_of_mxnet_are_those_of_its_trace(
    totals: Path, converted: Converted
) -> None:
    """Counts are equal, and sums too, but for the digits that are not printed."""
    spent: dict[str, list[int]] = defaultdict(list)
    for name, start, end in rows(
        converted(MXNET), "operator", "name", "start_ns", "end_ns"
    ):
        spent[name].append(end - start)
    reported = {
        name: (count, total, least, most)
        for category, name, count, total, least, most in rows(
            converted(totals),
            "reported_total",
            "category",
            "name",
            "count",
            "total",
            "minimum",
            "maximum",
        )
        if category == "operator"
    }
    assert reported.keys() == spent.keys()
    for name, (count, _, least, most) in reported.items():
        assert count == len(spent[name]), name
        assert (least, most) == (min(spent[name]), max(spent[name])), name


def test_text_and_json_totals_agree(converted: Converted) -> None:
    names = ["category", "name", "unit", "count"]
    first, second = (
        rows(converted(path), "reported_total", *names) for path in MXNET_TOTALS
    )
    assert Counter(first) == Counter(second)
    assert len(first) > 40


def test_iterations_of_cntk(converted: Converted) -> None:
    entries = json.loads(CNTK.read_text())
    begun = defaultdict(list)
    expected = Counter[tuple[str, int, int]]()
    for entry in sorted(entries, key=lambda e: (e["ts"], e["ph"] == "E")):
        if entry["ph"] == "B":
            begun[entry["name"]].append(entry["ts"] * 1000)
        else:
            expected[entry["name"], begun[entry["name"]].pop(), entry["ts"] * 1000] += 1
    run = converted(CNTK)
    assert Counter(rows(run, "annotation", "text", "start_ns", "end_ns")) == expected
    assert [index for (index,) in rows(run, "step", "step_index")] == [0, 1, 2, 3]


def test_the_summary_of_cntk_is_that_of_its_detail_file(converted: Converted) -> None:
    spent: dict[str, list[int]] = defaultdict(list)
    for name, start, end in rows(
        converted(CNTK), "annotation", "text", "start_ns", "end_ns"
    ):
        spent[name].append(end - start)
    names = ["name", "count", "minimum", "maximum"]
    for name, count, least, most in rows(
        converted(CNTK_SUMMARY), "reported_total", *names
    ):
        assert count == len(spent[name]) == 4
        # The detail file counts whole us, and both ends are cut off.
        assert abs(least - min(spent[name])) <= 1_000
        assert abs(most - max(spent[name])) <= 1_000
