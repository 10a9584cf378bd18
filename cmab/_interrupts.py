"""Ctrl-C while the command imports its packages: exit immediately, without a traceback."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # the `typing` module would be imported before the handler
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

# The exit status that shells report for a program that Ctrl-C ended: 128 plus the number of the signal.
INTERRUPTED = 130
# The first two arguments of the interpreter in `python -m cmab`, and the file name of the installed command.
_MODULE = ["-m", "cmab"]
_COMMANDS = ("cmab", "cmab.exe")


def is_command() -> bool:
    """Return whether this process runs the command ``cmab``, not another program that imports the package."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # `python -m` sets this value until it has found the module
        at = sys.orig_argv.index("-m") if "-m" in sys.orig_argv else 0
        return sys.orig_argv[at : at + 2] == _MODULE
    return os.path.basename(program) in _COMMANDS  # noqa: PTH119 (pathlib would be imported before the handler)


def end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """Print a message and exit. During imports, no output exists that an exit could damage."""
    os.write(2, b"cmab: interrupted\n")
    os._exit(INTERRUPTED)


# If Ctrl-C is ignored, as in a background job of a script, it remains ignored.
if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_at_once)
