"""Reads the header of a SQL module: one file, one question.

A header is the block of `--` lines at the top::

    -- kernels.by_device: where GPU time goes, by device and kernel.
    --
    -- What the numbers mean, and what they leave out.
    --
    -- reads:
    --   kernel    rows
    -- needs:
    --   kernel
    -- parameters:
    --   limit    BIGINT = 20   Rows to return, 0 for all.
    -- columns:
    --   device_id    INTEGER   The device, as in the device table.

`reads` names the tables and views, each with what a window does to it: `rows` takes
whole rows, `clip` cuts intervals to the window, `whole` takes everything of the devices
and processes that were asked for, `lookup` takes everything. `needs` names those
without which there is no answer: `kernel`, a column (`kernel.grid_x`), alternatives
(`module|annotation`), or `nothing`. By default it is every one that is no lookup, and
any one of them will do; of a view's tables any one will do. A module is not run on what
lacks them. `scope: run` runs the module once
over all ranks.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tracekit.errors import QueryError
from tracekit.schema import Type

_TITLE = re.compile(r"(?P<name>[a-z0-9_.]+): (?P<summary>.+)")
_READ = re.compile(r"(?P<table>\w+)\s+(?P<membership>rows|clip|whole|lookup)")
_PARAMETER = re.compile(
    r"(?P<name>\w+)\s+(?P<type>[A-Z]+)(?:\s*=\s*(?P<default>\S+))?\s{2,}(?P<help>.+)"
)
_COLUMN = re.compile(r"(?P<name>\w+)\s+(?P<type>[A-Z]+)\s{2,}(?P<help>.+)")
_SECTION = re.compile(
    r"(?P<title>reads|needs|parameters|columns|scope):\s*(?P<rest>.*)"
)

Value = bool | int | float | str

# The largest BIGINT; for a DOUBLE it is as good a limit as another.
_MOST = 2**63 - 1
_WORDS = {
    Type.BOOLEAN: "true or false",
    Type.INTEGER: "whole number",
    Type.BIGINT: "whole number",
    Type.DOUBLE: "number",
    Type.VARCHAR: "text",
}

NOTHING = "nothing"
"""A need of modules that answer whatever there is."""


class Membership(Enum):
    """What a time window does to the rows of a table."""

    ROWS = "rows"
    CLIP = "clip"
    WHOLE = "whole"
    LOOKUP = "lookup"


@dataclass(frozen=True)
class Read:
    """A table or view that a module reads."""

    table: str
    membership: Membership


@dataclass(frozen=True)
class Parameter:
    """A parameter of a module; one without a default must be given."""

    name: str
    type: Type
    default: Value | None
    help: str
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is None

    def value(self, text: str) -> Value:
        """Return the value that `text` stands for.

        Raises:
            QueryError: It is none of this type, or no choice, or less than 0 where
                the default is not.
        """
        if self.choices and text not in self.choices:
            raise QueryError(
                f"{self.name} is `{text}`",
                hint=f"it is one of {', '.join(self.choices)}",
            )
        try:
            value = _parse(self.type, text)
        except ValueError:
            raise QueryError(
                f"{self.name} is `{text}`, which is no {_WORDS[self.type]}",
                hint=f"-p {self.name}=... ({self.help})",
            ) from None
        if isinstance(self.default, int | float) and isinstance(value, int | float):
            least = 0 if self.default >= 0 else -_MOST
            if not least <= value <= _MOST:
                what = "less than 0" if value < 0 else "too large"
                raise QueryError(
                    f"{self.name} is `{text}`, which is {what}",
                    hint=f"-p {self.name}=... ({self.help})",
                )
        return value

    def describe(self) -> str:
        """Return type and default in a few words."""
        kind = "|".join(self.choices) or self.type.value
        return kind if self.default is None else f"{kind}, {self.default}"


@dataclass(frozen=True)
class OutputColumn:
    """A column of the answer."""

    name: str
    type: Type
    help: str


@dataclass(frozen=True)
class QueryModule:
    """A SQL module and what its header says.

    Attributes:
        name: Its name, which is its path.
        summary: What it answers, in one line.
        description: What the numbers mean.
        reads: The tables and views it reads.
        needs: Tables that must have rows, or columns that must have values, all of
            them; empty if any of the tables it reads will do.
        parameters: Its parameters.
        columns: The columns of its answer.
        per_rank: Whether it runs for each rank by itself.
        sql: The statement.
    """

    name: str
    summary: str
    description: str
    reads: tuple[Read, ...]
    needs: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[OutputColumn, ...]
    per_rank: bool
    sql: str

    def bind(self, given: dict[str, str]) -> dict[str, Value]:
        """Return the values of all parameters.

        Raises:
            QueryError: A name is unknown, a value does not fit, or one is missing.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise QueryError(
                    f"{self.name} has no parameter `{name}`", hint=self._parameters()
                )
        values: dict[str, Value] = {}
        for name, parameter in known.items():
            if name in given:
                values[name] = parameter.value(given[name])
            elif parameter.default is None:
                raise QueryError(
                    f"{self.name} needs the parameter `{name}`",
                    hint=f"-p {name}=... ({parameter.help})",
                )
            else:
                values[name] = parameter.default
        return values

    def _parameters(self) -> str:
        if not self.parameters:
            return "it has no parameters"
        named = [f"{p.name} ({p.describe()})" for p in self.parameters]
        return "its parameters are " + " and ".join(
            [", ".join(named[:-1]), named[-1]] if len(named) > 1 else named
        )


def parse_module(text: str, *, name: str) -> QueryModule:
    """Read a SQL module.

    Args:
        text: The file.
        name: The name that its title must have.

    Raises:
        QueryError: The header is not as it must be; the message names the line.
    """
    header, sql = _split(text)
    if not header:
        raise QueryError(
            f"{name} has no header",
            hint="begin it with `-- name: what it answers.`, or use tracekit sql",
        )
    title = _TITLE.fullmatch(header[0])
    if title is None or title["name"] != name:
        raise QueryError(
            f"{name}: its first line is not `-- {name}: <what it answers>.`"
        )
    sections = _sections(header[1:], name)
    scope = " ".join(sections["scope"]).strip() or "rank"
    if scope not in ("rank", "run"):
        raise QueryError(f"{name}: scope is `{scope}`, not rank or run")
    return QueryModule(
        name=name,
        summary=title["summary"].rstrip("."),
        description="\n".join(sections["description"]).strip(),
        reads=tuple(_read(line, name) for line in sections["reads"]),
        needs=tuple(word for line in sections["needs"] for word in line.split()),
        parameters=tuple(_parameter(line, name) for line in sections["parameters"]),
        columns=tuple(_column(line, name) for line in sections["columns"]),
        per_rank=scope == "rank",
        sql=sql,
    )


def has_header(text: str) -> bool:
    """Tell whether a file begins as a module does, or with SQL or a mere comment."""
    header, _ = _split(text)
    return any(_TITLE.fullmatch(line) or _SECTION.fullmatch(line) for line in header)


def plain_module(text: str, *, name: str, known: Iterable[str]) -> QueryModule:
    """Return the module that is a statement alone.

    Args:
        text: The statement.
        name: The name it shall have.
        known: Tables and views; those whose name stands in the text are read.
    """
    words = set(re.findall(r"\w+", text.lower()))
    return QueryModule(
        name=name,
        summary="a statement without a header",
        description="",
        reads=tuple(Read(table, Membership.ROWS) for table in sorted(words & {*known})),
        needs=(),
        parameters=(),
        columns=(),
        per_rank=True,
        sql=text.strip(),
    )


def _split(text: str) -> tuple[list[str], str]:
    lines = text.splitlines()
    header = []
    for line in lines:
        if not line.startswith("--"):
            break
        header.append(line[2:].removeprefix(" ").rstrip())
    return header, "\n".join(lines[len(header) :]).strip()


def _sections(lines: list[str], name: str) -> dict[str, list[str]]:
    """Part the header; a line that is indented further continues the one before."""
    sections: dict[str, list[str]] = {
        key: []
        for key in ("description", "reads", "needs", "parameters", "columns", "scope")
    }
    current = "description"
    for line in lines:
        match = _SECTION.fullmatch(line)
        if match:
            current = match["title"]
            if match["rest"]:
                sections[current].append(match["rest"])
        elif current == "description":
            sections[current].append(line)
        elif line.startswith("     ") and sections[current]:
            sections[current][-1] += " " + line.strip()
        elif line.startswith("  ") and line.strip():
            sections[current].append(line.strip())
        elif line:
            raise QueryError(f"{name}: cannot read the header line `-- {line}`")
    return sections


def _read(line: str, name: str) -> Read:
    match = _READ.fullmatch(line)
    if match is None:
        raise QueryError(
            f"{name}: reads `{line}` is not `<table>  rows|clip|whole|lookup`"
        )
    return Read(match["table"], Membership(match["membership"]))


def _parameter(line: str, name: str) -> Parameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        raise QueryError(
            f"{name}: parameter `{line}` is not `<name>  <TYPE> = <default>  <help>`"
        )
    kind = _type(match["type"], name)
    # `One of a, b or c.` at the front of the help names the choices.
    choices: tuple[str, ...] = ()
    listed = re.match(r"One of ([\w, ]+?)[.:;]", match["help"])
    if listed:
        choices = tuple(re.split(r",\s*|\s+or\s+", listed[1]))
    default: Value | None = None
    if match["default"] is not None:
        default = _parse(kind, match["default"])
    return Parameter(match["name"], kind, default, match["help"], choices)


def _column(line: str, name: str) -> OutputColumn:
    match = _COLUMN.fullmatch(line)
    if match is None:
        raise QueryError(f"{name}: column `{line}` is not `<name>  <TYPE>  <help>`")
    return OutputColumn(match["name"], _type(match["type"], name), match["help"])


def _type(word: str, name: str) -> Type:
    try:
        return Type(word)
    except ValueError:
        known = ", ".join(kind.value for kind in Type)
        raise QueryError(f"{name}: there is no type {word} (known: {known})") from None


def _parse(kind: Type, text: str) -> Value:
    if kind is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    if kind is Type.DOUBLE:
        number = float(text)
        if math.isnan(number):
            raise ValueError(text)
        return number
    if kind is Type.VARCHAR:
        return text
    return int(text)
