"""A stand-in for `nsys`: it checks its arguments as nsys does, and prints its texts.

The texts were taken down from nsys 2025.3.1 on a machine with a GPU; see
docs/measured/nsys_export.md.
"""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

REPORT = b"NVIDIA Tegra Profiler Report 2025@3@1@90-253135822126v0.\n\x0bLocal (CLI)"
NUMBERED_REPORT = b"NVIDIA Tegra Profiler Report 36398880.\n\x0bLocal (CLI)"
STREAM = b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.1.0!\n\xe3G"

FLAGS = ("--include-blobs", "--include-json")
TYPES = ("sqlite", "arrowdir", "parquetdir")

NO_LIBDW = (
    "/opt/nvidia/QdstrmImporter: error while loading shared libraries: libdw.so.1: "
    "cannot open shared object file: No such file or directory"
)
NO_IMPORTER = (
    "Importer error status: An unknown error occurred.\n"
    "Unable to retrieve the importer version: skipping importation of the QDSTRM file."
)

_PROGRAM = """
import json, os, pathlib, shutil, sys
known = json.loads({known!r})
arguments = sys.argv[1:]
place = pathlib.Path(known["log"])
if arguments == ["--version"]:
    print(known["version"])
    sys.exit(known["version_status"])
with place.open("a") as log:
    temporary = os.environ.get("TMPDIR")
    log.write(json.dumps({{"arguments": arguments, "temporary": temporary}}) + "\\n")
if arguments[0] == "profile":
    sys.argv = [known["profile"], json.dumps(known["profiling"]), *arguments[1:]]
    exec(compile(pathlib.Path(known["profile"]).read_text(), "profile", "exec"))
    sys.exit(0)
usage = "\\nusage: nsys export [<args>] [nsys-rep-file]\\n" \\
    "Try 'nsys export --help' for more information."
assert arguments.pop(0) == "export"
kind, output, report = "sqlite", None, None
while arguments:
    argument = arguments.pop(0)
    if argument in ("-t", "--type"):
        kind = arguments.pop(0)
    elif argument in ("-o", "--output"):
        output = pathlib.Path(arguments.pop(0))
    elif argument.startswith("-"):
        if argument.partition("=")[0] not in known["flags"]:
            print(f"unrecognised option '{{argument}}'\\n{{usage}}", file=sys.stderr)
            sys.exit(1)
    else:
        report = pathlib.Path(argument)
if kind not in known["types"]:
    text = f"Unsupported export type option: '{{kind}}'.\\n{{usage}}"
    print(text, file=sys.stderr)
    sys.exit(1)
if not report.read_bytes():
    sys.exit("the report is empty")
for percent in range(0, 101, 50):
    print(f"\\rProcessing 3 events: [===={{percent}}%    ]", end="")
print()
if known["prints"]:
    print(known["prints"])
if known["status"] or not known["exports"]:
    sys.exit(known["status"])
made = pathlib.Path(known["exports"][kind])
if made.is_dir():
    shutil.copytree(made, output)
else:
    shutil.copy(made, output)
"""


_PROFILE = Path(__file__).with_name("nsys_profile_program.py")


class Profiling(msgspec.Struct, kw_only=True):
    """What the stand-in does when it is to profile.

    Attributes:
        makes: `report`, `stream`, `numbered` reports, or `nothing`.
        streams_to: A folder for the stream, if not beside the report.
        closes_files: Whether the program gets no files beside its outputs.
        status: The status that it ends with, whatever the program's.
        unknown: Options that it does not know.
        fails: What it prints instead of starting the program.
    """

    makes: str = "report"
    streams_to: str = ""
    closes_files: bool = False
    status: int = 0
    unknown: list[str] = []
    fails: str = ""


class _Call(msgspec.Struct):
    arguments: list[str]
    temporary: str | None


@dataclass(frozen=True)
class StandIn:
    """A program that was written, and what it was asked."""

    path: Path

    @property
    def _log(self) -> Path:
        return self.path.with_name("asked.jsonl")

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of each call but `--version`."""
        return [call.arguments for call in self._calls()]

    @property
    def temporary(self) -> list[str | None]:
        """The folder for temporary files of each such call."""
        return [call.temporary for call in self._calls()]

    def _calls(self) -> list[_Call]:
        if not self._log.exists():
            return []
        lines = self._log.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=_Call) for line in lines]


def stand_in(
    folder: Path,
    *,
    exports: dict[str, Path] | None = None,
    version: str = "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0",
    version_status: int = 0,
    flags: Sequence[str] = FLAGS,
    types: Sequence[str] = TYPES,
    prints: str = "",
    status: int = 0,
    profiling: Profiling | None = None,
) -> StandIn:
    """Write a program `nsys` into `folder`.

    Args:
        folder: The folder; made if it is not there.
        exports: What it makes, by type; nothing if left out.
        version: What `--version` prints.
        version_status: The status that `--version` ends with.
        flags: The options it knows beside the type and the output.
        types: The types it knows.
        prints: What it prints while it exports.
        status: The status that an export ends with.
        profiling: What it does when it is to profile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = {
        "log": str(folder / "asked.jsonl"),
        "exports": {kind: str(path) for kind, path in (exports or {}).items()},
        "version": version,
        "version_status": version_status,
        "flags": list(flags),
        "types": list(types),
        "prints": prints,
        "status": status,
        "profile": str(_PROFILE),
        "profiling": msgspec.to_builtins(profiling or Profiling()),
    }
    program = folder / "program.py"
    program.write_text(_PROGRAM.format(known=json.dumps(known)))
    path = folder / "nsys"
    # Without site-packages it starts in a third of the time.
    command = shlex.join([sys.executable, "-I", "-S", str(program)])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return StandIn(path)
