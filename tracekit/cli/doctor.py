"""`tracekit doctor`: what works on this machine, and what to do about the rest."""

from tracekit.cli.options import Format, OutputFormat
from tracekit.cli.output import write_result


def doctor(
    format_: OutputFormat = Format.TABLE,
) -> None:
    """Look at GPU, driver, profilers and permissions; say what to do."""
    import pyarrow as pa

    from tracekit.convert.doctor import examine

    rows = [
        {"check": f.check, "status": f.status, "found": f.found, "to do": f.advice}
        for f in examine()
    ]
    write_result(pa.Table.from_pylist(rows), format_)
