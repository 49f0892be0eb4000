"""What a module needs is checked before it runs."""

import pytest

from tests.conftest import MakeRun
from tracekit.query import run_module
from tracekit.query.module import QueryModule, parse_module

KERNELS = """
    device_id, process_id, name, start_ns, end_ns, grid_x
    0,         0,          gemm,        0,     60,
    0,         0,          gemm,      100,    160,
"""
GRIDS = KERNELS.replace("100,    160,", "100,    160, 4")


def module(needs: str) -> QueryModule:
    """A module that fails when it runs on anything."""
    text = (
        "-- mine.count: how many kernels.\n--\n-- reads:\n--   kernel  rows\n"
        f"-- needs:\n--   {needs}\n-- columns:\n--   kernels  BIGINT  Kernels.\n"
        "SELECT error('it ran')::BIGINT AS kernels FROM kernel;\n"
    )
    return parse_module(text, name="mine.count")


@pytest.mark.parametrize(
    ("needs", "named"),
    [
        ("api_call", "api_call"),
        ("kernel.grid_x", "kernel.grid_x"),
        ("annotation|api_call.name", "annotation or api_call"),
        ("kernel api_call", "api_call"),
    ],
)
def test_without_it_the_answer_is_empty_and_says_why(
    needs: str, named: str, run_of: MakeRun
) -> None:
    answer = run_module(module(needs), [run_of({"kernel": KERNELS})])
    assert answer.table.num_rows == 0
    assert [(f.name, str(f.type)) for f in answer.table.schema] == [
        ("kernels", "int64")
    ]
    (reason,) = answer.reasons
    assert reason.startswith(f"mine.count needs {named}, which ")


@pytest.mark.parametrize(
    "needs", ["kernel", "kernel.grid_x", "api_call|kernel.grid_x", "nothing"]
)
def test_with_it_the_module_runs(needs: str, run_of: MakeRun) -> None:
    with pytest.raises(Exception, match="it ran"):
        run_module(module(needs), [run_of({"kernel": GRIDS})])
