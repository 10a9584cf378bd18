"""The look of all pictures, and the one door to matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

Result = TypeVar("Result")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE = {
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.4,
    "figure.figsize": (4.8, 3.0),
    "figure.dpi": 110,
    "savefig.dpi": 220,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "cmab",
}


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message names the extra that brings it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'cmab[plot]'") from None
    return plt


def style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws at the size of a paper's column."""
    context: AbstractContextManager[None] = pyplot().rc_context(_STYLE)
    return context


def look(number: int) -> dict[str, Any]:
    """Return colour, line style and marker of the curve with this number; 49 differ even without colour."""
    lap, place = divmod(number, len(COLOURS))
    return {
        "color": COLOURS[place],
        "linestyle": DASHES[place],
        "marker": MARKERS[(place + lap) % len(MARKERS)],
    }


def save(axes: Any, stem: str | os.PathLike[str], suffixes: Sequence[str] = (".png", ".pdf")) -> None:
    """Write the figure of `axes` to ``stem.png`` and ``stem.pdf``, without margins, and close it.

    Other suffixes are other formats. The same figure gives the same bytes.
    """
    with style():
        for suffix in suffixes:
            undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
            axes.figure.savefig(
                f"{os.fspath(stem)}{suffix}", bbox_inches="tight", pad_inches=0.03, metadata=undated
            )
    pyplot().close(axes.figure)


def labelled(results: Mapping[Any, Result]) -> dict[str, Result]:
    """Return results by text: those of a study by learner, and by instance too if there are several."""
    pairs = [key for key in results if isinstance(key, tuple)]
    several = len({instance for instance, _ in pairs}) > 1
    names = {key: f"{key[1]} on {key[0]}" if several else key[1] for key in pairs}
    return {names.get(key, key): result for key, result in results.items()}
