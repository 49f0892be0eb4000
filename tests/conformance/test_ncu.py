"""Recorded counters against arithmetic, and joined to the timeline of the program."""

import csv
import gzip
import importlib.util
import io
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.rows import rows_of_run
from tests.support.shared import NSYS, TRACES, needs_shared
from tracekit.convert import convert
from tracekit.store.run import Run

pytestmark = needs_shared

NCU = TRACES / "ncu"
H200 = NSYS / "h200"
OP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
TENSOR = "sm__ops_path_tensor_src_tf32_dst_fp32.sum"
MATMUL = 2 * 2048**3
ELEMENTS = 2**24

Joined = Callable[[str], Run]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Joined:
    runs: dict[str, Run] = {}

    def run_of(name: str) -> Run:
        if name not in runs:
            counters = next(NCU.glob(f"{name}.ncu.csv*"))
            place = tmp_path_factory.mktemp("joined") / name
            runs[name] = convert([H200 / f"{name}.sqlite", counters], place)
        return runs[name]

    return run_of


@pytest.mark.parametrize(
    ("name", "launches", "repeats"), [("gemm", 14, 1), ("resnet50", 725, 3)]
)
def test_every_launch_matches(
    name: str, launches: int, repeats: int, joined: Joined
) -> None:
    run = joined(name)
    (outcome,) = run.manifest.joined
    assert (outcome.launches, outcome.matched) == (launches, launches)
    assert outcome.kernels == outcome.kernels_matched == launches * repeats
    rows = rows_of_run(run, "kernel_metric")
    assert {row["unit_repeat"] for row in rows} == set(range(repeats))
    assert max(Counter((r["kernel_id"], r["metric"]) for r in rows).values()) == 1


def test_flop_of_the_kernels_of_the_timeline(joined: Joined) -> None:
    run = joined("gemm")
    names = {row["kernel_id"]: row["name"] for row in rows_of_run(run, "kernel")}
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for row in rows_of_run(run, "kernel_metric"):
        found[row["kernel_id"]][row["metric"]] = row["value"]
    sorts = Counter[str]()
    for kernel, metrics in found.items():
        fadd, fmul, ffma = (metrics[OP.format(op)] for op in ("fadd", "fmul", "ffma"))
        flop = fadd + fmul + 2 * ffma
        if "sgemm" in names[kernel]:
            # Each of the 2048 x 2048 results is scaled by alpha too.
            assert flop == MATMUL + 2048**2 == 17_184_063_488
            assert 2 * ffma == 17_179_869_184
            sorts["matmul"] += 1
        elif "FunctorOnSelf_add" in names[kernel]:
            assert flop == 2 * ELEMENTS == 33_554_432
            sorts["add_"] += 1
        elif "MulFunctor" in names[kernel]:
            assert flop == ELEMENTS == 16_777_216
            sorts["mul_"] += 1
        else:
            assert metrics[TENSOR] == MATMUL
            sorts["tf32"] += 1
    assert sorts == {"matmul": 4, "add_": 4, "mul_": 4, "tf32": 2}


def test_times_and_bytes_are_in_ns_and_bytes(joined: Joined) -> None:
    rows = rows_of_run(joined("gemm"), "kernel_metric")
    first = {row["metric"]: row for row in rows if row["launch_index"] == 0}
    duration, traffic = first["gpu__time_duration.sum"], first["dram__bytes.sum"]
    assert (duration["value"], duration["unit"]) == (344_640.0, "ns")
    assert (traffic["value"], traffic["unit"]) == (35_979_776.0, "byte")
    assert duration["passes"] == 5


def test_the_device_is_the_one_that_nsys_saw(joined: Joined, tmp_path: Path) -> None:
    alone = convert([NCU / "gemm.ncu.csv"], tmp_path / "alone")
    (counted,) = rows_of_run(alone, "device")
    (seen,) = rows_of_run(joined("gemm"), "device")
    differing = {n for n in seen if counted[n] is not None and counted[n] != seen[n]}
    assert differing == set()
    assert {n for n in seen if counted[n] is None} == {"host", "uuid", "chip"}


def test_every_number_of_the_file_is_a_row(joined: Joined) -> None:
    """Sum each column of the file with a parser of the test's own."""
    text = gzip.decompress((NCU / "resnet50.ncu.csv.gz").read_bytes()).decode()
    header, units, *lines = csv.reader(io.StringIO(text))
    expected: dict[str, float] = defaultdict(float)
    scale = {"Mbyte": 1e6, "Gbyte": 1e9, "Kbyte": 1e3, "us": 1e3, "ms": 1e6}
    scale |= {"Kbyte/block": 1e3}
    for line in lines:
        for name, unit, cell in zip(header, units, line, strict=True):
            if "__" in name and not name.startswith("device__"):
                try:
                    number = float(cell.replace(",", ""))
                except ValueError:
                    continue
                expected[name] += number * scale.get(unit, 1)
    found: dict[str, float] = defaultdict(float)
    for row in rows_of_run(joined("resnet50"), "kernel_metric"):
        if row["unit_repeat"] == 0:
            found[row["metric"]] += row["value"]
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


@pytest.mark.skipif(
    importlib.util.find_spec("ncu_report") is None,
    reason="needs NVIDIA's package ncu-report",
)
def test_the_report_holds_what_the_page_prints(joined: Joined, tmp_path: Path) -> None:
    run = convert([H200 / "gemm.sqlite", NCU / "gemm.ncu-rep.gz"], tmp_path / "run")
    (outcome,) = run.manifest.joined
    assert (outcome.launches, outcome.matched) == (14, 14)

    def values(of: Run) -> dict[tuple[int, str], tuple[float, str]]:
        return {
            (row["kernel_id"], row["metric"]): (row["value"], row["unit"])
            for row in rows_of_run(of, "kernel_metric")
        }

    report, page = values(run), values(joined("gemm"))
    assert report.keys() == page.keys()
    for key, (value, unit) in page.items():
        found, found_unit = report[key]
        assert found_unit == unit, key
        # Ratios are printed with two digits, everything else with six.
        assert found == pytest.approx(value, rel=1e-5, abs=6e-3), key
    # Reports have linker symbols.
    kinds = {row["match_kind"] for row in rows_of_run(run, "kernel_metric")}
    assert kinds == {"mangled_name"}


def test_the_profiler_of_pytorch_has_the_same_kernels(tmp_path: Path) -> None:
    """Join to the trace of the same program by another tool, two iterations."""
    trace = TRACES / "kineto" / "h200" / "resnet50.kineto.json.gz"
    run = convert([trace, NCU / "resnet50.ncu.csv.gz"], tmp_path / "run")
    (outcome,) = run.manifest.joined
    assert (outcome.launches, outcome.matched) == (725, 725)
    assert outcome.kernels == outcome.kernels_matched == 2 * 725
