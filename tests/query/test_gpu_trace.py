"""gpu.trace: one row for each activity of a GPU."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

WORK = {
    "kernel": """
        device_id, process_id, context_id, green_context_id, stream_id, correlation_id, graph_id, graph_node_id, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes, dynamic_shared_bytes, start_ns, end_ns
        0,         0,          1,          NULL,             7,         1,              NULL,     NULL,          gemm,      8,      2,      1,     128,       1,       1,                  32,                4096,                   16,       60,     90
        1,         1,          2,          3,                8,         1,              5,        6,             relu,      1,      1,      1,      32,       4,       2,                  16,                   0,                    0,       10,     10
    """,  # noqa: E501 - a table is read across
    "memcpy": """
        device_id, process_id, context_id, stream_id, correlation_id, copy_kind, bytes, source_memory_kind, destination_memory_kind, start_ns, end_ns
        0,         0,          1,          7,         3,              HtoD,        300, pageable,           device,                        10,    310
    """,  # noqa: E501
    "memset": """
        device_id, process_id, context_id, stream_id, correlation_id, memory_kind, bytes, start_ns, end_ns
        0,         0,          1,          7,         5,              device,         10,       95,     95
    """,  # noqa: E501
    "graph_launch": """
        device_id, process_id, context_id, stream_id, correlation_id, graph_id, start_ns, end_ns
        0,         0,          1,          7,         9,              4,              50,    100
    """,  # noqa: E501
}


def test_each_activity_has_a_row_with_what_its_kind_has(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.trace", WORK)
    assert rows == table("""
        start_ns, duration_ns, activity,     process_id, device_id, context_id, green_context_id, stream_id, correlation_id, graph_id, graph_node_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes, dynamic_shared_bytes, bytes, bytes_per_second, source_memory_kind, destination_memory_kind, operation
              10,           0, kernel,                1,         1,          2,                3,         8,              1,        5,             6,      1,      1,      1,      32,       4,       2,                   16,                   0,                    0,      ,                 ,                   ,                        , relu
              10,         300, memcpy,                0,         0,          1,                 ,         7,              3,         ,              ,       ,       ,       ,        ,        ,        ,                     ,                    ,                     ,   300,              1e9,           pageable,                  device, [CUDA memcpy Host-to-Device]
              50,          50, graph_launch,          0,         0,          1,                 ,         7,              9,        4,              ,       ,       ,       ,        ,        ,        ,                     ,                    ,                     ,      ,                 ,                   ,                        , graph 4
              60,          30, kernel,                0,         0,          1,                 ,         7,              1,         ,              ,      8,      2,      1,     128,       1,       1,                   32,                4096,                   16,      ,                 ,                   ,                        , gemm
              95,           0, memset,                0,         0,          1,                 ,         7,              5,         ,              ,       ,       ,       ,        ,        ,        ,                     ,                    ,                     ,    10,                 ,                   ,                  device, [CUDA memset]
    """)  # noqa: E501 - a table is read across


def test_graphs_can_be_left_out(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.trace", WORK, parameters={"graph_launches": "exclude"})
    assert [row["activity"] for row in rows] == ["kernel", "memcpy", "kernel", "memset"]


def test_the_throughput_of_nsys_counts_whole_copies_a_second(
    query_rows: QueryRows,
) -> None:
    def throughput(duration_ns: int, which: str) -> float | None:
        (row,) = query_rows(
            "gpu.trace",
            parameters={"throughput": which},
            memcpy="device_id, process_id, copy_kind, bytes, start_ns, end_ns\n"
            f"0, 0, HtoD, 256, 0, {duration_ns}",
        )
        found: float | None = row["bytes_per_second"]
        return found

    # 10^9 / 992 is 1008064.5.
    assert throughput(992, "nsys") == 256 * 1_008_064
    assert throughput(992, "exact") == 258_064_516.129
    assert throughput(1_500_000_000, "nsys") == 0.0
    assert throughput(1_500_000_000, "exact") == 170.667
    assert throughput(0, "nsys") is None


def test_a_large_copy_has_a_throughput(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.trace",
        parameters={"throughput": "nsys"},
        memcpy="device_id, process_id, copy_kind, bytes, start_ns, end_ns\n"
        f"0, 0, DtoD, {1 << 37}, 0, 1",
    )
    assert row["bytes_per_second"] == (1 << 37) * 1e9


def test_the_limit_takes_the_first(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.trace", WORK, parameters={"limit": 2})
    assert [row["operation"] for row in rows] == [
        "relu",
        "[CUDA memcpy Host-to-Device]",
    ]


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    kernel = "device_id, process_id, name, start_ns, end_ns\n"
    kernel += "\n".join(f"0, 0, k, {n}, {n + 1}" for n in range(30))
    assert len(query_rows("gpu.trace", kernel=kernel)) == 20
    rows = query_rows("gpu.trace", parameters={"limit": 0}, kernel=kernel)
    assert [row["start_ns"] for row in rows] == list(range(30))


def test_a_window_takes_activities_that_start_inside_whole(
    query_rows: QueryRows,
) -> None:
    rows = query_rows("gpu.trace", WORK, window="11:95")
    assert only(rows, ["start_ns", "duration_ns", "activity"]) == table("""
        start_ns, duration_ns, activity
              50,          50, graph_launch
              60,          30, kernel
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("gpu.trace", WORK, devices=(1,))
    by_process = query_rows("gpu.trace", WORK, processes=(1,))
    assert [row["operation"] for row in by_device] == ["relu"]
    assert by_process == by_device


def test_a_run_without_gpu_work_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("gpu.trace") == []
