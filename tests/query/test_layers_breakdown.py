"""layers.breakdown: time and FLOP of layers."""

from tests.conftest import QueryRows
from tests.support.tables import table

NAME = "layers.breakdown"
MODULE = """
    process_id, thread_id, name,    start_ns, end_ns
    0,          0,         Model,          0,    100
    0,          0,         Linear,        10,     40
    0,          0,         Linear,        50,     90
"""
KERNEL = """
    process_id, device_id, correlation_id, name, start_ns, end_ns
    0,          0,                      1, gemm,     1000,   1300
    0,          0,                      2, bias,     1300,   1340
    0,          0,                      3, back,     1400,   1900
"""
API_CALL = """
    process_id, thread_id, correlation_id, name,             start_ns, end_ns
    0,          0,                      1, cudaLaunchKernel,       20,     30
    0,          0,                      2, cudaLaunchKernel,       45,     48
    0,          1,                      3, cudaLaunchKernel,      200,    210
"""
OPERATOR = """
    operator_id, process_id, thread_id, name,     start_ns, end_ns, input_shapes
    0,           0,          0,         aten::mm,       15,     35, "[[2,3],[3,4]]"
    1,           0,          0,         aten::mm,       55,     60, "[[2,3],[3,5]]"
    2,           0,          1,         aten::mm,      195,    220, "[[2,3],[3,6]]"
"""


def test_modules_and_what_is_in_none(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME, module=MODULE, kernel=KERNEL, api_call=API_CALL, operator=OPERATOR
    )
    assert rows == table("""
        source, layer,  phase, calls, host_total_ns, host_self_ns, device_total_ns, device_self_ns, flop_self
        NULL,   NULL,   NULL,   NULL,          NULL,         NULL,             500,            500, 72.0
        module, Linear, NULL,      2,            70,           70,             300,            300, 108.0
        module, Model,  NULL,      1,           100,           30,             340,             40, NULL
    """)  # noqa: E501 - a table is read across
    assert sum(row["device_self_ns"] for row in rows) == 840


def test_ranges_stand_in_where_no_modules_are_recorded(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        kernel=KERNEL,
        api_call=API_CALL,
        annotation="""
            process_id, thread_id, kind,     text,    start_ns, end_ns
            0,          0,         push_pop, forward,        0,    100
            0,          0,         push_pop, "aten::mm, op_id = 3, sizes = [[2]]", 1, 9
            0,          0,         mark,     here,           5,      5
        """,
    )
    assert [(row["source"], row["layer"], row["device_self_ns"]) for row in rows] == [
        (None, None, 500),
        ("annotation", "forward", 340),
    ]


def test_without_layers_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL, api_call=API_CALL) == []
