"""What the driver and the kernel of this machine let a user measure."""

import os
import re
from pathlib import Path

DRIVER = Path("/proc/driver/nvidia")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
# From 3 on, an ordinary user may not sample even his own processes.
SAMPLING_LIMIT = 2
_CAP_SYS_ADMIN = 21

COUNTERS_ADVICE = (
    "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0, or run as root"
)
SAMPLING_ADVICE = f"sysctl kernel.perf_event_paranoid={SAMPLING_LIMIT}"


def counters_are_restricted() -> bool:
    """Tell whether the driver keeps the counters of the GPU from this user."""
    parameters = text_of(DRIVER / "params") or ""
    return "RmProfilingAdminOnly: 1" in parameters and not is_admin()


def sampling_is_restricted() -> bool:
    """Tell whether the kernel keeps this user from sampling his own processes."""
    text = (text_of(PARANOID) or "").strip()
    level = int(text) if re.fullmatch(r"-?\d+", text) else 0
    return level > SAMPLING_LIMIT and not is_admin()


def is_admin() -> bool:
    """Tell whether this process is root's and may administrate."""
    if os.geteuid() != 0:
        return False
    match = re.search(
        r"CapEff:\s*([0-9a-f]+)", text_of(Path("/proc/self/status")) or "CapEff: 0"
    )
    return bool(match and int(match[1], 16) >> _CAP_SYS_ADMIN & 1)


def text_of(path: Path) -> str | None:
    """Return the text of a file; None where it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
