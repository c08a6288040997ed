"""How much memory programs may still take: the machine's, and within a container's limit."""

from __future__ import annotations

from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")
# A container's limit, its use, and what of that the kernel would give back: cgroup v2, and v1.
FILES = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


def free_memory_bytes(cgroup: Path = CGROUP) -> int:
    """Return the bytes that are free here; psutil sees no container's limit."""
    free: int = psutil.virtual_memory().available
    for limit, used, stat in FILES:
        try:
            lines = (cgroup / stat).read_text("utf-8").splitlines()
            cached = int(dict(line.split() for line in lines)["inactive_file"])
            left = int((cgroup / limit).read_text()) - int((cgroup / used).read_text()) + cached
        except (OSError, ValueError, KeyError):  # the other version, or no limit: "max"
            continue
        free = min(free, max(left, 0))
    return free
