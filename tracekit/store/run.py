"""Opens a run: its manifest and the files of its tables."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tracekit.errors import UnreadableTraceError
from tracekit.schema import HOST_RANK, TABLES
from tracekit.store.layout import part_path
from tracekit.store.manifest import MANIFEST, Manifest, read_manifest


@dataclass(frozen=True)
class Run:
    """A run directory that was found complete.

    Attributes:
        path: The folder.
        manifest: What it says about itself.
    """

    path: Path
    manifest: Manifest

    @property
    def run_id(self) -> str:
        """The identity of the run."""
        return self.manifest.run_id

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the job, in order."""
        return tuple(sorted(rank.rank for rank in self.manifest.ranks))

    def files(self, table: str, ranks: tuple[int, ...] | None = None) -> list[Path]:
        """Return the Parquet files of `table`, of `ranks` and of the host."""
        return [
            self.path / part_path(table, part.rank)
            for part in self.manifest.tables.get(table, ())
            if ranks is None or part.rank in ranks or part.rank == HOST_RANK
        ]


def is_run(path: Path) -> bool:
    """Tell whether `path` is a folder with a manifest."""
    try:
        return (path / MANIFEST).is_file()
    except PermissionError:
        # Who opens the folder says so.
        return False


def open_run(path: Path) -> Run:
    """Open the run in the folder `path`.

    Raises:
        UnreadableTraceError: It is no run, or a file that its manifest names is
            missing, is a link, or has another size.
    """
    manifest = read_manifest(path)
    for table in TABLES.keys() & manifest.tables.keys():
        for part in manifest.tables[table]:
            # The path is made from the name and the rank, never read from the
            # manifest, so a manifest cannot point outside of its run.
            name = part_path(table, part.rank)
            file = path / name
            if file.is_symlink() or not file.is_file():
                raise UnreadableTraceError(f"{path} is damaged: {name} is missing")
            size = file.stat().st_size
            if size != part.bytes:
                raise UnreadableTraceError(
                    f"{path} is damaged: {name} has {size} bytes, its manifest says "
                    f"{part.bytes}"
                )
    return Run(path, manifest)
