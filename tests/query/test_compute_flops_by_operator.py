"""compute.flops_by_operator: work of operators from the shapes of their inputs."""

import json

import pytest

from tests.conftest import MakeRun, QueryRows
from tests.support.tables import Row, only, table
from tracekit.query import load_module, run_module

NAME = "compute.flops_by_operator"
HEADER = (
    "process_id, thread_id, operator_id, name, start_ns, end_ns, input_shapes,"
    " input_types, concrete_inputs"
)


def operator(
    name: str,
    shapes: object,
    concrete: list[str] | None = None,
    *,
    start: int = 0,
    end: int = 10,
    types: str = "float",
    number: int = 0,
) -> str:
    """Return a row of `operator`."""
    count = len(shapes) if isinstance(shapes, list) else 0
    cells = [
        json.dumps(shapes, separators=(",", ":")) if shapes is not None else "",
        json.dumps([types] * count, separators=(",", ":")),
        json.dumps(concrete, separators=(",", ":")) if concrete else "",
    ]
    quoted = ", ".join(
        '"' + cell.replace('"', '""') + '"' if cell else "" for cell in cells
    )
    return f"0, 0, {number}, {name}, {start}, {end}, {quoted}"


def rows_of(query_rows: QueryRows, *operators: str, **parameters: str) -> list[Row]:
    return query_rows(
        NAME, operator="\n".join([HEADER, *operators]), parameters=parameters
    )


def convolution(
    stride: str,
    padding: str,
    dilation: str,
    *,
    transposed: str = "False",
    groups: int = 1,
) -> list[str]:
    """Return the scalar inputs of aten::convolution."""
    return ["", "", "", stride, padding, dilation, transposed, "[0, 0]", str(groups)]


BACKWARD = ["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]"]
RNN_WEIGHTS = [[24, 5], [24, 6], [24], [24]]
QKV = [[2, 3, 7, 4], [2, 3, 9, 4], [2, 3, 9, 5]]


@pytest.mark.parametrize(
    ("name", "shapes", "concrete", "flop"),
    [
        ("aten::mm", [[2, 3], [3, 4]], None, 2 * 2 * 3 * 4),
        ("aten::addmm", [[4], [2, 3], [3, 4], [], []], None, 2 * 2 * 3 * 4),
        ("aten::mv", [[2, 3], [3]], None, 2 * 2 * 3),
        ("aten::dot", [[3], [3]], None, 2 * 3),
        ("aten::bmm", [[5, 2, 3], [5, 3, 4]], None, 5 * 2 * 2 * 3 * 4),
        (
            "aten::baddbmm",
            [[5, 2, 4], [5, 2, 3], [5, 3, 4]],
            None,
            5 * 2 * 2 * 3 * 4,
        ),
        ("aten::matmul", [[7, 1, 2, 3], [5, 3, 4]], None, 7 * 5 * 2 * 2 * 3 * 4),
        ("aten::matmul", [[3], [5, 3, 4]], None, 5 * 2 * 3 * 4),
        ("aten::linear", [[8, 2, 3], [4, 3], [4]], None, 8 * 2 * 2 * 3 * 4),
        ("aten::_scaled_mm", [[2, 3], [3, 4]], None, 2 * 2 * 3 * 4),
        # 10 rows are parted among 5 matrices.
        ("aten::_grouped_mm", [[10, 3], [5, 3, 4], [5]], None, 2 * 10 * 3 * 4),
        # 8 x 8 with padding 1, filter 3, stride 2: 4 x 4.
        (
            "aten::convolution",
            [[2, 6, 8, 8], [10, 6, 3, 3]],
            convolution("[2, 2]", "[1, 1]", "[1, 1]"),
            2 * 2 * 4 * 4 * 10 * 6 * 3 * 3,
        ),
        # Dilation 2 makes the filter 5 wide: 8 - 5 + 1 = 4.
        (
            "aten::convolution",
            [[2, 6, 8, 8], [10, 6, 3, 3]],
            convolution("[1]", "[0]", "[2]"),
            2 * 2 * 4 * 4 * 10 * 6 * 3 * 3,
        ),
        # Two groups: a filter sees half of the channels.
        (
            "aten::convolution",
            [[2, 6, 8, 8], [10, 3, 1, 1]],
            convolution("[1, 1]", "[0, 0]", "[1, 1]", groups=2),
            2 * 2 * 8 * 8 * 10 * 3,
        ),
        # Transposed: each pixel of the input meets the filter.
        (
            "aten::convolution",
            [[2, 6, 8, 8], [6, 10, 3, 3]],
            convolution("[2, 2]", "[1, 1]", "[1, 1]", transposed="True"),
            2 * 2 * 8 * 8 * 6 * 10 * 3 * 3,
        ),
        ("aten::conv_transpose1d", [[2, 6, 8], [6, 10, 3]], None, 2 * 2 * 8 * 180),
        (
            "aten::conv1d",
            [[2, 6, 8], [10, 6, 3], []],
            ["", "", "", "[1]", "[1]", "[1]", "1"],
            2 * 2 * 8 * 10 * 6 * 3,
        ),
        (
            "aten::cudnn_convolution",
            [[2, 6, 8, 8], [10, 6, 3, 3]],
            ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"],
            2 * 2 * 4 * 4 * 10 * 6 * 3 * 3,
        ),
        (
            "aten::convolution_backward",
            [[2, 10, 4, 4], [2, 6, 8, 8], [10, 6, 3, 3]],
            [*BACKWARD, "False", "[0, 0]", "1", "[True, True, False]"],
            2 * (2 * 2 * 4 * 4 * 10 * 6 * 3 * 3),
        ),
        (
            "aten::convolution_backward",
            [[2, 10, 4, 4], [2, 6, 8, 8], [10, 6, 3, 3]],
            [*BACKWARD, "False", "[0, 0]", "1", "[False, True, True]"],
            2 * 2 * 4 * 4 * 10 * 6 * 3 * 3,
        ),
        (
            "aten::convolution_backward",
            [[2, 10, 16, 16], [2, 6, 8, 8], [6, 10, 3, 3]],
            [*BACKWARD, "True", "[0, 0]", "1", "[True, False, False]"],
            2 * 2 * 8 * 8 * 6 * 10 * 3 * 3,
        ),
        # q x k is 7 x 4 x 9 a head, its product with v 7 x 9 x 5.
        (
            "aten::_scaled_dot_product_flash_attention",
            QKV,
            None,
            2 * 6 * 7 * 9 * (4 + 5),
        ),
        ("aten::scaled_dot_product_attention", QKV, None, 2 * 6 * 7 * 9 * (4 + 5)),
        (
            "aten::_flash_attention_forward",
            [[2, 7, 3, 4], [2, 9, 3, 4], [2, 9, 3, 5]],
            None,
            2 * 6 * 7 * 9 * (4 + 5),
        ),
        (
            "aten::_scaled_dot_product_efficient_attention_backward",
            [[2, 3, 7, 5], *QKV],
            None,
            2 * 6 * 7 * 9 * (3 * 4 + 2 * 5),
        ),
        # 2 x 3 elements of sequences, each times 24 x 5 and 24 x 6.
        ("aten::_cudnn_rnn", [[2, 3, 5], RNN_WEIGHTS], None, 2 * 6 * 24 * 11),
        ("aten::_cudnn_rnn_backward", [[2, 3, 5], RNN_WEIGHTS], None, 4 * 6 * 24 * 11),
        ("aten::lstm", [[2, 3, 5], [[1, 2, 6]], RNN_WEIGHTS], None, 2 * 6 * 24 * 11),
    ],
)
def test_flop_of_one_operator(
    query_rows: QueryRows,
    name: str,
    shapes: list[object],
    concrete: list[str] | None,
    flop: int,
) -> None:
    (row,) = rows_of(query_rows, operator(name, shapes, concrete))
    assert (row["flop"], row["uncounted"], row["reason"]) == (flop, 0, None)
    assert row["operator_name"] == name


def test_nested_operators_count_once(query_rows: QueryRows) -> None:
    shapes = [[2, 6, 8, 8], [10, 6, 1, 1]]
    concrete = convolution("[1, 1]", "[0, 0]", "[1, 1]")
    product = [[2, 3], [3, 4]]
    rows = rows_of(
        query_rows,
        operator("aten::conv2d", shapes, concrete[:6], start=0, end=90),
        operator("aten::convolution", shapes, concrete, start=0, end=90, number=1),
        operator("aten::_convolution", shapes, concrete, start=2, end=80, number=2),
        operator("aten::linear", product, start=100, end=190, number=3),
        operator("aten::addmm", [[4], *product], start=110, end=150, number=4),
        operator("aten::linear", [[2, 3], [4, 3]], start=200, end=290, number=5),
    )
    assert only(rows, ["operator_name", "calls", "flop"]) == table("""
        operator_name,     calls, flop
        aten::convolution,     1, 15360.0
        aten::addmm,           1,    48.0
        aten::linear,          1,    48.0
    """)


def test_the_same_time_on_another_thread_is_not_nested(query_rows: QueryRows) -> None:
    one = operator("aten::mm", [[2, 3], [3, 4]], start=0, end=90)
    (row,) = rows_of(query_rows, one, one.replace("0, 0, 0", "0, 1, 1"))
    assert (row["calls"], row["flop"]) == (2, 96.0)


def test_attention_made_of_products_counts_the_products(query_rows: QueryRows) -> None:
    rows = rows_of(
        query_rows,
        operator("aten::scaled_dot_product_attention", QKV, start=0, end=90),
        operator("aten::bmm", [[6, 7, 4], [6, 4, 9]], start=1, end=20, number=1),
        operator("aten::bmm", [[6, 7, 9], [6, 9, 5]], start=30, end=40, number=2),
        by="category",
    )
    assert only(rows, ["category", "calls", "flop"]) == table("""
        category, calls, flop
        matmul,       2, 6804.0
    """)
    assert rows[0]["flop"] == 2 * 6 * 7 * 9 * (4 + 5)


def test_norms_and_pointwise_have_bytes(query_rows: QueryRows) -> None:
    rows = rows_of(
        query_rows,
        operator("aten::relu_", [[8, 4]], types="c10::BFloat16"),
        operator("aten::add", [[8, 4], [4]], start=20, end=30, number=1),
        operator("aten::layer_norm", [[8, 4], [4], [4]], start=40, end=50, number=2),
    )
    assert only(rows, ["category", "precision", "flop", "bytes"]) == table("""
        category,      precision, flop, bytes
        normalization, fp32,      NULL, 288.0
        pointwise,     fp32,      NULL, 272.0
        pointwise,     bf16,      NULL, 128.0
    """)
    assert rows[0]["bytes"] == 4 * (32 + 4 + 4) + 4 * 32


def test_without_shapes_the_reason_is_told(query_rows: QueryRows) -> None:
    (row,) = rows_of(query_rows, operator("aten::mm", None))
    assert (row["calls"], row["flop"], row["uncounted"]) == (1, None, 1)
    assert row["reason"] == "the shapes of the inputs are not recorded"


def test_shapes_that_fit_nothing_are_no_error(query_rows: QueryRows) -> None:
    rows = rows_of(
        query_rows,
        operator("aten::mm", [[2, 3]]),
        operator("aten::bmm", [[], []], start=20, end=30, number=1),
        operator("aten::convolution", [[1], [2]], start=40, end=50, number=2),
        operator("aten::_cudnn_rnn", [[0, 0], [[0]]], start=60, end=70, number=3),
        operator("aten::_flash_attention_forward", [[9, 3, 4]] * 3, start=80, end=90),
        '0, 0, 9, aten::mm, 100, 110, "no json", "{", ""',
    )
    assert all(row["flop"] is None for row in rows)
    assert sum(row["uncounted"] for row in rows) == 6


def test_nvtx_ranges_show_the_output_by_their_consumers(query_rows: QueryRows) -> None:
    sizes = "sizes = [[2, 6, 8, 8], [10, 6, 3, 3]]"
    texts = [
        (0, 90, f"aten::conv2d, seq = 1, op_id = 7, {sizes}, input_op_ids = [(3,0), (4,0)]"),  # noqa: E501 - a range is one line
        (1, 80, f"aten::convolution, seq = 1, op_id = 8, {sizes}, input_op_ids = [(3,0), (4,0)]"),  # noqa: E501 - a range is one line
        (100, 110, "aten::relu, op_id = 9, sizes = [[2, 10, 4, 4]], input_op_ids = [(7,0)]"),  # noqa: E501 - a range is one line
        (200, 210, "aten::mm, op_id = 10, sizes = [[2, 3], [3, 4]], input_op_ids = [(9,0), (4,0)]"),  # noqa: E501 - a range is one line
        (300, 310, f"aten::conv2d, op_id = 11, {sizes}, input_op_ids = [(3,0), (4,0)]"),
    ]  # fmt: skip
    lines = ["process_id, thread_id, kind, start_ns, end_ns, text"]
    lines += [f'0, 0, push_pop, {start}, {end}, "{text}"' for start, end, text in texts]
    rows = query_rows(NAME, annotation="\n".join(lines))
    assert only(rows[:3], ["operator_name", "flop", "uncounted"]) == table("""
        operator_name,     flop,    uncounted
        aten::convolution, 34560.0,         0
        aten::mm,             48.0,         0
        aten::conv2d,         NULL,         1
    """)
    assert rows[0]["flop"] == 2 * 2 * 4 * 4 * 10 * 6 * 3 * 3
    assert rows[0]["precision"] is None


def test_nvtx_backward_counts_the_gradients_that_are_used(
    query_rows: QueryRows,
) -> None:
    sizes = "sizes = [[2, 10, 4, 4], [2, 6, 8, 8], [10, 6, 3, 3]]"
    one = 2 * 2 * 4 * 4 * 10 * 6 * 3 * 3
    header = "process_id, thread_id, kind, start_ns, end_ns, text\n"
    backward = (
        f'0, 0, push_pop, 0, 90, "aten::convolution_backward, op_id = 7, {sizes}"\n'
    )
    use = '0, 0, push_pop, 95, 99, "f, op_id = 8, sizes = [[2, 6]], input_op_ids = [(7,0)]"'  # noqa: E501 - a range is one line
    (alone,) = query_rows(NAME, annotation=header + backward)
    (used,) = query_rows(NAME, annotation=header + backward + use)
    assert (alone["flop"], used["flop"]) == (one, 2 * one)


def test_operators_are_told_apart_by_shape(query_rows: QueryRows) -> None:
    rows = rows_of(
        query_rows,
        operator("aten::mm", [[2, 3], [3, 4]]),
        operator("aten::mm", [[2, 3], [3, 5]], start=20, end=30, number=1),
        by="shape",
    )
    assert [(row["input_shapes"], row["flop"]) for row in rows] == [
        ("[[2,3],[3,5]]", 60.0),
        ("[[2,3],[3,4]]", 48.0),
    ]


def test_a_run_without_operators_says_so(run_of: MakeRun) -> None:
    answer = run_module(load_module(NAME), [run_of()])
    assert answer.table.num_rows == 0
    assert "operator" in answer.reasons[0]
