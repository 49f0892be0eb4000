"""One export of several MPI ranks: each rank has its own partition."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.nsys_schemas import make_export
from tests.support.nsys_story import ROWS
from tests.support.tables import Row
from tracekit.convert import convert
from tracekit.store.run import Run

_HOST = 1 << 48
_NAMES = {0: "MPI Rank 5", 1: "MPI Rank 3"}
_RANKS = {0: 5, 1: 3}


def process(number: int) -> int:
    return _HOST | (100 + number) << 24


def of_both(table: str, owner: str) -> list[Row]:
    """Return the row of a table for each of two processes."""
    first = ROWS[table][0]
    return [
        {**first, owner: process(number) | (owner == "globalTid") * (100 + number)}
        for number in (0, 1)
    ]


def export_of_two(tmp_path: Path, release: str, **more: list[Row]) -> Path:
    strings = [*ROWS["StringIds"]]
    ids = {}
    for number, name in _NAMES.items():
        ids[number] = 500 + number
        strings.append({"id": ids[number], "value": name})
    return make_export(
        tmp_path / "job.sqlite",
        release,
        {
            **{
                name: ROWS[name]
                for name in ("TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_GPU")
            },
            "StringIds": strings,
            "ThreadNames": [
                {"nameId": ids[n], "priority": 0, "globalTid": process(n) | 100 + n}
                for n in (0, 1)
            ],
            "CUPTI_ACTIVITY_KIND_KERNEL": of_both(
                "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"
            ),
            "CUPTI_ACTIVITY_KIND_RUNTIME": of_both(
                "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"
            ),
            "NVTX_EVENTS": [
                {
                    "start": 10 + n,
                    "end": 20,
                    "eventType": 59,
                    "globalTid": process(n) | 100 + n,
                    "text": f"of {n}",
                }
                for n in (0, 1)
            ],
            **more,
        },
    )


def column(run: Run, table: str, rank: int, name: str) -> list[Any]:
    file = run.path / table / f"rank={rank}" / "part-0.parquet"
    values: list[Any] = pq.read_table(file)[name].to_pylist()
    return values


@pytest.mark.parametrize("release", ["2.9.1", "3.20.3", "3.30.1"])
def test_ranks_are_told_by_the_names_of_threads(release: str, tmp_path: Path) -> None:
    run = convert([export_of_two(tmp_path, release)], tmp_path / "run")
    ranks = {rank.rank: rank.source for rank in run.manifest.ranks}
    assert ranks == {3: "profiler", 5: "profiler"}
    for number, rank in _RANKS.items():
        assert column(run, "annotation", rank, "text") == [f"of {number}"]
        assert column(run, "process", rank, "os_pid") == [100 + number]
        (kernel_of,) = column(run, "kernel", rank, "process_id")
        assert column(run, "api_call", rank, "process_id") == [kernel_of]
    # What belongs to the machine is there once.
    assert column(run, "device", -1, "name") == ["Tesla V100"]


def test_what_mpi_says_counts_more_than_a_name(tmp_path: Path) -> None:
    ranks = [{"globalTid": process(n) | 100 + n, "rank": 8 + n} for n in (0, 1)]
    export = export_of_two(tmp_path, "3.30.1", MPI_RANKS=ranks)
    run = convert([export], tmp_path / "run")
    assert run.ranks == (8, 9)
    assert column(run, "annotation", 9, "text") == ["of 1"]


def test_messages_of_mpi_have_their_size(tmp_path: Path) -> None:
    sent = {
        "start": 30,
        "end": 40,
        "eventClass": 14,
        "globalTid": process(1) | 101,
        "textId": 500,
        "size": 4096,
        "remoteRank": 5,
    }
    export = export_of_two(tmp_path, "3.30.1", MPI_P2P_EVENTS=[sent])
    run = convert([export], tmp_path / "run")
    assert column(run, "library_call", 3, "bytes") == [4096]
    assert column(run, "library_call", 3, "library") == ["mpi"]
