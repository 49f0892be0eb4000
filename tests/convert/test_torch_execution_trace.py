"""Execution traces of PyTorch, alone and joined to the timeline of the same step."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.support.exports import FIXTURES
from tracekit.convert import Request, convert
from tracekit.convert.readers import find_reader
from tracekit.convert.redaction import Redact
from tracekit.store.run import Run

TORCH = FIXTURES / "torch"
TRACE = TORCH / "mlp_cpu.execution_trace.json.gz"
KINETO = TORCH / "mlp_cpu.kineto.json.gz"
Row = dict[str, Any]
SHAPES = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
COLUMNS = "input_shapes, input_types, input_strides, concrete_inputs, sequence"


def rows(run: Run, query: str) -> list[Row]:
    found: list[Row] = tracekit.open(run.path).sql(query).to_arrow().to_pylist()
    return found


def node(number: int, name: str, **attrs: object) -> Row:
    return {
        "id": number,
        "name": name,
        "ctrl_deps": 1,
        "inputs": {
            "values": [[7, 8, 0, 6, 4, "cpu"], 2],
            "shapes": [[2, 3], []],
            "types": ["Tensor(float)", "Int"],
            "strides": [[3, 1], []],
        },
        "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
        "attrs": [{"name": k, "type": "", "value": v} for k, v in attrs.items()],
    }


def trace(*nodes: object, schema: str = "1.1.1-chakra.0.0.4") -> Row:
    return {"schema": schema, "pid": 41, "time": "t", "start_ts": 1, "nodes": [*nodes]}


def written(folder: Path, content: Row | str | bytes, name: str = "et.json") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    if isinstance(content, dict):
        content = json.dumps(content, indent=2)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def without_shapes(folder: Path, name: str = "trace.json") -> Path:
    """Return the timeline as it is recorded without `record_shapes`."""
    content = json.loads(gzip.decompress(KINETO.read_bytes()))
    for event in content["traceEvents"]:
        for key in SHAPES:
            event.get("args", {}).pop(key, None)
    return written(folder, content, name)


def test_a_timeline_without_shapes_gets_those_of_one_with_shapes(
    tmp_path: Path,
) -> None:
    query = f"SELECT {COLUMNS} FROM operator ORDER BY record_function_id"
    whole = rows(convert([KINETO], tmp_path / "whole"), query)
    bare = without_shapes(tmp_path)
    assert all(
        row["input_shapes"] is None
        for row in rows(convert([bare], tmp_path / "bare"), query)
    )
    for order in ([bare, TRACE], [TRACE, bare]):
        run = convert(order, tmp_path / "joined", Request(replace=True))
        joined = rows(run, query)
        assert len(joined) == len(whole) == 151
        for ours, theirs in zip(joined, whole, strict=True):
            same = {name: ours[name] for name in ours if name != "concrete_inputs"}
            assert same == {name: theirs[name] for name in same}
            assert plain(ours) == plain(theirs)
        assert run.manifest.source.format == "kineto+torch-execution-trace"
        assert run.manifest.tables["operator"][0].rows == 151
    (message,) = rows(run, "SELECT text FROM diagnostic WHERE severity = 'info'")
    assert message["text"].startswith("151 of 151 operators have a node")


def plain(row: Row) -> list[object]:
    """Return scalar inputs; Kineto prints 0.1 with 17 digits and 1.0 as `1.`."""
    found: list[object] = []
    for text in json.loads(row["concrete_inputs"] or "[]"):
        try:
            found.append(float(text))
        except ValueError:
            found.append(text)
    return found


def test_what_the_timeline_has_stays(tmp_path: Path) -> None:
    content = json.loads(gzip.decompress(KINETO.read_bytes()))
    for event in content["traceEvents"]:
        if "Input Dims" in event.get("args", {}):
            event["args"]["Input Dims"] = [[1]]
    run = convert([written(tmp_path, content, "trace.json"), TRACE], tmp_path / "run")
    found = rows(run, "SELECT DISTINCT input_shapes FROM operator ORDER BY ALL")
    assert [row["input_shapes"] for row in found] == ["[[1]]", None]


def test_an_id_with_another_name_is_no_match(tmp_path: Path) -> None:
    other = trace(*(node(i, "aten::other", rf_id=i) for i in range(1, 200)))
    run = convert(
        [without_shapes(tmp_path), written(tmp_path, other)], tmp_path / "run"
    )
    found = rows(run, "SELECT count(input_shapes) AS n FROM operator")
    assert found == [{"n": 0}]
    texts = [row["text"] for row in rows(run, "SELECT text FROM diagnostic")]
    assert any("no operator belongs to et.json" in text for text in texts)


def test_each_rank_has_its_own(tmp_path: Path) -> None:
    both = [without_shapes(tmp_path, f"rank-{rank}.json") for rank in (0, 1)]
    mine = written(tmp_path, gzip.decompress(TRACE.read_bytes()), "et-rank-1.json")
    run = convert([*both, mine], tmp_path / "run")
    found = rows(
        run,
        "SELECT rank, count(input_shapes) AS n FROM operator GROUP BY 1 ORDER BY 1",
    )
    assert [row["rank"] for row in found] == [0, 1]
    assert found[0]["n"] == 0 < found[1]["n"]
    assert {row["rank"] for row in rows(run, "SELECT rank FROM execution_node")} == {1}
    wrong = written(tmp_path, gzip.decompress(TRACE.read_bytes()), "et-rank-7.json")
    run = convert([both[0], wrong], tmp_path / "other")
    texts = [row["text"] for row in rows(run, "SELECT text FROM diagnostic")]
    assert any("rank 7, which has no operators" in text for text in texts)


def test_alone_it_is_nodes_without_times(tmp_path: Path) -> None:
    first = node(
        5,
        "aten::mm",
        rf_id=3,
        fw_parent=2,
        seq_id=9,
        scope=1,
        tid=2,
        fw_tid=1,
        op_schema="aten::mm(Tensor a) -> Tensor",
        kernel_backend="triton",
        kernel_file="/home/ada/cache/k.py",
    )
    other = node(6, "root", rf_id=0, fw_parent=0, seq_id=-1, scope=7, tid=1, fw_tid=0)
    path = written(tmp_path, trace(first, other), "et-rank-4.json")
    run = convert([path], tmp_path / "run", Request(redact=Redact.PATHS))
    mm, root = rows(run, "SELECT * EXCLUDE run_id FROM execution_node ORDER BY node_id")
    assert mm == {
        "rank": 4,
        "node_id": 5,
        "parent_node_id": 1,
        "forward_node_id": 2,
        "record_function_id": 3,
        "sequence": 9,
        "os_pid": 41,
        "trace_thread_id": 2,
        "forward_trace_thread_id": 1,
        "name": "aten::mm",
        "record_scope": "backward_function",
        "operator_schema": "aten::mm(Tensor a) -> Tensor",
        "kernel_backend": "triton",
        "kernel_file": "~/k.py",
        "input_values": '[[7,8,0,6,4,"cpu"],2]',
        "input_shapes": "[[2,3],[]]",
        "input_types": '["Tensor(float)","Int"]',
        "input_strides": "[[3,1],[]]",
        "output_values": "[]",
        "output_shapes": "[]",
        "output_types": "[]",
        "output_strides": "[]",
    }
    nothing = ("forward_node_id", "record_function_id", "sequence", "kernel_file")
    assert [root[name] for name in nothing] == [None] * 4
    assert [rank.rank for rank in run.manifest.ranks] == [4]
    assert "together with a Kineto trace" in run.manifest.absent["operator"]
    assert run.manifest.source.schema_version == "1.1.1-chakra.0.0.4"


def test_the_flat_nodes_of_the_first_versions(tmp_path: Path) -> None:
    flat = {
        "name": "aten::add",
        "id": 5,
        "rf_id": 3,
        "parent": 2,
        "fw_parent": 0,
        "seq_id": -1,
        "scope": 0,
        "tid": 1,
        "fw_tid": 0,
        "op_schema": "",
        "inputs": [[7, 8, 0, 6, 4, "cuda:0"], 1],
        "input_shapes": [[2, 3], []],
        "input_types": ["Tensor(float)", "Int"],
        "outputs": [[9, 10, 0, 6, 4, "cuda:0"]],
        "output_shapes": [[2, 3]],
        "output_types": ["Tensor(float)"],
    }
    path = written(tmp_path, trace(flat, schema="1.0.1"))
    (row,) = rows(
        convert([path], tmp_path / "run"),
        "SELECT node_id, parent_node_id, record_function_id, input_values, "
        "input_shapes, input_types, input_strides, output_shapes FROM execution_node",
    )
    assert tuple(row.values()) == (
        5,
        2,
        3,
        '[[7,8,0,6,4,"cuda:0"],1]',
        "[[2,3],[]]",
        '["Tensor(float)","Int"]',
        None,
        "[[2,3]]",
    )


def test_an_operator_without_inputs_has_none_in_either(tmp_path: Path) -> None:
    run = convert([KINETO, TRACE], tmp_path / "run")
    found = rows(
        run,
        "SELECT o.input_shapes AS ours, n.input_shapes AS theirs FROM operator AS o "
        "JOIN execution_node AS n USING (record_function_id) "
        "WHERE n.input_shapes = '[]'",
    )
    assert found
    assert {row["ours"] for row in found} == {None}


def test_a_file_cut_anywhere_gives_what_it_holds(tmp_path: Path) -> None:
    text = gzip.decompress(TRACE.read_bytes())
    every = len(json.loads(text)["nodes"])
    counts = []
    for number in range(25):
        end = random.Random(number).randrange(2000, len(text) - 200)
        run = convert([written(tmp_path, text[:end])], tmp_path / f"run-{number}")
        counts.append(run.manifest.rows("execution_node"))
        assert [note.what for note in run.manifest.repaired] == ["file"]
        # Not one node that was whole is lost.
        whole = text[:end].count(b'"tensor_range"')
        assert whole - 1 <= counts[-1] <= whole
    assert 0 < min(counts) < max(counts) < every


@pytest.mark.parametrize(
    ("bad", "lost"),
    [
        ('{"id": "x"}', True),
        ('{"id": 5, "name": 7}', True),
        ('{"id": 5, "attrs": 3}', True),
        ('{"id": 5, "name": "a", "inputs": "text"}', False),
        ('{"id": 5, "name": "a", "attrs": [{"name": "rf_id", "value": "x"}]}', False),
        ('{"id": 5, "name": "a", "attrs": [{"name": "rf_id", "value": 1e999}]}', False),
        ('{"id": 99999999999999999999999, "name": "a"}', False),
        ('{"id": 5, "name": "a", "inputs": {"values": [NaN, -inf]}}', False),
        ('{"id": 5, "name": "br{ace]s}\\"", "inputs": {"values": ["}]"]}}', False),
        ('{"id": 5, "name": "a",}', False),
        ('{"id": 5, "name": "\xff"}', False),
        ('{"id": 5, "name": "' + "x" * 3_000_000 + '"}', False),
        ('{"inputs": ' + "[" * 20_000 + "]" * 20_000 + "}", None),
        ("null, 7, []", None),
    ],
    ids=lambda text: str(text)[:40],
)
def test_a_bad_node_costs_itself_alone(
    tmp_path: Path, bad: str, *, lost: bool | None
) -> None:
    good = json.dumps(node(1, "aten::first")), json.dumps(node(9, "aten::last"))
    text = f'{{"schema": "1.1.1", "nodes": [{good[0]}, {bad}, {good[1]}]}}'
    path = written(tmp_path, text.encode("latin-1"))
    run = convert([path], tmp_path / "run")
    names = [r["name"] for r in rows(run, "SELECT name FROM execution_node")]
    assert names[0] == "aten::first"
    if bad.startswith("null"):
        # A list that closes: what is behind it cannot be told from the rest.
        return
    assert names[-1] == "aten::last"
    if lost is not None:
        assert len(names) == (2 if lost else 3)


def test_other_json_is_left_to_others(tmp_path: Path) -> None:
    for text in (
        '{"nodes": [1]}',
        '{"schema": 1, "nodes": []}',
        '{"schema": "1.1", "traceEvents": [{"args": {"nodes": []}}]}',
        '{"schemaVersion": 1, "traceEvents": []}',
        "[]",
    ):
        reader = find_reader(written(tmp_path, text))
        assert reader is None or reader.name != "torch-execution-trace"
    assert find_reader(written(tmp_path, trace())) is not None
