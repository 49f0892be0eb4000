"""The memory queries on a snapshot whose bytes are known by arithmetic."""

import pytest

from tests.support.shared import TRACES, needs_shared
from tracekit.convert import convert
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared
_BLOCK = 512
# A 1024-2048-2048-16 MLP with biases, FP32, batch 512, Adam.
_PARAMETERS = [1024 * 2048, 2048, 2048 * 2048, 2048, 2048 * 16, 16]


def _bytes(elements: int) -> int:
    return -(-elements * 4 // _BLOCK) * _BLOCK


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Run:
    capture = TRACES / "torch" / "mlp_adam.snapshot.pickle.gz"
    return convert([capture], tmp_path_factory.mktemp("memory") / "mlp.run")


def test_classes_of_a_step_equal_arithmetic(snapshot: Run) -> None:
    """The peak is in Adam's step: the roots of its second moments are all alive.

    Weights, both moments, batch, labels and the workspace of cuBLAS were allocated
    before the recording: nothing in a snapshot says what those are.
    """
    gradients = sum(_bytes(elements) for elements in _PARAMETERS)
    assert gradients == 25_313_792
    before = 171_513_856
    answer = run_module(load_module("memory.breakdown"), [snapshot])
    found = {
        row["memory_class"]: (row["bytes_at_peak"], row["class_source"])
        for row in answer.table.to_pylist()
    }
    assert found == {
        "unknown": (before - gradients, None),
        "weight_gradients": (gradients, "inferred"),
        "temporaries": (gradients, "inferred"),
        # The loss.
        "feature_maps": (_BLOCK, "inferred"),
    }
    assert {row["peak_bytes"] for row in answer.table.to_pylist()} == {196_828_160}
    assert sum(size for size, _ in found.values()) == 196_828_160


def test_feature_maps_of_the_step_equal_arithmetic(snapshot: Run) -> None:
    """Two outputs of ReLU, the log of the softmax, and two scalars of the loss."""
    answer = run_module(load_module("memory.largest"), [snapshot], {"limit": "0"})
    maps = sorted(
        row["bytes"]
        for row in answer.table.to_pylist()
        if row["memory_class"] == "feature_maps"
    )
    assert maps == [_BLOCK, _BLOCK, _bytes(512 * 16), *[_bytes(512 * 2048)] * 2]


def test_reserved_memory_is_what_torch_said(snapshot: Run) -> None:
    answer = run_module(load_module("memory.fragmentation"), [snapshot])
    rows = answer.table.to_pylist()
    assert {row["reserved_bytes"] for row in rows} == {216_006_656}
    peak = next(row for row in rows if row["moment"] == "peak_allocated")
    assert peak["free_bytes"] == 216_006_656 - 196_828_160
