"""Numbers in units that people read, told from the names of their columns."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1.0, "B"))
_RATIOS = ("_share", "_utilization", "_ratio")


def human(column: str, value: object) -> str | None:
    """Return a number in a fitting unit, or None where its column has none."""
    if not isinstance(value, int | float):
        return None
    if column.endswith("_ns"):
        return _scaled(value, _TIMES)
    if column == "bytes" or column.endswith("_bytes"):
        return _scaled(value, _BYTES)
    if column.endswith(_RATIOS):
        return f"{100 * value:.2f} %"
    return None


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units:
        if abs(value) >= factor:
            return f"{value / factor:,.4g} {unit}"
    return f"{value:,.4g} {units[-1][1]}"
