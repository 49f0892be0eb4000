"""memory.breakdown: what each class holds at the peak, and how a class is inferred."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

NAME = "memory.breakdown"
EVENT = "process_id, device_id, time_ns, kind, address, bytes, allocator, memory_class"
# Five kinds of stack: the names are PyTorch's.
STACKS = """
    call_stack_id, depth, symbol,                            file
    1,             0,     forward,                           /p/torch/nn/modules/linear.py
    1,             1,     _call_impl,                        /p/torch/nn/modules/module.py
    2,             0,     torch::autograd::Engine::evaluate, engine.cpp
    3,             0,     step,                              /p/torch/optim/adam.py
    4,             0,     _init_group,                       /p/torch/optim/adam.py
    4,             1,     step,                              /p/torch/optim/adam.py
    5,             0,     at::cuda::getCublasWorkspace,      CublasHandlePool.cpp
    5,             1,     forward,                           /p/torch/nn/modules/linear.py
    6,             0,     convert,                           /p/torch/nn/modules/module.py
    7,             0,     recompute,                         /p/torch/utils/checkpoint.py
    7,             1,     backward,                          /p/torch/autograd/graph.py
    8,             0,     c10d::Reducer::initialize_buckets, reducer.cpp
    9,             0,     at::native::_to_copy,              TensorConversions.cpp
"""  # noqa: E501 - a table is read across


def test_classes_add_up_to_the_peak(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        memory_event=f"""
            {EVENT}
            0, 0, 1, allocate, 10, 100, torch, weights
            0, 0, 2, allocate, 20, 300, torch, feature_maps
            0, 0, 3, free,     20, 300, torch, feature_maps
            0, 0, 4, allocate, 20, 500, torch, temporaries
            0, 0, 5, allocate, 30,  40, torch, NULL
            0, 0, 6, free,     10, 100, torch, weights
            0, 0, 7, allocate, 50,   1, torch, weights
            0, 1, 1, allocate, 10,   7, torch, input
        """,
    )
    assert rows == table("""
        device_id, memory_class, bytes_at_peak, share, peak_bytes, when_ns, memory_kind, allocator, class_source
        0,         temporaries,            500, 0.781,        640,       5, device,      torch,     profiler
        0,         weights,                100, 0.156,        640,       5, device,      torch,     profiler
        0,         unknown,                 40, 0.062,        640,       5, device,      torch,     NULL
        1,         input,                    7, 1.0,            7,       1, device,      torch,     profiler
    """)  # noqa: E501 - a table is read across


def test_at_one_time_the_order_of_the_capture_counts(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(
        NAME,
        memory_event=f"""
            {EVENT}
            0, 0, 1, allocate, 10, 100, torch, weights
            0, 0, 2, free,     10, 100, torch, weights
            0, 0, 2, allocate, 20, 100, torch, input
        """,
    )
    assert [(row["memory_class"], row["peak_bytes"]) for row in rows] == [
        ("weights", 100)
    ]


def test_what_was_held_before_is_unknown(query_rows: QueryRows) -> None:
    """1000 B before the recording: 300 of them are freed, and 50 are added."""
    rows = query_rows(
        NAME,
        memory_event="""
            process_id, device_id, time_ns, kind,     address, bytes, allocator, memory_class, total_allocated_bytes
            0,          0,               1, allocate,      10,   200, torch,     input,                         1200
            0,          0,               2, free,           5,   300, torch,     NULL,                           900
            0,          0,               3, allocate,      20,    50, torch,     weights,                        950
        """,  # noqa: E501 - a table is read across
    )
    assert only(rows, ["memory_class", "bytes_at_peak", "peak_bytes"]) == table("""
        memory_class, bytes_at_peak, peak_bytes
        unknown,               1000,       1200
        input,                  200,       1200
    """)


def test_classes_change_without_addresses(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        memory_event="""
            process_id, time_ns, kind,      bytes, allocator, memory_class
            0,                1, held,         64, torch,     unknown
            0,                2, allocate,    100, torch,     temporaries
            0,                3, class_out,   100, torch,     temporaries
            0,                3, class_in,    100, torch,     weight_gradients
            0,                4, allocate,      6, torch,     feature_maps
            0,                5, free,        100, torch,     weight_gradients
        """,
    )
    assert only(rows, ["memory_class", "bytes_at_peak", "when_ns"]) == table("""
        memory_class,     bytes_at_peak, when_ns
        weight_gradients,           100,       4
        unknown,                     64,       4
        feature_maps,                 6,       4
    """)


def test_allocators_and_kinds_of_memory_stand_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        memory_event="""
            process_id, device_id, time_ns, kind,     address, bytes, allocator, memory_kind
            0,          0,               1, allocate,      10,   100, cuda,      device
            0,          0,               2, allocate,      20,    30, cuda,      pinned
            0,          0,               3, allocate,      30,     5, torch,     device
            1,          0,               3, allocate,      30,     5, torch,     device
            0,          NULL,            3, allocate,      40,     2, torch,     pageable
        """,  # noqa: E501 - a table is read across
    )
    names = ["device_id", "memory_kind", "allocator", "peak_bytes"]
    assert only(rows, names) == table("""
        device_id, memory_kind, allocator, peak_bytes
        0,         device,      cuda,             100
        0,         device,      torch,             10
        0,         pinned,      cuda,              30
        NULL,      pageable,    torch,              2
    """)


# What is allocated with a stack at 10 ns, and when it is freed; the backward pass
# allocates at 20 ns, and the optimizer at 30 ns.
@pytest.mark.parametrize(
    ("stack", "freed", "expected"),
    [
        (1, 15, "temporaries"),
        (1, 25, "feature_maps"),
        (5, 15, "workspace"),
        (6, None, "weights"),
        (7, 25, "feature_maps"),
        (8, None, "communication"),
        (9, 25, "input"),
        (2, 12, "activation_gradients"),
        (2, 45, "weight_gradients"),
        (3, 12, "temporaries"),
        (3, None, "dynamic"),
        (4, None, "dynamic"),
        (None, 15, "unknown"),
    ],
)
def test_a_class_follows_from_stack_and_lifetime(
    query_rows: QueryRows, stack: int | None, freed: int | None, expected: str
) -> None:
    free = "" if freed is None else f"0, 0, {freed}, free, 77, 1000, torch, NULL"
    rows = query_rows(
        NAME,
        call_stack=STACKS,
        memory_event=f"""
            process_id, device_id, time_ns, kind, address, bytes, allocator, call_stack_id
            0, 0, 10, allocate, 77, 1000, torch, {stack or "NULL"}
            0, 0, 20, allocate,  2,    1, torch, 2
            0, 0, 40, allocate,  3,    1, torch, 3
            {free}
        """,  # noqa: E501 - a table is read across
    )
    (found,) = [row for row in rows if row["bytes_at_peak"] >= 1000]
    assert found["memory_class"] == expected
    source = None if expected == "unknown" else "inferred"
    assert found["class_source"] == source


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (11, 14, "workspace"),
        (11, 18, "temporaries"),
        (11, 105, "feature_maps"),
        (102, 104, "workspace"),
        (102, 109, "temporaries"),
        (102, 115, "activation_gradients"),
        (102, 500, "weight_gradients"),
        (202, 206, "temporaries"),
        (202, None, "dynamic"),
        (250, None, "unknown"),
    ],
)
def test_a_class_follows_from_operators_and_lifetime(
    query_rows: QueryRows, start: int, end: int | None, expected: str
) -> None:
    free = "" if end is None else f"0, 0, 0, {end}, free, 77, 1000, torch"
    rows = query_rows(
        NAME,
        operator="""
            operator_id, process_id, thread_id, name,                                  start_ns, end_ns
            1,           0,          0,         aten::conv2d,                                10,     15
            2,           0,          0,         aten::empty,                                 11,     12
            3,           0,          0,         autograd::engine::evaluate_function: C,     100,    110
            4,           0,          0,         aten::mm,                                   101,    105
            5,           0,          0,         autograd::engine::evaluate_function: D,     111,    120
            6,           0,          0,         aten::mm,                                   112,    119
            7,           0,          0,         aten::add,                                  300,    310
        """,  # noqa: E501 - a table is read across
        annotation="""
            process_id, thread_id, kind,     text,                    start_ns, end_ns
            0,          0,         push_pop, Optimizer.step#Adam.step,     200,    210
        """,
        memory_event=f"""
            process_id, thread_id, device_id, time_ns, kind, address, bytes, allocator
            0, 0, 0, {start}, allocate, 77, 1000, torch
            {free}
            0, 0, 0, 113, allocate, 3, 1, torch
            0, 0, 0, 114, free,     3, 1, torch
            0, 0, 0, 301, allocate, 4, 1, torch
        """,
    )
    (found,) = [row for row in rows if row["bytes_at_peak"] >= 1000]
    assert found["memory_class"] == expected


@pytest.mark.parametrize(
    ("tag", "region", "freed", "expected"),
    [
        ("gradient_tape/model/dense/MatMul", "output", None, "weight_gradients"),
        ("Adam/Adam/update/mul", "output", 15, "temporaries"),
        ("model/dense/Relu", "output", None, "feature_maps"),
        ("model/conv/Conv2D", "temp", 15, "workspace"),
    ],
)
def test_a_class_follows_from_the_scopes_of_tensorflow(
    query_rows: QueryRows, tag: str, region: str, freed: int | None, expected: str
) -> None:
    free = "" if freed is None else f"0, 0, {freed}, free, 77, 1000, bfc, NULL, NULL"
    rows = query_rows(
        NAME,
        memory_event=f"""
            process_id, device_id, time_ns, kind, address, bytes, allocator, tag, region
            0, 0, 10, allocate, 77, 1000, bfc, {tag}, {region}
            {free}
            0, 0, 20, allocate,  2,    1, bfc, gradients/x, output
        """,
    )
    (found,) = [row for row in rows if row["bytes_at_peak"] >= 1000]
    assert found["memory_class"] == expected


def test_without_allocations_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME) == []
