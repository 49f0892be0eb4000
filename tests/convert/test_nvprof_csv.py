"""The tables of counters that `nvprof --csv` prints."""

from pathlib import Path

import pytest

from tests.support.exports import DEMO
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.convert.readers import reader_for
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

TOTALS = """\
==20858== NVPROF is profiling process 20858, command: ./test
==20858== Warning: Some kernel(s) will be replayed on device 0.
==20858== Profiling application: ./test
epoch 1, loss "0.5
==20858== Profiling result:
==20858== Event result:
"Device","Kernel","Invocations","Event Name","Min","Max","Avg","Total"
"Tesla K20c (0)","gemm(float*, int)",3,"warps_launched",10,30,20,60
==20858== Metric result:
"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
"Tesla K20c (0)","gemm(float*, int)",3,"flop_count_sp","Operations",100,300,200
"Tesla K20c (0)","gemm(float*, int)",3,"sm_efficiency","Activity",97.5%,99.50%,98.25%
"Tesla K20c (1)","gemm(float*, int)",1,"dram_throughput","Read",0.5GB/s,1.5GB/s,1.25GB/s
"Tesla K20c (0)","gemm(float*, int)",3,"fu_level","","Low (2)","High (8)","Mid (5)"
"Tesla K20c (0)","gemm(float*, int)",3,"broken","Broken","n/a","n/a","<OVERFLOW>"
"""
TRACE = """\
==7== Profiling result:
"Device","Context","Stream","Kernel","Correlation_ID","ipc","flop_count_sp"
"","","","","","","flop"
"TITAN V (0)","1","7","gemm(float*, int)",101,1.5,"1,024"
"TITAN V (0)","1","7","_Z3addPfi",102,0.5,16
"""


def run_of(folder: Path, text: str | bytes) -> Run:
    path = folder / "counters.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return convert([path], folder / "run")


def test_totals_of_metrics_and_events(tmp_path: Path) -> None:
    run = run_of(tmp_path, TOTALS)
    assert run.manifest.source.format == "nvprof-csv"
    names = ("metric", "launches", "minimum", "maximum", "value", "unit", "device_id")
    rows = rows_of_run(run, "kernel_metric")
    assert [tuple(row[n] for n in names) for row in rows] == [
        ("warps_launched", 3, 10.0, 30.0, 20.0, None, 0),
        ("flop_count_sp", 3, 100.0, 300.0, 200.0, None, 0),
        ("sm_efficiency", 3, 97.5, 99.5, 98.25, "%", 0),
        ("dram_throughput", 1, 0.5, 1.5, 1.25, "GB/s", 1),
        ("fu_level", 3, 2.0, 8.0, 5.0, "level", 0),
    ]
    assert {row["launch_index"] for row in rows} == {None}
    assert {row["tool"] for row in rows} == {"nvprof"}
    assert [(n.what, n.count) for n in run.manifest.skipped] == [("broken", 1)]
    messages = [row["text"] for row in rows_of_run(run, "diagnostic")]
    assert "nvprof: Some kernel(s) will be replayed on device 0." in messages
    assert len(rows_of_run(run, "device")) == 2


def test_a_trace_has_a_row_for_each_launch(tmp_path: Path) -> None:
    run = run_of(tmp_path, TRACE)
    names = ("launch_index", "kernel_name", "metric", "value", "unit")
    rows = rows_of_run(run, "kernel_metric")
    assert [tuple(row[n] for n in names) for row in rows] == [
        (0, "gemm(float*, int)", "ipc", 1.5, None),
        (0, "gemm(float*, int)", "flop_count_sp", 1024.0, "flop"),
        (1, "_Z3addPfi", "ipc", 0.5, None),
        (1, "_Z3addPfi", "flop_count_sp", 16.0, "flop"),
    ]
    assert rows[2]["mangled_name"] == "_Z3addPfi"
    assert [d["name"] for d in rows_of_run(run, "device")] == ["TITAN V"]


def test_shapes_of_a_trace_are_read(tmp_path: Path) -> None:
    head = '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y",'
    head += '"Block Z","Device","Context","Stream","Name","ipc"\n'
    unit = '"ms","us",,,,,,,,,,,\n'
    line = '1.5,2.5,4,2,1,256,1,1,"TITAN V (0)","1","7","gemm",0.5\n'
    copy = '1.5,2.5,,,,,,,"TITAN V (0)","1","7","[CUDA memcpy HtoD]",\n'
    (row,) = rows_of_run(run_of(tmp_path, head + unit + line + copy), "kernel_metric")
    assert [row[f"grid_{axis}"] for axis in "xyz"] == [4, 2, 1]
    assert [row["block_x"], row["metric"], row["value"]] == [256, "ipc", 0.5]


def test_launches_are_joined_to_a_timeline(tmp_path: Path) -> None:
    timeline = rows_of_run(convert([DEMO], tmp_path / "demo"), "kernel")
    timeline.sort(key=lambda row: row["correlation_id"])
    wanted = [k for k in timeline if k["short_name"] == "nchwToNhwcKernel"]
    unit = wanted[: len(wanted) // 3]
    text = '"Device","Context","Stream","Kernel","Correlation_ID","x"\n'
    text += "".join(
        f'"NVIDIA H200 (0)",1,7,"{kernel["name"]}",{place},{place}\n'
        for place, kernel in enumerate(unit)
    )
    counters = tmp_path / "counters.csv"
    counters.write_text(text)
    run = convert([DEMO, counters], tmp_path / "run")
    found = {r["kernel_id"]: r["value"] for r in rows_of_run(run, "kernel_metric")}
    assert found == {k["kernel_id"]: n % len(unit) for n, k in enumerate(wanted)}
    (joined,) = run.manifest.joined
    assert (joined.tool, joined.matched, joined.launches) == (
        "nvprof",
        len(unit),
        len(unit),
    )


@pytest.mark.parametrize(
    "text",
    [
        TOTALS.replace("\n", "\r\n").encode(),
        TOTALS.encode("utf-16"),
        (TOTALS + TOTALS.partition("==20858== Event result:\n")[2]).encode(),
        TOTALS.encode().replace(b"gemm", b"g\xffmm"),
    ],
    ids=["crlf", "utf16", "twice", "bytes"],
)
def test_how_it_was_written_does_not_matter(text: bytes, tmp_path: Path) -> None:
    rows = rows_of_run(run_of(tmp_path, text), "kernel_metric")
    assert [row["value"] for row in rows[:5]] == [20.0, 200.0, 98.25, 1.25, 5.0]


def test_a_cut_file_keeps_the_whole_rows(tmp_path: Path) -> None:
    run = run_of(tmp_path, TOTALS[: TOTALS.index("98.25%") - 12])
    rows = rows_of_run(run, "kernel_metric")
    assert [row["value"] for row in rows] == [20.0, 200.0]
    assert [n.count for n in run.manifest.skipped] == [1]


def test_a_table_without_rows_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="no kernel was profiled"):
        run_of(tmp_path, TRACE[: TRACE.index('"TITAN')])


def test_other_tables_are_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for head in (
        '"Device","Price"\n',
        '"Start","Duration","Device","Context","Stream","Name"\n',
        '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n',
    ):
        path.write_text(head + "1,2\n")
        with pytest.raises(UnreadableTraceError, match="no reader accepts"):
            reader_for(path)
