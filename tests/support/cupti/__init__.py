"""A stand-in for libcupti and a program that has it record what is known."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tracekit.assets import assets
from tracekit.collect.cupti_build import FLAGS, compiler, find_headers

_HERE = Path(__file__).parent
_STRICT = (*FLAGS, "-Werror")


@dataclass(frozen=True)
class Programs:
    """What was built.

    Attributes:
        collector: The collector's library.
        cupti: The stand-in for libcupti.
        program: The program that loads both.
    """

    collector: Path
    cupti: Path
    program: Path

    def run(
        self, folder: Path, scenario: str, count: int = 0, **variables: str
    ) -> subprocess.Popen[str]:
        """Start the program with the collector in it; it writes into `folder`."""
        folder.mkdir(exist_ok=True)
        return subprocess.Popen(
            [self.program, scenario, str(count)],
            env={
                **os.environ,
                "CUDA_INJECTION64_PATH": str(self.collector),
                "TRACEKIT_CUPTI_LIBRARY": str(self.cupti),
                "TRACEKIT_CUPTI_FOLDER": str(folder),
                **variables,
            },
            stdout=subprocess.PIPE,
            text=True,
        )


def build(folder: Path) -> Programs:
    """Build all of it, warnings being errors."""
    made = Programs(folder / "collector.so", folder / "stand_in.so", folder / "program")
    collector = assets("collectors") / "cupti"
    sources = [str(file) for file in collector.iterdir() if file.name.endswith(".cpp")]
    _compile(made.collector, *_STRICT, *sources)
    _compile(made.cupti, "-std=c++17", "-fPIC", "-shared", str(_HERE / "stand_in.cpp"))
    _compile(made.program, "-std=c++17", str(_HERE / "program.cpp"))
    return made


def _compile(to: Path, *arguments: str) -> None:
    includes = [f"-isystem{folder}" for folder in find_headers().folders]
    command = [compiler(), *includes, *arguments, "-o", str(to), "-ldl", "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
