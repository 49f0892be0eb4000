"""`tracekit report`: three formats, the numbers of the queries in each."""

import json
import math
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.conftest import MakeRun
from tests.report.test_html import Page
from tests.support.command import run
from tests.support.shared import ROOT
from tracekit.api import reporting
from tracekit.api.reporting import make_report
from tracekit.api.sections import OUTLINE, Outline
from tracekit.convert import convert
from tracekit.report.cells import cell
from tracekit.report.formats import write_json, write_markdown
from tracekit.report.model import Report
from tracekit.report.page import write_html
from tracekit.report.plain import write_json as write_report_json
from tracekit.report.plain import write_text
from tracekit.store.run import Run

DEMO = ROOT / "fixtures" / "demo" / "resnet50.sqlite.zst"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return convert([DEMO], tmp_path_factory.mktemp("report") / "demo.run")


@pytest.fixture(scope="module")
def made(demo: Run) -> Report:
    return make_report([demo])


def test_numbers_are_the_same_in_every_form(
    demo: Run, made: Report, capfd: pytest.CaptureFixture[str]
) -> None:
    """HTML, Markdown and JSON against the API, and the API against the command."""
    content = json.loads(_written(made, write_report_json))
    answers = [
        answer for section in content["sections"] for answer in section["answers"]
    ]
    assert len(answers) > 20
    markdown = _written(made, write_text).decode()
    page = Page(_written(made, write_html).decode())
    facts = len(made.runs[0].facts)
    cells = [
        (attributes.get("data-v"), text) for attributes, text in page.cells[facts:]
    ]
    trace = tracekit.open(demo.path)
    place = 0
    for answer in answers:
        expected = trace.query(
            answer["query"], window=answer["window"], **answer["parameters"]
        ).to_arrow()
        assert answer["total_rows"] == expected.num_rows
        shown = expected.slice(0, len(answer["rows"]))
        assert shown.num_rows
        assert answer["rows"] == json.loads(_written(shown, write_json))
        # The cells of the page come in the order of the answers.
        size = shown.num_rows * shown.num_columns
        own = cells[place : place + size]
        place += size
        flat = [value for row in shown.to_pylist() for value in row.values()]
        assert [text for _, text in own] == [cell(value) for value in flat]
        for (exact, _), value in zip(own, flat, strict=True):
            if isinstance(value, float | int) and not isinstance(value, bool):
                assert exact is not None
                assert float(exact) == value or math.isnan(value)
        table = _written(shown, write_markdown).decode()
        assert table in markdown
    assert place == len(cells)
    first = answers[0]
    command = run(capfd, "query", first["query"], demo.path, "-f", "json")
    assert json.loads(command.out) == first["rows"]


def _written(what: object, write: Callable[[Any, BytesIO], None]) -> bytes:
    target = BytesIO()
    write(what, target)
    return target.getvalue()


def test_every_section_is_there_and_says_something(made: Report) -> None:
    assert [section.key for section in made.sections] == [one.key for one in OUTLINE]
    for section in made.sections:
        assert section.exhibits or section.wanting, section.key
    (verdict,) = made.verdicts
    assert len(verdict.sentences) == 3
    # 50,339,651 ns of 99,346,454 ns, and the cause with most of the rest.
    assert "50.7 % of the 99.35 ms" in verdict.sentences[0]
    assert "host_late" in verdict.sentences[1]


def test_each_form_is_written_where_it_is_asked_for(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = run_of().path
    page = tmp_path / "page.html"
    ran = run(capfd, "report", place, "-o", page)
    assert (ran.status, ran.out) == (0, b"")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run(capfd, "report", place, "-f", "markdown").out.startswith(b"# test\n")


def test_a_run_without_gpu_work_has_a_report(
    run_of: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(capfd, "report", run_of().path, "-f", "json")
    assert ran.status == 0
    found = json.loads(ran.out)
    assert "No GPU work was recorded" in found["verdicts"][0]["sentences"][0]


def test_a_folder_is_no_place_for_a_report(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(capfd, "report", run_of().path, "-o", tmp_path)
    assert ran.status == 2
    assert "is a folder" in ran.error


def test_a_place_that_cannot_be_written_is_one_line(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(capfd, "report", run_of().path, "-o", tmp_path / "none" / "x.html")
    assert ran.status == 4
    assert "cannot be written" in ran.error


def test_what_takes_too_long_on_a_large_run_says_how_to_ask_it(
    run_of: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    heavy = Outline("path", "Path", "About.", (), ("critical_path",), "", most_rows=1)
    monkeypatch.setattr(reporting, "OUTLINE", (heavy,))
    kernel = "process_id, device_id, stream_id, start_ns, end_ns\n0, 0, 7, 0, 5"
    (section,) = make_report([run_of({"kernel": kernel + "\n0, 0, 7, 6, 7"})]).sections
    assert section.exhibits == ()
    assert any("takes too long on 2 kernels" in reason for reason in section.wanting)
    (section,) = make_report([run_of({"kernel": kernel})]).sections
    assert not any("takes too long" in reason for reason in section.wanting)
