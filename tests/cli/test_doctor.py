"""`tracekit doctor` names what it looked at and what to do."""

import json

import pytest

from tests.support.command import run


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
