"""Numbers and units as NVIDIA's command-line tools print them, in any locale."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

_SPACES = str.maketrans("", "", " \u00a0\u2009\u202f'\u2019")
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?", re.ASCII)
_GROUPED = {
    # India writes groups of two before the last one.
    ",": re.compile(r"[+-]?\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", re.ASCII),
    ".": re.compile(r"[+-]?\d{1,3}(?:\.\d{2,3})*\.\d{3}(?:,\d+)?", re.ASCII),
}
_DIGITS = re.compile(r"[+-]?[\d.,]+")
_LONGEST = 400
# `12.5 (10; 15)`: instances behind the value that they add up to.
_INSTANCES = re.compile(r"\s*\(.*\)\s*$", re.DOTALL)


def decimal_mark(cells: Iterable[str]) -> str:
    """Tell which mark parts the decimals in a file: `.` or `,`.

    One cell may not tell: `1,234` is a thousand here and one and a bit there. A mark
    that stands before other than three digits, or behind the other mark, does.
    """
    votes = {".": 0, ",": 0}
    for cell in cells:
        text = cell.strip().translate(_SPACES)
        if not _DIGITS.fullmatch(text):
            continue
        dots, commas = text.count("."), text.count(",")
        last = max(text.rfind("."), text.rfind(","))
        if dots and commas:
            votes[text[last]] += 1
        elif dots + commas == 1:
            after = len(text) - last - 1
            if after != 3 or text.lstrip("+-").startswith("0"):
                votes[text[last]] += 1
        elif dots + commas > 1:
            votes["," if dots else "."] += 1
    return "," if votes[","] > votes["."] else "."


def number(cell: str, mark: str = ".") -> Decimal | None:
    """Return a printed number exactly, or None for what is none (n/a, nan, inf).

    Args:
        cell: The text; instances in parentheses behind the value are left out.
        mark: What parts the decimals in the file, see `decimal_mark`.
    """
    if len(cell) > _LONGEST:
        cell = _INSTANCES.sub("", cell)
    text = _INSTANCES.sub("", cell).strip().translate(_SPACES)
    if len(text) > _LONGEST:
        return None
    other = "," if mark == "." else "."
    if other in text:
        if not _GROUPED[other].fullmatch(text):
            return None
        text = text.replace(other, "")
    if mark == ",":
        text = text.replace(",", ".")
    if not _PLAIN.fullmatch(text):
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if math.isfinite(float(value)) else None


class Unit(NamedTuple):
    """A unit without a prefix, and the power of ten that a value is scaled by."""

    name: str
    exponent: int


_PREFIXES = {"": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_AMOUNT = re.compile(r"([KkMGTP]?)(byte|hz|Hz|bit)s?")
# Time in ns, as the counters themselves are.
_TIMES = {
    **dict.fromkeys(("s", "sec", "second"), 9),
    **dict.fromkeys(("ms", "msec", "msecond"), 6),
    **dict.fromkeys(("us", "usec", "usecond"), 3),
    **dict.fromkeys(("ns", "nsec", "nsecond"), 0),
}


def base_unit(printed: str) -> Unit:
    """Return the unit that Nsight Compute's `--print-units base` would use.

    Values of one metric come with the prefix that fits each of them; without it they
    add up. `Gbyte/s` is 10^9 `byte/s`; `cycle/nsecond` is 10^9 `cycle/s`; a time is
    in ns. Prefixes are decimal, as the tool's are. What is unknown stays as it is.
    """
    amount, _, rate = printed.strip().partition("/")
    exponent = 0
    if not rate and amount in _TIMES:
        return Unit("ns", _TIMES[amount])
    match = _AMOUNT.fullmatch(amount)
    if match:
        exponent += _PREFIXES[match[1]]
        amount = match[2].lower()
    if rate in _TIMES:
        exponent += 9 - _TIMES[rate]
        rate = "s"
    return Unit(f"{amount}/{rate}" if rate else amount, exponent)
