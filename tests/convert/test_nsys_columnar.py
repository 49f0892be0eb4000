"""The folders of Parquet or Arrow files hold what the SQLite export holds."""

import gzip
import shutil
from pathlib import Path

import pytest

from tests.support.columnar import columnar_copy
from tests.support.exports import (
    SCALE,
    SCALE_ARROW,
    SCALE_PARQUET,
    decompressed,
    edit,
    export_in,
)
from tests.support.rows import all_rows
from tests.support.rows import rows_of_run as rows_of
from tests.support.tables import Row
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError


def converted(capture: Path, place: Path) -> dict[str, list[Row]]:
    return all_rows(convert([capture], place))


@pytest.mark.parametrize("folder", [SCALE_PARQUET, SCALE_ARROW], ids=["parquet", "arw"])
def test_three_exports_of_one_capture_give_the_same_rows(
    folder: Path, tmp_path: Path
) -> None:
    """All three were written by nsys itself."""
    from_sqlite = converted(SCALE, tmp_path / "sqlite")
    assert len(from_sqlite) > 15
    assert converted(folder, tmp_path / "folder") == from_sqlite


def test_a_compressed_export_gives_the_same_rows(tmp_path: Path) -> None:
    plain = decompressed(SCALE)
    (tmp_path / "scale.sqlite").write_bytes(plain)
    (tmp_path / "scale.sqlite.gz").write_bytes(gzip.compress(plain))
    # The content tells, not the name.
    (tmp_path / "scale").write_bytes(SCALE.read_bytes())
    from_zstd = converted(SCALE, tmp_path / "zstd")
    for number, name in enumerate(("scale.sqlite", "scale.sqlite.gz", "scale")):
        assert converted(tmp_path / name, tmp_path / f"run-{number}") == from_zstd


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_folder_of_every_kind_of_event_gives_the_same_rows(
    form: str, tmp_path: Path
) -> None:
    export = export_in(tmp_path)
    folder = columnar_copy(export, tmp_path / "kinds_dir", form=form)
    from_sqlite = converted(export, tmp_path / "sqlite")
    assert {"collective", "counter_sample", "graph_launch"} <= from_sqlite.keys()
    assert converted(folder, tmp_path / "folder") == from_sqlite


@pytest.mark.parametrize("form", ["sqlite", "parquet", "arrow"])
def test_payloads_that_stand_there_in_binary_alone_are_decoded(
    form: str, tmp_path: Path
) -> None:
    """nsys's own decoding, `jsonText`, is the oracle; the bytes are no UTF-8."""
    export = export_in(tmp_path)
    oracle = convert([export], tmp_path / "oracle")
    edit(export, "UPDATE NVTX_EVENTS SET jsonText = NULL")
    if form != "sqlite":
        export = columnar_copy(export, tmp_path / "folder_dir", form=form)
    run = convert([export], tmp_path / "run")
    for table, most in (("collective", 4), ("annotation", 33)):
        found = rows_of(run, table)
        assert found == rows_of(oracle, table)
        assert len(found) == most
    assert [row["bytes"] for row in rows_of(run, "collective")] == [4 << 20] * 4
    assert [row["reduction"] for row in rows_of(run, "collective")] == ["sum"] * 4


def test_a_payload_that_is_no_payload_is_none(tmp_path: Path) -> None:
    export = export_in(
        tmp_path,
        "UPDATE NVTX_EVENTS SET jsonText = NULL",
        "UPDATE NVTX_EVENTS SET binaryData = x'ff00ff' WHERE binaryData IS NOT NULL",
    )
    run = convert([export], tmp_path / "run")
    assert rows_of(run, "collective") == []
    assert len(rows_of(run, "annotation")) == 33


@pytest.fixture(params=[SCALE_PARQUET, SCALE_ARROW], ids=["parquet", "arrow"])
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "half_dir"))


def test_a_file_that_was_cut_short_is_noticed(copied: Path, tmp_path: Path) -> None:
    (file,) = copied.glob("CUPTI_ACTIVITY_KIND_KERNEL.*")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UnreadableTraceError, match="is incomplete, so its export did"):
        convert([copied], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_empty_file_is_noticed(copied: Path, tmp_path: Path) -> None:
    (file,) = copied.glob("NVTX_EVENTS.*")
    file.write_bytes(b"")
    with pytest.raises(UnreadableTraceError, match="NVTX_EVENTS") as caught:
        convert([copied], tmp_path / "run")
    assert "is incomplete" in str(caught.value)


def test_a_folder_without_its_strings_is_noticed(copied: Path, tmp_path: Path) -> None:
    (file,) = copied.glob("StringIds.*")
    file.unlink()
    with pytest.raises(UnreadableTraceError, match="it holds no StringIds"):
        convert([copied], tmp_path / "run")
