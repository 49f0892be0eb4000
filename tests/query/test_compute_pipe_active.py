"""compute.pipe_active: how active units were, by sampled metrics."""

from tests.conftest import QueryRows
from tests.support.tables import table

NAME = "compute.pipe_active"
SAMPLES = """
    source, device_id, time_ns, metric,                        unit, value
    gpu,    0,              10, SMs Active,                    %,       40
    gpu,    0,              20, SMs Active,                    %,       60
    gpu,    0,              10, Tensor Active,                 %,        0
    gpu,    0,              20, Tensor Active,                 %,       20
    gpu,    0,              30, Tensor Active,                 %,     NULL
    gpu,    0,              10, Compute Warps in Flight,       %,       90
    gpu,    0,              10, GPC Clock Frequency,           Hz,      99
    gpu,    1,              10, Tensor Active [Throughput %],  %,       50
    cpu,    NULL,           10, SMs Active,                    %,       90
"""


def test_shares_are_means_over_samples(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, counter_sample=SAMPLES)
    assert rows == table("""
        device_id, pipe,   metric,                       samples, mean_share, max_share, share_of_active
        0,         sm,     SMs Active,                         2,        0.5,       0.6,             1.0
        0,         tensor, Tensor Active,                      2,        0.1,       0.2,             0.2
        1,         tensor, Tensor Active [Throughput %],       1,        0.5,       0.5,            NULL
    """)  # noqa: E501 - a table is read across


def test_a_window_takes_the_samples_inside(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, counter_sample=SAMPLES, window="15:25", devices=(0,))
    assert [(row["pipe"], row["mean_share"]) for row in rows] == [
        ("sm", 0.6),
        ("tensor", 0.2),
    ]


def test_without_samples_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME) == []
