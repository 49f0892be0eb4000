"""A run of an older minor version of the schema answers; what it lacks is NULL."""

import hashlib
import json

import pyarrow.parquet as pq

import tracekit
from tests.conftest import MakeRun

KERNEL = """
    device_id, process_id, name, start_ns, end_ns
    0,         0,          gemm,        0,     60
"""
ADDED = ["shared_bytes", "occupancy_ratio", "operator_name", "hlo_op", "hlo_module"]


def test_columns_and_tables_of_later_versions_are_empty(run_of: MakeRun) -> None:
    run = run_of({"kernel": KERNEL})
    (file,) = run.files("kernel")
    pq.write_table(pq.read_table(file).drop_columns(ADDED), file)
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["schema_version"] = "1.0"
    (part,) = manifest["tables"]["kernel"]
    part["bytes"] = file.stat().st_size
    part["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (run.path / "manifest.json").write_text(json.dumps(manifest))

    trace = tracekit.open(run.path)
    (row,) = trace.sql("FROM kernel").to_arrow().to_pylist()
    assert row["name"] == "gemm"
    assert {name: row[name] for name in ADDED} == dict.fromkeys(ADDED)
    (hotspot,) = trace.query("kernels.hotspots").to_arrow().to_pylist()
    assert hotspot["total_ns"] == 60
    assert trace.sql("FROM reported_total").to_arrow().num_rows == 0
    assert trace.sql("SELECT scope FROM operator").to_arrow().num_rows == 0
