"""collectives.summary: latency over ranks, algorithm and bus bandwidth."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

HEAD = (
    "source, communicator, operation, data_type, bytes, group_size, start_ns, end_ns\n"
)


def rank(*rows: str) -> dict[str, str]:
    return {"collective": HEAD + "\n".join(rows)}


def test_latency_is_the_shortest_over_ranks(query_rows: QueryRows) -> None:
    rows = query_rows(
        "collectives.summary",
        rank(
            "kernel, dp, all_reduce, float, 1000, 4, 0, 100",
            "kernel, dp, all_reduce, float, 1000, 4, 200, 220",
            "operator, dp, all_reduce, float, 1000, 4, 0, 5",
            "kernel, dp, broadcast, float, 500, 4, 300, 310",
        ),
        ranks={
            1: rank(
                "kernel, dp, all_reduce, float, 1000, 4, 60, 100",
                "kernel, dp, all_reduce, float, 1000, 4, 200, 240",
            )
        },
    )
    # 2000 B in 40 + 20 ns; of an all-reduce on 4 ranks 2 x 3/4 pass the links.
    for row in rows:
        row.pop("run_id")
        assert row.pop("rank") is None
    assert rows == table("""
        communicator, operation,  data_type, bytes, group_size, timed,  collectives, ranks_seen, total_ns, latency_mean_ns, latency_median_ns, latency_min_ns, latency_max_ns, wait_mean_ns, algorithm_bandwidth, bus_bandwidth
        dp,           all_reduce, float,      1000,          4, kernel,           2,          2,       60,            30.0,              30.0,             20,             40,         40.0,    33333333333.333, 50000000000.0
        dp,           broadcast,  float,       500,          4, kernel,           1,          1,       10,            10.0,              10.0,             10,             10,          0.0,       50000000000.0, 50000000000.0
    """)  # noqa: E501 - a table is read across


def test_sequence_numbers_join_ranks(query_rows: QueryRows) -> None:
    head = "source, operation, bytes, sequence, start_ns, end_ns\n"
    (row,) = query_rows(
        "collectives.summary",
        collective=head
        + "kernel, all_gather, 8, 7, 0, 50\nkernel, all_gather, 8, 8, 60, 70",
        ranks={1: {"collective": head + "kernel, all_gather, 8, 8, 30, 70"}},
    )
    assert (row["collectives"], row["total_ns"], row["group_size"]) == (2, 60, 2)


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("all_reduce", 1.75),
        ("all_gather", 0.875),
        ("reduce_scatter", 0.875),
        ("all_to_all", 0.875),
        ("broadcast", 1),
        ("reduce", 1),
    ],
)
def test_bus_bandwidth_by_operation(
    query_rows: QueryRows, operation: str, factor: float
) -> None:
    (row,) = query_rows(
        "collectives.summary", rank(f"kernel, c, {operation}, float, 800, 8, 0, 8")
    )
    assert row["algorithm_bandwidth"] == 100e9
    assert row["bus_bandwidth"] == factor * 100e9


def test_without_kernels_the_operators_are_timed(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "collectives.summary", rank("operator, c, all_reduce, float, 800, 8, 0, 8")
    )
    assert row["timed"] == "operator"


def test_a_run_without_collectives_has_no_rows(query_rows: QueryRows) -> None:
    kernel = "device_id, start_ns, end_ns\n0, 0, 5"
    assert query_rows("collectives.summary", kernel=kernel) == []
