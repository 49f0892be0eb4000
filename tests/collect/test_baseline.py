"""The cost of tracing is told by the same program without a profiler."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.rows import rows
from tracekit.collect.baseline import measure
from tracekit.collect.request import Collected, Request
from tracekit.collect.workloads import RECORD_VARIABLE
from tracekit.convert import convert
from tracekit.errors import CollectError

_STEPS = """
import json, os
with open(os.environ["TRACEKIT_WORKLOAD_RECORD"], "w") as file:
    file.write('{"tracekit_workload": 1}\\n')
    for length in (100, 900, 200):
        file.write(json.dumps({"start_ns": 1000, "end_ns": 1000 + length}) + "\\n")
"""


def request(folder: Path, code: str, variables: dict[str, str]) -> Request:
    return Request(
        command=[sys.executable, "-c", code], stem=folder / "net", variables=variables
    )


def collected(folder: Path, program_ns: int) -> Collected:
    samples = folder / "net.samples.jsonl"
    samples.write_text('{"tracekit_samples":1}\n')
    return Collected([], 0, beside=[samples], program_ns=program_ns)


def facts_of(folder: Path) -> dict[str, str]:
    run = convert([folder / "net.samples.jsonl"], folder / "net.run")
    return dict(rows(run, "run_fact", "key", "value"))


def test_by_the_median_step_where_the_program_records_steps(tmp_path: Path) -> None:
    record = tmp_path / "net.workload.jsonl"
    lengths = (500, 300, 100)
    record.write_text(
        "".join(json.dumps({"start_ns": 0, "end_ns": n}) + "\n" for n in lengths)
    )
    asked = request(tmp_path, _STEPS, {RECORD_VARIABLE: str(record)})
    measure(asked, collected(tmp_path, 10**9))
    facts = facts_of(tmp_path)
    assert int(facts.pop("baseline.program_ns")) > 0
    assert facts == {
        "collect.step_median_ns": "300",
        "baseline.step_median_ns": "200",
        "overhead.ratio": "1.5000",
        "overhead.basis": "median step",
    }
    # That of the traced run is kept.
    assert record.read_text().count("\n") == 3
    assert {path.name for path in tmp_path.iterdir()} == {
        "net.workload.jsonl",
        "net.samples.jsonl",
        "net.run",
    }


def test_by_the_whole_program_otherwise(tmp_path: Path) -> None:
    code = "import time; time.sleep(0.1)"
    measure(request(tmp_path, code, {}), collected(tmp_path, 10**9))
    facts = facts_of(tmp_path)
    baseline_ns = int(facts["baseline.program_ns"])
    assert baseline_ns >= 10**8
    assert facts["overhead.ratio"] == f"{10**9 / baseline_ns:.4f}"
    assert facts["overhead.basis"] == "program"


def test_a_program_that_fails_alone_is_told(tmp_path: Path) -> None:
    code = "import sys; sys.exit(3)"
    with pytest.raises(CollectError, match="status 3 without a profiler"):
        measure(request(tmp_path, code, {}), collected(tmp_path, 10**9))
