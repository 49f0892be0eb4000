"""What may leave a capture, and how the rest is withheld."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Flag, auto

import pyarrow as pa

from tracekit.convert.distinct import map_distinct
from tracekit.convert.secrets import mask_secrets

# Names that tell nothing of a person or a machine.
_COMMON_USERS = frozenset({"root", "user", "ubuntu", "admin", "nobody"})
_COMMON_HOSTS = frozenset({"localhost", "localhost.localdomain"})
_SHORTEST = 2
# An underscore parts words: `node7_run1`.
_WORD = r"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9])"

_COMPONENT = r"[^/\\\s:;,'\"()\[\]{}<>|&=]+"
_BELOW = rf"(?P<below>(?:[/\\]+(?:{_COMPONENT})?)*)"
_HOME_FOLDERS = (
    # /home/name, and the same below the mount point of a network file system.
    rf"(?<![\w.~-])(?:/[\w.-]+){{0,4}}?/(?:home|homes|Users|users)/+{_COMPONENT}"
    r"|/root(?![\w.-])"
    rf"|(?<!\w)[A-Za-z]:[\\/]+Users[\\/]+{_COMPONENT}"
    r"|(?<![\w.)~-])~[A-Za-z_][\w.-]*(?=/)"
)


class Redact(Flag):
    """What is taken out for sharing, on top of what never leaves a capture."""

    NOTHING = 0
    HOST = auto()
    PATHS = auto()


@dataclass
class Private:
    """Names that a capture holds, known so that they can be taken out of text.

    They are never written anywhere.

    Attributes:
        hosts: Names of machines.
        users: Names of users.
        homes: Home folders.
    """

    hosts: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    homes: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        """Return the number of names; they are only ever added."""
        return len(self.hosts) + len(self.users) + len(self.homes)


class Redactor:
    """Changes the text of rows before they are written.

    Args:
        redact: What is taken out on request; secrets in messages and facts always are.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._aliases: dict[str, str] = {}
        self._with_domain: set[str] = set()
        self._users: set[str] = set()
        self._homes: set[str] = set()
        self._hosts: re.Pattern[str] | None = None
        self._users_in_paths: re.Pattern[str] | None = None
        self._users_as_words: re.Pattern[str] | None = None
        self._home_folders = _below(_HOME_FOLDERS)

    def learn(self, private: Private) -> None:
        """Take names of a capture out of all text from now on."""
        for host in sorted(private.hosts):
            self.host(host)
        for home in private.homes:
            folder = home.rstrip("/\\")
            if len(folder) > 1:
                self._homes.add(folder)
                self._users.add(re.split(r"[/\\]", folder)[-1])
        self._users |= private.users
        users = {u for u in self._users if len(u) >= _SHORTEST} - _COMMON_USERS
        self._users_in_paths = _any_of(
            users, rf"(?<=[/\\~])(?:%s)(?!{_COMPONENT})|(?<![\w.-])(?:%s)(?=@)"
        )
        self._users_as_words = _any_of(users, _WORD)
        known = "|".join(re.escape(home) for home in _longest_first(self._homes))
        below = rf"(?:{known})(?![\w.-])|{_HOME_FOLDERS}" if known else _HOME_FOLDERS
        self._home_folders = _below(below)

    def host(self, name: str) -> str:
        """Return the name of a machine as it may be written."""
        if Redact.HOST not in self._redact:
            return name
        found = self._aliases.get(name.lower())
        if found is None:
            found = self._new_alias(name.lower())
            names = {n for n in self._aliases if len(n) >= _SHORTEST} - _COMMON_HOSTS
            self._hosts = _any_of(names, _WORD)
        return found

    def _new_alias(self, name: str) -> str:
        # node7 and node7.cluster.example are one machine; node7.other.example is not.
        short = name.partition(".")[0]
        found = self._aliases.get(short)
        if found is None or (name != short and short in self._with_domain):
            found = f"host-{len(set(self._aliases.values()))}"
            self._aliases.setdefault(short, found)
        if name != short:
            self._with_domain.add(short)
        self._aliases[name] = found
        return found

    def text(self, text: str) -> str:
        """Return any text as it may be written."""
        if Redact.PATHS in self._redact:
            text = self._home_folders.sub(_shortened, text)
            if self._users_in_paths is not None:
                text = self._users_in_paths.sub("user", text)
        if self._hosts is not None:
            text = self._hosts.sub(lambda m: self._aliases[m[0].lower()], text)
        return text

    def message(self, text: str) -> str:
        """Return text that a person or a program wrote freely, secrets masked."""
        return self.name(mask_secrets(text))

    def name(self, text: str) -> str:
        """Return the name of a file or of a run, which may begin with a user's."""
        text = self.text(text)
        if Redact.PATHS in self._redact and self._users_as_words is not None:
            text = self._users_as_words.sub("user", text)
        return text

    def rows(self, table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with their text as it may be written."""
        is_message = table in _MESSAGES
        if not is_message and not self._redact:
            return rows
        spared = _SPARED.get(table, frozenset())
        for index, column in enumerate(rows.schema):
            if not _is_text(column.type) or column.name in spared:
                continue
            change: Callable[[str], str]
            if column.name == "host":
                change = self.host
            else:
                change = self.message if is_message else self.text
            changed = map_distinct(_plain(rows.column(index)), change, pa.string())
            rows = rows.set_column(index, column.name, changed)
        return rows


_MESSAGES = frozenset({"diagnostic", "run_fact", "rejected"})
# Symbols: no paths, and a machine called `vm` must not rename a namespace.
_SPARED = {
    "kernel": frozenset({"name", "mangled_name", "canonical_name", "short_name"}),
    "kernel_metric": frozenset({"kernel_name", "mangled_name", "metric", "unit"}),
    "api_call": frozenset({"name"}),
}


def _below(folders: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{folders}){_BELOW}")


def _shortened(match: re.Match[str]) -> str:
    """Leave the name of the file of a path below a home folder."""
    *folders, name = re.split(r"[/\\]+", match["below"])
    return f"~/{name}" if folders else "~"


def _any_of(names: Iterable[str], pattern: str) -> re.Pattern[str] | None:
    escaped = "|".join(re.escape(name) for name in _longest_first(names))
    if not escaped:
        return None
    return re.compile(pattern.replace("%s", escaped), re.IGNORECASE)


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (-len(name), name))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind))


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column
