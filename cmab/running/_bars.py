"""Progress bars: widgets in a notebook that has ipywidgets, text elsewhere."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any, TextIO

from cmab._streams import Lossy


def progress_bar(**options: Any) -> Any:
    """Return a bar of tqdm."""
    return _kind()(**options)


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
