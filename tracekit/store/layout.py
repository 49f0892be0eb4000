"""Where the files of a run are."""

from pathlib import Path


def part_path(table: str, rank: int) -> Path:
    """Return where a table's file of a rank is, relative to its run."""
    return Path(table) / f"rank={rank}" / "part-0.parquet"
