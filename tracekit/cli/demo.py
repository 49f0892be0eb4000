"""`tracekit demo`: a recorded capture, converted and asked."""

from importlib.resources import as_file
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.options import Format, Quiet, Verbose
from tracekit.cli.output import note, write_result
from tracekit.errors import OutputError

if TYPE_CHECKING:
    from tracekit.store.run import Run

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
    page: Annotated[
        Path,
        typer.Option(
            "--report", readable=False, metavar="FILE", help="Where the report goes."
        ),
    ] = Path("report.html"),
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Convert a recorded capture of ResNet-50, print its tables, write its report."""
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
        _write_report(run, page, quiet=quiet)
    if output is None:
        note(
            "Keep the run with -o RUN, then ask it: tracekit query --list", quiet=quiet
        )
    else:
        note(f"Ask it: tracekit query kernels.hotspots {output}", quiet=quiet)


def _write_report(run: "Run", page: Path, *, quiet: bool) -> None:
    """Write the report, but over no file that is not the demo's own."""
    from tracekit.api.reporting import make_report
    from tracekit.cli.report import ReportFormat, write_report

    title = f"<title>{run.manifest.name} - tracekit report</title>"
    if page.exists() and not _holds(page, title):
        note(f"{page} is there already and stays; --report FILE", quiet=quiet)
        return
    try:
        write_report(make_report([run]), page, ReportFormat.HTML, quiet=quiet)
    except OutputError as error:
        # Who tries tracekit where nothing can be written still sees its tables.
        note(f"No report: {error}; --report FILE", quiet=quiet)


def _holds(page: Path, title: str) -> bool:
    try:
        with page.open(encoding="utf-8", errors="replace") as file:
            return title in file.read(4096)
    except OSError:
        return False
