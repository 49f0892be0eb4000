"""The report in a real browser: nothing fails, nothing leaves, everything works."""

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.report.test_html import hostile_report
from tests.support.browser import Browser, browser, needs_browser
from tests.support.shared import ROOT, TRACES
from tracekit.api.reporting import make_report
from tracekit.api.sections import OUTLINE
from tracekit.convert import convert
from tracekit.report.page import write_html

pytestmark = needs_browser
FIXTURES = ROOT / "fixtures"
OWN = ("demo/resnet50.sqlite.zst", "kineto/a3c.json.gz")
SHOTS = os.environ.get("TRACEKIT_SCREENSHOTS")
# The first of the page's figures that everybody has.
FIGURE = "#figure-utilization-1"
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


def write_report(capture: Path, folder: Path) -> Path:
    target = folder / "report.html"
    run = convert([capture], folder / "run")
    with target.open("wb") as file:
        write_html(make_report([run]), file)
    return target


def check(view: Browser, page: Path) -> None:
    """Check what holds of every report."""
    assert page.stat().st_size < MOST_BYTES
    view.errors.clear()
    view.requests.clear()
    view.size(1300, 900)
    view.prefer("light")
    view.open(page)
    sections = view.ask("[...document.querySelectorAll('main > section')].map(e=>e.id)")
    wanted = [outline.key for outline in OUTLINE]
    assert sections == ["verdict", "measured", *wanted, "timeline"]
    # Figures are drawn as they come into view.
    view.ask("document.querySelectorAll('.figure').forEach(e => e.scrollIntoView())")
    view.wait(
        "[...document.querySelectorAll('.figure')].every("
        "e => (e.scrollIntoView(), e.dataset.drawn === 'yes'))"
    )
    for width in (1300, 420):
        view.size(width, 900)
        fits = view.ask("document.documentElement.scrollWidth <= innerWidth")
        assert fits, f"the page itself scrolls sideways at {width}"
    view.size(1300, 900)
    assert view.errors == []
    assert view.requests == [page.as_uri()]


@pytest.mark.parametrize("name", OWN)
def test_own_captures(view: Browser, tmp_path: Path, name: str) -> None:
    page = write_report(FIXTURES / name, tmp_path)
    check(view, page)
    use_tables(view)
    use_timeline(view)
    assert view.errors == []
    if SHOTS and name.startswith("demo"):
        shoot(view, Path(SHOTS))


def test_hostile_names(view: Browser, tmp_path: Path) -> None:
    page = tmp_path / "hostile.html"
    with page.open("wb") as file:
        write_html(hostile_report(), file)
    view.errors.clear()
    view.requests.clear()
    view.open(page)
    assert view.ask("document.querySelectorAll('img').length") == 0
    assert view.ask("document.title").startswith("</script><script>alert(1)")
    cell = view.ask("document.querySelector('#kernels td').textContent")
    assert cell.startswith("</script><script>alert(1)</script><img src=x onerror")
    use_timeline(view)
    assert "</script>" in view.ask("document.querySelector('.details').textContent")
    assert view.errors == []
    assert view.requests == [page.as_uri()]


def use_tables(view: Browser) -> None:
    """Search and sort the table of kernels."""
    table = "document.querySelector('#kernels table.answer')"
    shown = f"[...{table}.tBodies[0].rows].filter(row => !row.hidden)"
    before = view.ask(f"{shown}.length")
    assert before > 5
    name = view.ask(f"{shown}[3].cells[0].textContent")
    view.ask(
        "(() => { const box = document.querySelector('#kernels input[type=search]');"
        f" box.value = {shown}[3].cells[0].textContent.slice(0, 60);"
        " box.dispatchEvent(new Event('input')); })()"
    )
    found = view.ask(f"{shown}.map(row => row.cells[0].textContent)")
    assert name in found
    assert all(name[:60].lower() in one.lower() for one in found)
    view.ask(
        "(() => { const box = document.querySelector('#kernels input[type=search]');"
        " box.value = ''; box.dispatchEvent(new Event('input')); })()"
    )
    assert view.ask(f"{shown}.length") == before
    # Column 2 is the summed time: once from the most down, once more the other way.
    numbers = f"[...{table}.tBodies[0].rows].map(row => Number(row.cells[2].dataset.v))"
    for order in ("descending", "ascending"):
        view.ask(f"{table}.tHead.rows[0].cells[2].querySelector('button').click()")
        assert view.ask(f"{table}.tHead.rows[0].cells[2].ariaSort") == order
        values = view.ask(numbers)
        assert values == sorted(values, reverse=order == "descending")
    assert len(set(view.ask(numbers))) > 1


def use_timeline(view: Browser) -> None:
    """Zoom by keyboard, click a slice, and find one by its name."""
    canvas = "document.querySelector('.timeline canvas')"
    view.ask(f"({canvas}.scrollIntoView({{block: 'center'}}), {canvas}.focus())")
    view.wait(f"Number({canvas}.dataset.drawn) > 0")
    first = view.ask(f"{canvas}.dataset.view.split(' ').map(Number)")
    view.key("+")
    view.wait(f"{canvas}.dataset.view.split(' ')[1] < {first[1]}")
    second = view.ask(f"{canvas}.dataset.view.split(' ').map(Number)")
    assert second[1] - second[0] == pytest.approx((first[1] - first[0]) / 2)
    view.key("ArrowRight")
    view.wait(f"Number({canvas}.dataset.view.split(' ')[0]) > {second[0]}")
    view.key("0")
    view.wait(f"Number({canvas}.dataset.view.split(' ')[0]) <= {first[0]} + 1")
    view.key("]")
    view.wait("document.querySelector('.details').textContent.includes('takes')")
    assert "GPU" in view.ask("document.querySelector('.details').textContent")


def test_a_click_shows_the_slice(view: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with page.open("wb") as file:
        write_html(hostile_report(), file)
    view.size(1300, 900)
    view.open(page)
    canvas = "document.querySelector('.timeline canvas')"
    view.ask(f"{canvas}.scrollIntoView({{block: 'center'}})")
    view.wait(f"Number({canvas}.dataset.drawn) > 0")
    # The kernel takes the second half of the 20 ns, in the second track.
    box = view.ask(
        f"(() => {{ const b = {canvas}.getBoundingClientRect();"
        " return [b.left, b.top, b.width]; })()"
    )
    view.click(box[0] + 170 + 0.75 * (box[2] - 170), box[1] + 22 + 16 + 8 + 8)
    view.wait("document.querySelector('.details').textContent.includes('10 ns')")
    shown = view.ask("document.querySelector('.details').textContent")
    assert "kernel: </script>" in shown
    # 10 - 5 ns from the end of the call to the start of the kernel.
    assert "5 ns from the end of the call to the start of its work" in shown


def shoot(view: Browser, folder: Path) -> None:
    """Keep pictures of the page: light, dark, narrow, the timeline."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, scheme, width, height in (
        ("light", "light", 1300, 1500),
        ("dark", "dark", 1300, 1500),
        ("narrow", "light", 420, 900),
    ):
        view.size(width, height)
        view.prefer(scheme)
        for place in ("verdict", "kernels", "timeline"):
            view.ask(f"document.getElementById('{place}').scrollIntoView()")
            time.sleep(1.5)
            view.screenshot(folder / f"{name}-{place}.png")


@pytest.mark.parametrize(
    "pattern",
    ["nsys/h200/*.sqlite", "nsys/h200/*_pqtdir", "kineto/h200/*.kineto.json.gz"],
)
def test_captures_of_the_collection(
    view: Browser,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    pattern: str,
) -> None:
    if not request.config.getoption("--all-reports"):
        pytest.skip("takes minutes; --all-reports")
    captures = sorted(TRACES.glob(pattern))
    assert captures
    for capture in captures:
        place = tmp_path / capture.name
        place.mkdir()
        check(view, write_report(capture, place))


def test_a_million_kernels(
    view: Browser,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """The report is made within 30 s and 2 GB, and stays smooth."""
    if not request.config.getoption("--all-reports"):
        pytest.skip("takes minutes; --all-reports")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from synthetic_nsys import write_export

    export = tmp_path / "big.sqlite"
    write_export(export, 1_000_000)
    run = convert([export], tmp_path / "run")
    began, cpu = time.monotonic(), time.process_time()
    with (tmp_path / "report.html").open("wb") as file:
        write_html(make_report([run]), file)
    took, cpu_s = time.monotonic() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = f"{took:.1f} s, {cpu_s:.1f} s of CPU, {peak / 1e9:.2f} GB"
    record_property("report", told)
    assert took < 30, told
    assert peak < 2e9, told
    check(view, tmp_path / "report.html")
    use_tables(view)
    use_timeline(view)
    spent = view.ask(
        "(() => { const canvas = document.querySelector('.timeline canvas');"
        " canvas.focus(); const began = performance.now();"
        " for (let i = 0; i < 20; i += 1) canvas.dispatchEvent("
        "   new KeyboardEvent('keydown', {key: i % 2 ? '-' : '+'}));"
        " return new Promise(done => requestAnimationFrame("
        "   () => done(performance.now() - began))); })()"
    )
    assert spent < 1000
