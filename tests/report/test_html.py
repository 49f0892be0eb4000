"""The report's page: hostile names stay text, nothing is fetched, tables hold."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from io import BytesIO

import pyarrow as pa
import pytest

from tracekit.report.model import Exhibit, Report, RunFacts, Section, Slices, Verdict
from tracekit.report.page import write_html

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u2028"
# Bokeh would fetch MathJax for it.
TEX = r"$$\frac{1}{2}$$ \(x\) \[y\]"


class Page(HTMLParser):
    """What a browser makes of the page: its elements, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.cells: list[tuple[dict[str, str | None], str]] = []
        self.current = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.current = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "td":
            self.cells.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert tag
        self.current = ""

    def handle_data(self, data: str) -> None:
        for kind, found in (("script", self.scripts), ("td", self.cells)):
            if self.current == kind:
                found[-1] = (found[-1][0], found[-1][1] + data)


def hostile_report() -> Report:
    table = pa.table(
        {
            "kernel_name": [HOSTILE, TEX],
            "launches": [3, 1],
            "total_ns": [2_000_000, 1_000],
            "time_share": [0.75, None],
        }
    )
    exhibit = Exhibit(
        query="kernels.hotspots", title="Kernels", table=table, total_rows=7
    )
    slices = pa.table(
        {
            "track": ["gpu", "api"],
            "process_id": [0, 0],
            "device_id": [0, None],
            "stream_id": [7, None],
            "thread_id": [None, 1],
            "start_ns": [10, 0],
            "end_ns": [20, 5],
            "slices": [1, 1],
            "busy_ns": [10, 5],
            "kind": ["kernel", "runtime"],
            "slice_name": [HOSTILE, HOSTILE],
            "correlation_id": [4, 4],
        }
    )
    return Report(
        title=HOSTILE,
        runs=(RunFacts(HOSTILE, {"Command": HOSTILE}),),
        verdicts=(Verdict(HOSTILE, (HOSTILE,)),),
        sections=(
            Section("kernels", "Kernels", "About.", (exhibit,), (HOSTILE,)),
            Section("memory", "Memory", "About.", (), ("tracekit collect --memory",)),
        ),
        timelines=(Slices(HOSTILE, 0, HOSTILE, 0, 20, slices),),
    )


@pytest.fixture(scope="module")
def text() -> str:
    target = BytesIO()
    write_html(hostile_report(), target)
    return target.getvalue().decode()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_hostile_names_make_no_elements(page: Page, text: str) -> None:
    assert [tag for tag, _ in page.tags if tag == "img"] == []
    assert all("onerror" not in attributes for _, attributes in page.tags)
    assert "alert(1)</script>" not in text
    assert "\x1b" not in text
    # bokeh, three of the page's own, the figures' data, one timeline's data.
    assert len(page.scripts) == 6


def test_hostile_names_are_shown_as_they_are(page: Page) -> None:
    shown = [data for _, data in page.cells]
    assert any("</script><script>alert(1)</script>" in data for data in shown)
    assert any(data.endswith("\\x1b[31m\\u2028") for data in shown)


def test_embedded_data_is_json(page: Page) -> None:
    blocks = [
        json.loads(data)
        for attributes, data in page.scripts
        if attributes.get("type") == "application/json"
    ]
    timeline = next(block for block in blocks if "tracks" in block)
    assert timeline["tracks"] == [
        {"label": "thread 1 API calls", "kind": "api", "lanes": 1},
        {"label": "GPU 0 stream 7", "kind": "gpu", "lanes": 1},
    ]
    assert timeline["start"] == [0, 10]
    assert timeline["names"][0].startswith("</script>")


def test_the_policy_allows_the_scripts_of_the_page_alone(page: Page) -> None:
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page.tags
        if tag == "meta" and attributes.get("http-equiv")
    )
    assert "default-src 'none'" in policy
    assert not re.search(r"unsafe-eval|https?:|\*", policy)
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    run = [
        data
        for attributes, data in page.scripts
        if attributes.get("type") != "application/json"
    ]
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    assert allowed == {
        base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
        for data in run
    }


def test_no_element_loads_anything(page: Page) -> None:
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, value)


def test_cells_keep_the_exact_numbers(page: Page) -> None:
    values = [attributes.get("data-v") for attributes, _ in page.cells]
    assert [value for value in values if value] == [
        "3", "2000000", "0.75", "1", "1000",
    ]  # fmt: skip
    assert ("title", "2 ms") in [
        item for attributes, _ in page.cells for item in attributes.items()
    ]


def test_a_section_without_data_says_what_to_collect(text: str) -> None:
    memory = text[text.index('<section id="memory">') :]
    assert "Nothing was recorded for this" in memory
    assert "tracekit collect --memory" in memory


def test_it_says_that_rows_were_left_out(text: str) -> None:
    assert "the first 2 of 7 rows" in text


def test_bokeh_is_light(page: Page) -> None:
    assert sum(len(data) for _, data in page.scripts) < 1_500_000
