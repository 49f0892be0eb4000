"""Windows, devices, ranks and processes apply to every query in the same way.

Each is right by a count over the recorded rows in Python, or is refused by its name.
"""

import pickle
import shutil
from typing import Any

import pytest

from tests.conftest import MakeRun
from tests.support.exports import DEMO, FIXTURES, KINDS
from tests.support.kineto import union_ns
from tests.support.ncu import identity, raw_page
from tests.support.rows import rows_of_run
from tests.support.snapshots import block, event, segment
from tests.support.xspace import PlaneOf, environment, write_xspace
from tracekit.convert import convert
from tracekit.errors import QueryError
from tracekit.query import Limits, Scope, load_module, module_names, run_module
from tracekit.query.answer import Answer
from tracekit.query.module import QueryModule
from tracekit.query.scope import parse_window
from tracekit.store.run import Run

Row = dict[str, Any]
KINETO = FIXTURES / "kineto" / "resnet50.json.gz"
# Whose rows belong to no time; all others take a window.
# These are about a run as a whole.
WITHOUT_TIME = {
    "memory.breakdown",
    "memory.by_layer",
    "memory.fragmentation",
    "memory.largest",
    "memory.leaks",
    "memory.paper_classes",
    "memory.timeline",
    "quality.capture",
    "tbd.batch_sweep",
    "tbd.framework_comparison",
    "tbd.observations",
    "tbd.scaling",
    "tbd.summary",
}
# Rows of these belong to a GPU and a process.
OF_GPUS = ("copies.", "gpu.", "kernels.", "launches.")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each kind: what one lacks another has."""
    folder = tmp_path_factory.mktemp("scopes")
    for rank in (0, 1):
        (folder / "job").mkdir(exist_ok=True)
        shutil.copy(KINETO, folder / "job" / f"trace_rank{rank}.json.gz")
    snapshot = folder / "snapshot.pickle"
    history = [event("alloc", 512, 5, 2), event("free_completed", 512, 5, 9)]
    content = {
        "segments": [segment(0, 2 << 20, block(0, 512, 7))],
        "device_traces": [history],
    }
    snapshot.write_bytes(pickle.dumps(content))
    gpu = PlaneOf("/device:GPU:0")
    gpu.line("Stream #7(Compute)", 100, 7)
    gpu.event("gemm", 1_000, 5_000, {"correlation_id": 4})
    counters = folder / "counters.csv"
    counters.write_text(raw_page({"x.sum": ""}, [(identity(0, "gemm"), ("1",))]))
    captures = {
        "nsys": [KINDS],
        "kineto": [KINETO],
        "ranks": [folder / "job"],
        "xplane": [write_xspace(folder / "a.xplane.pb", environment(1_000), gpu)],
        "snapshot": [snapshot],
        "counters": [KINDS, counters],
    }
    return {kind: convert(c, folder / kind) for kind, c in captures.items()}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three iterations of ResNet-50."""
    return convert([DEMO], tmp_path_factory.mktemp("demo") / "run")


def ask(
    name: str, *runs: Run, window: str | None = None, **parameters: object
) -> Answer:
    texts = {key: str(value) for key, value in parameters.items()}
    scope = Scope(window=parse_window(window) if window else None)
    return run_module(load_module(name), runs, texts, scope=scope)


def scopes(run: Run) -> dict[str, tuple[str, Scope]]:
    """Return every option, with a value that the run has."""
    texts = [r["text"] for r in rows_of_run(run, "annotation") if r["end_ns"]]
    windows = ["all", "run", "steps", "0:1s", f"range:{min(texts, default='none')}"]
    if run.manifest.window is not None:
        windows.append("+0:+1ms")
    devices = {row["device_id"] for row in rows_of_run(run, "device")}
    devices |= {row["device_id"] for row in rows_of_run(run, "memory_event")} - {None}
    processes = {row["process_id"] for row in rows_of_run(run, "process")}
    found = {w: ("--window", Scope(window=parse_window(w))) for w in windows}
    found["rank"] = ("--rank", Scope(ranks=(0,)))
    if devices:
        found["device"] = ("--device", Scope(devices=(min(devices),)))
    if processes:
        found["process"] = ("--process", Scope(processes=(min(processes),)))
    return found


def answered(module: QueryModule, run: Run, scope: Scope) -> Answer | str:
    try:
        return run_module(module, [run], scope=scope, limits=Limits(threads=1))
    except QueryError as error:
        return str(error)


def absent(run: Run) -> list[str]:
    """Return what may be said of the windows above that the run does not have."""
    found = [] if rows_of_run(run, "step") else ["steps: none was annotated"]
    found += [] if rows_of_run(run, "annotation") else ["range `none`"]
    return [f"this run has no {what}" for what in found]


@pytest.mark.parametrize("name", module_names())
def test_every_option_is_answered_or_refused_by_name(
    name: str, runs: dict[str, Run]
) -> None:
    module = load_module(name)
    refused = set()
    for number, (kind, run) in enumerate(runs.items()):
        columns = [column.name for column in module.columns]
        if len(run.ranks) > 1:
            columns = ["run_id", "rank", *(c for c in columns if c != "rank")]
        # A third of the options for each run: each of them on two runs.
        for option, scope in list(scopes(run).values())[number % 3 :: 3]:
            answer = answered(module, run, scope)
            if isinstance(answer, str):
                if answer.startswith(f"{name} has no {option}: its rows belong to"):
                    refused.add(option)
                else:
                    assert answer in absent(run), (kind, scope)
                continue
            assert answer.table.column_names == columns
            assert answer.table.num_rows or answer.reasons, (kind, scope)
    assert ("--window" in refused) == (name in WITHOUT_TIME)
    assert "--rank" not in refused
    own = {column.name for column in module.columns}
    for option, column in (("--device", "device_id"), ("--process", "process_id")):
        assert option not in refused or column not in own or name in WITHOUT_TIME
        assert option not in refused or not name.startswith(OF_GPUS)


@pytest.mark.parametrize(
    ("scope", "message", "hint"),
    [
        (Scope(devices=(9,)), "there is no device 9", "the devices are 0"),
        (Scope(ranks=(0, 9)), "there is no rank 9", "the ranks are 0, 1"),
        (Scope(processes=(-1,)), "there is no process -1", "the processes are 0, 1"),
        (
            Scope(window=parse_window("range:fwd")),
            "this run has no range `fwd`",
            "its ranges are `forward`",
        ),
    ],
)
def test_what_is_not_there_is_refused(
    run_of: MakeRun, scope: Scope, message: str, hint: str
) -> None:
    kernel = "device_id, process_id, start_ns, end_ns\n0, 0, 1, 2\n0, 1, 3, 4"
    forward = "process_id, kind, text, start_ns, end_ns\n0, push_pop, forward, 0, 9"
    run = run_of({"kernel": kernel, "annotation": forward}, ranks={1: {}})
    with pytest.raises(QueryError) as caught:
        run_module(load_module("kernels.hotspots"), [run], scope=scope)
    assert (str(caught.value), caught.value.hint) == (message, hint)
    assert caught.value.exit_code == 5


def test_a_range_need_not_be_in_every_rank(run_of: MakeRun) -> None:
    tables = {
        "kernel": "process_id, device_id, correlation_id, start_ns, end_ns\n"
        "0, 0, 1, 5, 6",
        "api_call": "process_id, correlation_id, name, start_ns, end_ns\n"
        "0, 1, cudaLaunchKernel, 2, 3",
        "annotation": "process_id, kind, text, start_ns, end_ns\n0, push_pop, a, 1, 4",
    }
    run = run_of(tables, ranks={1: {"kernel": "device_id, start_ns, end_ns\n1, 2, 3"}})
    rows = ask("kernels.hotspots", run, window="range:a").table.to_pylist()
    assert [(row["rank"], row["launches"]) for row in rows] == [(0, 1)]


def test_the_run_window_is_on_the_common_clock(run_of: MakeRun) -> None:
    kernel = "device_id, process_id, start_ns, end_ns\n{0}, {0}, 100, 200"
    clock = "host, offset_ns, method\nnode, {0}, test"
    run = run_of(
        {"kernel": kernel.format(0), "clock": clock.format(0)},
        ranks={1: {"kernel": kernel.format(1), "clock": clock.format(1000)}},
    )
    rows = ask("gpu.utilization", run, window="run").table.to_pylist()
    assert [row["window_ns"] for row in rows] == [1100, 1100]
    assert [row["gpu_busy_ns"] for row in rows] == [100, 100]
    rows = ask("kernels.hotspots", run, window="+1us:+1001ns").table.to_pylist()
    assert [row["rank"] for row in rows] == [1]


def test_run_and_rank_come_first_in_each_answer_of_several(
    demo: Run, run_of: MakeRun
) -> None:
    other = run_of(
        {"kernel": "process_id, device_id, name, start_ns, end_ns\n0, 0, k, 2, 3"}
    )
    for name in ("kernels.hotspots", "counters.summary"):
        names = ask(name, demo, other).table.column_names
        assert names[:2] == ["run_id", "rank"]


def test_launches_that_were_not_recorded_are_told(run_of: MakeRun) -> None:
    run = run_of(
        {
            "kernel": "process_id, device_id, start_ns, end_ns\n0, 0, 2, 3",
            "annotation": "process_id, kind, text, start_ns, end_ns\n"
            "0, push_pop, a, 1, 4",
        }
    )
    answer = ask("kernels.hotspots", run, window="range:a")
    assert answer.table.num_rows == 0
    assert "what was launched inside the window is not known" in answer.reasons[0]


# The brute force: windows of the demo, and what is in them by their definition.


def start_inside(rows: list[Row], spans: list[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if any(
            span["start_ns"] <= row["start_ns"] < span["end_ns"]
            and span["process_id"] in (row["process_id"], None)
            for span in spans
        )
    ]


def launched_inside(run: Run, rows: list[Row], spans: list[Row]) -> list[Row]:
    calls = {
        (call["process_id"], call["correlation_id"])
        for call in start_inside(rows_of_run(run, "api_call"), spans)
    }
    return [row for row in rows if (row["process_id"], row["correlation_id"]) in calls]


def total(rows: list[Row]) -> tuple[int, int]:
    return len(rows), sum(row["end_ns"] - row["start_ns"] for row in rows)


def spans_of(run: Run, window: str) -> list[Row]:
    if window.startswith("range:"):
        named = window.removeprefix("range:")
        return [r for r in rows_of_run(run, "annotation") if r["text"] == named]
    start, _, end = window.partition(":")
    return [{"process_id": None, "start_ns": int(start), "end_ns": int(end)}]


RANGES = ("range:iteration 0", "range:forward", "range:backward")
SPANS = ("16067357:51958431", "60000000:61000000", "0:16100000")


@pytest.mark.parametrize("window", [*RANGES, *SPANS])
def test_rows_of_a_window(demo: Run, window: str) -> None:
    spans = spans_of(demo, window)
    kernels = rows_of_run(demo, "kernel")
    if window in RANGES:
        kernels = launched_inside(demo, kernels, spans)
    else:
        kernels = start_inside(kernels, spans)
    found = ask("kernels.hotspots", demo, window=window, limit=0).table
    sums = (sum(found["launches"].to_pylist()), sum(found["total_ns"].to_pylist()))
    assert sums == total(kernels)

    calls = start_inside(rows_of_run(demo, "api_call"), spans)
    found = ask("api.summary", demo, window=window, limit=0, backtraces="include").table
    sums = (sum(found["calls"].to_pylist()), sum(found["total_ns"].to_pylist()))
    assert sums == total(calls)

    found = ask("launches.trace", demo, window=window, limit=0).table
    assert found.num_rows == len(kernels)

    ranges = start_inside(rows_of_run(demo, "annotation"), spans)
    found = ask("annotations.trace", demo, window=window, limit=0).table
    assert sorted(found["annotation_id"].to_pylist()) == sorted(
        row["annotation_id"] for row in ranges
    )
    found = ask("annotations.summary", demo, window=window, limit=0).table
    assert sum(found["instances"].to_pylist()) == len(ranges)
    found = ask("annotations.gpu_projection_trace", demo, window=window, limit=0).table
    assert set(found["annotation_id"].to_pylist()) <= {
        row["annotation_id"] for row in ranges
    }
    found = ask("annotations.kernels", demo, window=window, limit=0).table
    assert sum(found["launches"].to_pylist()) == len(kernels)


def test_an_iteration_launches_kernels_that_start_after_it(demo: Run) -> None:
    launched = ask("kernels.hotspots", demo, window="range:iteration 0", limit=0).table
    (span,) = spans_of(demo, "range:iteration 0")
    inside = f"{span['start_ns']}:{span['end_ns']}"
    started = ask("kernels.hotspots", demo, window=inside, limit=0).table
    assert sum(launched["launches"].to_pylist()) == 725
    assert sum(started["launches"].to_pylist()) == 711


@pytest.mark.parametrize("window", [*RANGES, *SPANS])
def test_lengths_are_cut_to_the_window(demo: Run, window: str) -> None:
    spans = [(s["start_ns"], s["end_ns"]) for s in spans_of(demo, window)]
    kernels = [(row["start_ns"], row["end_ns"]) for row in rows_of_run(demo, "kernel")]
    cut = [
        (max(start, first), min(end, last))
        for first, last in spans
        for start, end in kernels
        if start < last and end > first
    ]
    (row,) = ask("gpu.utilization", demo, window=window).table.to_pylist()
    assert row["window_ns"] == union_ns(spans)
    assert row["kernel_busy_ns"] == union_ns(cut)
