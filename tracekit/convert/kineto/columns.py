"""Columns of Arrow from lists of decoded values, whatever a trace wrote in them."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import cast

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.readers.base import Batch
from tracekit.schema import TABLES

_MICROSECONDS = pa.decimal128(19, 3)
_LARGEST_EXPONENT = 18
_WORD = 2**64
_SEPARATOR = "\0"
_CODES = {pa.int64(): "q", pa.int32(): "i", pa.int8(): "b"}
# Arrow looks for `dateutil` on the disk each time that it makes a scalar.
ZERO = pa.scalar(0, pa.int64())
NONE = pa.scalar(None, pa.int64())
_ZERO_INTEGER = pa.scalar(0, pa.int32())
_LOW, _HIGH = pa.scalar(0, pa.int32()), pa.scalar(1, pa.int32())
_LONGEST_TEXT = 2**31 - 1
_TEXT = pa.dictionary(pa.int32(), pa.string())


def batch(table: str, rank: int, count: int, columns: Mapping[str, pa.Array]) -> Batch:
    """Return rows of `table`; columns that are not given are NULL.

    All text is dictionary-encoded, so that batches of a table are alike.
    """
    fields, arrays = [], []
    for field in TABLES[table].arrow:
        array = columns.get(field.name)
        is_text = pa.types.is_string(field.type)
        if array is None:
            array = _nulls(_TEXT if is_text else field.type, count)
        elif is_text and not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        fields.append(field.with_type(array.type))
        arrays.append(array)
    rows = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return Batch(table, rank, rows)


@lru_cache(maxsize=32)
def _many_nulls(kind: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, kind)


def _nulls(kind: pa.DataType, count: int) -> pa.Array:
    """Return NULLs that share their memory: most tables have columns without values."""
    longest = 1 << max(count - 1, 1 << 14).bit_length()
    return _many_nulls(kind, longest).slice(0, count)


def nanoseconds(texts: Sequence[msgspec.Raw]) -> tuple[pa.Array, int]:
    """Return decimal microseconds as integer nanoseconds, and how many were mended.

    The digits are read as they stand: a double would move a time by up to 128 ns.
    An empty text, or one that is no number, gives NULL.
    """
    if not texts:
        return pa.array([], pa.int64()), 0
    try:
        found = _unscaled(_parted(texts).cast(_MICROSECONDS))
    except pa.ArrowInvalid:
        found = None
    if found is not None:
        return found, 0
    exact = [exact_nanoseconds(bytes(text)) for text in texts]
    mended = sum(
        1
        for text, value in zip(texts, exact, strict=True)
        if value is None and bytes(text) not in (b"", b"null")
    )
    return pa.array(exact, pa.int64()), mended


def _unscaled(decimals: pa.Array) -> pa.Array | None:
    """Return the integers behind decimals of three places, or None for a huge one."""
    words = pa.Array.from_buffers(
        pa.int64(), 2 * len(decimals), [None, decimals.buffers()[1]]
    )
    pairs = pa.FixedSizeListArray.from_arrays(words, 2)
    low, high = pc.list_element(pairs, _LOW), pc.list_element(pairs, _HIGH)
    # 19 digits may need a 65th bit: then the upper word has another sign.
    fits = pc.all(pc.equal(pc.less(low, ZERO), pc.less(high, ZERO))).as_py()
    return low if fits else None


def exact_nanoseconds(text: bytes) -> int | None:
    """Return decimal microseconds, or such a number as JSON text, in nanoseconds.

    What is finer than a nanosecond is cut off.
    """
    try:
        value = Decimal(text.decode("ascii").strip().strip('"').strip())
    except (InvalidOperation, UnicodeDecodeError):
        return None
    if not value.is_finite() or value.adjusted() > _LARGEST_EXPONENT:
        return None
    nanoseconds_ = int(value.scaleb(3).to_integral_value(rounding="ROUND_FLOOR"))
    return nanoseconds_ if -(2**63) <= nanoseconds_ < 2**63 else None


def integers(values: Sequence[int | None], kind: pa.DataType | None = None) -> pa.Array:
    """Return integers as a column; 64-bit unsigned ones keep their bits.

    What does not fit is NULL.
    """
    kind = kind or pa.int64()
    try:
        # Half the time of what Arrow takes; it knows no NULL.
        plain = array(_CODES[kind], cast("Sequence[int]", values))
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(plain)])
    except (TypeError, OverflowError):
        pass
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        half = 1 << (kind.bit_width - 1)
        fitted = [
            None if value is None else signed(value) if kind == pa.int64() else value
            for value in values
        ]
        return pa.array(
            [v if v is not None and -half <= v < half else None for v in fitted], kind
        )


def signed(value: int) -> int | None:
    """Return a 64-bit number with its bits kept, or None if it has more."""
    if not -(_WORD // 2) <= value < _WORD:
        return None
    return value - _WORD if value >= _WORD // 2 else value


def words(values: Sequence[str | None]) -> pa.Array:
    """Return text as a dictionary-encoded column, NULL where it is None."""
    encoded = pa.array(values, pa.string())
    return encoded.dictionary_encode()


def repeated(value: object, count: int, kind: pa.DataType) -> pa.Array:
    """Return a column that holds one value in every row."""
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(zeros(count), _word(value))
    return pa.repeat(pa.scalar(value, kind), count)


@lru_cache(maxsize=64)
def _word(value: str) -> pa.Array:
    return pa.array([value])


def zeros(count: int) -> pa.Array:
    """Return a column of INTEGER zeros."""
    return pa.repeat(_ZERO_INTEGER, count)


def json_texts(
    values: Sequence[msgspec.Raw], mended: Callable[[str], None]
) -> pa.Array:
    """Return JSON values as text, dictionary-encoded; empty where there is none.

    Bytes that are not UTF-8 become U+FFFD; `mended` is called for each such column.
    """
    if not values:
        return words([])
    parted = _parted(values)
    try:
        parted.validate(full=True)
    except pa.ArrowInvalid:
        mended("args")
        return words([bytes(value).decode("utf-8", "replace") for value in values])
    return parted.dictionary_encode()


def _parted(values: Sequence[msgspec.Raw]) -> pa.Array:
    """Return JSON texts as a column, without making an object of each."""
    # No JSON text holds the separator.
    joined = b"\0".join(values)
    if len(joined) >= _LONGEST_TEXT:
        return pa.array([bytes(value) for value in values], pa.binary()).cast(
            pa.string()
        )
    offsets = array("i", (0, len(joined)))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(joined)]
    whole = pa.Array.from_buffers(pa.string(), 1, buffers)
    return pc.split_pattern(whole, _SEPARATOR)[0].values
