"""Fuzzes every target for a while and prints a table.

    python fuzz/run.py [--seconds 60] [--jobs 1] [--target NAME]... [--findings FOLDER]

Needs `pip install '.[fuzz]'`. A finding is anything but a clear error: an exception, a
row that does not fit the schema, an input that takes 25 s, 1 GB of memory. Its input is
left in FOLDER. Ends with 1 where there is one. `cpu s` is the time of a core that a
target got.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fuzz.targets import corpus, targets  # noqa: E402 - the path must be set before

_LIMITS = ("-rss_limit_mb=1024", "-timeout=25", "-max_len=65536")
# On a machine that others use, the last input may take long.
_GRACE_S = 300


def main() -> int:
    """Run the targets, so many side by side as asked for."""
    names = sorted(targets())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--target", action="append", choices=names)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    wanted = parser.parse_args()
    print(
        f"{'target':22} {'cpu s':>6} {'runs':>9} {'cover':>6} {'corpus':>11}"
        f" {'MB':>5}  result",
        flush=True,
    )
    fuzz = partial(_fuzz, seconds=wanted.seconds, findings=wanted.findings)
    with ThreadPoolExecutor(wanted.jobs) as jobs:
        return 0 if all(list(jobs.map(fuzz, wanted.target or names))) else 1


def _fuzz(name: str, *, seconds: int, findings: Path) -> bool:
    findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as grown:
        seeds = [str(corpus(name))] if corpus(name).is_dir() else []
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
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        stop = threading.Timer(seconds + _GRACE_S, process.kill)
        stop.start()
        _, ended, used = os.wait4(process.pid, 0)
        stop.cancel()
    status = process.returncode = os.waitstatus_to_exitcode(ended)
    said = log.read_text(errors="replace")
    runs = _last(r"(?m)^#(\d+)", said)
    cover = _last(r"cov: (\d+)", said)
    kept = re.findall(r"corp: (\d+)/", said) or ["0"]
    growth = f"{kept[0]} to {kept[-1]}"
    print(
        f"{name:22} {used.ru_utime + used.ru_stime:>6.0f} {runs:>9,} {cover:>6}"
        f" {growth:>11} {used.ru_maxrss // 1024:>5}  {_result(status, said)}",
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
