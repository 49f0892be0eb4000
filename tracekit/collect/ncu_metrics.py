"""The counters that Nsight Compute is asked for, by what the GPU and this ncu have.

The lists are the files of `collectors/ncu/gpus/`, one a generation of GPUs.
"""

import re
import subprocess
import tomllib
from collections.abc import Callable, Mapping

import msgspec

from tracekit.assets import assets
from tracekit.errors import MissingToolError
from tracekit.tools.installed import Installed, child_environment

_QUERY_S = 120
_CHIP = re.compile(r"\b[A-Z]{2}\d{2}[0-9A-Z]\b")
_METRIC = re.compile(r"^\s*([a-z0-9]+__\w+)")


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metrics of one generation of GPUs.

    Attributes:
        chips: The chips, as ncu calls them.
        needed: Metrics without which FP32 utilization cannot be told.
        wanted: Metrics that are left out where the chip or ncu lacks them.
        tensor: Operations of tensor cores, left out likewise.
    """

    chips: list[str]
    needed: list[str]
    wanted: list[str]
    tensor: list[str]


def generations() -> dict[str, Generation]:
    """Return the generations by name."""
    return {
        file.name.removesuffix(".toml"): msgspec.convert(
            tomllib.loads(file.read_text("utf-8")), Generation
        )
        for file in sorted(
            (assets("collectors") / "ncu" / "gpus").iterdir(),
            key=lambda file: file.name,
        )
        if file.name.endswith(".toml")
    }


def metrics_for(
    ncu: Installed, say: Callable[[str], None], *, with_tensor: bool
) -> list[str]:
    """Return the metrics that this ncu can measure on the GPUs of this machine.

    Args:
        ncu: The program that will measure them.
        say: Told what is left out.
        with_tensor: Whether operations of tensor cores are counted too.

    Raises:
        MissingToolError: A metric that is needed is not there, or ncu does not answer.
    """
    known = _queried(ncu)
    available = frozenset[str].intersection(*known.values())
    of_chips = [
        generation
        for generation in generations().values()
        if {chip.upper() for chip in generation.chips} & known.keys()
    ]
    # A chip that no list names yet is asked for all that it has.
    lists = of_chips or list(generations().values())
    needed = dict.fromkeys(
        metric for generation in lists for metric in generation.needed
    )
    wanted = dict.fromkeys(
        metric
        for generation in lists
        for metric in (*generation.wanted, *(generation.tensor if with_tensor else ()))
    )
    missing = [metric for metric in needed if _base(metric) not in available]
    if missing and of_chips:
        raise MissingToolError(
            f"{ncu} has no metric {missing[0]} on {', '.join(sorted(known))}, which "
            "FP32 utilization needs",
            hint="install a newer Nsight Compute, or name another one by TRACEKIT_NCU",
        )
    left_out = [metric for metric in wanted if _base(metric) not in available]
    if left_out and of_chips:
        say(f"Not measured, as {ncu} has none here: {', '.join(left_out)}")
    found = [m for m in (*needed, *wanted) if _base(m) in available]
    if not found:
        raise MissingToolError(
            f"{ncu} knows none of the metrics of FP32 instructions on this GPU",
            hint="ncu reads counters of Volta (2017) and newer GPUs",
        )
    return found


def _base(metric: str) -> str:
    return metric.partition(".")[0]


def _queried(ncu: Installed) -> Mapping[str, frozenset[str]]:
    """Return the names of the metrics by chip."""
    try:
        done = subprocess.run(
            [ncu.path, "--query-metrics"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_QUERY_S,
            check=False,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(f"{ncu} does not tell its metrics: {error}") from error
    names: dict[str, set[str]] = {}
    chip = "a GPU"
    for line in done.stdout.splitlines():
        metric = _METRIC.match(line)
        if metric:
            names.setdefault(chip, set()).add(metric[1])
        elif line.startswith(("Device", "Chip")):
            chip = next(reversed(_CHIP.findall(line.upper())), "a GPU")
    if not names:
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        raise MissingToolError(
            f"{ncu} names no metrics for the GPUs of this machine; it said: {said[-1]}",
            hint="run `ncu --query-metrics` by hand",
        )
    return {chip: frozenset(found) for chip, found in names.items()}
