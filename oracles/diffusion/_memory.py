"""Errors about insufficient memory, raised before the operating system ends the process."""

from __future__ import annotations

from pathlib import Path

_SMALL = 2**26
_MEMINFO = Path("/proc/meminfo")


def require_memory(n_bytes: int, purpose: str) -> None:
    """Raise ``MemoryError`` if `n_bytes` exceed the free memory of the machine, if that is known.

    Linux grants more memory than it has and later kills the process. This error comes first and states the
    purpose.
    """
    if n_bytes < _SMALL:
        return
    free = _free()
    if free is not None and n_bytes > free:
        raise MemoryError(f"{purpose} needs about {n_bytes / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")


def _free() -> int | None:
    """Return the bytes that are available without swapping, or None if the system does not report them."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)
