"""Reads a pickle that may hold plain data only, and trusts nothing in it.

A pickle is a program, and the standard reader runs it. So the program is looked over
before it runs: whatever names a class or a function, or calls one, is refused, and so
is what would take memory or time out of proportion to the file. What is left can
build numbers, text, bytes, tuples, lists and dicts. The reader that runs it refuses
names once more.
"""

import pickle
import pickletools
import re
from enum import IntEnum
from io import BytesIO
from pathlib import Path
from typing import NoReturn

from tracekit.errors import UnreadableTraceError


class _Kind(IntEnum):
    CONSTANT = 0
    CONTAINER = 1
    MEMOIZE = 2
    PUT = 3
    CLOSING = 4
    TUPLE = 5
    MARK = 6
    STOP = 7
    FRAMING = 8
    REFUSED = 9


_NAMES = {
    _Kind.CONSTANT: (
        "NONE NEWTRUE NEWFALSE INT LONG LONG1 BININT BININT1 BININT2 FLOAT BINFLOAT "
        "STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE "
        "BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8"
    ),
    _Kind.CONTAINER: (
        "EMPTY_LIST EMPTY_DICT APPEND SETITEM GET BINGET LONG_BINGET EMPTY_TUPLE"
    ),
    # A frame may begin between any two instructions.
    _Kind.FRAMING: "PROTO FRAME",
    _Kind.MEMOIZE: "MEMOIZE",
    _Kind.PUT: "PUT BINPUT LONG_BINPUT",
    # These take everything since the last mark.
    _Kind.CLOSING: "LIST DICT APPENDS SETITEMS",
    _Kind.TUPLE: "TUPLE1 TUPLE2 TUPLE3 TUPLE",
    _Kind.MARK: "MARK",
    _Kind.STOP: "STOP",
}
_KIND_OF = {
    opcode: kind for kind, opcodes in _NAMES.items() for opcode in opcodes.split()
}
# A protocol number; or, of the text protocols, a list or a dict that is put into the
# memo, or a function that is named.
_BEGINNING = re.compile(
    rb"\x80[\x02-\x05]|\([ld]p\d+\r?\n|[\]}](?:q|p\d+\r?\n)"
    rb"|c[A-Za-z_][\w.]*\r?\n[A-Za-z_][\w.]*\r?\n"
)
_TUPLE_LENGTH = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
# 64 bits with a sign byte, and as text: a longer number is no number of a profiler,
# and numbers chosen to have one hash make a dict slow.
_LONGEST_NUMBER = {"LONG1": 10, "INT": 22, "LONG": 22}
_LENGTH_BYTES = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


def looks_like_pickle(path: Path) -> bool:
    """Tell whether a file begins as a pickle of any protocol does."""
    with path.open("rb") as file:
        head = file.read(256)
    return _BEGINNING.match(head) is not None


def read_plain_pickle(path: Path, name: str) -> object:
    """Return the plain data of a pickle.

    Args:
        path: The file.
        name: What the user calls it.

    Raises:
        UnreadableTraceError: It is cut short, damaged, or holds anything but plain
            data.
    """
    content = path.read_bytes()
    _Check(content, name).run()
    try:
        return _PlainUnpickler(BytesIO(content)).load()
    except (
        pickle.UnpicklingError,
        # What the standard reader raises on data that contradicts itself.
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableTraceError(f"{name} is damaged: {reason}") from error


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no plain data")

    def persistent_load(self, pid: object) -> NoReturn:
        raise pickle.UnpicklingError(f"{pid!r} is no plain data")


class _Check:
    """Walks over the instructions of a pickle and runs none of them.

    Tuples may hold constants alone: to hash a tuple takes time and stack by its
    depth, and twice the time for each level that is referred to twice.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self._content = content
        self._end = len(content)
        self._name = name

    def run(self) -> None:
        # A file of 100 MB has 30 M instructions: the common ones come first, and
        # names are looked up once.
        content, end, table = self._content, self._end, _TABLE
        container, memoize = int(_Kind.CONTAINER), int(_Kind.MEMOIZE)
        position = memo_size = count = last_other = 0
        marks: list[int] = []
        while position < end:
            kind, size = table[content[position]]
            if size:
                position += size
            else:
                begin = position
                position = self._behind(begin)
            if not kind:
                count += 1
            elif kind == memoize:
                memo_size += 1
            elif kind == container:
                count += 1
                last_other = count
            elif kind == _Kind.PUT:
                index = self._memo_index(begin, position)
                if index > memo_size:
                    raise self._refused("its memo is numbered with gaps")
                memo_size = max(memo_size, index + 1)
            elif position > end:
                break
            elif kind == _Kind.REFUSED:
                raise self._forbidden(position - 1)
            elif kind == _Kind.STOP:
                return
            elif kind != _Kind.FRAMING:
                count += 1
                if kind == _Kind.MARK:
                    marks.append(count)
                elif kind == _Kind.CLOSING:
                    if marks:
                        marks.pop()
                elif not self._is_flat(position - 1, count, last_other, marks):
                    raise self._refused("a tuple holds more than constants")
                last_other = count
        raise UnreadableTraceError(
            f"{self._name} is cut short: the pickle has no end",
            hint="copy it again, or write it again: torch.cuda.memory._dump_snapshot()",
        )

    def _is_flat(
        self, position: int, count: int, last_other: int, marks: list[int]
    ) -> bool:
        """Tell whether the tuple made at `position` holds constants alone."""
        length = _TUPLE_LENGTH.get(_OPCODES[self._content[position]].name)
        if length is not None:
            return count - last_other > length
        return bool(marks) and marks.pop() == last_other

    def _behind(self, begin: int) -> int:
        """Return where the instruction at `begin` ends; its argument says so."""
        opcode = _OPCODES[self._content[begin]]
        argument = begin + 1
        assert opcode.arg is not None
        if opcode.arg.n == pickletools.UP_TO_NEWLINE:
            newline = self._content.find(b"\n", argument)
            behind = self._end + 1 if newline < 0 else newline + 1
        elif opcode.arg.n > 0:
            behind = argument + opcode.arg.n
        else:
            width = _LENGTH_BYTES[opcode.arg.n]
            length = int.from_bytes(
                self._content[argument : argument + width], "little"
            )
            behind = argument + width + length
        if behind - argument > _LONGEST_NUMBER.get(opcode.name, behind):
            raise self._refused("a number has more than 64 bits")
        return behind

    def _memo_index(self, begin: int, behind: int) -> int:
        argument = self._content[begin + 1 : behind]
        if self._content[begin] != _PUT:
            return int.from_bytes(argument, "little")
        text = argument.strip()
        # A number that counts the memo has few digits.
        return int(text) if text.isdigit() and len(text) < 12 else self._end

    def _forbidden(self, position: int) -> UnreadableTraceError:
        opcode = _OPCODES.get(self._content[position])
        if opcode is None:
            return UnreadableTraceError(
                f"{self._name} is damaged: byte {position} is no pickle instruction"
            )
        return UnreadableTraceError(
            f"{self._name} is refused: byte {position} of the pickle is {opcode.name}, "
            "an instruction that can run a program; a memory snapshot is plain data"
        )

    def _refused(self, reason: str) -> UnreadableTraceError:
        return UnreadableTraceError(
            f"{self._name} is refused: {reason}, which no memory snapshot needs"
        )


_OPCODES = {ord(opcode.code): opcode for opcode in pickletools.opcodes}
_PUT = ord("p")


def _instructions() -> list[tuple[int, int]]:
    """Return, by byte, the kind of the instruction and its size.

    A size of 0 says that `_Check` works it out. Those it must not run have size 1.
    """
    table = [(int(_Kind.REFUSED), 1)] * 256
    for code, opcode in _OPCODES.items():
        kind = _KIND_OF.get(opcode.name, _Kind.REFUSED)
        if kind is _Kind.REFUSED:
            continue
        argument = 0 if opcode.arg is None else opcode.arg.n
        worked_out = argument < 0 or kind is _Kind.PUT
        table[code] = (int(kind), 0 if worked_out else 1 + argument)
    return table


_TABLE = _instructions()
