"""Progress bars: widgets in a notebook that has ipywidgets, text elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import nullcontext
from functools import cache
from typing import Any, TextIO

from cmab._streams import Lossy
from cmab.validation import check_flag

_PATIENCE = 1.0  # seconds before a bar appears that nobody asked for
_QUIET = "CMAB_QUIET"


def progress_bar(**options: Any) -> Any:
    """Return a bar of tqdm."""
    return _kind()(**options)


def shown_bar(progress: bool | None, **options: Any) -> Any:
    """Return a context of a bar of tqdm, or of None if no bar is shown; see `is_shown`.

    If `progress` is None, the bar appears after a second only.
    """
    if not is_shown(progress):
        return nullcontext()
    return progress_bar(**options, delay=_PATIENCE if progress is None else 0.0)


def is_shown(progress: bool | None) -> bool:
    """Return `progress`; for None, whether a bar is seen and ``CMAB_QUIET`` does not forbid it."""
    if progress is None:
        return is_watched(sys.stderr) and not os.environ.get(_QUIET)
    check_flag("progress", progress)
    return progress


@cache
def _kind() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without ipywidgets, where the bar is text
        from tqdm.auto import tqdm
    return tqdm


def is_watched(stream: TextIO | None) -> bool:
    """Return whether a bar is seen as it moves: on a terminal or in a notebook."""
    ipython = sys.modules.get("IPython")
    return Lossy(stream, ()).isatty() or (ipython is not None and hasattr(ipython.get_ipython(), "kernel"))
