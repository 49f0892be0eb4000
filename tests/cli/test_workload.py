"""`tracekit workload` lists the models and runs them in the user's interpreter."""

import json
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.interpreters import stand_in_python
from tracekit.store.run import open_run


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def configure(folder: Path, text: str) -> None:
    path = folder / "config" / "tracekit" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_the_list_is_the_papers_table(capfd: pytest.CaptureFixture[str]) -> None:
    done = run(capfd, "workload", "list", "--format", "json")
    rows = {row["workload"]: row for row in json.loads(done.out)}
    assert rows["resnet50"] == {
        "workload": "resnet50",
        "application": "Image classification",
        "model": "ResNet-50",
        "layers": "50",
        "dominant layer": "CONV",
        "frameworks": rows["resnet50"]["frameworks"],
        "dataset imitated": "ImageNet-1K",
        "unit": "images",
    }
    assert "torch" in rows["resnet50"]["frameworks"]
    assert rows["a3c"]["unit"] == "frames"


def test_a_workload_runs_where_the_option_says(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "bin")
    done = run(
        capfd,
        *("workload", "run", "resnet50", "--python", python.path),
        *("--preset", "tiny", "--batch-size", "8", "--set", "width=4"),
        *("--record", "mine.jsonl"),
    )
    assert done.status == 0, done.err
    assert done.out == b"trained\n"
    assert python.asked[1:] == [
        *("resnet50", "--framework", "torch", "--preset", "tiny"),
        *("--batch-size", "8", "--set", "width=4"),
    ]
    assert Path(python.asked[0]).name == "run.py"
    done = run(capfd, "convert", "mine.jsonl", "-o", "mine.run")
    assert done.status == 0, done.err
    assert open_run(tmp_path / "mine.run").manifest.rows("step") == 2


def test_the_configured_interpreter_gets_its_variables(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", "/another/python")
    python = stand_in_python(tmp_path / "bin")
    configure(
        tmp_path,
        f'[env.torch]\npython = "{python.path}"\nenv = {{ LD_LIBRARY_PATH = "/x" }}\n',
    )
    done = run(capfd, "workload", "run", "resnet50")
    assert done.status == 0, done.err
    assert python.environment["LD_LIBRARY_PATH"] == "/x"
    assert "PYTHONHOME" not in python.environment


def test_a_configuration_beside_a_capture_is_not_read(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "bin")
    for name in ("config.toml", "tracekit.toml", ".tracekit.toml"):
        (tmp_path / name).write_text(f'[env.torch]\npython = "{python.path}"\n')
    run(capfd, "workload", "run", "resnet50", "--python", "/nowhere/python")
    assert not (tmp_path / "bin" / "asked").exists()


def test_the_status_is_the_workloads(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "bin", status=86)
    done = run(capfd, "workload", "run", "resnet50", "--python", python.path)
    assert done.status == 86


def test_an_interpreter_without_the_framework_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    python = stand_in_python(tmp_path / "bin", "mxnet")
    done = run(capfd, "workload", "run", "resnet50", "--python", python.path)
    assert done.status == 4
    assert done.error == f"{python.path} has no torch (named by --python)"


def test_no_interpreter_at_all_is_told_with_what_to_write(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    done = run(capfd, "workload", "run", "resnet50")
    assert done.status == 4
    assert "has torch" in done.error
    assert "[env.torch]" in done.err


@pytest.mark.parametrize(
    "text", ["[env.torch", "[env.torch]\n", "[run.torch]\n", "env = 3\n"]
)
def test_a_damaged_configuration_is_told(
    text: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    configure(tmp_path, text)
    done = run(capfd, "workload", "run", "resnet50")
    assert done.status == 2
    assert "config.toml" in done.error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["resnet51"], "no workload `resnet51`"),
        (["resnet50", "--framework", "caffe"], "not written in `caffe`"),
        (["resnet50", "--preset", "huge"], "no preset `huge`"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "workload", "run", *arguments)
    assert done.status == 2
    assert said in done.error
