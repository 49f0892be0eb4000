"""`tracekit demo`: a recorded capture, converted and asked."""

from importlib.resources import as_file
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Format, Quiet, Verbose
from tracekit.cli.output import note, write_result

_CAPTURE = "resnet50.sqlite.zst"
_QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("gpu.utilization", {}),
    ("overlap.cpu_gpu", {}),
    ("kernels.hotspots", {"limit": "10", "names": "short"}),
)


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", readable=False, metavar="RUN", help="Keep the run here."
        ),
    ] = None,
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Convert a recorded capture of ResNet-50 and print its headline tables."""
    import tempfile

    from tracekit.assets import assets
    from tracekit.convert import convert
    from tracekit.query import load_module, run_module

    with (
        as_file(assets("demo") / _CAPTURE) as capture,
        tempfile.TemporaryDirectory(prefix="tracekit-demo-") as scratch,
    ):
        run = convert([capture], output or Path(scratch) / "resnet50.run")
        note(
            "Three training iterations of ResNet-50, batch 32, on one NVIDIA H200, "
            "traced by Nsight Systems\n",
            quiet=quiet,
        )
        for name, parameters in _QUESTIONS:
            module = load_module(name)
            note(f"{name}: {module.summary}", quiet=quiet)
            write_result(run_module(module, [run], parameters).table, Format.TABLE)
            typer.echo()
    if output is None:
        note(
            "Keep the run with -o RUN, then ask it: tracekit query --list", quiet=quiet
        )
    else:
        note(f"Ask it: tracekit query kernels.hotspots {output}", quiet=quiet)
