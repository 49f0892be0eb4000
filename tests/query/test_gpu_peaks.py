"""The peaks of GPUs, against what NVIDIA publishes."""

import duckdb
import pytest

from tracekit.convert.peaks import _FP32_LANES, peak_fp32
from tracekit.query.catalog import macros


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    for text in macros().values():
        made.execute(text)
    return made


def peaks(
    connection: duckdb.DuckDBPyConnection, capability: str, sms: int, clock_hz: int
) -> dict[str, float | None]:
    """Return the peaks of a GPU, in 1e12 operations a second."""
    connection.execute(
        "CREATE OR REPLACE TABLE gpu AS SELECT 0 AS device_id, '' AS name,"
        f" '{capability}' AS compute_capability, {sms} AS sm_count,"
        f" {clock_hz}::BIGINT AS max_clock_hz, NULL::BIGINT AS memory_bandwidth,"
        " NULL::DOUBLE AS peak_fp32_flops, NULL::VARCHAR AS peak_fp32_derivation"
    )
    found = connection.sql("FROM gpu_peak('gpu')").to_arrow_table().to_pylist()[0]
    return {
        key: value / 1e12 for key, value in found.items() if isinstance(value, float)
    }


def test_lanes_are_those_of_the_converter(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    for (major, minor), lanes in _FP32_LANES.items():
        capability = f"{major}.{minor}"
        found = connection.execute("SELECT fp32_lanes($c)", {"c": capability})
        assert found.fetchall() == [(lanes,)], capability
        rates = connection.execute(
            "SELECT count(*) FROM capability_rate() WHERE compute_capability = $c",
            {"c": capability},
        )
        assert rates.fetchall() == [(1,)], capability


# Data sheets, dense: V100 SXM2, T4, A100 SXM4, A40, L40S, H100 SXM5.
@pytest.mark.parametrize(
    ("capability", "sms", "clock_hz", "published"),
    [
        ("7.0", 80, 1_530_000_000, {"fp32": 15.7, "fp64": 7.8, "tensor_fp16": 125}),
        ("7.5", 40, 1_590_000_000, {"fp32": 8.1, "tensor_fp16": 65}),
        (
            "8.0",
            108,
            1_410_000_000,
            {
                "fp32": 19.5,
                "fp64": 9.7,
                "tensor_fp64": 19.5,
                "tensor_tf32": 156,
                "tensor_bf16": 312,
                "tensor_int8": 624,
            },
        ),
        ("8.6", 84, 1_740_000_000, {"fp32": 37.4, "tensor_tf32": 74.8}),
        ("8.9", 142, 2_520_000_000, {"fp32": 91.6, "tensor_fp8": 733}),
        (
            "9.0",
            132,
            1_980_000_000,
            {
                "fp32": 66.9,
                "fp64": 33.5,
                "tensor_fp64": 66.9,
                "tensor_tf32": 494.7,
                "tensor_fp16": 989.4,
                "tensor_fp8": 1978.9,
            },
        ),
    ],
)
def test_peaks_are_those_of_data_sheets(
    connection: duckdb.DuckDBPyConnection,
    capability: str,
    sms: int,
    clock_hz: int,
    published: dict[str, float],
) -> None:
    found = peaks(connection, capability, sms, clock_hz)
    for pipe, peak in published.items():
        assert found[pipe] == pytest.approx(peak, rel=0.01), pipe
    major, _, minor = capability.partition(".")
    computed = peak_fp32((int(major), int(minor)), sms, clock_hz)
    assert computed is not None
    assert found["fp32"] == computed.flops / 1e12


def test_what_a_gpu_does_not_have_is_null(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    assert "tensor_fp16" not in peaks(connection, "6.1", 20, 1_480_000_000)
    assert "tensor_fp8" not in peaks(connection, "8.0", 108, 1_410_000_000)
