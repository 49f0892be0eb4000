"""Prints what a report of Nsight Compute holds, a line of JSON a kernel.

    python -m tracekit.convert.counters.ncu_report_program REPORT

A program of its own: it runs NVIDIA's code on the file, and a file that brings that
code down takes no more than this process with it.
"""

import sys
from typing import Any

import msgspec

# What NVIDIA's package calls a kernel among the kinds of work.
_KERNEL = 0


def main(report: str) -> None:
    """Print the results of a report."""
    import ncu_report

    write = sys.stdout.buffer.write
    encode = msgspec.json.Encoder().encode
    context = ncu_report.load_report(report)
    for place in range(context.num_ranges()):
        results = context.range_by_idx(place)
        for index in range(results.num_actions()):
            action = results.action_by_idx(index)
            write(encode(_result(action)) + b"\n")


def _result(action: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of NVIDIA's
    if int(action.workload_type()) != _KERNEL:
        return {"name": None}
    metrics = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        value = metric.value()
        if isinstance(value, float) and value - value != 0:
            # JSON has no number for it.
            value = str(value)
        metrics[name] = (value, metric.unit())
    return {
        "name": action.name(action.NameBase_DEMANGLED),
        "symbol": action.name(action.NameBase_MANGLED),
        "metrics": metrics,
    }


if __name__ == "__main__":
    main(sys.argv[1])
