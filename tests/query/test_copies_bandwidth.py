"""copies.bandwidth: bytes over time, by direction and size, against a peak."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

MEMCPY = """
    process_id, device_id, copy_kind, source_memory_kind, destination_memory_kind, bytes, start_ns, end_ns
    0,          0,         HtoD,      pageable,           device,                   1600,        0,    100
    0,          0,         HtoD,      pageable,           device,                    800,      100,    300
    0,          0,         HtoD,      pinned,             device,                   5000,      300,    400
    0,          0,         DtoD,      device,             device,                   4096,      400,    500
    0,          0,         DtoD,      device,             device,                      0,      500,    510
    0,          0,         DtoH,      device,             pinned,                   NULL,      510,    520
"""  # noqa: E501 - a table is read across
DEVICE = "device_id, memory_bandwidth\n0, 4000000000000"


def test_groups_by_kind_and_size(query_rows: QueryRows) -> None:
    rows = query_rows(
        "copies.bandwidth",
        parameters={"host_peak": 20e9},
        memcpy=MEMCPY,
        device=DEVICE,
    )
    assert rows == table("""
        device_id, operation,                      source_memory_kind, destination_memory_kind, size_from_bytes, copies, total_bytes, total_ns, bytes_per_second, best_bytes_per_second, peak_bytes_per_second, peak_share, peak_source
        0,         [CUDA memcpy Host-to-Device],   pageable,           device,                              256,      2,        2400,      300,     8000000000.0,         16000000000.0,         20000000000.0,        0.4, host_peak
        0,         [CUDA memcpy Device-to-Device], device,             device,                             4096,      1,        4096,      100,    40960000000.0,         40960000000.0,       2000000000000.0,       0.02, memory_bandwidth
        0,         [CUDA memcpy Host-to-Device],   pinned,             device,                             4096,      1,        5000,      100,    50000000000.0,         50000000000.0,         20000000000.0,        2.5, host_peak
        0,         [CUDA memcpy Device-to-Device], device,             device,                                0,      1,           0,       10,              0.0,                   0.0,       2000000000000.0,        0.0, memory_bandwidth
    """)  # noqa: E501 - a table is read across


def test_a_link_that_nobody_knows_has_no_peak(query_rows: QueryRows) -> None:
    rows = query_rows("copies.bandwidth", memcpy=MEMCPY)
    names = ["peak_bytes_per_second", "peak_share", "peak_source"]
    assert only(rows, names) == [dict.fromkeys(names)] * 4


def test_copies_between_devices_have_the_peak_of_their_link(
    query_rows: QueryRows,
) -> None:
    (row,) = query_rows(
        "copies.bandwidth",
        parameters={"peer_peak": 100e9},
        device=DEVICE,
        memcpy="""
            device_id, copy_kind, source_device_id, destination_device_id, bytes, start_ns, end_ns
            0,         PtoP,      0,                1,                      1000,        0,     20
        """,  # noqa: E501 - a table is read across
    )
    assert (row["peak_source"], row["peak_share"]) == ("peer_peak", 0.5)


def test_a_run_without_copies_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("copies.bandwidth", device=DEVICE) == []
