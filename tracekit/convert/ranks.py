"""The rank that a file name or an environment gives a process."""

import re
from collections.abc import Mapping

_IN_NAME = re.compile(r"rank[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE)
_VARIABLES = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "SLURM_PROCID",
)


_MOST_RANKS = 10**6


def is_rank(number: int | None) -> bool:
    """Tell whether a number can be that of a rank."""
    return number is not None and 0 <= number < _MOST_RANKS


def rank_in_name(name: str) -> int | None:
    """Return the rank in the name of a capture, as in `trace-rank-3.json`."""
    match = _IN_NAME.search(name)
    return int(match[1]) if match else None


def rank_in_environment(variables: Mapping[str, str]) -> int | None:
    """Return the rank that a launcher (torchrun, MPI, Slurm) put into variables."""
    for variable in _VARIABLES:
        value = variables.get(variable, "")
        if value.isascii() and value.isdecimal() and is_rank(int(value[:9])):
            return int(value)
    return None
