"""What runs in a traced program's interpreters notes facts and disturbs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.collect.hooks import Hooks

_TORCH = {
    "torch/__init__.py": """
        __version__ = "2.11.0"
        from torch import autograd
        class version: cuda = "13.0"
        class backends:
            class cudnn:
                benchmark, allow_tf32 = True, False
                def version(): return 91200
            class cuda:
                class matmul:
                    @property
                    def allow_tf32(self): raise RuntimeError("mixed ways of asking")
                matmul = matmul()
        def get_float32_matmul_precision(): return "highest"
        """,
    "torch/autograd/__init__.py": "from torch.autograd import profiler",
    "torch/autograd/profiler.py": """
        class profile:
            def _start_trace(self): print("started")
        """,
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.splitlines()
        indent = min(
            (len(line) - len(line.lstrip()) for line in lines if line.strip()),
            default=0,
        )
        path.write_text("\n".join(line[indent:] for line in lines))


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    write(folder, _TORCH)
    return folder


def ran(hooks: Hooks, packages: Path, code: str) -> str:
    before = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**before, **hooks.variables(before)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_versions_and_flags_are_noted(tmp_path: Path, packages: Path) -> None:
    with Hooks(tmp_path / "notes") as hooks:
        ran(hooks, packages, "import torch; torch.backends.cudnn.benchmark = False")
        assert hooks.facts() == {
            "python": sys.version.split()[0],
            "torch": "2.11.0",
            "torch.version.cuda": "13.0",
            "torch.backends.cudnn.version": "91200",
            # As it was at the end.
            "torch.backends.cudnn.benchmark": "False",
            "torch.backends.cudnn.allow_tf32": "False",
            "torch.get_float32_matmul_precision": "highest",
        }
        assert hooks.other_profilers() == []


def test_values_that_differ_are_all_told(tmp_path: Path, packages: Path) -> None:
    with Hooks(tmp_path / "notes") as hooks:
        ran(hooks, packages, "import torch")
        ran(hooks, packages, "import torch; torch.backends.cudnn.benchmark = False")
        found = hooks.facts()["torch.backends.cudnn.benchmark"]
        assert sorted(found.split(", ")) == ["False", "True"]


def test_a_program_without_a_framework_notes_nothing(
    tmp_path: Path, packages: Path
) -> None:
    with Hooks(tmp_path / "notes") as hooks:
        ran(hooks, packages, "print(1)")
        assert not list((tmp_path / "notes").iterdir())


def test_a_profiler_of_the_program_is_noted(tmp_path: Path, packages: Path) -> None:
    with Hooks(tmp_path / "notes") as hooks:
        code = "import torch; torch.autograd.profiler.profile()._start_trace()"
        assert ran(hooks, packages, code) == "started\n"
        assert hooks.other_profilers() == ["the PyTorch profiler"]


def test_the_sitecustomize_behind_runs_and_modules_are_hidden(
    tmp_path: Path, packages: Path
) -> None:
    write(packages, {"sitecustomize.py": "print('own')", "facts.py": "name = 'own'"})
    with Hooks(tmp_path / "notes") as hooks:
        code = "import sitecustomize, facts; print(facts.name, sitecustomize.__file__)"
        out = ran(hooks, packages, code)
    assert out == f"own\nown {packages / 'sitecustomize.py'}\n"
