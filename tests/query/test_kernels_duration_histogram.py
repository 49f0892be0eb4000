"""kernels.duration_histogram: classes that double."""

from tests.conftest import QueryRows
from tests.support.tables import table


def test_a_class_reaches_from_a_power_of_two_to_the_next(
    query_rows: QueryRows,
) -> None:
    lengths = (0, 1, 2, 3, 4, 7, 8, 1023, 1024)
    kernel = "device_id, start_ns, end_ns\n" + "\n".join(
        f"0, 10, {10 + length}" for length in lengths
    )
    rows = query_rows("kernels.duration_histogram", kernel=kernel + "\n1, 0, 5")
    assert rows == table("""
        device_id, from_ns, to_ns, launches, launch_share, total_ns, time_share
        0,               0,     1,        1,        0.111,        0,      0.0
        0,               1,     2,        1,        0.111,        1,      0.0
        0,               2,     4,        2,        0.222,        5,      0.002
        0,               4,     8,        2,        0.222,       11,      0.005
        0,               8,    16,        1,        0.111,        8,      0.004
        0,             512,  1024,        1,        0.111,     1023,      0.494
        0,            1024,  2048,        1,        0.111,     1024,      0.494
        1,               4,     8,        1,          1.0,        5,        1.0
    """)


def test_edges_of_classes_are_exact(query_rows: QueryRows) -> None:
    kernel = "device_id, start_ns, end_ns\n" + "\n".join(
        f"0, 0, {2**power + offset}" for power in range(3, 46) for offset in (-1, 0, 1)
    )
    rows = query_rows("kernels.duration_histogram", kernel=kernel)
    assert sum(row["launches"] for row in rows) == 43 * 3
    # Of each power the number itself, the one above it, and the last below the next.
    assert [row["launches"] for row in rows[1:-1]] == [3] * 42


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("kernels.duration_histogram") == []
