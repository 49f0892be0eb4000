"""Runs a traced program once more without a profiler, to tell what tracing cost."""

import shlex
import statistics
import tempfile
from pathlib import Path

import msgspec

from tracekit.collect.process import Launch
from tracekit.collect.request import Collected, Request
from tracekit.collect.workloads import RECORD_VARIABLE
from tracekit.errors import CollectError

LOG_SUFFIX = ".baseline.log"


class _Step(msgspec.Struct):
    start_ns: int | None = None
    end_ns: int | None = None


def measure(request: Request, collected: Collected) -> dict[str, str]:
    """Run the program of a capture again, and add to its samples how long both took.

    Returns:
        The facts that were added: `baseline.program_ns`, `overhead.ratio` (the traced
        run over the other one) and `overhead.basis`, which is `median step` where the
        program records its steps, else `program`.

    Raises:
        CollectError: The program failed this time, or there is no file of samples.
    """
    request.say(f"Running {shlex.join(request.command)} again, without a profiler")
    with tempfile.TemporaryDirectory(prefix="tracekit-collect-") as folder:
        steps = Path(folder) / "steps"
        variables = dict(request.variables)
        traced = Path(variables.get(RECORD_VARIABLE, "none"))
        if RECORD_VARIABLE in variables:
            variables[RECORD_VARIABLE] = str(steps)
        with Launch(Path(folder)) as launch:
            ended = launch.run(
                [*launch.prefix, *request.command],
                request.beside(LOG_SUFFIX),
                variables,
            )
        request.beside(LOG_SUFFIX).unlink(missing_ok=True)
        if ended.status or ended.program_ns is None:
            raise CollectError(
                f"the program ended with status {ended.status} without a profiler, so "
                "what tracing cost is not known",
                hint="the capture is kept; run the program again by hand",
            )
        facts = {"baseline.program_ns": str(ended.program_ns)}
        ours, theirs = _median_step_ns(traced), _median_step_ns(steps)
        if ours is not None and theirs is not None:
            facts["collect.step_median_ns"] = f"{ours:.0f}"
            facts["baseline.step_median_ns"] = f"{theirs:.0f}"
            facts["overhead.ratio"] = f"{ours / theirs:.4f}"
            facts["overhead.basis"] = "median step"
        elif collected.program_ns is not None:
            facts["overhead.ratio"] = f"{collected.program_ns / ended.program_ns:.4f}"
            facts["overhead.basis"] = "program"
    if not collected.beside:
        raise CollectError("there is no file of samples that the baseline belongs to")
    with collected.beside[0].open("ab") as file:
        file.write(msgspec.json.encode({"facts": facts}) + b"\n")
    return facts


def _median_step_ns(record: Path) -> float | None:
    """Return the median length of the steps that a workload recorded."""
    if not record.is_file():
        return None
    lengths = []
    for line in record.read_bytes().splitlines():
        try:
            step = msgspec.json.decode(line, type=_Step)
        except msgspec.DecodeError:
            continue
        if step.start_ns is not None and step.end_ns is not None:
            lengths.append(step.end_ns - step.start_ns)
    return statistics.median(lengths) if lengths else None
