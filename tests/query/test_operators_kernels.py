"""operators.kernels: which kernels each operator launched."""

from tests.conftest import QueryRows
from tests.query.test_operators_hotspots import API_CALL, KERNEL, OPERATOR
from tests.support.tables import table

NAME = "operators.kernels"


def test_kernels_belong_to_the_innermost_operator(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, operator=OPERATOR, kernel=KERNEL, api_call=API_CALL)
    assert rows == table("""
        operator_name, kernel_name, launches, total_ns, time_share, operator_share
        addmm,         gemm,               1,      500,      0.597,          0.986
        linear,        bias,               1,      100,      0.119,            1.0
        NULL,          lost,               1,      100,      0.119,          0.526
        NULL,          none,               1,       90,      0.108,          0.474
        relu,          relu,               1,       40,      0.048,            1.0
        addmm,         back,               1,        7,      0.008,          0.014
    """)


def test_the_limit_counts_rows(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        operator=OPERATOR,
        kernel=KERNEL,
        api_call=API_CALL,
        parameters={"limit": 1},
    )
    assert [row["kernel_name"] for row in rows] == ["gemm"]


def test_without_operators_there_are_no_rows_to_trust(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, kernel=KERNEL, api_call=API_CALL)
    assert {row["operator_name"] for row in rows} == {None}
