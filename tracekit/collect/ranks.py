"""The rank that a launcher gave this process, if it is one task of several."""

from collections.abc import Mapping
from typing import NamedTuple

# Where each launcher puts the rank, and the number of ranks.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class Task(NamedTuple):
    """One of several tasks: the variable with its rank, and the rank."""

    variable: str
    rank: int


def task_in(variables: Mapping[str, str]) -> Task | None:
    """Return the task that this process is; None where it is the only one.

    A batch script of Slurm has a SLURM_PROCID too, but is no step of several tasks.
    """
    for variable, size in _VARIABLES:
        rank, tasks = variables.get(variable, ""), variables.get(size, "")
        if _is_number(rank) and _is_number(tasks) and int(tasks) > 1:
            return Task(variable, int(rank))
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8
