"""A pickle can be a program: none is run, and none takes more than its size."""

import os
import pickle
import pickletools
import random
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.convert.test_torch_snapshot import MLP
from tests.support.command import run, start
from tests.support.snapshots import block, event, segment
from tracekit.convert import convert
from tracekit.convert.capture import decompressed
from tracekit.convert.readers import reader_for
from tracekit.convert.torch.plain_pickle import _KIND_OF, read_plain_pickle
from tracekit.errors import UnreadableTraceError

PLAIN: list[object] = [
    None,
    True,
    1.5,
    -1,
    2**63,
    2**64 - 1,
    "text",
    {"a": [(1, "b"), ()]},
    {},
]
HARMLESS = """
    NONE NEWTRUE NEWFALSE INT LONG LONG1 BININT BININT1 BININT2 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT
    SETITEM SETITEMS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 MARK PROTO FRAME STOP
    PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET
"""


class Runs:
    """Unpickles by calling a function, as an attack would."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (str(self.marker),))


def written(folder: Path, content: bytes) -> Path:
    path = folder / "snapshot.pickle"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_is_read_in_every_protocol(tmp_path: Path, protocol: int) -> None:
    path = written(tmp_path, pickle.dumps(PLAIN, protocol))
    assert read_plain_pickle(path, "x") == PLAIN
    assert reader_for(path).name == "torch-snapshot"


@pytest.mark.parametrize("text", ["column,value", "cpu\n", "(data)", "(list", "]", "}"])
def test_text_is_not_taken_for_a_pickle(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableTraceError, match="no reader accepts"):
        reader_for(written(tmp_path, text.encode()))


def test_a_tuple_may_lie_across_frames(tmp_path: Path) -> None:
    # The writer ends a frame after 64 KiB, between any two instructions.
    data = [{"pool": (0, 0), "text": "x" * size} for size in range(4000)]
    path = written(tmp_path, pickle.dumps(data))
    assert read_plain_pickle(path, "x") == data


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_function_is_not_called(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "was-run"
    data = {"segments": [Runs(marker)], "device_traces": []}
    path = written(tmp_path, pickle.dumps(data, protocol))
    with pytest.raises(UnreadableTraceError, match="refused"):
        convert([path], tmp_path / "run")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("program", "named"),
    [
        (b"cos\nsystem\n(S'touch was-run'\ntR.", "GLOBAL"),
        (b"(S'touch was-run'\nios\nsystem\n.", "INST"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.", "STACK_GLOBAL"),
        (b"\x80\x02(cos\nsystem\nX\x04\x00\x00\x00trueo.", "GLOBAL"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        (b"\x80\x02\x83\x01\x00.", "EXT2"),
        (b"\x80\x02\x84\x01\x00\x00\x00.", "EXT4"),
        (b"\x80\x02Pid\n.", "PERSID"),
        (b"\x80\x02K\x01Q.", "BINPERSID"),
        (b"\x80\x02}}b.", "BUILD"),
        (b"\x80\x02})\x81.", "NEWOBJ"),
        (b"\x80\x04}})\x92.", "NEWOBJ_EX"),
        (b"\x80\x04\x8f.", "EMPTY_SET"),
        (b"\x80\x04(\x91.", "FROZENSET"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x05\x96" + struct.pack("<Q", 0) + b".", "BYTEARRAY8"),
        (b"\x80\x02}20.", "DUP"),
    ],
)
def test_instructions_that_can_do_more_are_refused_by_name(
    tmp_path: Path, program: bytes, named: str
) -> None:
    path = written(tmp_path, program)
    with pytest.raises(UnreadableTraceError, match=f"{named}|no reader accepts"):
        convert([path], tmp_path / "run")
    with pytest.raises(UnreadableTraceError, match=named):
        read_plain_pickle(path, "x")
    assert not Path("was-run").exists()


def test_every_instruction_that_is_allowed_is_known_to_be_harmless() -> None:
    harmless = set(HARMLESS.split())
    assert set(_KIND_OF) == harmless
    assert harmless <= {opcode.name for opcode in pickletools.opcodes}


def test_the_refusal_is_one_line_and_status_3(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = {"segments": [Runs(tmp_path / "was-run")]}
    path = written(tmp_path, pickle.dumps(data))
    ran = run(capfd, "convert", path, "-o", tmp_path / "run")
    assert ran.status == 3
    assert ran.error.startswith("snapshot.pickle is refused: byte ")
    assert "STACK_GLOBAL" in ran.error


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        # A memo of 4 G entries, which the standard reader would make room for.
        (b"\x80\x02Nr\xfe\xff\xff\xff.", "memo"),
        (b"(lp99999999999\n.", "memo"),
        (b"(lp" + b"9" * 4000 + b"\n.", "memo"),
        # Sizes that the file does not have.
        (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.", "cut short"),
        (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 63) + b"x.", "cut short"),
        (b"\x80\x02X\xff\xff\xff\xffx.", "cut short"),
        (b"\x80\x02T\xff\xff\xff\xffx.", "cut short|damaged"),
        (b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.", "damaged"),
        # Numbers of any length.
        (b"\x80\x02\x8b\x00\x00\x01\x00" + b"\xff" * 65536 + b".", "LONG4"),
        (b"\x80\x02\x8a\xff" + b"\xff" * 255 + b".", "64 bits"),
        (b"(lp0\nI" + b"9" * 5000 + b"\na.", "64 bits"),
        # Tuples in tuples: t = (t, t) takes twice the time a level to hash.
        (b"\x80\x02)" + b"q\x00h\x00\x86" * 40 + b"}.", "tuple|memo"),
        (b"\x80\x02(((ttt.", "tuple"),
        # Keys that are no keys, appends to what is no list, an empty stack.
        (b"\x80\x02}]Ns.", "damaged"),
        (b"\x80\x02NNa.", "damaged"),
        (b"\x80\x02a.", "damaged"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02.", "damaged"),
        (b"\x80\x02t.", "tuple"),
        (b"\x80\x02\xff.", "no pickle instruction"),
        (b"\x80\x04\x8c\x02\xff\xfe.", "damaged"),
        (b"\x80\x02FNaNx\n.", "damaged"),
        (b"\x80\x63N.", "damaged"),
    ],
)
def test_bombs_and_nonsense_are_refused(
    tmp_path: Path, program: bytes, reason: str
) -> None:
    path = written(tmp_path, program)
    tracemalloc.start()
    with pytest.raises(UnreadableTraceError, match=reason) as caught:
        read_plain_pickle(path, "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
    assert len(str(caught.value).splitlines()) == 1


def test_a_hundred_thousand_levels_are_read_and_refused_as_no_snapshot(
    tmp_path: Path,
) -> None:
    levels = 100_000
    for deep in (b"]" * levels + b"a" * (levels - 1), b"(" * levels + b"l" * levels):
        path = written(tmp_path, b"\x80\x02" + deep + b".")
        # In a process of its own: a deep structure can end it.
        process = start("convert", path, "-o", tmp_path / "run")
        _, printed = process.communicate()
        assert process.returncode == 3, printed
        assert not (tmp_path / "run").exists()


def test_lists_that_hold_each_other_do_not_multiply(tmp_path: Path) -> None:
    blocks = [block(i * 512, 512, 512) for i in range(300)]
    shared = {**segment(0, 2 << 20), "blocks": blocks}
    path = written(tmp_path, pickle.dumps({"segments": [shared] * 30_000}))
    with pytest.raises(UnreadableTraceError, match="more often"):
        convert([path], tmp_path / "run")


def test_settings_that_multiply_are_left_out(tmp_path: Path) -> None:
    bomb: Any = "x"
    for _ in range(60):
        bomb = [bomb, bomb]
    data = {"segments": [], "allocator_settings": {"bomb": bomb, "loop": {"a": bomb}}}
    convert([written(tmp_path, pickle.dumps(data))], tmp_path / "run")


@pytest.mark.parametrize(
    "content",
    [
        None,
        1,
        "text",
        {},
        {"segments": None},
        {"segments": {}},
        {"device_traces": []},
        [1, 2],
        [{"a": 1}],
        {"segments": ["a"]},
    ],
)
def test_other_pickles_are_told_apart(tmp_path: Path, content: object) -> None:
    path = written(tmp_path, pickle.dumps(content))
    with pytest.raises(UnreadableTraceError, match="no memory snapshot"):
        convert([path], tmp_path / "run")


WRONG: list[object] = [
    None,
    True,
    -1,
    1 << 63,
    (1 << 64) - 1,
    1.5,
    float("nan"),
    "x",
    b"x",
    [],
    {},
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_wrong_types_are_skipped_and_the_rest_is_read(
    tmp_path: Path, wrong: object
) -> None:
    good_block, good_event = block(0, 512, 1), event("alloc", 0, 1, 10)
    good_segment = segment(0, 2 << 20, good_block)
    mark = {"stage": "START", "name": "a", "device": 0, "time_us": 9}
    data = {
        "segments": [
            good_segment,
            wrong,
            *({**good_segment, key: wrong} for key in good_segment if key != "address"),
            {
                **good_segment,
                "blocks": [{**good_block, key: wrong} for key in good_block],
            },
        ],
        "device_traces": [
            [
                wrong,
                *({**good_event, key: wrong} for key in good_event),
                {**good_event, "frames": [wrong, {"name": wrong, "line": wrong}]},
                {**good_event, "user_metadata": wrong},
                good_event,
            ],
            wrong,
        ],
        "allocator_settings": {"a": wrong, "roundup_power2_divisions": {"1": wrong}},
        "external_annotations": [wrong, *({**mark, key: wrong} for key in mark)],
    }
    for changed in (data, {**data, "device_traces": wrong}):
        path = written(tmp_path, pickle.dumps(changed))
        run = convert([path], tmp_path / "run")
        assert run.manifest.rows("memory_event") > 0
        for file in (tmp_path / "run").rglob("*"):
            assert file.is_dir() or file.stat().st_size
        run.path.rename(tmp_path / f"done-{changed is data}")


def test_it_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with decompressed(MLP, scratch) as plain:
        content = plain.read_bytes()
    random_ = random.Random(1)
    ends = [2, 3, 11, len(content) - 1, *random_.sample(range(len(content)), 60)]
    for end in ends:
        if end < 2:
            continue
        path = written(tmp_path, content[:end])
        with pytest.raises(UnreadableTraceError, match=r"cut short|damaged|refused"):
            read_plain_pickle(path, "x")


def test_flipped_bytes_end_in_an_answer_or_one_line(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with decompressed(MLP, scratch) as plain:
        content = plain.read_bytes()
    random_ = random.Random(2)
    for number in range(40):
        spoiled = bytearray(content)
        for _ in range(random_.randint(1, 8)):
            spoiled[random_.randrange(2, len(spoiled))] = random_.randrange(256)
        path = written(tmp_path, bytes(spoiled))
        with suppress(UnreadableTraceError):
            convert([path], tmp_path / f"run-{number}")
