"""Peak memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_kib() -> int:
    """Largest resident set so far, in KiB.

    On Linux it is read from the kernel's record of this program: what `getrusage` says starts at the size of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
