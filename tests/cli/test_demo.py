"""`tracekit demo`: the bundled capture, converted and asked."""

from pathlib import Path

import pytest

from tests.support.command import run


def test_the_demo_prints_its_headline_tables_and_leaves_nothing(
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
    assert list(tmp_path.iterdir()) == []


def test_the_run_can_be_kept_and_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.run"
    assert run(capfd, "demo", "-o", kept, "--quiet").err == ""
    done = run(capfd, "query", "gpu.utilization", kept, "-f", "csv")
    assert done.out.startswith(b"device_id,window_ns,kernel_busy_ns,")
    assert done.out.count(b"\n") == 2
