"""`tracekit info`: what is in a run, who made it, how far it can be trusted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import Quiet, Verbose
from tracekit.cli.output import write_text

if TYPE_CHECKING:
    from tracekit.store.manifest import Joined, Manifest
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
    from tracekit.report.cells import visible
    from tracekit.schema import TABLES

    manifest = run.manifest
    source = manifest.source
    tools = ", ".join(f"{name} {version}" for name, version in source.tools.items())
    files = ", ".join(file.name for file in source.files[:3])
    if len(source.files) > 3:
        files += f" and {len(source.files) - 3} more"
    facts = {
        "Run": manifest.run_id,
        "Source": f"{source.format}, {files}",
        "Made by": " ".join(
            part
            for part in (
                tools,
                f"(schema {source.schema_version})" if source.schema_version else "",
            )
            if part
        )
        or "not recorded",
        "Command": manifest.command or "not recorded",
        "GPUs": ", ".join(manifest.gpus) or "none was used",
        "Driver": manifest.driver_version or "not recorded",
        "Ranks": ", ".join(_rank(rank.rank, rank.source) for rank in manifest.ranks),
        "Start": _start(manifest),
        "GPU activity": _window(manifest),
    }
    if len(manifest.ranks) > 1:
        facts["Clocks"] = _clocks(run)
    for joined in manifest.joined:
        facts[f"Counters ({joined.tool})"] = joined_line(joined)
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


def joined_line(joined: "Joined") -> str:
    """Say how the counters of a file were matched to kernels."""
    if not joined.kernels:
        return (
            f"{joined.launches:,} measured launches, and no kernel of a timeline to "
            "match them with"
        )
    return (
        f"{joined.matched:,} of {joined.launches:,} measured launches are "
        f"{joined.kernels_matched:,} of {joined.kernels:,} kernels"
    )


def _rank(rank: int, source: str) -> str:
    told = {"none": "none was recorded", "file_name": "file name"}.get(source, source)
    return f"{rank} ({told})"


def _clocks(run: "Run") -> str:
    """Say how the ranks' clocks were put onto one, and how well."""
    import pyarrow.parquet as pq

    rows = [
        row
        for rank in run.ranks
        for file in run.files("clock", (rank,))
        for row in pq.read_table(file).to_pylist()
    ]
    methods = ", ".join(sorted({str(row["method"]) for row in rows}))
    left = [row["residual_ns"] for row in rows if row["residual_ns"] is not None]
    if not left:
        return f"{methods}; how far apart they are is not known"
    return f"{methods}; ends of collectives are up to {max(left):,} ns apart (median)"


def _start(manifest: "Manifest") -> str:
    # The name of a run begins with it: the origin of a clock may be 1970.
    stamp = manifest.run_id.partition("-")[0]
    try:
        start = datetime.strptime(stamp, "%Y%m%dt%H%M%Sz").replace(tzinfo=UTC)
    except ValueError:
        return "not recorded"
    return start.strftime("%Y-%m-%d %H:%M:%S UTC")


def _window(manifest: "Manifest") -> str:
    window = manifest.window
    if window is None:
        return "none was recorded"
    length = (window.end_ns - window.start_ns) / 1e6
    return f"{length:,.3f} ms, {window.start_ns} to {window.end_ns} ns"
