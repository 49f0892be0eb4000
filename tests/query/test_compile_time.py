"""compile.time: what was compiled, before, during and after the warm-up."""

from itertools import pairwise

import duckdb
import pytest

from tests.conftest import QueryRows
from tests.support.tables import table
from tracekit.query.catalog import Rule, macros, rules

CALLS = """
    process_id, thread_id, name,               domain,  start_ns, end_ns
    0,          0,         cuModuleLoadData,   driver,         0,     10
    0,          0,         cudaLaunchKernel,   runtime,       10,     20
    0,          1,         nvrtcCompileProgram, runtime,       5,     40
    0,          0,         cuLibraryLoadData,  driver,       110,    130
"""
OPERATORS = """
    process_id, thread_id, name,                                start_ns, end_ns
    0,          0,         _compile.compile_inner (dynamo_timed),    100,    150
    0,          0,         compile_fx_inner (dynamo_timed),          110,    140
    0,          0,         Torch-Compiled Region: 0/0,               150,    400
"""


def test_times_are_parted_at_the_steps(query_rows: QueryRows) -> None:
    # Six steps of 20, then fourteen of 10. The stable ones begin where the median of
    # five is 10, with the fifth, at 130; the four before took 40 more than stable ones.
    starts = [*range(50, 170, 20), *range(170, 311, 10)]
    steps = "step_index, process_id, start_ns, end_ns"
    for n, (start, end) in enumerate(pairwise(starts)):
        steps += f"\n{n}, 0, {start}, {end}"
    late = OPERATORS + "0, 0, compile_fx_inner (dynamo_timed), 200, 207\n"
    rows = query_rows("compile.time", api_call=CALLS, operator=late, step=steps)
    assert rows == table("""
        process_id, kind,          events, total_ns, before_steps_ns, warm_up_ns, later_ns, longest_ns, longest_name,                          warm_up_excess_ns
        0,          all,                6,       97,              40,         30,       27,         50, _compile.compile_inner (dynamo_timed), 40
        0,          torch_compile,      3,       57,               0,         30,       27,         50, _compile.compile_inner (dynamo_timed), NULL
        0,          cuda_jit,           1,       35,              35,          0,        0,         35, nvrtcCompileProgram,                   NULL
        0,          module_load,        2,       30,              10,         20,        0,         20, cuLibraryLoadData,                     NULL
    """)  # noqa: E501 - a table is read across


def test_without_steps_only_the_total_is_known(query_rows: QueryRows) -> None:
    rows = query_rows("compile.time", operator=OPERATORS)
    assert [(r["kind"], r["total_ns"], r["before_steps_ns"]) for r in rows] == [
        ("all", 50, None),
        ("torch_compile", 50, None),
    ]


def test_nothing_that_compiles_is_no_row(query_rows: QueryRows) -> None:
    call = "process_id, name, start_ns, end_ns\n0, cudaLaunchKernel, 0, 9"
    assert query_rows("compile.time", api_call=call) == []


@pytest.mark.parametrize("rule", rules("compile_kind"), ids=lambda rule: rule.category)
def test_a_rule_is_the_first_to_match_its_example(rule: Rule) -> None:
    with duckdb.connect() as connection:
        connection.execute(macros()["compile_kind"])
        found = connection.execute("SELECT compile_kind(?)", [rule.example]).fetchall()
    assert found == [(rule.category,)]


@pytest.mark.parametrize(
    "name",
    [
        "torch/compiler/__init__.py(367): is_compiling",
        "torch/cuda/__init__.py(107): _is_compiled",
        "torch/_jit_internal.py(106): is_scripting",
        "triton/runtime/jit.py(413): __getitem__",
        "TorchDynamo Cache Lookup",
        "CompiledFunctionBackward",
        "cuLibraryGetKernel",
        "cuModuleGetLoadingMode",
        "cuLibraryUnload",
    ],
)
def test_what_only_sounds_like_it_is_none(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(macros()["compile_kind"])
        found = connection.execute("SELECT compile_kind(?)", [name]).fetchall()
    assert found == [("other",)]
