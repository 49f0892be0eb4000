"""Where output goes: quiet, verbose, without color, into a pipe that closes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.command import finish, run, start
from tests.support.exports import export_in, select


def test_quiet_says_nothing_but_results(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = export_in(tmp_path)
    assert run(capfd, "convert", capture, "-o", tmp_path / "run").err
    done = run(capfd, "convert", capture, "-q", "-o", tmp_path / "other")
    assert (done.status, done.out, done.err) == (0, b"", "")
    # An error is no note.
    again = run(capfd, "convert", capture, "-q", "-o", tmp_path / "other")
    assert again.error.startswith(str(tmp_path / "other"))


def test_verbose_says_what_a_conversion_did(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = export_in(tmp_path)
    plain = run(capfd, "convert", capture, "-o", tmp_path / "run")
    done = run(capfd, "convert", capture, "-v", "-o", tmp_path / "other")
    lines = done.err.splitlines()
    assert f"Read kinds.sqlite: {capture.stat().st_size:,} bytes" in lines
    assert "Table kernel: 116 rows" in lines
    assert any(re.fullmatch(r"Took \d+\.\d s", line) for line in lines)
    assert "Table kernel" not in plain.err


def test_verbose_says_where_an_error_arose_and_what_it_came_from(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = export_in(tmp_path)
    root = "SELECT rootpage FROM sqlite_master WHERE name = 'StringIds'"
    ((page,),), ((size,),) = select(capture, root), select(capture, "PRAGMA page_size")
    with capture.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    plain = run(capfd, "convert", capture, "-o", tmp_path / "run")
    done = run(capfd, "convert", capture, "--verbose", "-o", tmp_path / "run")
    assert done.error == plain.error
    assert done.err.startswith(plain.err)
    assert re.search(r"^Raised in .*sqlite_export\.py:\d+, _", done.err, re.MULTILINE)
    assert re.search(r"^Caused by DatabaseError: ", done.err, re.MULTILINE)
    assert "Raised in" not in plain.err


@pytest.mark.parametrize("value", ["1", "yes"])
def test_no_color_is_none_even_on_a_terminal(
    value: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(capfd, "convert", export_in(tmp_path), "-o", tmp_path / "run", "-q")
    command = ("query", "kernels.hotspots", tmp_path / "run", "-q")
    colored = on_terminal(*command, environment={"NO_COLOR": ""})
    assert b"\x1b[" in colored
    assert b"\x1b[" not in on_terminal(*command, environment={"NO_COLOR": value})


def on_terminal(*arguments: str | Path, environment: dict[str, str]) -> bytes:
    """Return what a command prints to a terminal."""
    own, theirs = os.openpty()
    variables = {"TERM": "xterm-256color", "COLUMNS": "120", **environment}
    process = start(*arguments, environment=variables, out=theirs)
    os.close(theirs)
    printed = b""
    try:
        while block := os.read(own, 65_536):
            printed += block
    except OSError:
        # The end of a terminal that its process has closed.
        pass
    os.close(own)
    assert finish(process).status == 0
    return printed


@pytest.mark.parametrize(
    "command",
    [
        ("query", "--list"),
        ("query", "kernels.hotspots", "--describe"),
        ("info", "run"),
        ("--help",),
        ("query", "--help"),
    ],
)
def test_a_pipe_that_closes_is_no_error(
    command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(capfd, "convert", export_in(tmp_path), "-o", tmp_path / "run", "-q")
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*command, folder=tmp_path, out=writing)
    os.close(writing)
    done = finish(process)
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands_and_options(
    shell: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script = run(capfd, "--show-completion", shell)
    assert script.status == 0
    assert b"_TRACEKIT_COMPLETE" in script.out


def test_completion_names_the_commands() -> None:
    environment = {
        "_TRACEKIT_COMPLETE": "complete_bash",
        "COMP_WORDS": "tracekit c",
        "COMP_CWORD": "1",
    }
    done = finish(start(environment=environment, out=subprocess.PIPE))
    assert {b"convert", b"clean"} <= set(done.out.split())
