"""`tracekit doctor` names what it looked at and what to do."""

import json
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.interpreters import stand_in_python


def test_doctor_says_what_to_do_about_what_is_missing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    done = run(capfd, "doctor", "--format", "json")
    assert done.status == 0
    rows = {row["check"]: row for row in json.loads(done.out)}
    assert rows["python"]["status"] == "ok"
    assert rows["nsys"]["status"] == rows["ncu"]["status"] == "missing"
    assert rows["nsys"]["to do"]
    assert rows["ncu"]["to do"]


def test_a_program_that_fails_is_not_called_good(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\necho 'libfoo.so: no such file' >&2\nexit 127\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(capfd, "doctor", "--format", "json")
    rows = {row["check"]: row for row in json.loads(done.out)}
    assert rows["ncu"]["status"] == "limited"
    assert rows["ncu"]["found"] == "ncu fails: libfoo.so: no such file"


def test_configured_interpreters_are_looked_into(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    python = stand_in_python(tmp_path / "bin", "torch").path
    (tmp_path / "tracekit").mkdir()
    (tmp_path / "tracekit" / "config.toml").write_text(
        f'[env.torch]\npython = "{python}"\n[env.mxnet]\npython = "{python}"\n'
        '[env.cntk]\npython = "/nowhere/python"\n'
    )
    done = run(capfd, "doctor", "--format", "json")
    rows = {row["check"]: row for row in json.loads(done.out)}
    assert rows["env.torch"]["status"] == "ok"
    assert rows["env.torch"]["found"] == f"9.8.7, Python 3.6.15 ({python})"
    assert rows["env.mxnet"]["status"] == "missing"
    assert rows["env.cntk"]["status"] == "limited"
    assert "config.toml" in rows["env.cntk"]["to do"]


def test_a_damaged_configuration_is_a_finding(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tracekit").mkdir()
    (tmp_path / "tracekit" / "config.toml").write_text("[env")
    done = run(capfd, "doctor", "--format", "json")
    assert done.status == 0
    rows = {row["check"]: row for row in json.loads(done.out)}
    assert rows["config"]["status"] == "limited"
