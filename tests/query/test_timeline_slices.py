"""`timeline.slices`: long slices alone, short ones merged, none lost."""

from tests.conftest import QueryRows
from tests.support.tables import Row

KERNELS = """
    process_id, device_id, stream_id, correlation_id, start_ns, end_ns, name
    0,          0,         7,         1,                     0,    100, gemm
    0,          0,         7,         2,                   100,    101, relu
    0,          0,         7,         3,                   110,    112, relu
    0,          0,         7,         4,                   900,    903, relu
    0,          0,         8,         5,                    50,    1000, long
"""
CALLS = """
    process_id, thread_id, correlation_id, domain,    start_ns, end_ns, name
    0,          3,         1,              runtime,         -9,     -5, cudaLaunchKernel
    0,          3,         1,              backtrace,       -9,     -4, cudaLaunchKernel
"""
RANGES = """
    process_id, thread_id, kind,      domain, text, start_ns, end_ns
    0,          3,         push_pop,  ,       step,        0,   1000
    0,          3,         mark,      ,       here,        5,
    0,          3,         push_pop,  ,       open,        6,
"""
COLUMNS = ("track", "stream_id", "start_ns", "end_ns", "slices", "busy_ns")


def shown(rows: list[Row], *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


def test_all_are_rows_of_their_own_without_a_limit(query_rows: QueryRows) -> None:
    rows = query_rows(
        "timeline.slices",
        parameters={"limit": 0},
        kernel=KERNELS,
        api_call=CALLS,
        annotation=RANGES,
    )
    assert shown(rows, "track", "start_ns", "slice_name", "slices") == [
        ("api", -9, "cudaLaunchKernel", 1),
        ("gpu", 0, "gemm", 1),
        ("gpu", 100, "relu", 1),
        ("gpu", 110, "relu", 1),
        ("gpu", 900, "relu", 1),
        ("gpu", 50, "long", 1),
        ("range", 0, ":step", 1),
    ]


def test_the_short_are_merged_by_track_and_part_of_the_time(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(
        "timeline.slices", parameters={"limit": 2, "bins": 2}, kernel=KERNELS
    )
    # The parts are [0, 500) and [500, 1000): 1 + 2 ns in the one, 3 ns in the other.
    assert shown(rows, *COLUMNS) == [
        ("gpu", 7, 0, 100, 1, 100),
        ("gpu", 7, 100, 112, 2, 3),
        ("gpu", 7, 900, 903, 1, 3),
        ("gpu", 8, 50, 1000, 1, 950),
    ]
    assert shown(rows, "slice_name") == [("gemm",), (None,), ("relu",), ("long",)]


def test_of_many_as_long_as_each_other_no_more_than_the_limit_stand_alone(
    query_rows: QueryRows,
) -> None:
    kernel = "process_id, device_id, stream_id, start_ns, end_ns, name\n" + "\n".join(
        f"0, 0, 7, {start}, {start + 5}, k" for start in range(0, 100, 10)
    )
    rows = query_rows(
        "timeline.slices", parameters={"limit": 3, "bins": 1}, kernel=kernel
    )
    assert shown(rows, *COLUMNS) == [("gpu", 7, 0, 95, 10, 50)]


def test_a_window_takes_what_starts_inside(query_rows: QueryRows) -> None:
    rows = query_rows("timeline.slices", window="100:900", kernel=KERNELS)
    assert sum(row["slices"] for row in rows) == 2
