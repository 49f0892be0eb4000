"""What a notebook shows: tables and figures."""

import html
import re

import pytest

from tests.conftest import MakeRun
from tracekit.api.plots import Plots
from tracekit.api.trace import Trace
from tracekit.errors import QueryError
from tracekit.report.figures import FIGURES

KERNEL = """
    process_id, device_id, stream_id, start_ns, end_ns, name
    0,          0,         7,                0,    100, <script>gemm
    0,          0,         7,              200,    250, relu
"""


def test_a_result_is_a_table_of_escaped_text(run_of: MakeRun) -> None:
    trace = Trace([run_of({"kernel": KERNEL})])
    shown = trace.query("kernels.hotspots")._repr_html_()
    assert shown.startswith("<table><thead><tr><th")
    assert "&lt;script&gt;gemm" in shown
    assert "<script>" not in shown
    assert shown.count("<tr>") == 3
    assert '<td style="text-align: right">100</td>' in shown
    empty = trace.query("steps.summary")._repr_html_()
    assert "needs step" in empty


def test_long_results_show_their_first_rows(run_of: MakeRun) -> None:
    trace = Trace([run_of({"kernel": KERNEL})])
    shown = trace.sql("SELECT * FROM range(1234)")._repr_html_()
    assert shown.count("<tr>") == 51
    assert "The first 50 of 1,234 rows." in shown


def test_figures_are_pages_of_their_own(run_of: MakeRun) -> None:
    plot = Trace([run_of({"kernel": KERNEL})]).plot.kernels()
    shown = plot._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert "<script" not in shown
    page = html.unescape(shown)
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)
    # 100 ns are 0.0001 ms; the name is data, with its `<` escaped.
    assert "script&gt;gemm" in page
    assert "<script>gemm" not in page
    assert len(page) < 1_600_000


def test_a_figure_without_data_says_why(run_of: MakeRun) -> None:
    trace = Trace([run_of({"kernel": KERNEL})])
    with pytest.raises(QueryError, match="needs step"):
        trace.plot.steps()


def test_every_figure_of_a_report_can_be_had() -> None:
    drawn = []

    class Asked:
        def query(self, name: str, **_: object) -> object:
            drawn.append(name)
            raise LookupError

    plots = Plots(Asked())  # type: ignore[arg-type]  # it only is asked
    for name in dir(plots):
        if not name.startswith("_"):
            with pytest.raises(LookupError):
                getattr(plots, name)()
    assert sorted(drawn) == sorted(FIGURES)
