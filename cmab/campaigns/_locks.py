"""One process at a time on one file, on each system by its own means."""

from __future__ import annotations

import sys
import time

if sys.platform == "win32":
    import msvcrt
    import os

    # Far behind the end: on Windows a locked part of a file cannot be read by others.
    _BEYOND = 2**40

    def lock(descriptor: int) -> None:
        """Wait until the open file is ours; closing it, or the end of the process, gives it back."""
        os.lseek(descriptor, _BEYOND, os.SEEK_SET)
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                time.sleep(0.01)

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Wait until the open file is ours; closing it, or the end of the process, gives it back."""
        # Of the opened file, not of the process: two campaigns of one process exclude each other, too.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
