"""tbd.observations: rules with their evidence."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, counters, fp32
from tests.support.tables import Row

NAME = "tbd.observations"
KERNEL = """
    kernel_id, process_id, device_id, name,               start_ns, end_ns
    0,         0,          0,         batch_norm_kernel,         0,    300
    1,         0,          0,         sgemm,                   900,   1000
    2,         0,          0,         ncclDevKernel_AllReduce, 1900,  2000
"""


def by_rule(rows: list[Row]) -> dict[str, Row]:
    return {row["rule"]: row for row in rows}


def test_rules_rest_on_numbers(query_rows: QueryRows) -> None:
    found = by_rule(query_rows(NAME, kernel=KERNEL))
    assert (found["launch_bound"]["holds"], found["launch_bound"]["value"]) == (
        True,
        0.25,
    )
    assert "167 ns" in found["launch_bound"]["detail"]
    norm = found["normalization_hotspot"]
    assert (norm["holds"], norm["value"], norm["detail"]) == (
        True,
        0.6,
        "batch_norm_kernel",
    )
    communication = found["communication_bound"]
    assert (communication["holds"], communication["value"]) == (True, 0.2)
    assert all(row["finding"] for row in found.values() if row["holds"])


def test_a_busy_gpu_is_not_launch_bound(query_rows: QueryRows) -> None:
    found = by_rule(
        query_rows(
            NAME,
            kernel="""
                process_id, device_id, name,  start_ns, end_ns
                0,          0,         sgemm,        0,   1000
            """,
        )
    )
    for rule in ("launch_bound", "normalization_hotspot", "communication_bound"):
        assert found[rule]["holds"] is False
        assert found[rule]["finding"] is None


def test_idle_fp32_units_are_told_apart_from_idle_gpus(query_rows: QueryRows) -> None:
    found = by_rule(
        query_rows(
            NAME,
            device=DEVICE,
            kernel=KERNEL,
            kernel_metric=counters(*fp32(1, 1, 0, 0), (1, "tf32", 1_024_000)),
        )
    )["fp32_units_idle"]
    # 1,024,000 tensor operations in 100 ns are half of 2.048e13.
    assert found["holds"] is True
    assert found["finding"] == "the FP32 units idle while tensor cores work"
    assert found["detail"] == "tensor cores at 0.5 of their peak"


def test_a_rule_without_data_says_so(query_rows: QueryRows) -> None:
    found = by_rule(query_rows(NAME, kernel=KERNEL))
    for rule in (
        "fp32_units_idle",
        "feature_maps_dominate",
        "cpu_idle",
        "batch_size_saturated",
    ):
        assert found[rule]["holds"] is None
        assert found[rule]["reason"], rule


def test_feature_maps_that_fill_the_memory(query_rows: QueryRows) -> None:
    found = by_rule(
        query_rows(
            NAME,
            kernel=KERNEL,
            memory_event="""
                process_id, device_id, time_ns, kind,     address, bytes, memory_class
                0,          0,               1, allocate,       1,    40, weights
                0,          0,               2, allocate,       2,    60, feature_maps
            """,
        )
    )["feature_maps_dominate"]
    assert (found["holds"], found["value"]) == (True, 0.6)
