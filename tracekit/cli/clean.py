"""`tracekit clean`: removes conversion caches."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Quiet
from tracekit.cli.output import note, write_text
from tracekit.errors import UsageError


def clean(
    place: Annotated[
        Path,
        typer.Argument(readable=False, help="Folder below which caches are removed."),
    ] = Path(),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Remove the caches of converted captures below a folder, and the user's own.

    Runs made with `tracekit convert` stay. Unfinished runs of dead processes go.
    """
    import shutil

    from tracekit.api.cache import cache_folders
    from tracekit.store.unfinished import output_errors, remove_unfinished

    if not place.is_dir():
        raise UsageError(f"there is no folder {place}")
    folders = cache_folders(place)
    for folder in folders:
        if dry_run:
            write_text(str(folder))
        else:
            with output_errors(folder):
                shutil.rmtree(folder)
            note(f"Removed {folder}", quiet=quiet)
    if dry_run and not folders:
        note("There is nothing to remove", quiet=quiet)
    if not dry_run:
        unfinished = remove_unfinished(place)
        if unfinished:
            note(f"Removed {unfinished} unfinished runs", quiet=quiet)
        if not folders and not unfinished:
            note("There was nothing to remove", quiet=quiet)
