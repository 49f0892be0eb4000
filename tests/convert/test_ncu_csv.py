"""Nsight Compute's CSV pages, whole and spoiled."""

from pathlib import Path
from typing import Protocol

import pytest

from tests.support.ncu import details_page, identity, line, raw_page
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.convert.readers import reader_for
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

UNITS = {
    "dram__bytes.sum": "Mbyte",
    "gpu__time_duration.sum": "us",
    "profiler__replayer_passes": "pass",
    "launch__func_cache_config": "",
}
NAME = "void ns::gemm<int>(T1, T2)"
SIMPLE = raw_page(
    UNITS,
    [
        (identity(0, NAME), ("35.979776", "344.640000", "5.000000", "PreferNone")),
        (identity(1, "_Z3addv", 16384), ("1,234.500000", "1.5", "5", "PreferNone")),
    ],
)


class Convert(Protocol):
    """Converts text as a file."""

    def __call__(self, text: str | bytes, name: str = "page.csv") -> Run: ...


@pytest.fixture
def run_of_text(tmp_path: Path) -> Convert:
    def run(text: str | bytes, name: str = "page.csv") -> Run:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return convert([path], tmp_path / f"{name}.run")

    return run


def metrics(run: Run) -> list[tuple[object, ...]]:
    return [
        (row["launch_index"], row["metric"], row["unit"], row["value"])
        for row in rows_of_run(run, "kernel_metric")
    ]


EXPECTED = [
    (0, "dram__bytes.sum", "byte", 35_979_776.0),
    (0, "gpu__time_duration.sum", "ns", 344_640.0),
    (0, "profiler__replayer_passes", "pass", 5.0),
    (1, "dram__bytes.sum", "byte", 1_234_500_000.0),
    (1, "gpu__time_duration.sum", "ns", 1500.0),
    (1, "profiler__replayer_passes", "pass", 5.0),
]


def test_a_raw_page_gives_a_row_for_each_metric_in_its_base_unit(
    run_of_text: Convert,
) -> None:
    run = run_of_text(SIMPLE)
    assert run.manifest.source.format == "ncu-csv"
    assert metrics(run) == EXPECTED
    skipped = [(n.what, n.count) for n in run.manifest.skipped]
    assert skipped == [("launch__func_cache_config", 2)]


def test_a_row_tells_the_launch(run_of_text: Convert) -> None:
    first, *_, last = rows_of_run(run_of_text(SIMPLE), "kernel_metric")
    assert first["kernel_name"] == NAME
    assert first["mangled_name"] is None
    assert last["mangled_name"] == "_Z3addv"
    names = ("grid_x", "grid_y", "block_x", "passes", "device_id", "tool")
    assert [last[n] for n in names] == [16384, 1, 32, 5, 0, "ncu"]
    assert [last[n] for n in ("kernel_id", "match_kind", "process_id")] == [None] * 3


@pytest.mark.parametrize(
    "text",
    [
        "==PROF== Connected to process 1 (/usr/bin/python)\n" + SIMPLE,
        'loss: "3\nepoch 1, "2"\n==PROF== Profiling "gemm": 0%\n' + SIMPLE,
        SIMPLE + "==PROF== Disconnected from process 1\n",
        SIMPLE.replace("\n", "\r\n"),
        SIMPLE.replace('","', '";"'),
        SIMPLE.replace('","', '"\t"'),
        "\ufeff" + SIMPLE,
        SIMPLE.encode("utf-16"),
    ],
    ids=["messages", "output", "after", "crlf", "semicolon", "tab", "bom", "utf16"],
)
def test_what_stands_around_a_table_does_not_matter(
    run_of_text: Convert, text: str | bytes
) -> None:
    assert metrics(run_of_text(text)) == EXPECTED


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("35,979776", "344,640000", "1.234,500000"),
        ("35,979776", "344,640000", "1 234,500000"),
        ("35.979776", "344.640000", "1'234.500000"),
        ("35.979776", "344.640000", "1234.5"),
    ],
)
def test_any_locale_gives_the_same_numbers(
    run_of_text: Convert, first: str, second: str, third: str
) -> None:
    mark = first[2]
    page = raw_page(
        UNITS,
        [
            (identity(0, NAME), (first, second, "5", "x")),
            (identity(1, "_Z3addv"), (third, f"1{mark}5", "5", "x")),
        ],
    )
    assert metrics(run_of_text(page)) == EXPECTED


def test_a_details_page_gives_the_same_rows(run_of_text: Convert) -> None:
    one, two = identity(0, NAME), identity(1, "_Z3addv")
    page = details_page(
        [
            (one, "dram__bytes.sum", "Mbyte", "35.979776"),
            (one, "gpu__time_duration.sum", "us", "344.64"),
            (one, "profiler__replayer_passes", "pass", "5"),
            # Prefixes differ from row to row.
            (two, "dram__bytes.sum", "Gbyte", "1.2345"),
            (two, "gpu__time_duration.sum", "ns", "1,500"),
            (two, "profiler__replayer_passes", "pass", "5"),
            (two, "Cache Configuration", "", "CachePreferNone"),
            (two, "", "", ""),
        ]
    )
    run = run_of_text(page)
    assert metrics(run) == EXPECTED
    assert [(n.what, n.count, n.reason) for n in run.manifest.skipped] == [
        ("Cache Configuration", 1, "the value is no number (n/a, nan, text)"),
        ("ncu", 1, "advice of ncu's rules"),
    ]


def test_a_summary_gives_means_of_several_launches(run_of_text: Convert) -> None:
    head = ["Process ID", "Kernel Name", "Invocations", "Section Name", "Metric Name"]
    page = line([*head, "Metric Unit", "Minimum", "Maximum", "Average"])
    page += line([1, "gemm", 4, "Memory", "dram__bytes.sum", "Kbyte", 1, 4.5, 2.25])
    (row,) = rows_of_run(run_of_text(page), "kernel_metric")
    names = ("launches", "value", "minimum", "maximum", "unit", "launch_index")
    assert [row[n] for n in names] == [4, 2250.0, 1000.0, 4500.0, "byte", None]


def test_two_tables_in_a_file_are_one_order_of_launches(run_of_text: Convert) -> None:
    other = raw_page({"x__y.sum": ""}, [(identity(0, "b"), ("7",))])
    run = run_of_text(SIMPLE + "\n" + other)
    assert metrics(run) == [*EXPECTED, (2, "x__y.sum", None, 7.0)]


def test_device_attributes_describe_the_device(run_of_text: Convert) -> None:
    attributes = {
        "display_name": "NVIDIA H200",
        "compute_capability_major": "9",
        "compute_capability_minor": "0",
        "multiprocessor_count": "132",
        "max_gpu_frequency_khz": "1,980,000",
        "max_mem_frequency_khz": "3,201,000",
        "global_memory_bus_width": "6,016",
        "total_memory": "150,109,880,320",
        "pci_domain_id": "0",
        "pci_bus_id": "26",
        "pci_device_id": "0",
        "confidential_computing_mode": "No-CC",
    }
    columns = {f"device__attribute_{name}": "" for name in attributes}
    page = raw_page({**columns, "x__y.sum": ""}, [
        (identity(place, "k"), (*attributes.values(), "1")) for place in range(3)
    ])  # fmt: skip
    run = run_of_text(page)
    (device,) = rows_of_run(run, "device")
    assert device["name"] == "NVIDIA H200"
    assert device["bus"] == "0000:1a:00.0"
    assert device["compute_capability"] == "9.0"
    assert device["memory_bytes"] == 150_109_880_320
    # 2 transfers x 3.201 GHz x 752 bytes, and 2 x 128 lanes x 132 SMs x 1.98 GHz.
    assert device["memory_bandwidth"] == 2 * 3_201_000_000 * 752
    assert device["peak_fp32_flops"] == 2 * 128 * 132 * 1_980_000_000
    assert device["uuid"] is None
    assert {row["metric"] for row in rows_of_run(run, "kernel_metric")} == {"x__y.sum"}
    facts = {row["key"]: row["value"] for row in rows_of_run(run, "run_fact")}
    assert facts["ncu.device.0.confidential_computing_mode"] == "No-CC"
    assert len(facts) == len(attributes)


def test_a_file_without_a_table_says_what_ncu_said(run_of_text: Convert) -> None:
    with pytest.raises(UnreadableTraceError, match="no kernel was profiled"):
        run_of_text("==PROF== Connected to process 1 (/a)\n==PROF== Disconnected\n")
    text = "==PROF== Connected\n==ERROR== The application returned an error code (1).\n"
    with pytest.raises(UnreadableTraceError, match="returned an error code"):
        run_of_text(text)
    text = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n"
    with pytest.raises(UnreadableTraceError, match="may not read them") as caught:
        run_of_text(text)
    assert caught.value.hint is not None


def test_a_header_alone_holds_no_counters(run_of_text: Convert) -> None:
    with pytest.raises(UnreadableTraceError, match="no table of counters"):
        run_of_text(raw_page(UNITS, []))


def test_a_cut_file_keeps_the_whole_rows(run_of_text: Convert) -> None:
    start = SIMPLE.index('"1","4295"')
    for end in range(start + 1, len(SIMPLE) - 2, 7):
        run = run_of_text(SIMPLE[:end], f"cut{end}.csv")
        assert metrics(run)[:3] == EXPECTED[:3]
        cut = [n for n in run.manifest.skipped if n.reason.startswith("a line that")]
        whole = len(metrics(run)) > 3 or not cut
        assert whole or cut[0].count == 1


@pytest.mark.parametrize(
    "cells",
    [
        ("n/a", "nan", "-nan", ""),
        ("inf", "1e9999", "9" * 5000, "0x10"),
        ("\ufffd\ufffd", "(1, 2)", "=cmd()", "''"),
    ],
)
def test_values_that_are_no_numbers_are_skipped_by_name(
    run_of_text: Convert, cells: tuple[str, ...]
) -> None:
    page = raw_page(UNITS, [(identity(0, "k"), cells), (identity(1, "k"), "7777")])
    run = run_of_text(page)
    assert [value for *_, value in metrics(run)] == [7e6, 7e3, 7.0, 7.0]
    counts = {n.what: n.count for n in run.manifest.skipped}
    assert counts == {n: 1 for n, c in zip(UNITS, cells, strict=True) if c}


def test_hostile_shapes_and_names_stay_text(run_of_text: Convert) -> None:
    told = identity(0, "k")
    told[7], told[8], told[9] = "(99999999999, 1, 1)", "n/a", "GPU-x"
    page = raw_page({"x__y.sum": "\x07"}, [(told, ("1",))])
    (row,) = rows_of_run(run_of_text(page), "kernel_metric")
    assert [row["block_x"], row["grid_x"], row["value"]] == [None, None, 1.0]


def test_bytes_that_are_not_utf8_are_kept_as_replacements(run_of_text: Convert) -> None:
    text = SIMPLE.encode().replace(b"gemm", b"g\xff\xfemm")
    run = run_of_text(text)
    assert rows_of_run(run, "kernel_metric")[0]["kernel_name"] == (
        "void ns::g\ufffd\ufffdmm<int>(T1, T2)"
    )


def test_a_cell_of_a_million_characters_is_refused_in_one_line(
    run_of_text: Convert,
) -> None:
    page = raw_page(UNITS, [(identity(0, "k" * 1_000_000), "1234")])
    with pytest.raises(UnreadableTraceError, match="no CSV from some line on"):
        run_of_text(page)


def test_other_text_is_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text in ("a,b\n1,2\n", "Kernel Name\nx\n", "\0\0\0\0", '{"Kernel Name": 1}'):
        path.write_text(text)
        with pytest.raises(UnreadableTraceError, match="no reader accepts"):
            reader_for(path)


def test_what_ncu_said_is_told_in_one_line(run_of_text: Convert) -> None:
    text = "==PROF== 1\n==ERROR== no\x0bkernel\u2028was " + "found " * 100 + "\n"
    with pytest.raises(UnreadableTraceError) as raised:
        run_of_text(text)
    assert "ncu said no kernel was found found" in str(raised.value)
    assert len(str(raised.value)) < 400
    assert len(str(raised.value).splitlines()) == 1
