"""Facts of a run in words: what `tracekit info` and a report begin with."""

from collections import Counter
from datetime import UTC, datetime

from tracekit.store.manifest import Joined, Manifest
from tracekit.store.run import Run


def facts_of(run: Run) -> dict[str, str]:
    """Return what was measured, by whom and how, in words."""
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
        "GPUs": _gpus(manifest) or "none was used",
        "Driver": manifest.driver_version or "not recorded",
        "Ranks": ", ".join(_rank(rank.rank, rank.source) for rank in manifest.ranks),
        "Start": _start(manifest),
        "GPU activity": _window(manifest),
    }
    if len(manifest.ranks) > 1:
        facts["Clocks"] = _clocks(run)
    for joined in manifest.joined:
        facts[f"Counters ({joined.tool})"] = joined_line(joined)
    return facts


def _gpus(manifest: Manifest) -> str:
    return ", ".join(
        name if count == 1 else f"{count} x {name}"
        for name, count in Counter(manifest.gpus).items()
    )


def joined_line(joined: Joined) -> str:
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


def _clocks(run: Run) -> str:
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


def _start(manifest: Manifest) -> str:
    # The name of a run begins with it: the origin of a clock may be 1970.
    stamp = manifest.run_id.partition("-")[0]
    try:
        start = datetime.strptime(stamp, "%Y%m%dt%H%M%Sz").replace(tzinfo=UTC)
    except ValueError:
        return "not recorded"
    return start.strftime("%Y-%m-%d %H:%M:%S UTC")


def _window(manifest: Manifest) -> str:
    window = manifest.window
    if window is None:
        return "none was recorded"
    length = (window.end_ns - window.start_ns) / 1e6
    return f"{length:,.3f} ms, {window.start_ns} to {window.end_ns} ns"
