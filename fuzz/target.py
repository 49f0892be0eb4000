"""Fuzzes one target, guided by the code it reaches.

    python fuzz/target.py kineto [options of libFuzzer] [CORPUS...]

`run.py` starts it; by hand it repeats a finding: `python fuzz/target.py kineto FILE`.
"""

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
with atheris.instrument_imports(include=["tracekit"]):
    from fuzz.targets import Capture, targets


def main() -> None:
    """Run libFuzzer on the target that the first argument names."""
    name = sys.argv.pop(1)
    check = targets()[name]
    # Memory, where there is such a folder: a write to the disk takes longer than
    # the reading.
    memory = Path("/dev/shm")
    place = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
    folder, scratch = Path(place) / "in", Path(place) / "scratch"
    folder.mkdir()
    scratch.mkdir()
    capture = Capture(name, folder, atheris.FuzzedDataProvider)

    def one(data: bytes) -> None:
        check(capture.write(data), scratch)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
