"""What the tests of collectors share: a machine with a GPU, and a way to collect."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Ran, run
from tracekit.collect import checks
from tracekit.tools import ncu, nsys, permissions

Collect = Callable[..., Ran]


@pytest.fixture
def gpu_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the machine one GPU, and no profilers but those in `bin`."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    monkeypatch.setattr(checks, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(permissions, "DRIVER", tmp_path / "driver")
    monkeypatch.setattr(permissions, "PARANOID", tmp_path / "paranoid")
    monkeypatch.setattr(nsys, "INSTALL_PATTERNS", ())
    monkeypatch.setattr(ncu, "INSTALL_PATTERNS", ())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("RANK", "WORLD_SIZE", "CUDA_INJECTION64_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def collect(capfd: pytest.CaptureFixture[str]) -> Collect:
    def call(*arguments: str | Path) -> Ran:
        return run(capfd, "collect", *arguments)

    return call
