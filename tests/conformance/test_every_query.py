"""Every query of the catalogue answers on every capture, or says what it lacks."""

import math
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.shared import NSYS, TRACES, captures, needs_shared
from tracekit.errors import MissingToolError
from tracekit.query import Limits, ModuleSession, Scope, load_module, module_names
from tracekit.query.module import QueryModule
from tracekit.store.run import Run

pytestmark = needs_shared

H200 = NSYS / "h200"
CASES: list[tuple[Path, ...]] = [(capture,) for capture in captures()]
JOINED: list[tuple[Path, ...]] = [
    (H200 / "gemm.sqlite", TRACES / "ncu" / "gemm.ncu.csv"),
    (H200 / "resnet50.sqlite", TRACES / "ncu" / "resnet50.ncu.csv.gz"),
]


def named(case: tuple[Path, ...]) -> str:
    return "+".join(path.name for path in case)


def complaints(session: ModuleSession, run: Run, module: QueryModule) -> list[str]:
    """Return what is wrong with a module's answer."""
    given = {p.name: "1" for p in module.parameters if p.required}
    # What runs for each rank by itself is asked of one.
    first = Scope(ranks=run.ranks[:1]) if module.per_rank else Scope()
    answer = session.run(module, given, scope=first)
    columns = {column.name: column for column in module.columns}
    expected = [(name, column.type.arrow) for name, column in columns.items()]
    found = [(f.name, f.type) for f in answer.table.schema if f.name in columns]
    wrong = []
    if found != expected:
        wrong.append(f"{module.name} has the columns {found}, not {expected}")
    if not answer.table.num_rows and not answer.reasons:
        wrong.append(f"{module.name} is empty and does not say why")
    lacking = [r for r in answer.reasons if r.startswith(f"{module.name} needs ")]
    if lacking and answer.table.num_rows:
        wrong.append(f"{module.name} answers and says {lacking[0]}")
    wrong += [
        f"{module.name} has {value} of {name}"
        for row in answer.table.to_pylist()
        for name, value in row.items()
        if impossible(name, value)
    ]
    return wrong


def impossible(name: str, value: object) -> bool:
    """Tell whether there is no such number, share or length."""
    if not isinstance(value, int | float):
        return False
    if name.endswith("_share") or name in UTILIZATIONS:
        return not 0 <= value <= 1 + 1e-9
    return math.isnan(value) or (name in LENGTHS and value < 0)


UTILIZATIONS = ("kernel_utilization", "gpu_utilization", "cpu_utilization")
LENGTHS = ("total_ns", "window_ns", "kernel_busy_ns", "gpu_busy_ns", "duration_ns")


@pytest.mark.parametrize("case", CASES + JOINED, ids=named)
def test_queries_answer_or_say_what_they_lack(
    case: tuple[Path, ...], converted: Converted
) -> None:
    try:
        run = converted(*case)
    except MissingToolError as error:
        pytest.skip(str(error))
    wrong: list[str] = []
    # One thread: such small tables cost more to share out than to read.
    limits = Limits(threads=1)
    with ModuleSession([run], limits=limits) as session:
        for name in module_names():
            try:
                wrong += complaints(session, run, load_module(name))
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong
