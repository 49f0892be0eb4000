"""operators.hotspots: time of operators, by themselves and with those inside."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

NAME = "operators.hotspots"
OPERATOR = """
    operator_id, process_id, thread_id, name,   start_ns, end_ns, input_shapes
    0,           0,          0,         linear,        0,    100, [[1]]
    1,           0,          0,         addmm,        10,     60, [[2]]
    2,           0,          0,         relu,        100,    130, [[1]]
    3,           0,          0,         relu,        110,    120, [[1]]
    4,           0,          1,         addmm,         0,    200, [[3]]
"""
KERNEL = """
    process_id, device_id, correlation_id, name, start_ns, end_ns
    0,          0,                      1, gemm,     1000,   1500
    0,          0,                      2, bias,     1500,   1600
    0,          0,                      3, relu,     1600,   1640
    0,          0,                      4, back,     1700,   1707
    0,          0,                      5, lost,     1800,   1900
    0,          0,                      6, none,     1900,   1990
"""
API_CALL = """
    process_id, thread_id, correlation_id, name,             start_ns, end_ns
    0,          0,                      1, cudaLaunchKernel,       20,     30
    0,          0,                      2, cudaLaunchKernel,       60,     70
    0,          0,                      3, cudaLaunchKernel,      115,    118
    0,          1,                      4, cudaLaunchKernel,       20,     30
    0,          0,                      6, cudaLaunchKernel,      140,    150
"""
COLUMNS = [
    "operator_name",
    "calls",
    "host_total_ns",
    "host_self_ns",
    "device_total_ns",
    "device_self_ns",
    "launches",
]


def test_self_and_total(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, operator=OPERATOR, kernel=KERNEL, api_call=API_CALL)
    # The relu inside of relu counts once in totals; linear's own kernel began as addmm
    # ended; the last two kernels have no operator.
    assert only(rows, COLUMNS) == table("""
        operator_name, calls, host_total_ns, host_self_ns, device_total_ns, device_self_ns, launches
        addmm,             2,           250,          250,             507,            507,        2
        linear,            1,           100,           50,             600,            100,        1
        relu,              2,            30,           30,              40,             40,        1
    """)  # noqa: E501 - a table is read across


def test_shares_add_up_to_one(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, operator=OPERATOR, kernel=KERNEL, api_call=API_CALL)
    assert [row["host_self_share"] for row in rows] == [0.758, 0.152, 0.091]
    assert [row["device_self_share"] for row in rows] == [0.784, 0.155, 0.062]


def test_by_shape(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        operator=OPERATOR,
        parameters={"by": "shape", "order": "host_total", "limit": 2},
    )
    assert [(row["operator_name"], row["input_shapes"]) for row in rows] == [
        ("addmm", "[[3]]"),
        ("linear", "[[1]]"),
    ]


def test_without_launches_the_gpu_is_unknown(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, operator=OPERATOR, kernel=KERNEL)
    assert {row["device_self_ns"] for row in rows} == {None}
    assert {row["launches"] for row in rows} == {None}


def test_operators_of_no_length_take_no_time(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        operator="""
            operator_id, process_id, thread_id, name, start_ns, end_ns
            0,           0,          0,         a,           5,      5
        """,
    )
    assert (row["calls"], row["host_total_ns"], row["host_self_ns"]) == (1, 0, 0)


def test_no_operators(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL) == []
