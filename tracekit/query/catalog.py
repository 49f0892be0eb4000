"""The SQL modules, views and macros that ship with tracekit."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path

from tracekit.assets import assets
from tracekit.errors import QueryError
from tracekit.query.module import QueryModule, has_header, parse_module, plain_module
from tracekit.query.tables import literal
from tracekit.schema import TABLES

_VIEWS = "_views"
_MACROS = "_macros"
_RULES = "_rules"


@dataclass(frozen=True)
class View:
    """A view on the tables: `_views/<name>.sql`.

    Attributes:
        name: Its name.
        reads: Tables and views that it reads, as `recorded.<name>`.
        sql: Its SELECT.
    """

    name: str
    reads: tuple[str, ...]
    sql: str


@cache
def module_names() -> tuple[str, ...]:
    """Return the names of all modules, sorted."""
    return tuple(sorted(_names(assets("queries"), "")))


@cache
def load_module(name: str) -> QueryModule:
    """Return the module of that name.

    Raises:
        QueryError: There is none.
    """
    if name not in module_names():
        close = [known for known in module_names() if _alike(name, known)]
        raise QueryError(
            f"there is no query `{name}`",
            hint=f"did you mean {' or '.join(close[:3])}?"
            if close
            else "tracekit query --list names them",
        )
    file = assets("queries")
    for part in name.split("."):
        file = file / part if file.joinpath(part).is_dir() else file / f"{part}.sql"
    return parse_module(file.read_text("utf-8"), name=name)


def load_file(path: Path) -> QueryModule:
    """Return the module in a file of the user's; its title names it.

    A file without a header has no parameters, and takes the rows of the tables that it
    names as `rows` does.

    Raises:
        QueryError: It cannot be read, or its header is not as it must be.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{path}: {error}") from error
    if not has_header(text):
        known = {*TABLES, *(view.name for view in views())}
        return plain_module(text, name=path.stem, known=known)
    first = text.partition("\n")[0].removeprefix("--").strip()
    return parse_module(text, name=first.partition(":")[0] or path.stem)


@cache
def views() -> tuple[View, ...]:
    """Return the views, each after those that it reads."""
    found = {}
    for file in (assets("queries") / _VIEWS).iterdir():
        if file.name.endswith(".sql"):
            view = _view(file)
            found[view.name] = view
    ordered: list[View] = []

    def add(view: View) -> None:
        if view in ordered:
            return
        for name in view.reads:
            if name in found:
                add(found[name])
        ordered.append(view)

    for name in sorted(found):
        add(found[name])
    return tuple(ordered)


@cache
def macros() -> Mapping[str, str]:
    """Return the statements that make the macros, of rules and of files, by name."""
    texts = [_classifier(name, rules(name)) for name, _ in _files(_RULES, ".csv")]
    for _, text in _files(_MACROS, ".sql"):
        texts += re.split(r"^(?=CREATE MACRO )", text, flags=re.MULTILINE)[1:]
    return _callees_first(
        {
            match[1].lower(): text
            for text in texts
            if (match := re.match(r"CREATE MACRO (\w+)", text))
        }
    )


def _callees_first(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the macros in an order in which each follows those that it calls.

    DuckDB 1.5 looks for them when a macro is made.
    """
    ordered: dict[str, str] = {}

    def place(name: str, callers: frozenset[str]) -> None:
        for callee in sorted(_called(texts[name], texts) - callers - ordered.keys()):
            place(callee, callers | {callee})
        ordered[name] = texts[name]

    for name in texts:
        if name not in ordered:
            place(name, frozenset({name}))
    return ordered


def _called(sql: str, texts: Mapping[str, str]) -> set[str]:
    code = re.sub(r"--.*", "", sql).lower()
    return {*re.findall(r"\w+", code)} & texts.keys()


@cache
def macros_of(sql: str) -> frozenset[str]:
    """Return the names of the macros that a statement calls, and of those they call.

    A word that is a macro's name counts as a call.
    """
    found: set[str] = set()
    pending = [sql]
    while pending:
        called = _called(pending.pop(), macros()) - found
        found |= called
        pending += [macros()[name] for name in called]
    return frozenset(found)


@dataclass(frozen=True)
class Rule:
    """A line of `_rules/<name>.csv`; the first that matches a text says what it is.

    Attributes:
        category: What it is.
        pattern: Regular expression that finds it, as DuckDB (RE2) reads it.
        example: A text that this rule is the first to match.
    """

    category: str
    pattern: str
    example: str


@cache
def rules(name: str) -> tuple[Rule, ...]:
    """Return the rules of `_rules/<name>.csv`, in order."""
    text = (assets("queries") / _RULES / f"{name}.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(Rule(**row) for row in rows)


def _classifier(name: str, known: tuple[Rule, ...]) -> str:
    """Return the macro `<name>(text)` that names the category, or `other`."""
    cases = " ".join(
        f"WHEN regexp_matches(text, {literal(rule.pattern)})"
        f" THEN {literal(rule.category)}"
        for rule in known
    )
    return (
        f"CREATE MACRO {name}(text) AS"
        f" CASE WHEN text IS NULL THEN NULL {cases} ELSE 'other' END"
    )


def _files(folder: str, suffix: str) -> list[tuple[str, str]]:
    files = sorted((assets("queries") / folder).iterdir(), key=lambda file: file.name)
    return [
        (file.name.removesuffix(suffix), file.read_text("utf-8"))
        for file in files
        if file.name.endswith(suffix)
    ]


def _view(file: Traversable) -> View:
    name = file.name.removesuffix(".sql")
    module = parse_module(file.read_text("utf-8"), name=name)
    return View(name, tuple(read.table for read in module.reads), module.sql)


def _names(folder: Traversable, prefix: str) -> list[str]:
    names: list[str] = []
    for entry in folder.iterdir():
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_dir():
            names += _names(entry, f"{prefix}{entry.name}.")
        elif entry.name.endswith(".sql"):
            names.append(prefix + entry.name.removesuffix(".sql"))
    return names


def _alike(name: str, known: str) -> bool:
    import difflib

    if name and name in known:
        return True
    last = known.rpartition(".")[2]
    return difflib.SequenceMatcher(None, name, known).ratio() > 0.75 or name == last
