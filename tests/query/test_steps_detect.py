"""steps.detect: iterations that only the kernels tell."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

HEAD = "process_id, device_id, stream_id, name, start_ns, end_ns\n"


def kernels(*names: str, process: int = 0, every: int = 10) -> str:
    """Return kernels of 5 ns that follow each other."""
    return "\n".join(
        f"{process}, {process}, 7, {name}, {every * n}, {every * n + 5}"
        for n, name in enumerate(names)
    )


def test_iterations_begin_with_the_first_kernel_that_comes_back(
    query_rows: QueryRows,
) -> None:
    kernel = HEAD + kernels("init", *"abcabcabcabc")
    # 12 of 13 kernels repeat.
    assert query_rows("steps.detect", kernel=kernel) == table("""
        process_id, device_id, stream_id, step, start_ns, end_ns, duration_ns, kernels, first_kernel, confidence
        0,          0,                 7,    0,       10,     40,          30,       3, a,                 0.923
        0,          0,                 7,    1,       40,     70,          30,       3, a,                 0.923
        0,          0,                 7,    2,       70,    100,          30,       3, a,                 0.923
        0,          0,                 7,    3,      100,    125,          25,       3, a,                 0.923
    """)  # noqa: E501 - a table is read across


def test_layers_are_no_iterations(query_rows: QueryRows) -> None:
    kernel = HEAD + kernels(*("a" + "bc" * 8 + "d") * 3)
    rows = query_rows("steps.detect", kernel=kernel)
    assert [row["kernels"] for row in rows] == [18, 18, 18]
    assert [row["start_ns"] for row in rows] == [0, 180, 360]
    assert rows[0]["confidence"] == 1.0


def test_what_is_done_in_every_second_iteration_makes_it_no_longer(
    query_rows: QueryRows,
) -> None:
    step = "abcdefghijklmnopqrstu"
    kernel = HEAD + kernels(*(step + "x" + step + "y") * 4)
    rows = query_rows("steps.detect", kernel=kernel)
    assert [row["kernels"] for row in rows] == [22] * 8


def test_an_iteration_that_was_cut_off_is_left_out(query_rows: QueryRows) -> None:
    kernel = HEAD + kernels(*"abcabcabcab")
    rows = query_rows("steps.detect", kernel=kernel)
    assert only(rows, ["start_ns", "end_ns"]) == table("""
        start_ns, end_ns
        0,            30
        30,           60
        60,           90
    """)


def test_processes_have_iterations_of_their_own(query_rows: QueryRows) -> None:
    kernel = "\n".join(
        (HEAD.strip(), kernels(*"abababab"), kernels(*"xyzxyzxyz", process=1))
    )
    rows = query_rows("steps.detect", kernel=kernel)
    assert [(row["process_id"], row["kernels"]) for row in rows] == [
        *[(0, 2)] * 4,
        *[(1, 3)] * 3,
    ]
    rows = query_rows("steps.detect", kernel=kernel, processes=(1,))
    assert {row["first_kernel"] for row in rows} == {"x"}


def test_the_stream_with_the_most_kernels_is_looked_at(query_rows: QueryRows) -> None:
    copies = "\n0, 0, 8, copy, 3, 4\n0, 0, 8, copy, 47, 48"
    rows = query_rows("steps.detect", kernel=HEAD + kernels(*"abcabcabc") + copies)
    assert [row["kernels"] for row in rows] == [3, 3, 3]
    assert rows[0]["confidence"] == 1.0


def test_grids_tell_kernels_apart(query_rows: QueryRows) -> None:
    grids = (1, 2, 3) * 3
    kernel = "process_id, device_id, stream_id, name, grid_x, start_ns, end_ns\n"
    kernel += "\n".join(
        f"0, 0, 7, gemm, {grid}, {10 * n}, {10 * n + 5}" for n, grid in enumerate(grids)
    )
    rows = query_rows("steps.detect", kernel=kernel)
    assert [row["kernels"] for row in rows] == [3, 3, 3]


def test_without_repetition_nothing_is_found(query_rows: QueryRows) -> None:
    assert query_rows("steps.detect", kernel=HEAD + kernels(*"abcdefgabhi")) == []
    assert query_rows("steps.detect", kernel=HEAD + kernels(*"abcabc")) == []
    assert query_rows("steps.detect") == []
