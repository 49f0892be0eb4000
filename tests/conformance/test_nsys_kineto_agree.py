"""nsys and the PyTorch profiler saw the same kernels in one iteration of a program.

The captures are two runs of one program, three and two iterations long, so times
differ and counts an iteration do not.
"""

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.kineto import OWN, rows
from tests.support.shared import NSYS, needs_shared
from tracekit.store.run import Run

pytestmark = needs_shared

# Program, and the iterations that each tool recorded.
PROGRAMS = [("resnet50", 3, 2), ("a3c", 2, 2)]
LAUNCHING = ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpy", "cudaMemset")
VERSION = re.compile(r"_v\d+$")
LAUNCH_SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")

by_program = pytest.mark.parametrize(
    ("program", "by_nsys", "by_kineto"), PROGRAMS, ids=[name for name, *_ in PROGRAMS]
)


def captures(program: str) -> tuple[Path, Path]:
    return NSYS / "h200" / f"{program}.sqlite", OWN / f"{program}.kineto.json.gz"


def an_iteration(
    run: Run, table: str, columns: tuple[str, ...], iterations: int
) -> dict[tuple[object, ...], Fraction]:
    """Return how many rows an iteration has, by the columns."""
    counts = Counter(tuple(r[name] for name in columns) for r in rows(run, table))
    return {key: Fraction(count, iterations) for key, count in counts.items()}


@by_program
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("kernel", ("canonical_name",)),
        ("kernel", ("canonical_name", *LAUNCH_SHAPE)),
        ("kernel", ("canonical_name", "registers_per_thread", "stream_id")),
        ("memcpy", ("copy_kind", "bytes", "source_memory_kind")),
        ("memset", ("bytes", "memory_kind")),
    ],
    ids=["names", "shapes", "registers", "copies", "fills"],
)
def test_the_same_work_an_iteration(
    program: str,
    by_nsys: int,
    by_kineto: int,
    table: str,
    columns: tuple[str, ...],
    converted: Converted,
) -> None:
    nsys, kineto = captures(program)
    assert an_iteration(converted(nsys), table, columns, by_nsys) == an_iteration(
        converted(kineto), table, columns, by_kineto
    )


@by_program
def test_recorded_names_differ_where_canonical_names_agree(
    program: str, by_nsys: int, by_kineto: int, converted: Converted
) -> None:
    """nsys writes `(int)4` where the C++ runtime's demangler writes `4`, and so on."""
    del by_nsys, by_kineto
    recorded, canonical = [
        [
            {row[column] for row in rows(converted(path), "kernel")}
            for path in captures(program)
        ]
        for column in ("name", "canonical_name")
    ]
    assert canonical[0] == canonical[1]
    assert recorded[0] != recorded[1]
    assert recorded[1] == canonical[1]


@by_program
def test_the_launching_calls_an_iteration(
    program: str, by_nsys: int, by_kineto: int, converted: Converted
) -> None:
    """Every launch and copy call is in both.

    nsys keeps the version in a name, as in `cudaLaunchKernelExC_v11060`; Kineto leaves
    it out. Other calls are those of the profilers and of set-up, and not compared.
    """
    nsys, kineto = captures(program)

    def launches(run: Run, iterations: int) -> dict[str, Fraction]:
        names = (VERSION.sub("", row["name"]) for row in rows(run, "api_call"))
        counts = Counter(name for name in names if name.startswith(LAUNCHING))
        return {name: Fraction(count, iterations) for name, count in counts.items()}

    assert launches(converted(nsys), by_nsys) == launches(converted(kineto), by_kineto)
