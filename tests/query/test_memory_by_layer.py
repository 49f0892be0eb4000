"""memory.by_layer: whose memory it is at the peak."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

NAME = "memory.by_layer"


def test_layers_hold_what_is_alive_at_the_peak(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        memory_event="""
            process_id, device_id, time_ns, kind,     address, bytes, allocator, memory_class, layer, tag
            0,          0,               1, allocate,      10,   100, torch,     weights,      fc1,   fc1.weight
            0,          0,               2, allocate,      20,   900, torch,     feature_maps, fc1,   NULL
            0,          0,               3, allocate,      30,   500, torch,     feature_maps, fc2,   NULL
            0,          0,               4, allocate,      40,   500, torch,     feature_maps, fc2,   NULL
            0,          0,               5, free,          30,   500, torch,     NULL,         NULL,  NULL
            0,          0,               6, allocate,      50,    10, torch,     temporaries,  NULL,  aten::add
        """,  # noqa: E501 - a table is read across
    )
    names = ["layer", "source", "memory_class", "blocks", "bytes_at_peak", "share"]
    assert only(rows, names) == table("""
        layer, source, memory_class, blocks, bytes_at_peak, share
        fc2,   layer,  feature_maps,      2,          1000, 0.5
        fc1,   layer,  feature_maps,      1,           900, 0.45
        fc1,   layer,  weights,           1,           100, 0.05
    """)


def test_a_layer_is_the_innermost_module(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        module="""
            process_id, thread_id, name,     path,       start_ns, end_ns
            0,          0,         Net_0,    NULL,              0,    100
            0,          0,         Linear_0, Net_0.fc1,        10,     20
        """,
        operator="""
            operator_id, process_id, thread_id, name,     start_ns, end_ns
            1,           0,          0,         aten::mm,       12,     18
        """,
        memory_event="""
            process_id, thread_id, device_id, time_ns, kind,     address, bytes, allocator
            0,          0,         0,              13, allocate,      10,   100, torch
            0,          0,         0,              30, allocate,      20,    60, torch
            0,          1,         0,              13, allocate,      30,     9, torch
        """,  # noqa: E501 - a table is read across
    )
    assert [(row["layer"], row["bytes_at_peak"]) for row in rows] == [
        ("Net_0.fc1", 100),
        ("Net_0", 60),
        (None, 9),
    ]
