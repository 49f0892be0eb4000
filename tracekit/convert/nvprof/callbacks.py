"""Names of API functions by callback id."""

from functools import cache
from importlib.resources import files

from tracekit.convert.names import api_name


@cache
def _names(domain: str) -> dict[int, str]:
    text = files(__package__).joinpath(f"{domain}_callbacks.txt").read_text()
    pairs = (line.split(" ") for line in text.splitlines())
    return {int(number): api_name(name) for number, name in pairs}


def callback_name(domain: str, number: int) -> str | None:
    """Return the function of a callback id, or None for one that is not known.

    Args:
        domain: runtime or driver.
        number: The id, as CUPTI numbers it.
    """
    return _names(domain).get(number)
