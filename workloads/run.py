"""Trains one of the TBD models on synthetic data.

    python run.py WORKLOAD [--framework NAME] [--preset tiny] [--batch-size N] ...

Runs in the interpreter that has the framework, imports nothing of tracekit, downloads
nothing. Iterations are NVTX ranges `iteration N` and steps of the framework's profiler;
with --record (or TRACEKIT_WORKLOAD_RECORD) a line for each goes to a file. Ends with 0,
1 for a loss that is no number, 4 where framework or device are missing, 86 where the
memory did not suffice. Runs in Python 3.6 and later.
"""

import importlib
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from options import parse
from record import Record, now_ns

OUT_OF_MEMORY = 86
MISSING = 4


def main() -> int:
    """Train, say how it went and return the status."""
    options = parse()
    package = "with_" + options.framework
    try:
        backend_module = importlib.import_module(package + ".backend")
    except ImportError as error:
        return _missing(f"{options.framework} does not import: {error}")
    try:
        backend = backend_module.Backend(options)
    except LookupError as error:
        return _missing(error.args[0])
    model = importlib.import_module(f"{package}.{options.name}")
    facts = {
        "workload": options.name,
        "model": options.model,
        "framework": options.framework,
        "preset": options.preset,
        "batch_size": options.batch_size,
        "precision": options.precision,
        "seed": options.seed,
        "unit": options.unit,
        "settings": options.sizes,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    facts.update(backend.facts())
    with Record(options.record, facts) as record:
        try:
            return _train(options, backend, model, record)
        except Exception as error:
            if not backend.is_out_of_memory(error):
                raise
            record.end("out_of_memory", message=str(error).splitlines()[0])
            print(
                f"Error: out of memory with a batch size of {options.batch_size}",
                file=sys.stderr,
            )
            return OUT_OF_MEMORY


def _train(options, backend, model, record) -> int:  # noqa: ANN001 - any framework's
    losses, times, total = [], [], 0.0
    with model.build(options.sizes, backend) as training:
        before = training.measures()
        for number in range(options.steps):
            if number == options.profile_from:
                backend.start_profiler()
            start = now_ns()
            with backend.iteration(number):
                samples, loss = training.step(number)
                backend.pace(loss)
            end = now_ns()
            record.step(number, start, end, samples)
            losses.append(loss)
            times.append(end - start)
            total += samples
            if number + 1 == options.profile_to:
                backend.synchronize()
                backend.stop_profiler()
        backend.synchronize()
        after = training.measures()
    losses = [backend.value(loss) for loss in losses]
    record.end(
        "done",
        **training.facts(),
        losses=[loss if math.isfinite(loss) else None for loss in losses],
        before=before,
        after=after,
    )
    middle = sorted(times)[len(times) // 2] / 1e9
    each = total / len(times)
    print(
        f"{options.model} with {backend.version} on {backend.device_name}: "
        f"{len(times)} iterations of {each:g} {options.unit}, {middle * 1e3:.2f} ms in "
        f"the median ({each / middle:.1f} {options.unit}/s), loss {losses[0]:.4g} to "
        f"{losses[-1]:.4g}"
    )
    if not all(map(math.isfinite, losses)):
        print("Error: the loss is no finite number", file=sys.stderr)
        return 1
    return 0


def _missing(text: str) -> int:
    print(f"Error: {text}", file=sys.stderr)
    return MISSING


if __name__ == "__main__":
    sys.exit(main())
