"""`tracekit doctor` on machines that are not this one: made-up /proc trees."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command import run
from tracekit.convert import doctor
from tracekit.tools import permissions

_VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56\n"
    "GCC version:  gcc version 12.3.0\n"
)
_GPU = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 96\nGPU UUID: \t GPU-00000000\n"


def checked(
    files: Mapping[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[str, str, str]]:
    """Return check, status and what was found, on a machine with these files."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for module in (doctor, permissions):
        monkeypatch.setattr(module, "DRIVER", tmp_path / "nvidia")
        monkeypatch.setattr(module, "PARANOID", tmp_path / "perf_event_paranoid")
    monkeypatch.setattr(permissions, "is_admin", lambda: False)
    monkeypatch.setenv("PATH", "")
    done = run(capfd, "doctor", "-f", "json")
    assert done.status == 0, done.err
    return [
        (row["check"], row["status"], row["found"])
        for row in json.loads(done.out)
        if row["check"] in ("driver", "gpu", "gpu counters", "cpu sampling")
    ]


def test_a_machine_with_two_gpus_and_all_rights(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "nvidia/version": _VERSION,
        "nvidia/gpus/0000:01:00.0/information": _GPU,
        "nvidia/gpus/0000:02:00.0/information": "no model is told\n",
        "nvidia/params": "RmProfilingAdminOnly: 0\n",
        "perf_event_paranoid": "2\n",
    }
    assert checked(files, tmp_path, capfd, monkeypatch) == [
        ("driver", "ok", "550.54.15"),
        ("gpu", "ok", "NVIDIA H200"),
        ("gpu", "ok", "0000:02:00.0"),
        ("gpu counters", "ok", "allowed"),
        ("cpu sampling", "ok", "perf_event_paranoid is 2"),
    ]


def test_what_an_administrator_has_reserved(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "nvidia/version": _VERSION,
        "nvidia/params": "RmProfilingAdminOnly: 1\n",
        "perf_event_paranoid": "4\n",
    }
    assert checked(files, tmp_path, capfd, monkeypatch) == [
        ("driver", "ok", "550.54.15"),
        ("gpu", "missing", "no NVIDIA GPU"),
        ("gpu counters", "limited", "for the administrator only"),
        ("cpu sampling", "limited", "perf_event_paranoid is 4"),
    ]


@pytest.mark.parametrize("garbage", ["", "what\n", "\x00\ufffd"])
def test_files_that_hold_something_else_are_no_crash(
    garbage: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {"nvidia/version": garbage, "perf_event_paranoid": garbage}
    assert checked(files, tmp_path, capfd, monkeypatch) == [
        ("driver", "missing", "no NVIDIA driver"),
        ("gpu", "missing", "no NVIDIA GPU"),
        ("gpu counters", "missing", "no NVIDIA driver"),
        ("cpu sampling", "missing", "the kernel has no perf events"),
    ]
