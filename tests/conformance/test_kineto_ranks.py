"""A tar file, or a folder, of the traces of eight ranks becomes one run."""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.kineto import PUBLIC, oracles, rows, union_ns
from tests.support.shared import needs_shared
from tracekit.convert import convert
from tracekit.query import load_module, run_module

pytestmark = needs_shared

TAR = PUBLIC / "param__dlrm_kineto.tar.gz"
PASSES = {
    json.loads(path.read_text())["distributedInfo"]["rank"]: path
    for name, path in oracles().items()
    if name.startswith(TAR.name)
}


def test_every_rank_equals_its_pass(converted: Converted) -> None:
    run = converted(TAR)
    assert run.ranks == tuple(range(8)) == tuple(sorted(PASSES))
    answer = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    found = {row["rank"]: (row["window_ns"], row["gpu_busy_ns"]) for row in answer}
    assert len(answer) == len({row["device_id"] for row in answer}) == 8
    for rank, path in PASSES.items():
        oracle = json.loads(path.read_text())
        ((ordinal, device),) = oracle["per_device"].items()
        assert found[rank] == (device["span_ns"], device["busy_union_ns"])
        (context,) = rows(run, "context", rank)
        assert str(context["cuda_ordinal"]) == ordinal
        collectives = [
            row for row in rows(run, "collective", rank) if row["source"] == "kernel"
        ]
        assert len(collectives) == device["comm_kernels"]
        intervals = [(row["start_ns"], row["end_ns"]) for row in collectives]
        assert union_ns(intervals) == device["comm_union_ns"]
        steps = {
            row["name"]: [row["start_ns"], row["end_ns"] - row["start_ns"]]
            for row in rows(run, "step", rank)
        }
        assert steps == oracle["steps"]


def test_a_folder_of_ranks_is_the_same_run(
    converted: Converted, tmp_path: Path
) -> None:
    with tarfile.open(TAR) as archive:
        archive.extractall(tmp_path / "ranks", filter="data")
    run = convert([tmp_path / "ranks"], tmp_path / "run")
    whole = converted(TAR)
    assert run.ranks == whole.ranks
    assert {table: run.manifest.rows(table) for table in run.manifest.tables} == {
        table: whole.manifest.rows(table) for table in whole.manifest.tables
    }
    for rank in run.ranks:
        kernels = [(row["start_ns"], row["name"]) for row in rows(run, "kernel", rank)]
        theirs = [(r["start_ns"], r["name"]) for r in rows(whole, "kernel", rank)]
        assert kernels == theirs


@pytest.mark.parametrize("rank", sorted(PASSES))
def test_launches_of_a_rank(rank: int, converted: Converted) -> None:
    run, oracle = converted(TAR), json.loads(PASSES[rank].read_text())
    calls = {row["correlation_id"] for row in rows(run, "api_call", rank)}
    launched = Counter(
        row["correlation_id"] in calls
        for table in ("kernel", "memcpy", "memset")
        for row in rows(run, table, rank)
    )
    assert launched[True] == oracle["gpu_with_launch"]
    assert launched[False] == oracle["gpu_without_launch"]
