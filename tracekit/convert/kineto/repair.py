"""Mends one event that is not JSON, and tells what was wrong with it."""

import re

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# What C++ and Python print for numbers that JSON does not have, a comma before a
# closing bracket, a value that is missing.
_FAULT = re.compile(
    rb"(?s)(?P<string>" + _STRING + rb")"
    rb"|(?P<number>(?<![\w.])[-+]?(?:NaN|nan|Infinity|inf|Inf|INF)\b(?:\(\w*\))?"
    rb"|N/A|n/a)"
    rb"|(?P<comma>,(?=\s*[}\]]))"
    rb"|(?P<value>(?<=:)(?=\s*[,}]))"
    rb"|(?P<literal>\b(?:None|True|False)\b)"
)
_ESCAPE = re.compile(rb'(?s)\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))')
_CONTROL = re.compile(rb"[\x00-\x1f]")
_LITERALS = {b"None": b"null", b"True": b"true", b"False": b"false"}
# A text ends where the next field of an event begins.
_NAME = re.compile(
    rb'(?s)("name"\s*:\s*")(.*?)'
    rb'("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s|bp|name)"\s*:|\}\s*$))'
)
_QUOTE = re.compile(rb'(?<!\\)((?:\\\\)*)"')


def mend(text: bytes) -> tuple[bytes, list[str]]:
    """Return an event with its faults mended, and what was mended.

    Only what can be read in one way is changed: numbers that JSON does not have
    become null, commas too many go, bytes that are no UTF-8 become U+FFFD.
    """
    faults: list[str] = []

    def noted(what: str) -> None:
        if what not in faults:
            faults.append(what)

    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        noted("bytes that are not UTF-8 replaced")
        text = text.decode("utf-8", "replace").encode()

    def mended(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if match["string"] is not None:
            fixed = _CONTROL.sub(
                lambda control: b"\\u%04x" % control[0][0],
                _ESCAPE.sub(_escaped, found),
            )
            if fixed != found:
                noted("backslash or control character in text escaped")
            return fixed
        if match["comma"] is not None:
            noted("comma before a closing bracket removed")
            return b""
        if match["literal"] is not None:
            noted("Python literal read")
            return _LITERALS[found]
        noted("number that JSON does not have read as null")
        return b" null "

    return _FAULT.sub(mended, text), faults


def mend_quotes(text: bytes) -> tuple[bytes, list[str]]:
    """Return an event with quotes inside of its name escaped."""
    fixed = _NAME.sub(
        lambda match: match[1] + _QUOTE.sub(rb'\1\\"', match[2]) + match[3], text
    )
    return fixed, ["quote in a name escaped"] if fixed != text else []


def _escaped(match: re.Match[bytes]) -> bytes:
    return match[0] if match[1] is None else b"\\\\" + match[1]
