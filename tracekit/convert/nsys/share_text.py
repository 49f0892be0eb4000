"""How the text of an export is made fit to share."""

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tracekit.convert.nsys.definitions import described_name
from tracekit.convert.nsys.environment import (
    FACTS,
    is_setting,
    split_variables,
    unquoted,
)
from tracekit.convert.nsys.share_rules import Rows, Text
from tracekit.convert.redaction import Private, Redact, Redactor
from tracekit.convert.secrets import mask_secrets
from tracekit.tools.variables import is_allowed_variable

_ABSOLUTE = re.compile(
    r"(?<![\w.~/-])(?:[A-Za-z]:)?(?:[/\\][^/\\\s:;,'\"]+)*[/\\](?=\w)"
)
_VERSION = re.compile(r"\d+(?:\.\d+)*")
_NO_UUID = uuid.UUID(int=0)
# What an export says of itself: how it was made, never who made it, or where.
_EXPORT_FACT = re.compile(
    r"EXPORT_PRODUCT_(?:NAME|VERSION|DATE)|EXPORT_SCHEMA_VERSION\w*"
    r"|EXPORT_PLATFORM|EXPORT_ARCH|EXPORT_CONFIG_TIME_SHIFT"
    r"|EXPORT_PARAM_(?:LAZY|TIME_NORMALIZE|TIME_SHIFT|INCLUDE_BLOBS|INCLUDE_JSON)"
)

Row = dict[str, Any]


class Cleaner:
    """Changes text by its kind, and counts what it withheld.

    Args:
        private: Names of people and machines to take out of all text.

    Attributes:
        withheld: What was left behind and why, with counts.
    """

    def __init__(self, private: Private) -> None:
        self.withheld: Counter[tuple[str, str]] = Counter()
        self._redactor = Redactor(Redact.HOST | Redact.PATHS)
        self._redactor.learn(private)
        self._variables: set[str] = set()

    def text(self, kind: Text, text: str) -> str:
        """Return text as it may be shared."""
        return _CHANGES[kind](self, text)

    def count(self, what: str, reason: str, count: int = 1) -> None:
        """Note that something was left behind."""
        if count:
            self.withheld[what, reason] += count

    def pair(self, rows: Rows, row: Row) -> Row | None:
        """Return a row of a table of names and values, or None to leave it out."""
        name, value = row.get("name"), row.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            return None
        kept = _PAIRS[rows](self, name, value)
        return None if kept is None else {**row, "value": kept}

    def leave_out(self, table: str, rows: int) -> None:
        """Count the rows of a table that is on no list."""
        self.count(f"rows of {table}", "a table that is not shared", rows)

    def ownerless(self, table: str, column: str, rows: int) -> None:
        """Count the rows of a table that should name a process and names none."""
        self.count(f"rows of {table}", f"without a column {column}", rows)

    def withhold(self, table: str, rows: int) -> None:
        """Count the rows of a table of files or of output."""
        what = "whole files" if table == "ANALYSIS_FILE" else "texts that were printed"
        self.count(what, "never copied", rows)

    def unused_strings(self, count: int) -> None:
        """Count the strings that nothing refers to that is shared."""
        self.count("strings", "no shared event refers to them", count)

    def refuse_payload(self, kept: bytes | None) -> None:
        """Count a binary payload if nothing of it is kept."""
        if kept is None:
            self.count("binary payloads", "they may hold text")

    def close(self) -> None:
        """Count what is known only at the end."""
        self.count(
            "environment variables",
            "not on the list of variables that are copied",
            len(self._variables),
        )

    def _name(self, text: str) -> str:
        return self._redactor.text(text)

    def _message(self, text: str) -> str:
        return self._redactor.message(_ABSOLUTE.sub("", mask_secrets(text)))

    def _file(self, text: str) -> str:
        return self._redactor.name(re.split(r"[/\\]", text.rstrip("/\\"))[-1])

    def _uuid(self, text: str) -> str:
        try:
            if uuid.UUID(text) == _NO_UUID:
                return text
        except ValueError:
            if not text:
                return text
        # The same GPU keeps one name in all captures, and the name tells nothing.
        digest = hashlib.sha256(b"tracekit scrub\0" + text.encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def _numbers(self, text: str) -> str:
        try:
            found = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError:
            return ""
        return msgspec.json.encode(
            {name: value for name, value in found.items() if _is_number(value)}
        ).decode()

    def _named(self, text: str) -> str:
        name = described_name(text)
        return "" if name is None else msgspec.json.encode({"Name": name}).decode()

    def _word(self, text: str) -> str:
        return text

    def _of_capture(self, name: str, value: str) -> str | None:
        if name.endswith(":ENVIRONMENT_VARIABLE"):
            variable, _, text = value.partition("=")
            return value if self._is_kept(variable, unquoted(text)) else None
        if name.endswith(":COMMAND"):
            return self._program(value)
        if ":ARGUMENT_" in name:
            self.count("command-line arguments", "never shared")
        elif name.endswith(":USER_NAME") and value:
            self.count("user names", "never copied")
        elif name.endswith(":WORKING_DIR") and value:
            self.count("working directories", "never copied")
        elif name == "CAPTURE_EVENT_TYPE" or is_setting(name):
            return self._message(value)
        return None

    def _of_export(self, name: str, value: str) -> str | None:
        if name == "EXPORT_USER" and value:
            self.count("user names", "never copied")
        return value if _EXPORT_FACT.fullmatch(name) else None

    def _of_system(self, name: str, value: str) -> str | None:
        if name == "DeviceEnvironment":
            kept = [
                f"{variable}={text}"
                for variable, text in split_variables(value)
                if self._is_kept(variable, text)
            ]
            return ";".join(kept)
        if name == "Hostname":
            return self._redactor.host(value)
        if name == "SoftwareReleaseVersion":
            # A kernel of one's own names whose it is behind the number.
            version = _VERSION.match(value)
            return version[0] if version else ""
        return self._message(value) if name in FACTS else None

    def _program(self, command: str) -> str:
        # A path may hold spaces; a whole command line holds them too.
        path = command if re.fullmatch(r"\S*", command) else command.split()[0]
        return self._file(path)

    def _is_kept(self, variable: str, text: str) -> bool:  # noqa: ARG002 - see below
        if is_allowed_variable(variable):
            return True
        self._variables.add(variable)
        return False


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHANGES: Mapping[Text, Callable[[Cleaner, str], str]] = {
    Text.NAME: Cleaner._name,
    Text.FILE: Cleaner._file,
    Text.MESSAGE: Cleaner._message,
    Text.WORD: Cleaner._word,
    Text.UUID: Cleaner._uuid,
    Text.NUMBERS: Cleaner._numbers,
    Text.NAMED: Cleaner._named,
}
_PAIRS: Mapping[Rows, Callable[[Cleaner, str, str], str | None]] = {
    Rows.CAPTURE: Cleaner._of_capture,
    Rows.EXPORT: Cleaner._of_export,
    Rows.SYSTEM: Cleaner._of_system,
}
