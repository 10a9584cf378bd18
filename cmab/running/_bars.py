"""Progress bars: widgets in a notebook with ipywidgets, and text otherwise."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import nullcontext
from functools import cache
from typing import Any, TextIO

from cmab._streams import Lossy
from cmab.validation import check_flag

_PATIENCE = 1.0  # seconds before a bar appears by default
_QUIET = "CMAB_QUIET"


def progress_bar(**options: Any) -> Any:
    """Return a progress bar of tqdm."""
    return _kind()(**options)


def shown_bar(progress: bool | None, **options: Any) -> Any:
    """Return a context manager of a bar of tqdm, or of None if no bar is shown (see `is_shown`).

    If `progress` is None, the bar appears after one second.
    """
    if not is_shown(progress):
        return nullcontext()
    return progress_bar(**options, delay=_PATIENCE if progress is None else 0.0)


def is_shown(progress: bool | None) -> bool:
    """Return `progress`. For None, return whether a bar is visible and ``CMAB_QUIET`` is not set."""
    if progress is None:
        return is_watched(sys.stderr) and not os.environ.get(_QUIET)
    check_flag("progress", progress)
    return progress


@cache
def _kind() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm warns in a notebook without ipywidgets
        from tqdm.auto import tqdm
    return tqdm


def is_watched(stream: TextIO | None) -> bool:
    """Return whether a bar is visible: on a terminal or in a notebook."""
    ipython = sys.modules.get("IPython")
    return Lossy(stream, ()).isatty() or (ipython is not None and hasattr(ipython.get_ipython(), "kernel"))
