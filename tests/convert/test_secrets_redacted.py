"""`convert --redact-host --redact-paths`: no machine, no one's folders are told."""

import re
from pathlib import Path

import pytest

from tests.convert.test_secrets import found
from tests.support.command import run
from tests.support.exports import export_in, folder_of

HOST, HOME = "plantedhost", "/home/planteduser"
PLANTS = (
    "DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'",
    "INSERT INTO TARGET_INFO_SYSTEM_ENV"
    " SELECT globalVid, '', 'Hostname', 619, 'plantedhost.example.com'"
    " FROM TARGET_INFO_SYSTEM_ENV LIMIT 1",
    "DELETE FROM META_DATA_CAPTURE WHERE name LIKE '%:COMMAND'"
    " OR name LIKE '%:ARGUMENT%'",
    "INSERT INTO META_DATA_CAPTURE VALUES ('DEVICE_DISPLAY_NAME', 'plantedhost'),"
    f" ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME=\"{HOME}\"'),"
    " ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOSTNAME=\"plantedhost\"'),"
    " ('PROCESS_0:COMMAND', 'python'),"
    f" ('PROCESS_0:ARGUMENT_0', '{HOME}/kept_train.py'),"
    " ('PROCESS_0:ARGUMENT_1', '--master=plantedhost:29500')",
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'plantedhost')",
    f"UPDATE PROCESSES SET name = '{HOME}/env/bin/kept_python'",
    f"INSERT INTO StringIds VALUES (90001, '{HOME}/lib/kept_lib.so'),"
    " (90002, 'kept_thread plantedhost')",
    "UPDATE OSRT_CALLCHAINS SET module = 90001 WHERE rowid % 2",
    "UPDATE ThreadNames SET nameId = 90002",
    "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid)"
    f" SELECT start, end, 59, 'kept_load {HOME}/data/x.bin on plantedhost', globalTid"
    " FROM NVTX_EVENTS WHERE eventType = 59 LIMIT 1",
    "INSERT INTO DIAGNOSTIC_EVENT VALUES"
    f" (1, 1, 1, 1, 'kept_message {HOME}/log of plantedhost.example.com', 1)",
)
MARK = re.compile(rb"planted(?:host|user)")
KEPT = re.compile(rb"kept_\w+")


@pytest.fixture(params=["sqlite", "parquet"])
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    export = export_in(tmp_path / "in", *PLANTS, name=f"on-{HOST}.sqlite")
    if request.param == "sqlite":
        return export
    return folder_of(export, tmp_path / "in" / f"on-{HOST}", request.param)


def marks(folder: Path, mark: re.Pattern[bytes]) -> set[bytes]:
    return set().union(*found(folder, mark).values())


def test_without_the_options_names_and_paths_are_there(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(capfd, "convert", capture, "-o", tmp_path / "out" / "run").status == 0
    assert marks(tmp_path / "out", MARK) == {b"plantedhost", b"planteduser"}


def test_with_both_nothing_tells_of_them_and_the_rest_is_kept(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ("--redact-host", "--redact-paths")
    ran = run(capfd, "convert", capture, "-o", out / "run", *options)
    assert ran.status == 0, ran.err
    assert found(out, MARK) == {}
    assert not MARK.search(ran.err.replace(str(capture), "").encode())
    assert {
        b"kept_train",
        b"kept_python",
        b"kept_lib",
        b"kept_load",
        b"kept_message",
    } <= marks(out, KEPT)


@pytest.mark.parametrize(
    ("option", "gone", "left"),
    [
        ("--redact-host", b"plantedhost", b"planteduser"),
        ("--redact-paths", b"planteduser", b"plantedhost"),
    ],
)
def test_each_option_does_its_own(
    option: str,
    gone: bytes,
    left: bytes,
    capture: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    run(capfd, "convert", capture, "-o", out / "run", option)
    told = marks(out, MARK)
    assert gone not in told
    assert left in told
