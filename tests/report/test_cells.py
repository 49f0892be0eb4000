"""How cells and tables are written for people."""

import pyarrow as pa
import pytest

from tracekit.report.cells import counted, shorten
from tracekit.report.terminal import render

BATCH_NORM = (
    "void cudnn::bn_bw_1C11_kernel_new<float, 512, true>(float, T2 const*, T2 *, T2)"
)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        (BATCH_NORM, 80, BATCH_NORM),
        (BATCH_NORM, 60, "void cudnn::bn_bw_1C11_kernel_new<float, 512, true>(…)"),
        (BATCH_NORM, 50, "cudnn::bn_bw_1C11_kernel_new<float, 512, true>(…)"),
        (BATCH_NORM, 24, "cudnn::bn_bw…2, true>(…)"),
        (
            "void (anonymous namespace)::scan<int>(int)",
            40,
            "void (anonymous namespace)::scan<int>(…)",
        ),
        ("a note on what was seen (of 6 kernels)", 24, "a note on wh… 6 kernels)"),
        ("ampere_sgemm_128x64_nn_longer", 12, "ampere…onger"),
        ("abc", 1, "a"),
    ],
)
def test_what_tells_kernels_apart_stays(text: str, width: int, expected: str) -> None:
    assert shorten(text, width) == expected
    assert len(expected) <= max(width, 1)


@pytest.mark.parametrize("width", [80, 160])
def test_a_name_keeps_24_characters_however_narrow(width: int) -> None:
    numbers = {f"number_{index:02}_of_many_ns": [10**6] for index in range(9)}
    text = render(pa.table({"kernel_name": [BATCH_NORM], **numbers}), width=width)
    assert "cudnn::bn_bw…2, true>(…)" in text
    assert len({len(line) for line in text.splitlines()}) == 1


@pytest.mark.parametrize(
    ("count", "what", "expected"),
    [
        (1, "environment variables", "1 environment variable"),
        (2, "environment variables", "2 environment variables"),
        (1, "entries of a list", "1 entry of a list"),
        (1, "ThreadpoolListener::* events", "1 ThreadpoolListener::* event"),
        (1, "process", "1 process"),
        (1, "output", "1 output"),
        (1234, "rows", "1,234 rows"),
    ],
)
def test_one_is_no_plural(count: int, what: str, expected: str) -> None:
    assert counted(count, what) == expected
