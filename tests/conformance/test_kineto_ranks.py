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


def test_stragglers_are_those_of_the_recorded_times(converted: Converted) -> None:
    """The n-th communication kernel of each rank, read from the JSON itself."""
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    with tarfile.open(TAR) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            content = json.load(file)
            rank = content["distributedInfo"]["rank"]
            found = sorted(
                (event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000)
                for event in content["traceEvents"]
                if event.get("cat") == "kernel" and "nccl" in event["name"].lower()
            )
            starts[rank] = [start for start, _ in found]
            ends[rank] = [end for _, end in found]
    together = list(zip(*(starts[rank] for rank in range(8)), strict=True))
    late = {r: sum(times[r] - min(times) for times in together) for r in range(8)}
    waited = {r: sum(max(times) - times[r] for times in together) for r in range(8)}
    last = Counter(times.index(max(times)) for times in together)

    run = converted(TAR)
    answer = run_module(load_module("ranks.stragglers"), [run]).table.to_pylist()
    assert [row["rank"] for row in answer] == sorted(late, key=lambda r: -late[r])
    assert [row["rank"] for row in answer] == [7, 2, 6, 0, 5, 4, 3, 1]
    for row in answer:
        rank = row["rank"]
        assert (row["late_ns"], row["waited_ns"]) == (late[rank], waited[rank])
        assert (row["arrived_last"], row["not_joint"]) == (last[rank], 0)

    arrivals = run_module(load_module("ranks.arrivals"), [run]).table.to_pylist()
    assert [row["skew_ns"] for row in arrivals] == [
        max(times) - min(times) for times in together
    ]
    pairs = run_module(load_module("ranks.waits"), [run]).table.to_pylist()
    assert sum(row["waited_ns"] for row in pairs) == sum(waited.values())

    balance = run_module(load_module("ranks.balance"), [run]).table.to_pylist()
    window = max(
        json.loads(path.read_text())["per_device"][str(rank)]["last_end_ns"]
        for rank, path in PASSES.items()
    ) - min(
        json.loads(path.read_text())["per_device"][str(rank)]["first_ns"]
        for rank, path in PASSES.items()
    )
    for row in balance:
        oracle = json.loads(PASSES[row["rank"]].read_text())
        device = oracle["per_device"][str(row["rank"])]
        assert row["window_ns"] == window
        assert row["compute_ns"] == device["compute_union_ns"]
        assert row["communication_ns"] == device["comm_union_ns"]
        hidden = device["comm_overlapped_by_compute_ns"]
        assert row["exposed_communication_ns"] == device["comm_union_ns"] - hidden
        assert row["window_ns"] - row["idle_ns"] == device["busy_union_ns"]

    residuals = run_module(load_module("ranks.alignment"), [run]).table.to_pylist()
    assert {row["method"] for row in residuals} == {"utc"}
    for row in residuals:
        assert row["distance_ns"] == row["residual_ns"]
        assert row["collectives"] == 3
