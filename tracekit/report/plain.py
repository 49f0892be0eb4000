"""A report as JSON or Markdown, with the numbers of the HTML page."""

from io import BytesIO
from typing import IO

import msgspec

from tracekit._version import __version__
from tracekit.report.cells import visible
from tracekit.report.formats import escaped, finite_rows, write_markdown
from tracekit.report.model import Exhibit, Report

# A sum of BIGINT is a decimal number without decimals.
_JSON = msgspec.json.Encoder(decimal_format="number")


def write_json(report: Report, target: IO[bytes]) -> None:
    """Write one object: runs, verdicts, sections with their answers."""
    content = {
        "report_version": 1,
        "tracekit_version": __version__,
        "title": report.title,
        "runs": [{"run_id": run.run_id, **run.facts} for run in report.runs],
        "verdicts": [
            {"run_id": verdict.run_id, "sentences": verdict.sentences}
            for verdict in report.verdicts
        ],
        "sections": [
            {
                "key": section.key,
                "title": section.title,
                "about": section.about,
                "answers": [_answer(exhibit) for exhibit in section.exhibits],
                "wanting": section.wanting,
            }
            for section in report.sections
        ],
    }
    target.write(msgspec.json.format(_JSON.encode(content), indent=1) + b"\n")


def _answer(exhibit: Exhibit) -> dict[str, object]:
    return {
        "query": exhibit.query,
        "title": exhibit.title,
        "parameters": dict(exhibit.parameters),
        "window": exhibit.window,
        "membership": exhibit.membership,
        "total_rows": exhibit.total_rows,
        "rows": finite_rows(exhibit.table),
    }


def write_text(report: Report, target: IO[bytes]) -> None:
    """Write the report as Markdown, tables as GitHub shows them."""

    def line(text: str = "") -> None:
        target.write(f"{text}\n".encode())

    line(f"# {_plain(report.title)}")
    line()
    for verdict in report.verdicts:
        if len(report.verdicts) > 1:
            line(f"**{_plain(verdict.run_id)}**")
            line()
        for sentence in verdict.sentences:
            line(f"- {_plain(sentence)}")
        line()
    line("## What was measured")
    line()
    for run in report.runs:
        for name, value in run.facts.items():
            line(f"- {_plain(name)}: {_plain(value)}")
        line()
    for section in report.sections:
        line(f"## {section.title}")
        line()
        line(section.about)
        line()
        for exhibit in section.exhibits:
            line(f"### {exhibit.title}")
            line()
            buffer = BytesIO()
            write_markdown(exhibit.table, buffer)
            target.write(buffer.getvalue())
            if exhibit.total_rows > exhibit.table.num_rows:
                line()
                shown, total = exhibit.table.num_rows, exhibit.total_rows
                line(f"The first {shown:,} of {total:,} rows.")
            line()
            line(f"`{exhibit.command}`")
            line()
        for reason in section.wanting:
            line(
                f"- {'Not shown' if section.exhibits else 'Missing'}: {_plain(reason)}"
            )
        if section.wanting:
            line()


def _plain(text: str) -> str:
    return escaped(visible(text))
