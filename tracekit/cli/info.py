"""`tracekit info`: what is in a run, who made it, how far it can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import Quiet, Verbose
from tracekit.cli.output import write_text

if TYPE_CHECKING:
    from tracekit.store.run import Run


def info(
    runs: Annotated[
        list[Path],
        typer.Argument(readable=False, metavar="RUN...", help="Runs or raw captures."),
    ],
    json: Annotated[
        bool, typer.Option("--json", help="The manifests as JSON.")
    ] = False,
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Say what is in a run, who made it and how far it can be trusted."""
    import msgspec

    from tracekit.store.manifest import as_builtins

    opened = open_runs(runs, quiet=quiet)
    if json:
        plain = [as_builtins(run.manifest) for run in opened]
        text = msgspec.json.format(msgspec.json.encode(plain), indent=2)
        write_text(text.decode())
        return
    write_text("\n\n".join("\n".join(_lines(run)) for run in opened))


def _lines(run: "Run") -> list[str]:
    from tracekit.api.facts import facts_of
    from tracekit.report.cells import visible
    from tracekit.schema import TABLES

    manifest = run.manifest
    facts = facts_of(run)
    width = max(len(name) for name in facts)
    lines = [f"{name:<{width}}  {visible(value)}" for name, value in facts.items()]
    lines += ["", "Tables"]
    lines += [
        f"  {name:<16} {manifest.rows(name):>12,}"
        for name in TABLES
        if name in manifest.tables
    ]
    if manifest.absent:
        lines += ["", "Not in this run"]
        lines += [f"  {name:<16} {why}" for name, why in manifest.absent.items()]
    for title, notes in (
        ("Rejected: in no metric", manifest.rejected),
        ("Skipped: not read", manifest.skipped),
        ("Repaired", manifest.repaired),
        ("Left behind on purpose", manifest.left_behind),
    ):
        if notes:
            lines += ["", title]
            lines += [
                f"  {note.count:>12,}  {visible(note.what)}: {note.reason}"
                for note in notes
            ]
    return lines
