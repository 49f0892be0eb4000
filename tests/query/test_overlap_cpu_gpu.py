"""overlap.cpu_gpu: four parts that add up to the window."""

import random

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

KERNEL = """
    device_id, process_id, start_ns, end_ns
    0,         0,                 0,     40
    0,         0,                60,    100
"""
CALLS = """
    process_id, thread_id, domain,  name,                  start_ns, end_ns
    0,          0,         runtime, cudaLaunchKernel,           -10,     10
    0,          0,         runtime, cudaDeviceSynchronize,       30,     70
    0,          1,         runtime, cudaLaunchKernel,            35,     50
    1,          2,         runtime, cudaLaunchKernel,             0,    100
"""


def test_calls_of_processes_that_used_the_gpu_count(query_rows: QueryRows) -> None:
    rows = query_rows("overlap.cpu_gpu", kernel=KERNEL, api_call=CALLS)
    assert rows == table("""
        device_id, basis, window_ns, both_ns, cpu_only_ns, gpu_only_ns, neither_ns
        0,         api,         100,      30,          20,          50,          0
    """)


def test_waiting_is_no_work(query_rows: QueryRows) -> None:
    rows = query_rows(
        "overlap.cpu_gpu",
        parameters={"basis": "api_working"},
        kernel=KERNEL,
        api_call=CALLS,
    )
    assert rows == table("""
        device_id, basis,       window_ns, both_ns, cpu_only_ns, gpu_only_ns, neither_ns
        0,         api_working,       100,      15,          10,          65,         10
    """)


@pytest.mark.parametrize(
    ("basis", "tables"),
    [
        ("operators", {"operator": "process_id, start_ns, end_ns\n0, 20, 70"}),
        (
            "annotations",
            {
                "annotation": """
                    process_id, kind,     text, start_ns, end_ns
                    0,          push_pop, a,          20,     70
                    0,          push_pop, open,       20,   NULL
                """
            },
        ),
        ("scheduled", {"cpu_slice": "process_id, start_ns, end_ns\n0, 20, 70"}),
    ],
)
def test_other_bases(query_rows: QueryRows, basis: str, tables: dict[str, str]) -> None:
    (row,) = query_rows(
        "overlap.cpu_gpu", {"kernel": KERNEL, **tables}, parameters={"basis": basis}
    )
    assert (row["both_ns"], row["cpu_only_ns"], row["gpu_only_ns"]) == (30, 20, 50)


def test_a_window_without_gpu_work_still_shows_the_cpu(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "overlap.cpu_gpu", window="45:55", kernel=KERNEL, api_call=CALLS
    )
    assert row["window_ns"] == 10
    assert (row["cpu_only_ns"], row["both_ns"], row["gpu_only_ns"]) == (10, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_random_intervals_equal_a_count_of_every_nanosecond(
    query_rows: QueryRows, seed: int
) -> None:
    chance = random.Random(seed)

    def spans(count: int) -> list[tuple[int, int]]:
        starts = [chance.randrange(0, 150) for _ in range(count)]
        return [(start, start + chance.randrange(0, 40)) for start in starts]

    kernels, calls = spans(chance.randrange(1, 15)), spans(chance.randrange(0, 15))
    (row,) = query_rows(
        "overlap.cpu_gpu",
        kernel="device_id, process_id, start_ns, end_ns\n"
        + "\n".join(f"0, 0, {start}, {end}" for start, end in kernels),
        api_call="process_id, thread_id, domain, name, start_ns, end_ns\n"
        + "\n".join(f"0, 0, runtime, f, {start}, {end}" for start, end in calls),
    )
    first, last = min(s for s, _ in kernels), max(e for _, e in kernels)
    gpu = {ns for start, end in kernels for ns in range(start, end)}
    cpu = {ns for start, end in calls for ns in range(start, end)}
    window = set(range(first, last))
    assert row["window_ns"] == len(window)
    assert row["both_ns"] == len(window & gpu & cpu)
    assert row["cpu_only_ns"] == len(window & cpu - gpu)
    assert row["gpu_only_ns"] == len(window & gpu - cpu)
    assert row["neither_ns"] == len(window - gpu - cpu)
