"""Pages of Nsight Compute to read and to spoil, as text."""

from collections.abc import Mapping, Sequence

HEAD = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)


def line(cells: Sequence[object], delimiter: str = ",") -> str:
    """Write cells as ncu does: each in quotes."""
    return delimiter.join(f'"{cell}"' for cell in cells) + "\n"


def identity(place: int, name: str, grid: int = 8, block: int = 32) -> list[object]:
    """Return the cells that tell a launch."""
    shape = (f"({block}, 1, 1)", f"({grid}, 1, 1)")
    return [place, 4295, "python3", "vm", name, 1, 7, *shape, 0, "9.0"]


def raw_page(
    units: Mapping[str, str],
    launches: Sequence[tuple[list[object], Sequence[object]]],
    delimiter: str = ",",
) -> str:
    """Return a raw page: a column a metric, a line of units, a line a launch."""
    lines = [
        line([*HEAD, *units], delimiter),
        line([""] * len(HEAD) + list(units.values()), delimiter),
    ]
    lines += [line([*told, *values], delimiter) for told, values in launches]
    return "".join(lines)


def details_page(
    rows: Sequence[tuple[list[object], str, str, str]], delimiter: str = ","
) -> str:
    """Return a details page: a line a metric, with name, unit and value."""
    head = [*HEAD, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    lines = [line(head, delimiter)]
    lines += [line([*told, "Section", *metric], delimiter) for told, *metric in rows]
    return "".join(lines)
