"""Reports are read through the nsys that is installed; its failures are explained."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.command import run
from tests.support.exports import SCALE, SCALE_PARQUET, decompressed
from tests.support.nsys_program import (
    NO_IMPORTER,
    NO_LIBDW,
    NUMBERED_REPORT,
    REPORT,
    STREAM,
    StandIn,
    stand_in,
)
from tracekit.convert import convert
from tracekit.convert.nsys import report_export
from tracekit.errors import MissingToolError, OutputError, UnreadableTraceError
from tracekit.store.run import Run
from tracekit.tools import nsys as program

USUAL = program.INSTALL_PATTERNS
WANTED = ["-t", "parquetdir", "--include-blobs=true", "--include-json=true"]


@pytest.fixture(autouse=True)
def _no_nsys_but_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(program, "INSTALL_PATTERNS", ())


@pytest.fixture
def exports(tmp_path: Path) -> dict[str, Path]:
    sqlite = tmp_path / "exported.sqlite"
    sqlite.write_bytes(decompressed(SCALE))
    return {"parquetdir": SCALE_PARQUET, "sqlite": sqlite}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(REPORT)
    return path


def converted(report: Path) -> Run:
    return convert([report], report.with_name("out.run"))


def warnings(run: Run) -> list[str]:
    rows = [
        row for f in run.files("diagnostic") for row in pq.read_table(f).to_pylist()
    ]
    ours = {("converter", "warning"), ("converter", "error")}
    return [row["text"] for row in rows if (row["source"], row["severity"]) in ours]


def test_a_report_is_exported_with_payloads_and_read(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    nsys = stand_in(tmp_path / "bin", exports=exports)
    manifest = converted(report).manifest
    assert manifest.rows("kernel") == 2
    assert manifest.rows("annotation") == 5
    assert manifest.source.format == "nsys-report"
    assert [file.name for file in manifest.source.files] == ["run.nsys-rep"]
    ((command, *options, o, output, last),) = nsys.asked
    assert (command, options, o) == ("export", WANTED, "-o")
    assert Path(last).name == "run.nsys-rep"
    assert Path(output).parent != report.parent
    assert warnings(converted_again(report)) == []


def converted_again(report: Path) -> Run:
    return convert([report], report.with_name("again.run"))


def test_nothing_is_left_beside_the_report_or_in_the_temporary_folder(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    nsys = stand_in(tmp_path / "bin", exports=exports)
    before = set(tmp_path.iterdir())
    converted(report)
    assert set(tmp_path.iterdir()) - before == {tmp_path / "out.run"}
    (temporary,) = nsys.temporary
    assert temporary is not None
    assert str(tmp_path / ".tracekit-unfinished-") in temporary
    assert not Path(temporary).exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.qdrep", REPORT),
        ("run.qdrep", b"a form of 2019 that is not known"),
        ("no-suffix", NUMBERED_REPORT),
        ("run.nsys-rep.gz", gzip.compress(REPORT)),
    ],
    ids=["qdrep", "by-suffix", "by-content", "compressed"],
)
def test_a_report_is_told_by_its_content_or_at_last_by_its_name(
    name: str, content: bytes, exports: dict[str, Path], tmp_path: Path
) -> None:
    nsys = stand_in(tmp_path / "bin", exports=exports)
    path = tmp_path / name
    path.write_bytes(content)
    assert converted(path).manifest.rows("kernel") == 2
    # nsys goes by the suffix, so it sees one.
    assert Path(nsys.asked[0][-1]).suffix in (".nsys-rep", ".qdrep")


def test_a_sqlite_file_with_the_name_of_a_report_is_no_report(
    exports: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(exports["sqlite"].read_bytes())
    assert converted(path).manifest.source.format == "nsys-sqlite"


def test_an_nsys_without_one_option_is_asked_without_it(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    nsys = stand_in(tmp_path / "bin", exports=exports, flags=["--include-blobs"])
    run = converted(report)
    assert run.manifest.rows("kernel") == 2
    assert [call[1:-3] for call in nsys.asked] == [WANTED, WANTED[:-1]]
    assert warnings(run) == [
        "nsys 2025.3.1.90 does not know --include-json: payloads of NVTX events may be "
        "missing"
    ]


def test_an_nsys_of_2020_exports_sqlite(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    nsys = stand_in(
        tmp_path / "bin",
        exports=exports,
        version="NVIDIA Nsight Systems version 2020.3.4.32-52657a0",
        flags=[],
        types=["sqlite", "text"],
    )
    report.write_bytes(NUMBERED_REPORT)
    assert converted(report).manifest.rows("kernel") == 2
    assert nsys.asked[-1][1:-3] == ["-t", "sqlite"]


def test_an_older_nsys_that_can_read_it_is_told_of(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    stand_in(
        tmp_path / "bin",
        exports=exports,
        version="NVIDIA Nsight Systems version 2025.1.3.140-251335620677v0",
    )
    assert warnings(converted(report)) == [
        "the report was written by nsys 2025.3.1 and exported by nsys 2025.1.3.140, "
        "which is older: newer kinds of events may be missing"
    ]


def test_without_nsys_it_says_what_to_run_where(
    report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "convert", report, "-o", tmp_path / "out.run")
    assert done.status == 4
    assert done.error == (
        "run.nsys-rep needs nsys 2025.3.1 or newer to be read, and none was found"
    )
    assert (
        "where Nsight Systems is installed run: nsys export -t parquetdir "
        "--include-blobs=true --include-json=true -o run_pqtdir run.nsys-rep"
    ) in done.err
    assert not (tmp_path / "out.run").exists()


def test_a_raw_stream_is_no_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stand_in(tmp_path / "bin")
    path = tmp_path / "run.qdstrm"
    path.write_bytes(STREAM)
    done = run(capfd, "convert", path, "-o", tmp_path / "out.run")
    assert done.status == 3
    assert done.error.startswith("run.qdstrm is the raw stream of nsys 2025.3.1, not")
    assert "QdstrmImporter -i run.qdstrm -o run.nsys-rep" in done.err


@pytest.mark.parametrize(
    ("prints", "status", "error", "says", "hint"),
    [
        (
            NO_LIBDW,
            127,
            MissingToolError,
            "nsys 2025.3.1.90 cannot run: the shared library libdw.so.1 is missing",
            "apt install libdw1 (Debian, Ubuntu), or dnf install elfutils-libs",
        ),
        (
            NO_IMPORTER,
            0,
            MissingToolError,
            "the importer of nsys 2025.3.1.90 does not start, mostly because libdw.so",
            "apt install libdw1 (Debian, Ubuntu), or dnf install elfutils-libs",
        ),
        (
            "nsys: error while loading shared libraries: libfoo.so.3: cannot open",
            127,
            MissingToolError,
            "nsys 2025.3.1.90 cannot run: the shared library libfoo.so.3 is missing",
            "install the package that holds libfoo.so.3: apt-file search libfoo.so.3",
        ),
        (
            "libelf.so.1: cannot open shared object file: No such file or directory",
            1,
            MissingToolError,
            "nsys 2025.3.1.90 cannot run: the shared library libelf.so.1 is missing",
            "apt install libelf1 (Debian, Ubuntu), or dnf install elfutils-libelf",
        ),
        (
            "Exportation error: No space left on device",
            1,
            OutputError,
            "the disk filled up while nsys 2025.3.1.90 exported run.nsys-rep",
            "write the run to a disk with more room: -o RUN",
        ),
        (
            "Exportation error: Section Table Reference is absent.",
            1,
            UnreadableTraceError,
            "nsys 2025.3.1.90 ended with status 1 and exported nothing of run.nsys-rep",
            "run the command by hand: ",
        ),
        (
            "Exportation error: The report was created by a newer version",
            1,
            MissingToolError,
            "run.nsys-rep was written by a newer nsys (2025.3.1) than the newest here",
            "install Nsight Systems 2025.3.1 or newer, or where it is: ",
        ),
        (
            "Generated: run.sqlite",
            0,
            UnreadableTraceError,
            "nsys 2025.3.1.90 ended with status 0 and exported nothing of run.nsys-rep",
            "run the command by hand: ",
        ),
    ],
    ids=[
        "libdw",
        "importer",
        "library",
        "opened",
        "disk",
        "damaged",
        "newer",
        "nothing",
    ],
)
def test_a_failure_is_explained_and_what_nsys_printed_is_shown(
    prints: str,
    status: int,
    error: type[Exception],
    says: str,
    hint: str,
    report: Path,
    tmp_path: Path,
) -> None:
    stand_in(tmp_path / "bin", prints=prints, status=status)
    with pytest.raises(error) as caught:
        converted(report)
    first, *quoted = str(caught.value).splitlines()
    assert first.startswith(says)
    assert quoted == [f"  | {line}" for line in prints.splitlines()]
    assert getattr(caught.value, "hint").startswith(hint)  # noqa: B009 - of any error
    assert not (tmp_path / "out.run").exists()


def test_a_report_of_a_newer_nsys_that_fails_names_both_versions(
    report: Path, tmp_path: Path
) -> None:
    report.write_bytes(REPORT.replace(b"2025@3@1", b"2026@5@1"))
    stand_in(tmp_path / "bin", prints="Exportation error: unknown field", status=1)
    with pytest.raises(MissingToolError) as caught:
        converted(report)
    assert str(caught.value) == (
        "run.nsys-rep was written by a newer nsys (2026.5.1) than the newest here "
        "(2025.3.1.90)\n  | Exportation error: unknown field"
    )


def test_an_nsys_that_stands_still_is_stopped(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_export, "STALLED_S", 0.2)
    path = tmp_path / "bin" / "nsys"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo version 2025.3.1; exit; }\n'
        "echo waiting\nexec /bin/sleep 600\n"
    )
    path.chmod(0o755)
    with pytest.raises(
        UnreadableTraceError, match="neither printed nor wrote"
    ) as found:
        converted(report)
    assert "  | waiting" in str(found.value)


def test_the_newest_nsys_is_used(
    report: Path,
    exports: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of(version: str, folder: str) -> StandIn:
        text = f"NVIDIA Nsight Systems version {version}"
        return stand_in(tmp_path / folder, exports=exports, version=text)

    first = of("2024.6.2.225-246235244400v0", "bin")
    newest = of("2025.10.1.1-1v0", "opt/2025.10.1/bin")
    of("2025.9.1.1-1v0", "opt/2025.9.1/bin")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "INSTALL_PATTERNS", ("/opt/*/bin/nsys",))
    converted(report)
    assert len(newest.asked) == 1
    # The one that the user names is taken, whatever else there is.
    monkeypatch.setenv("TRACEKIT_NSYS", str(first.path))
    converted_again(report)
    assert (len(first.asked), len(newest.asked)) == (1, 1)


@pytest.mark.parametrize(
    "folder",
    [
        "opt/nvidia/nsight-systems/2025.3.2/bin",
        "opt/nvidia/nsight-systems/2024.6.2/target-linux-x64",
        "opt/nvidia/nsight-systems-cli/2024.5.1/target-linux-x64",
        "opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64",
        "usr/local/cuda-13.0/bin",
        "usr/local/cuda/bin",
        "usr/lib/nsight-systems/target-linux-x64",
        "usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64",
        "opt/nvidia/hpc_sdk/Linux_x86_64/25.1/profilers/Nsight_Systems/bin",
    ],
)
def test_nsys_is_found_where_installers_put_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "INSTALL_PATTERNS", USUAL)
    monkeypatch.setattr(program, "ROOT", tmp_path)
    nsys = stand_in(tmp_path / folder)
    found = program.find_nsys()
    assert found is not None
    assert found.path == nsys.path
    assert found.version == (2025, 3, 1, 90)


def test_one_that_does_not_start_is_passed_over(
    report: Path,
    exports: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(tmp_path / "bin", version=NO_LIBDW, version_status=127)
    with pytest.raises(MissingToolError, match=r"the shared library libdw\.so\.1 is"):
        converted(report)
    stand_in(tmp_path / "opt", exports=exports)
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "INSTALL_PATTERNS", ("/opt/nsys",))
    assert converted(report).manifest.rows("kernel") == 2


def test_a_wrong_name_in_the_variable_is_told(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_NSYS", str(tmp_path / "nothing"))
    with pytest.raises(MissingToolError, match=r"TRACEKIT_NSYS is .*, which is no "):
        converted(report)


def test_an_nsys_that_tells_no_version_is_used(
    report: Path, exports: dict[str, Path], tmp_path: Path
) -> None:
    stand_in(tmp_path / "bin", exports=exports, version="a build", version_status=1)
    assert converted(report).manifest.rows("kernel") == 2


def test_a_report_cannot_be_scrubbed_but_its_export_can(
    report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "scrub", report, "-o", tmp_path / "shared.nsys-rep")
    assert done.status == 2
    assert done.error == "a capture of the format nsys-report cannot be scrubbed"
    assert "Hint: scrub its export: nsys export -t sqlite" in done.err


Doctor = Callable[[str], dict[str, str]]


@pytest.fixture
def doctor(capfd: pytest.CaptureFixture[str]) -> Doctor:
    def ask(check: str) -> dict[str, str]:
        printed = run(capfd, "doctor", "--format", "json").out
        rows: list[dict[str, str]] = json.loads(printed)
        return {row["check"]: row for row in rows}.get(check, {})

    return ask


def test_doctor_names_the_nsys_that_would_be_used(
    doctor: Doctor, tmp_path: Path
) -> None:
    assert doctor("nsys")["status"] == "missing"
    nsys = stand_in(tmp_path / "bin")
    assert doctor("nsys")["found"] == f"2025.3.1.90 ({nsys.path})"
    stand_in(tmp_path / "bin", version=NO_LIBDW, version_status=127)
    found = doctor("nsys")
    assert found["status"] == "limited"
    assert "libdw.so.1" in found["found"]


def test_doctor_looks_for_what_the_importer_needs(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.convert.doctor._loads", lambda _: False)
    assert doctor("nsys importer") == {}
    stand_in(tmp_path / "bin")
    found = doctor("nsys importer")
    assert found["status"] == "limited"
    assert found["found"].startswith("libdw.so.1 is missing: nsys profile leaves a")
    monkeypatch.setattr("tracekit.convert.doctor._loads", lambda _: True)
    assert doctor("nsys importer") == {}
