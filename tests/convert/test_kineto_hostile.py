"""A damaged PyTorch trace loses the damaged event, says so, and keeps the rest."""

import json
from pathlib import Path

import pytest

from tests.support.kineto import rows
from tests.support.kineto_text import (
    HEADER,
    converted,
    kernel,
    kernels_of,
    launch,
    notes,
    only_row,
    operator,
    text_of,
)
from tracekit.convert.readers.kineto import KinetoReader

THREE = ["kernel_1", "kernel_2", "kernel_3"]
TWO = ["kernel_1", "kernel_3"]
WHOLE = text_of([kernel(1), kernel(2), kernel(3)])


def second(text: str) -> str:
    """Return a trace of three kernels, the second of which is `text`."""
    return text_of([kernel(1), text, kernel(3)])


def without_loss(run_notes: dict[str, int]) -> bool:
    return not any(what.startswith("event") for what in run_notes)


# -- The event cannot be read: it alone is missing, and counted.


@pytest.mark.parametrize(
    "text",
    [
        '{"ph": "X", "cat": "kernel", "name": "kernel_2", "ts": 20 30, "dur": 1}',
        '{"ph": "X", "cat": "kernel", "name" "kernel_2", "ts": 20, "dur": 1}',
        '{"ph": "X", "cat": "kernel", "name": "kernel_2", "ts": [20, "dur": 1}',
        '{"ph": "X", "cat": "kernel", "name": "kernel_2", "args": {"a": <b>}}',
        '{"ph": "X", "cat": "kernel", "name": "kernel_2", "args": {"a": "b}}',
        '{"ph": "X", "args": ' + "[" * 10_000 + "]" * 10_000 + "}",
        '{"ph": "X", "args": ' + '{"a":' * 10_000 + "1" + "}" * 10_000 + "}",
        '{"ph": "X", "args": ' + "[" * 10_000 + "}",
    ],
    ids=[
        "two values",
        "no colon",
        "open list",
        "no value",
        "open text",
        "deep lists",
        "deep objects",
        "deep and open",
    ],
)
def test_a_bad_event_costs_itself_only(text: str, tmp_path: Path) -> None:
    run = converted(tmp_path, second(text))
    assert kernels_of(run) == TWO
    assert notes(run, "skipped") == {"event: not JSON": 1}


@pytest.mark.parametrize("text", ["null", "17", '"text"', "[1, 2]", "true"])
def test_what_is_no_event_is_counted(text: str, tmp_path: Path) -> None:
    run = converted(tmp_path, second(text))
    assert kernels_of(run) == TWO
    assert sum(notes(run, "skipped").values()) >= 1


def test_an_empty_event_at_the_end_is_nothing(tmp_path: Path) -> None:
    run = converted(tmp_path, text_of([kernel(1), kernel(3), "{}"]))
    assert kernels_of(run) == TWO


# -- The event can be read in one way: it is there, and the mending counted.


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "inf", "N/A"])
def test_numbers_that_json_does_not_have(number: str, tmp_path: Path) -> None:
    event = json.dumps(kernel(2)).replace(
        '"stream"', f'"warps per SM": {number}, "stream"'
    )
    run = converted(tmp_path, second(event))
    assert kernels_of(run) == THREE
    assert notes(run, "repaired") == {
        "event: number that JSON does not have read as null": 1
    }
    assert [row["grid_x"] for row in rows(run, "kernel")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("found", "put"),
    [
        ('"dur": 2.5', '"dur": 2.5,'),
        ('"block": [32, 1, 1]', '"block": [32, 1, 1,]'),
        ("}}", "},}"),
    ],
)
def test_commas_before_a_bracket(found: str, put: str, tmp_path: Path) -> None:
    event = json.dumps(kernel(2))
    if put == '"dur": 2.5,':
        event = json.dumps({**kernel(2, args={}), "dur": 2.5})
        event = event.replace(', "args": {}', "").replace(found, put)
    else:
        event = event.replace(found, put)
    assert put in event
    run = converted(tmp_path, second(event))
    assert kernels_of(run) == THREE
    assert notes(run, "repaired") == {
        "event: comma before a closing bracket removed": 1
    }


def test_a_comma_after_the_last_event(tmp_path: Path) -> None:
    run = converted(tmp_path, WHOLE.replace("\n]}", ",\n]}"))
    assert kernels_of(run) == THREE
    assert not notes(run, "skipped")


def test_quotes_inside_of_a_name(tmp_path: Path) -> None:
    event = json.dumps(kernel(2, name="NAME")).replace("NAME", 'void f<"a", "b">(int)')
    run = converted(tmp_path, second(event))
    assert kernels_of(run) == ["kernel_1", 'void f<"a", "b">(int)', "kernel_3"]
    assert notes(run, "repaired") == {"event: quote in a name escaped": 1}


@pytest.mark.parametrize(
    ("raw", "read"),
    [("C:\\path\\new", "C:\\path\new"), ("a\nb", "a\nb"), ("tab\there", "tab\there")],
)
def test_backslashes_and_control_characters(
    raw: str, read: str, tmp_path: Path
) -> None:
    event = json.dumps(kernel(2, name="NAME")).replace("NAME", raw)
    run = converted(tmp_path, second(event))
    assert kernels_of(run)[1] == read
    assert notes(run, "repaired") == {
        "event: backslash or control character in text escaped": 1
    }


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    content = second(json.dumps(kernel(2, name="k_X_Y"))).encode()
    content = content.replace(b"_X_", b"_\xff_")
    run = converted(tmp_path, content)
    assert kernels_of(run) == ["kernel_1", "k_\ufffd_Y", "kernel_3"]
    assert notes(run, "repaired") == {"event: bytes that are not UTF-8 replaced": 1}


def test_bytes_that_are_not_utf8_in_args(tmp_path: Path) -> None:
    content = text_of([operator(1, args={"Input type": ["XX"]})]).encode()
    run = converted(tmp_path, content.replace(b"XX", b"\xff"))
    assert only_row(run, "operator")["input_types"] == '["\ufffd"]'
    assert sum(notes(run, "repaired").values()) == 1


def test_numbers_as_text(tmp_path: Path) -> None:
    event = kernel(2, ts="20.001", dur="2.500", pid="0", tid="stream 7")
    event["args"] = {key: str(value) for key, value in event["args"].items()}
    event["args"] |= {"grid": [2, 1, 1], "block": [32, 1, 1]}
    run = converted(tmp_path, text_of([kernel(1), event, kernel(3)]))
    row = rows(run, "kernel")[1]
    assert (row["start_ns"], row["end_ns"]) == (20_001, 22_501)
    assert (row["stream_id"], row["correlation_id"], row["grid_x"]) == (7, 2, 2)
    assert without_loss(notes(run, "skipped"))


def test_fields_of_another_type(tmp_path: Path) -> None:
    event = kernel(2, pid=0.0, cat="kernel", name=2, id={"a": 1})
    event["args"] |= {"registers per thread": [1], "graph id": "none"}
    run = converted(tmp_path, text_of([kernel(1), event, kernel(3)]))
    assert kernels_of(run) == ["kernel_1", "2", "kernel_3"]
    repaired = notes(run, "repaired")
    assert repaired == {
        "event: field of another type than it should have": 1,
        "event: `registers per thread` is not as it should be: mended or left out": 1,
        "event: `graph id` is not as it should be: mended or left out": 1,
    }


def test_string_pids(tmp_path: Path) -> None:
    events = [
        {
            "name": "op",
            "ph": "X",
            "ts": 1,
            "dur": 2,
            "tid": 1,
            "pid": "CPU functions",
            "args": {},
        },
        {
            "name": "op",
            "ph": "X",
            "ts": 3,
            "dur": 2,
            "tid": 0,
            "pid": "CUDA functions",
            "args": {},
        },
    ]
    run = converted(tmp_path, "[" + ", ".join(map(json.dumps, events)) + ", ]")
    assert only_row(run, "operator")["name"] == "op"
    found = only_row(run, "kernel")
    assert (found["name"], found["start_ns"], found["end_ns"]) == ("op", 3000, 5000)


def test_a_list_at_the_top(tmp_path: Path) -> None:
    content = json.dumps([launch(1), kernel(1), launch(3), kernel(3)])
    run = converted(tmp_path, content)
    assert kernels_of(run) == TWO
    assert run.manifest.rows("api_call") == 2


def test_metadata_after_the_events(tmp_path: Path) -> None:
    content = json.dumps(
        {
            "schemaVersion": 1,
            "traceEvents": [launch(1), kernel(1)],
            "deviceProperties": [
                {"id": 0, "name": "GPU", "numSms": 7, "pid": 1},
                {"id": 1, "name": "GPU", "numSms": 7, "pid": 1},
            ],
            "baseTimeNanoseconds": 1_790_857_026_000_000_000,
            "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},
        }
    )
    run = converted(tmp_path, content)
    assert run.ranks == (5,)
    assert only_row(run, "device")["sm_count"] == 7
    assert run.manifest.ranks[0].origin_utc_ns == 1_790_857_026_000_000_000
    assert not notes(run, "skipped")


# -- Values that no metric may count.


def test_intervals_that_are_none(tmp_path: Path) -> None:
    events = [kernel(1), kernel(2, dur=-1), kernel(3, dur=0), kernel(4, ts=0, dur=0)]
    no_start, no_end = kernel(5), kernel(6)
    del no_start["ts"], no_end["dur"]
    run = converted(tmp_path, text_of([*events, no_start, no_end]))
    assert kernels_of(run) == TWO
    assert {note.reason: note.count for note in run.manifest.rejected} == {
        "the end is before the start": 1,
        "the end is 0": 1,
        "no start was recorded": 1,
        "no end was recorded": 1,
    }


@pytest.mark.parametrize("ts", ["1e400", '"soon"', "1e30", "-1e25", "true"])
def test_times_that_are_none(ts: str, tmp_path: Path) -> None:
    event = json.dumps(kernel(2)).replace('"ts": 20.0', f'"ts": {ts}')
    run = converted(tmp_path, second(event))
    assert kernels_of(run) == TWO
    assert run.manifest.rejected[0].reason == "no start was recorded"
    assert notes(run, "repaired") == {"time: no number: read as not recorded": 1}


@pytest.mark.parametrize(
    ("ts", "dur", "expected"),
    [
        ("5229397507961.706", "3153.853", (5229397507961706, 5229397511115559)),
        ("1712195495520822.501", "0.001", (1712195495520822501, 1712195495520822502)),
        ("1712195495520822.5", "1e3", (1712195495520822500, 1712195495521822500)),
        ("9223372036854774.0", "1.807", (9223372036854774000, 9223372036854775807)),
        ("7", "0.0009", (7000, 7000)),
    ],
)
def test_times_are_the_decimal_text(
    ts: str, dur: str, expected: tuple[int, int], tmp_path: Path
) -> None:
    event = json.dumps(kernel(1)).replace('"ts": 10.0', f'"ts": {ts}')
    event = event.replace('"dur": 2.5', f'"dur": {dur}')
    found = only_row(converted(tmp_path, text_of([event])), "kernel")
    assert (found["start_ns"], found["end_ns"]) == expected


def test_64_bit_unsigned_ids_keep_their_bits(tmp_path: Path) -> None:
    events = [kernel(1), kernel(2)]
    events[0]["args"]["correlation"] = 2**64 - 1
    events[1]["args"]["correlation"] = 2**70
    flow = {"ph": "s", "cat": "ac2g", "name": "ac2g", "pid": 42, "tid": 43, "ts": 1}
    ends = [
        {**flow, "id": 2**63 + 5},
        {**flow, "id": 2**63 + 5, "ph": "f", "pid": 0, "tid": 7, "ts": 2},
    ]
    run = converted(tmp_path, text_of([*events, *ends]))
    assert [row["correlation_id"] for row in rows(run, "kernel")] == [-1, None]
    assert only_row(run, "flow")["flow_id"] == 5 - 2**63


def test_crossing_kernels_and_shared_correlations(tmp_path: Path) -> None:
    first, crossing = kernel(1), kernel(2, ts=11.0, dur=5.0)
    crossing["args"]["correlation"] = 1
    run = converted(tmp_path, text_of([launch(1), launch(1, ts=5.5), first, crossing]))
    assert [(r["start_ns"], r["end_ns"]) for r in rows(run, "kernel")] == [
        (10_000, 12_500),
        (11_000, 16_000),
    ]
    assert run.manifest.rows("api_call") == 2


# -- It is another format.


@pytest.mark.parametrize(
    "content",
    [
        '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":['
        '{"ph":"M","pid":501,"name":"process_name","args":{"name":"/host:CPU"}}]}',
        '{"traceEvents": [{"ph": "B", "cat": "operator", "name": "Conv", "ts": 1}]}',
        '[{"pid":1,"tid":1,"name":"__Forward","cat":"PERF","ph":"B","ts":440}]',
        '{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"name": "cpu_op"}]}',
    ],
    ids=["TensorFlow", "MXNet", "CNTK", "execution trace"],
)
def test_other_chrome_traces_are_not_taken(content: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    assert not KinetoReader().accepts(path)


def test_what_is_held_of_the_header_is_not_lost_with_it(tmp_path: Path) -> None:
    content = WHOLE.replace('"numSms": 132', '"numSms": N/A')
    run = converted(tmp_path, content)
    assert kernels_of(run) == THREE
    assert only_row(run, "device")["name"] == "GPU"
    assert notes(run, "repaired") == {"metadata: mended to JSON": 1}
    assert HEADER["baseTimeNanoseconds"] == run.manifest.ranks[0].origin_utc_ns
