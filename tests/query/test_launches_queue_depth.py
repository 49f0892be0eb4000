"""launches.queue_depth: launched work that waits, over time."""

import random

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

CALL = "process_id, thread_id, name, start_ns, end_ns, correlation_id\n"
KERNEL = "process_id, device_id, start_ns, end_ns, correlation_id\n"


def test_depth_is_weighted_by_time(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.queue_depth",
        api_call=CALL
        + "0, 0, l, 0, 10, 1\n0, 0, l, 12, 20, 2\n"
        + "0, 0, l, 21, 30, 3\n0, 0, l, 90, 100, 4",
        # Queued from 10 to 40, from 20 to 50, from 30 to 50; the last not at all.
        kernel=KERNEL
        + "0, 0, 40, 50, 1\n0, 0, 50, 60, 2\n0, 0, 50, 70, 3\n0, 0, 95, 99, 4\n"
        + "0, 0, 0, 5, 9",
    )
    assert rows == table("""
        device_id, operations, queued, span_ns, empty_ns, empty_share, mean_depth, max_depth, mean_wait_ns
        0,                  4,      3,      85,       45,       0.529,      0.941,         3,       26.667
    """)  # noqa: E501 - a table is read across


def test_what_leaves_at_an_instant_leaves_first(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "launches.queue_depth",
        api_call=CALL + "0, 0, l, 0, 10, 1\n0, 0, l, 12, 20, 2",
        kernel=KERNEL + "0, 0, 20, 25, 1\n0, 0, 30, 35, 2",
    )
    assert row["max_depth"] == 1


@pytest.mark.parametrize("seed", range(6))
def test_random_queues_equal_a_count_of_every_nanosecond(
    query_rows: QueryRows, seed: int
) -> None:
    chance = random.Random(seed)
    waits = []
    for _ in range(chance.randrange(1, 12)):
        end = chance.randrange(5, 60)
        waits.append((end, chance.randrange(0, 80)))
    (row,) = query_rows(
        "launches.queue_depth",
        api_call=CALL
        + "\n".join(
            f"0, 0, l, {end - 5}, {end}, {n}" for n, (end, _) in enumerate(waits)
        ),
        kernel=KERNEL
        + "\n".join(f"0, 0, {start}, 90, {n}" for n, (_, start) in enumerate(waits)),
    )
    first = min(min(wait) for wait in waits)
    depth = [
        sum(end <= ns < start for end, start in waits)
        for ns in range(first, max(start for _, start in waits))
    ]
    assert row["span_ns"] == len(depth)
    assert row["empty_ns"] == depth.count(0)
    assert row["max_depth"] == max(depth, default=0)
    if depth:
        assert row["mean_depth"] == round(sum(depth) / len(depth), 3)


def test_without_calls_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows("launches.queue_depth", kernel=KERNEL + "0, 0, 0, 5, 1") == []
