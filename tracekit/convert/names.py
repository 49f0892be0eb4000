"""Names of kernels and API functions in one spelling."""

import re
from functools import lru_cache

import cxxfilt

# A demangler recurses; a symbol of a real kernel is a few thousand characters.
_LONGEST = 65_536

_VERSION = re.compile(r"_v\d{4}$")
_CAST = re.compile(
    r"\((?:unsigned |signed )?(int|long|short|char|long long|bool)\)(-?\d+)"
)
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r" +([*&])")


def api_name(recorded: str) -> str:
    """Return an API function's name without a final `_v` and exactly four digits.

    NVIDIA's reports drop `_v3020`, and keep `_v2` and `_v11060`.
    """
    return _VERSION.sub("", recorded)


@lru_cache(maxsize=65_536)
def demangle(symbol: str) -> str:
    """Return the Itanium demangling of `symbol`, or `symbol` if it is no such name.

    The demangler is that of the C++ runtime, which the PyTorch profiler uses too.
    """
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST or "\0" in symbol:
        return symbol
    try:
        name: str = cxxfilt.demangle(symbol)
    except (cxxfilt.Error, UnicodeDecodeError):
        return symbol
    return name


@lru_cache(maxsize=65_536)
def normal_form(recorded: str) -> str:
    """Return a recorded name in the demangler's spelling, as far as text tells.

    A name that the demangler wrote comes back unchanged. Nsight Systems writes
    `(int)4` for `4`, `(bool)1` for `true`, `float *` for `float*`, `>>` for `> >` and
    `<unnamed>` for `(anonymous namespace)`; that it also writes `T1` for the type of
    an argument cannot be undone without the mangled name.
    """
    name = _SPACES.sub(" ", recorded).strip()
    name = name.replace("<unnamed>", "(anonymous namespace)")
    name = _CAST.sub(_literal, name)
    name = _BEFORE_MARK.sub(r"\1", name)
    while ">>" in name:
        name = name.replace(">>", "> >")
    return name


def _literal(match: re.Match[str]) -> str:
    kind, value = match[1], match[2]
    if kind == "bool":
        return "true" if value != "0" else "false"
    suffix = "" if kind == "int" else {"long": "l", "long long": "ll"}.get(kind)
    if suffix is None:
        return match[0]
    unsigned = "u" if match[0].startswith("(unsigned") else ""
    return f"{value}{unsigned}{suffix}"


def base_name(name: str) -> str:
    """Return a function's name without return type, namespace, template, arguments.

    `void a::b<int>::c<4>(float*)` gives `c`. Angle brackets and parentheses are
    matched, so names inside of template arguments do not count.
    """
    depth = 0
    last = ""
    for character in name.replace("(anonymous namespace)", "anonymous"):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif depth:
            continue
        elif character == "(":
            break
        elif character in " :":
            last = ""
        else:
            last += character
    return last or name
