"""Whether this machine has the memory that something would take, asked before anything is allocated."""

from __future__ import annotations

from deltaw.envs.errors import InputError


def check_memory(needed: int, what: str) -> None:
    """Raises InputError if `needed` bytes are more than the machine has free."""
    free = free_memory()
    if needed > free:
        raise InputError(f"{what} needs {needed / 2**30:.1f} GiB; {free / 2**30:.1f} GiB are free")


def free_memory() -> int:
    """Bytes that can be allocated without swapping; without /proc, a cautious 2 GiB."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 2 << 30
