"""`tracekit demo`: the bundled capture, converted and asked."""

from pathlib import Path

import pytest

from tests.support.command import run


def test_the_demo_prints_its_headline_tables_and_leaves_a_report(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(capfd, "demo")
    assert done.status == 0
    for column in (b"gpu_utilization", b"both_ns", b"kernel_name"):
        assert column in done.out
    assert "ResNet-50" in done.err
    (page,) = tmp_path.iterdir()
    assert page.name == "report.html"
    assert "50.7 % of the 99.35 ms" in page.read_text()


def test_the_run_can_be_kept_and_asked(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept.run"
    own = tmp_path / "report.html"
    own.write_text("a page of the user's")
    assert run(capfd, "demo", "-o", kept, "--quiet").err == ""
    assert own.read_text() == "a page of the user's"
    done = run(capfd, "query", "gpu.utilization", kept, "-f", "csv")
    assert done.out.startswith(b"device_id,window_ns,kernel_busy_ns,")
    assert done.out.count(b"\n") == 2
