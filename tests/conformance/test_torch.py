"""PyTorch's memory and execution traces of the collection."""

import json
from collections import Counter
from pathlib import Path

import tracekit
from tests.conformance.conftest import Converted
from tests.support.shared import TRACES, needs_shared
from tracekit.convert import convert

pytestmark = needs_shared
LINKED = TRACES / "frameworks" / "torch"
KINETO = LINKED / "torch2.13.0_cpu_1step_linked_to_et.json"
NODES = LINKED / "torch2.13.0_execution_trace_1step.json"


def test_the_snapshot_has_the_totals_of_torch(converted: Converted) -> None:
    run = converted(TRACES / "torch" / "mlp_adam.snapshot.pickle.gz")
    said = json.loads((TRACES / "torch" / "mlp_adam.json").read_text())
    (row,) = (
        tracekit.open(run.path)
        .sql("""
            SELECT
                max(total_allocated_bytes) FILTER (kind = 'held') AS allocated_before,
                max(total_allocated_bytes) AS max_allocated,
                min(total_reserved_bytes) AS reserved
            FROM memory_event
        """)
        .to_arrow()
        .to_pylist()
    )
    assert row == {name: said[name] for name in row}


def test_every_node_is_read_as_plain_json_has_it(converted: Converted) -> None:
    run = converted(NODES)
    nodes = json.loads(NODES.read_text())["nodes"]
    found = tracekit.open(run.path).sql("SELECT * FROM execution_node").to_arrow()
    rows = {row["node_id"]: row for row in found.to_pylist()}
    assert len(rows) == len(nodes) == 249
    for node in nodes:
        row = rows[node["id"]]
        assert row["name"] == node["name"]
        assert row["parent_node_id"] == node["ctrl_deps"]
        for side in ("input", "output"):
            for part, value in node[f"{side}s"].items():
                assert json.loads(row[f"{side}_{part}"]) == value


def test_operators_are_joined_by_record_function_id(tmp_path: Path) -> None:
    run = convert([KINETO, NODES], tmp_path / "run")
    rows = (
        tracekit.open(run.path)
        .sql("""
            SELECT o.name AS name, n.name AS node
            FROM operator AS o
            LEFT JOIN execution_node AS n USING (record_function_id)
        """)
        .to_arrow()
        .to_pylist()
    )
    assert len(rows) == 245
    assert all(row["name"] == row["node"] for row in rows)
    assert Counter(row["name"] for row in rows)["aten::conv2d"] == 2
