"""Time of operators against the totals that PyTorch's profiler printed itself."""

from collections import Counter

import pytest

from tests.conformance.conftest import Converted
from tests.support.kineto import OWN, key_averages
from tests.support.rows import rows_of_run
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared


@pytest.mark.parametrize("name", ["resnet50", "seq2seq", "a3c"])
def test_self_time_equals_the_profilers(name: str, converted: Converted) -> None:
    capture = OWN / f"{name}.kineto.json.gz"
    run = converted(capture)
    expected = key_averages(capture)
    answer = run_module(load_module("operators.hotspots"), [run], {"limit": "0"})
    # What starts as its caller of the same name does is merged into it there.
    counts = Counter(row["name"] for row in rows_of_run(run, "operator"))
    compared = 0
    for row in answer.table.to_pylist():
        operator = row["operator_name"]
        assert row["calls"] == counts[operator]
        if operator not in expected:
            continue
        compared += 1
        device_ns = round(expected[operator]["self_device_us"] * 1000)
        assert row["device_self_ns"] == device_ns, operator
        # The profiler takes CUDA calls off the host time of an operator, too.
        host_ns = round(expected[operator]["self_cpu_us"] * 1000)
        assert row["host_self_ns"] >= host_ns, operator
    assert compared > 20
