"""Writes the pages that come from code: schema.md, sources.md and queries.md.

    python docs/generate.py

A test compares the pages with what this writes.
"""

from pathlib import Path

from tracekit.convert.kineto.sources import kineto_sources
from tracekit.convert.nsys.sources import nsys_sources
from tracekit.convert.sources import column_sources
from tracekit.query import QueryModule, load_module, module_names
from tracekit.schema import TABLES, VERSION, Scope, Table

DOCS = Path(__file__).parent
TESTS = DOCS.parent / "tests"
NOTE = "<!-- Written by docs/generate.py; do not edit. -->\n\n"


def schema_page() -> str:
    """Return the page that describes the normalized tables."""
    sources = {
        "Nsight Systems": nsys_sources(),
        "PyTorch profiler": kineto_sources(),
    }
    lines = [
        NOTE + f"# The schema, version {VERSION}",
        "",
        "A run is `manifest.json` and `<table>/rank=<N>/part-0.parquet`. NULL means "
        '"not recorded", never 0. Times are nanoseconds on the rank\'s recorded '
        "clock; `manifest.json` holds the UTC time of its 0 where it is known. "
        "Tables of a host are under `rank=-1`. Where the columns of the other formats "
        "come from is in [sources.md](sources.md).",
        "",
        "| table | one row is | rows belong to |",
        "|---|---|---|",
    ]
    for table in TABLES.values():
        owner = "the host" if table.scope is Scope.HOST else "a rank"
        lines.append(f"| [{table.name}](#{table.name}) | {table.row} | {owner} |")
    for table in TABLES.values():
        lines += _table(table, sources)
    return "\n".join(lines) + "\n"


def _table(table: Table, sources: dict[str, dict[str, dict[str, str]]]) -> list[str]:
    lines = [
        "",
        f"## {table.name}",
        "",
        f"One row is {table.row}."
        + (f" Sorted by `{table.time}`." if table.time else ""),
        "",
        "| column | type | unit | meaning | " + " | ".join(sources) + " |",
        "|---|---|---|---|" + "---|" * len(sources),
    ]
    for column in table.columns:
        fields = [
            formats.get(table.name, {}).get(column.name, "-")
            for formats in sources.values()
        ]
        cells = (
            f"`{column.name}`",
            column.type.value,
            column.unit or "",
            column.meaning,
            *fields,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def sources_page() -> str:
    """Return the page that says where columns come from, by table and reader."""
    by_reader = column_sources()
    lines = [
        NOTE + "# Where each column comes from",
        "",
        "By table and reader; a column without a line is NULL. `nsys` stands for "
        "`nsys-sqlite`, `nsys-columnar` and `nsys-report`, which read the same tables; "
        "`ncu-report` fills what `ncu-csv` does. The pages in `formats/` say more.",
    ]
    shown = {"nsys": by_reader["nsys-sqlite"]} | {
        reader: tables
        for reader, tables in by_reader.items()
        if not reader.startswith("nsys-") and reader != "ncu-report"
    }
    for table in TABLES.values():
        lines += ["", f"## {table.name}"]
        for reader, tables in shown.items():
            if table.name not in tables:
                continue
            lines += ["", f"| `{reader}` | from |", "|---|---|"]
            columns: dict[str, list[str]] = {}
            for column in table.columns:
                source = tables[table.name].get(column.name)
                if source is not None:
                    columns.setdefault(source, []).append(f"`{column.name}`")
            lines += [f"| {', '.join(names)} | {s} |" for s, names in columns.items()]
    return "\n".join(lines) + "\n"


def queries_page() -> str:
    """Return the page that lists the queries."""
    modules = [load_module(name) for name in module_names()]
    lines = [
        NOTE + "# The queries",
        "",
        "`tracekit query NAME RUN` answers one; `--describe` shows what is below.",
        "",
        "| query | what it answers | checked by |",
        "|---|---|---|",
    ]
    for module in modules:
        anchor = module.name.replace(".", "")
        lines.append(
            f"| [`{module.name}`](#{anchor}) | {module.summary} | {_checked(module)} |"
        )
    for module in modules:
        lines += _query(module)
    return "\n".join(lines) + "\n"


def _checked(module: QueryModule) -> str:
    """Return the tests that hold the query to its numbers."""
    tests = [f"tests/query/test_{module.name.replace('.', '_')}.py"]
    tests += [
        path.relative_to(TESTS.parent).as_posix()
        for path in sorted((TESTS / "conformance").glob("test_*.py"))
        if f'"{module.name}"' in path.read_text()
    ]
    return ", ".join(f"`{test}`" for test in tests)


def _query(module: QueryModule) -> list[str]:
    reads = ", ".join(f"`{r.table}` ({r.membership.value})" for r in module.reads)
    lines = ["", f"## {module.name}", "", module.description, "", f"Reads {reads}.", ""]
    if module.parameters:
        lines += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        for parameter in module.parameters:
            default = "required" if parameter.required else f"`{parameter.default}`"
            lines.append(
                f"| `{parameter.name}` | {parameter.type.value} | {default} "
                f"| {parameter.help} |"
            )
        lines.append("")
    lines += ["| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{c.name}` | {c.type.value} | {c.help} |" for c in module.columns]
    return lines


PAGES = {
    "schema.md": schema_page,
    "sources.md": sources_page,
    "queries.md": queries_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
        print(f"Wrote docs/{name}")
