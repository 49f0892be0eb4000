"""Printed numbers and units."""

from decimal import Decimal

import pytest

from tracekit.convert.counters.numbers import base_unit, decimal_mark, number


@pytest.mark.parametrize(
    ("printed", "mark", "expected"),
    [
        ("8589934592.000000", ".", "8589934592.000000"),
        ("1,980,000", ".", "1980000"),
        ("150,109,880,320", ".", "150109880320"),
        ("1,50,109", ".", "150109"),
        ("1.980.000", ",", "1980000"),
        ("0,378880", ",", "0.378880"),
        ("1.234,5", ",", "1234.5"),
        ("1 980 000", ".", "1980000"),
        ("1\u202f980\u00a0000,25", ",", "1980000.25"),
        ("1'980'000.25", ".", "1980000.25"),
        ("-3.5e+02", ".", "-3.5e+02"),
        ("12.5 (10; 15)", ".", "12.5"),
        ("  7 ", ".", "7"),
    ],
)
def test_a_number_is_exact(printed: str, mark: str, expected: str) -> None:
    assert number(printed, mark) == Decimal(expected)


@pytest.mark.parametrize(
    "printed",
    [
        *("", "n/a", "nan", "-nan", "inf", "No-CC", "(256, 1, 1)", "1,2", "0x10"),
        *("1e9999", "1.2.3", "--1", "1e", "9" * 401, "\u0663"),
    ],
)
def test_what_is_no_number_is_none(printed: str) -> None:
    assert number(printed) is None


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1,234", "5,678"], "."),
        (["1,234", "0.5"], "."),
        (["1,234", "0,5"], ","),
        (["1.234,56"], ","),
        (["1,234.56"], "."),
        (["1.234.567", "5"], ","),
        (["1,234,567", "5"], "."),
        (["344,640000", "n/a", "(1, 1, 1)"], ","),
        ([], "."),
    ],
)
def test_the_file_tells_its_decimal_mark(cells: list[str], mark: str) -> None:
    assert decimal_mark(cells) == mark


@pytest.mark.parametrize(
    ("printed", "name", "exponent"),
    [
        ("byte", "byte", 0),
        ("Kbyte", "byte", 3),
        ("Mbyte", "byte", 6),
        ("Gbyte", "byte", 9),
        ("Kbyte/block", "byte/block", 3),
        ("Gbyte/s", "byte/s", 9),
        ("Gbyte/second", "byte/s", 9),
        ("byte/nsecond", "byte/s", 9),
        ("ns", "ns", 0),
        ("us", "ns", 3),
        ("usecond", "ns", 3),
        ("msecond", "ns", 6),
        ("s", "ns", 9),
        ("Ghz", "hz", 9),
        ("Mhz", "hz", 6),
        ("hz", "hz", 0),
        ("cycle/nsecond", "cycle/s", 9),
        ("cycle/usecond", "cycle/s", 6),
        ("%", "%", 0),
        ("inst/cycle", "inst/cycle", 0),
        ("register/thread", "register/thread", 0),
        ("", "", 0),
    ],
)
def test_a_unit_loses_its_prefix(printed: str, name: str, exponent: int) -> None:
    assert base_unit(printed) == (name, exponent)
