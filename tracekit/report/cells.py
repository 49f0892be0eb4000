"""How one value of a result is written for people."""

import re
import unicodedata
from datetime import timedelta
from decimal import Decimal

# Less of a kernel's name does not tell it from others; a table that is too wide with
# this much stays so.
_SHORTEST = 24
_PLURAL = re.compile(r"\b[a-z_]+[^su\W]s\b")


def cell(value: object) -> str:
    """Return a value as a table shows it; NULL is `-`."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, timedelta):
        return str(value)
    return visible(str(value))


def _real(value: float) -> str:
    """Return a real number with four significant digits, and all integer ones."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4g}"


def visible(text: str) -> str:
    """Return text with control and direction characters written as escapes.

    Names come from the capture: they may hold terminal escape sequences.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def shorten(text: str, width: int) -> str:
    """Return text of at most `width` characters, its middle left out.

    Kernel names begin with what they do and end with what tells their kinds apart; the
    arguments of a C++ function, and that it returns nothing, give way before.
    """
    if len(text) > width:
        text = _without_arguments(text)
    if len(text) > width:
        text = text.removeprefix("void ")
    if len(text) <= width:
        return text
    if width <= 1:
        return text[:width]
    head = (width - 1 + 1) // 2
    tail = width - 1 - head
    return text[:head] + "…" + (text[-tail:] if tail else "")


def _without_arguments(text: str) -> str:
    """Return a C++ function with `…` for what stands between its last parentheses."""
    if not text.endswith(")"):
        return text
    depth = 0
    for place in range(len(text) - 1, 0, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth == 0:
            # What calls no function has a space before it.
            return text if text[place - 1] == " " else f"{text[:place]}(…)"
    return text


def fit(widths: list[int], shrinkable: list[bool], room: int) -> list[int]:
    """Return column widths that sum to `room` at most, where that can be.

    The widest of those that may shrink give way first.
    """
    widths = list(widths)
    excess = sum(widths) - room
    while excess > 0:
        candidates = [
            (width, index)
            for index, width in enumerate(widths)
            if shrinkable[index] and width > _SHORTEST
        ]
        if not candidates:
            break
        candidates.sort(reverse=True)
        widest, index = candidates[0]
        following = candidates[1][0] if len(candidates) > 1 else _SHORTEST
        step = min(excess, max(1, widest - max(following, _SHORTEST)))
        widths[index] -= step
        excess -= step
    return widths


def counted(count: int, what: str) -> str:
    """Return `1,234 names`, and `1 name` of one."""
    if count == 1:
        what = _PLURAL.sub(lambda found: _one(found[0]), what, count=1)
    return f"{count:,} {what}"


def _one(plural: str) -> str:
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    return plural[: -2 if plural.endswith(("sses", "xes", "ches")) else -1]
