"""The wheel and the sdist hold what they must, and nothing else."""

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.shared import ROOT
from tracekit.query import module_names


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "hatchling", "build", "-d", str(folder))
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    subprocess.run([*build, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    return folder


def test_wheel_holds_the_bundled_folders_and_no_tests(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    bundled = "tracekit/_bundled/"
    for name in module_names():
        assert f"{bundled}queries/{name.replace('.', '/')}.sql" in names
    assert any(name.startswith(f"{bundled}demo/resnet50") for name in names)
    assert "tracekit/py.typed" in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if "dist-info" not in top} == {"tracekit"}


def test_wheel_finds_its_queries(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True, system_site_packages=False)
    python = tmp_path / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # The libraries come from the environment of the tests, tracekit does not: its
    # checkout is not on this path.
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    listed = subprocess.run(
        [
            str(python),
            "-I",  # whatever PYTHONPATH names is not the wheel
            "-c",
            "import sys; sys.path += sys.argv[1:];"
            "import tracekit; from tracekit.query import module_names;"
            "print(tracekit.__file__); print(*module_names())",
            *libraries,
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert str(tmp_path) in listed[0]
    assert listed[1].split() == list(module_names())


def test_sdist_holds_tests_and_fixtures(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/conftest.py"} <= names
    assert not any(name.startswith((".ci/venv", "site/")) for name in names)
