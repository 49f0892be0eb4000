"""What the stand-in for `nsys` does on `nsys profile`; run by it, not imported.

The texts are those of nsys 2025.3.1; see docs/measured/nsys_export.md.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

OPTIONS = (
    "trace",
    "sample",
    "cpuctxsw",
    "cuda-memory-usage",
    "cuda-um-cpu-page-faults",
    "cuda-um-gpu-page-faults",
    "gpu-metrics-devices",
    "gpu-metrics-device",
    "gpu-metrics-frequency",
    "cuda-graph-trace",
    "pytorch",
    "force-overwrite",
    "output",
    "capture-range",
    "capture-range-end",
    "nvtx-capture",
    "env-var",
)
REPORT = b"NVIDIA Tegra Profiler Report 2025@3@1@90-253135822126v0.\n\x0bLocal (CLI)"
STREAM = b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.1.0!\n\xe3G"


def main() -> None:
    asked, *arguments = sys.argv[1:]
    does = json.loads(asked)
    known = [name for name in OPTIONS if f"--{name}" not in does["unknown"]]
    if arguments == ["--help"]:
        sys.stdout.write("".join(f"\t--{name}=\n" for name in known))
        return
    output = "report1"
    while arguments and arguments[0].startswith("--"):
        name, _, value = arguments.pop(0).removeprefix("--").partition("=")
        if name not in known:
            sys.exit(f"unrecognised option '--{name}'\n\nusage: nsys profile [<args>]")
        if name == "output":
            output = value
    if does["fails"]:
        sys.exit(does["fails"])
    _say("Collecting data...")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A program's files beside its outputs reach it, as they do through nsys.
    subprocess.run(arguments, check=False, close_fds=does["closes_files"])
    _make(does, re.sub(r"%q\{(\w+)\}|%(%)", _replaced, output))
    sys.exit(does["status"])


def _replaced(match: re.Match[str]) -> str:
    return os.environ.get(match[1], "") if match[1] else "%"


def _make(does: dict[str, str], output: str) -> None:
    made = Path(output + ".nsys-rep")
    if does["makes"] == "nothing":
        return
    if does["makes"] == "stream":
        made = made.with_suffix(".qdstrm")
        if does["streams_to"]:
            made = Path(does["streams_to"]) / "nsys-report-12.qdstrm"
        made.write_bytes(STREAM)
        sys.stderr.write(
            "Importer error status: An unknown error occurred.\n"
            "Unable to retrieve the importer version: skipping importation of the "
            "QDSTRM file.\n"
        )
    elif does["makes"] == "numbered":
        for number in (1, 2):
            Path(f"{output}.{number}.nsys-rep").write_bytes(REPORT)
    else:
        made.write_bytes(REPORT)
    _say(f"Generated:\n\t{made}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


main()
