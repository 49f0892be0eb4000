"""Writes the names of CUDA's API functions by callback id, which nvprof records.

    pip download --no-deps nvidia-cuda-cupti && unzip nvidia_cuda_cupti-*.whl
    python docs/cupti_callbacks.py nvidia/cu13/include

Ids are only ever added, so those of the newest headers hold for every capture. Numbers
and function names are taken and nothing else.
"""

import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "tracekit" / "convert" / "nvprof"
ENTRY = re.compile(r"CUPTI_\w+_TRACE_CBID_(\w+)\s*=\s*(\d+)")
# Functions that the headers do not name: cuda564, cu802.
UNNAMED = re.compile(r"cu(?:da)?\d+$")


def main(headers: Path) -> None:
    """Write one file for the runtime and one for the driver."""
    for domain in ("runtime", "driver"):
        text = (headers / f"cupti_{domain}_cbid.h").read_text()
        lines = [
            f"{number} {name}\n"
            for name, number in ENTRY.findall(text)
            if name not in ("INVALID", "SIZE", "FORCE_INT") and not UNNAMED.match(name)
        ]
        path = OUT / f"{domain}_callbacks.txt"
        path.write_text("".join(lines))
        print(f"Wrote {path.name}: {len(lines)} functions")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
