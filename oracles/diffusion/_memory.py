"""Saying that memory will not suffice, before the operating system ends the process."""

from __future__ import annotations

from pathlib import Path

_SMALL = 2**26
_MEMINFO = Path("/proc/meminfo")


def require_memory(n_bytes: int, purpose: str) -> None:
    """Raise ``MemoryError`` if `n_bytes` are more than the machine has free (where it says so).

    Linux grants more memory than there is and then kills: an error that names the purpose comes first.
    """
    if n_bytes < _SMALL:
        return
    free = _free()
    if free is not None and n_bytes > free:
        raise MemoryError(f"{purpose} needs about {n_bytes / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")


def _free() -> int | None:
    """Return the bytes that can be had without swapping; None where the system does not tell."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)
