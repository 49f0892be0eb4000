"""Overlap of communication and computing against integer passes over PyTorch traces."""

import json
import re
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.kineto import PUBLIC, oracles
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared

ORACLES = oracles()
SINGLE = [name for name in ORACLES if ".tar" not in name]
WORKER = re.compile(r"(?P<tar>.+\.tar\.gz)__.*worker(?P<rank>\d+)_")


def totals(name: str) -> list[dict[str, int]]:
    """Return what a pass found on each device; a kind that is missing there is 0."""
    devices = json.loads(ORACLES[name].read_text()).get("per_device", {})
    return [
        {
            "kernels": device.get("comm_kernels", 0),
            "communication_ns": device.get("comm_union_ns", 0),
            "overlapped_ns": device.get("comm_overlapped_by_compute_ns", 0),
            "compute_ns": device.get("compute_union_ns", 0),
        }
        for _, device in sorted(devices.items())
    ]


def found(rows: list[dict[str, Any]]) -> list[dict[str, int]]:
    names = ("kernels", "communication_ns", "overlapped_ns", "compute_ns")
    for row in rows:
        assert row["overlapped_ns"] + row["exposed_ns"] == row["communication_ns"]
    return [{name: row[name] for name in names} for row in rows]


@pytest.mark.parametrize("name", SINGLE)
def test_communication_under_computing(name: str, converted: Converted) -> None:
    run = converted(PUBLIC / name)
    answer = run_module(load_module("overlap.comm_compute"), [run])
    assert found(answer.table.to_pylist()) == totals(name)


def test_each_rank_of_a_job(converted: Converted) -> None:
    workers = {
        int(match["rank"]): (match["tar"], name)
        for name in ORACLES
        if (match := WORKER.match(name))
    }
    ((tar,),) = [{tar for tar, _ in workers.values()}]
    answer = run_module(load_module("overlap.comm_compute"), [converted(PUBLIC / tar)])
    rows = answer.table.to_pylist()
    assert {row["rank"] for row in rows} == workers.keys()
    for rank, (_, name) in workers.items():
        assert found([row for row in rows if row["rank"] == rank]) == totals(name)
