"""Fuzzes every reader for a while and prints a table.

    python fuzz/run.py [--seconds 60] [--target NAME]... [--findings FOLDER]

Needs `pip install '.[fuzz]'`. A finding is anything but a clear error: an exception, a
row that does not fit the schema, an input that takes 25 s, 1 GB of memory. Its input is
left in FOLDER. Ends with 1 where there is one.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fuzz.targets import CORPUS, readers  # noqa: E402 - the path must be set before

_LIMITS = ("-rss_limit_mb=1024", "-timeout=25", "-max_len=65536")
_GRACE_S = 120


def main() -> int:
    """Run the targets one after the other."""
    names = sorted(readers())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--target", action="append", choices=names)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    wanted = parser.parse_args()
    print(
        f"{'target':24} {'runs':>9} {'per s':>7} {'cover':>6} {'corpus':>11}"
        f" {'MB':>5}  result"
    )
    bad = 0
    for name in wanted.target or names:
        bad += not _fuzz(name, wanted.seconds, wanted.findings)
    return 1 if bad else 0


def _fuzz(name: str, seconds: int, findings: Path) -> bool:
    findings.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as grown:
        seeds = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
        command = [
            sys.executable,
            str(ROOT / "fuzz" / "target.py"),
            name,
            f"-max_total_time={seconds}",
            *_LIMITS,
            f"-artifact_prefix={findings / name}-",
            "-print_final_stats=1",
            grown,
            *seeds,
        ]
        log = findings / f"{name}.log"
        with log.open("wb") as file:
            try:
                status = subprocess.run(
                    command,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=seconds + _GRACE_S,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = -1
    said = log.read_text(errors="replace")
    runs = _last(r"number_of_executed_units:\s*(\d+)", said)
    rate = runs / max(time.monotonic() - began, 1)
    cover, peak = _last(r"cov: (\d+)", said), _last(r"peak_rss_mb:\s*(\d+)", said)
    kept = re.findall(r"corp: (\d+)/", said) or ["0"]
    corpus = f"{kept[0]} to {kept[-1]}"
    print(
        f"{name:24} {runs:>9,} {rate:>7.0f} {cover:>6} {corpus:>11} {peak:>5}"
        f"  {_result(status, said)}",
        flush=True,
    )
    if status == 0:
        log.unlink()
    return status == 0


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _result(status: int, said: str) -> str:
    if status == 0:
        return "no finding"
    found = re.findall(
        r"(?m)^\s*((?:[\w.]+(?:Error|Exception|Invalid)\b|==\d+== ?ERROR).*)", said
    )
    return (found[0] if found else f"status {status}")[:100]


if __name__ == "__main__":
    sys.exit(main())
