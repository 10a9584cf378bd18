"""The look of all figures, and the only import of matplotlib.pyplot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cmab._faults import told

Result = TypeVar("Result")

# Okabe and Ito's colours, safe for colour-blind readers. Dashes and markers distinguish curves in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# How much the colours of each further cycle are mixed with white (if positive) or black (if negative).
_SHADES = (0.0, 0.45, -0.4, 0.7, -0.65, 0.25, -0.2)
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
    # Font types that publishers accept in PDF, and identifiers in SVG that are the same in every run.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "cmab",
}


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message names the extra to install.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'cmab[plot]'") from None
    return plt


@contextmanager
def style() -> Iterator[None]:
    """Return a context in which matplotlib draws in the style of this module, at the width of a column."""
    plt = pyplot()
    with plt.rc_context(_STYLE):
        try:
            yield
        finally:
            # The first figure of a notebook makes pyplot interactive. Leaving the context would undo that,
            # and no later figure would be shown, not even figures of the user.
            interactive = plt.isinteractive()
    plt.interactive(interactive)


def look(number: int) -> dict[str, Any]:
    """Return the colour, line style and marker of the curve with this number.

    The first 49 looks have different colours, and different pairs of line style and marker.
    """
    lap, place = divmod(number, len(COLOURS))
    return {
        "color": _shade(COLOURS[place], _SHADES[lap % len(_SHADES)]),
        "linestyle": DASHES[(place + lap) % len(DASHES)],
        # Each cycle combines colours with other dashes and markers: 7 of each give 49 looks.
        "marker": MARKERS[(place + 2 * lap) % len(MARKERS)],
    }


def _shade(colour: str, share: float) -> str:
    """Return a colour mixed with white, or with black if `share` is negative."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    other = 255 if share > 0 or not any(parts) else 0  # black cannot be darkened, so it is lightened
    return "#" + "".join(f"{round(part + abs(share) * (other - part)):02X}" for part in parts)


def save(axes: Any, stem: str | os.PathLike[str], *, suffixes: Sequence[str] = (".png", ".pdf")) -> None:
    """Write the figure of `axes` to ``stem.png`` and ``stem.pdf`` with narrow margins, and close the figure.

    `suffixes` selects the formats. The same figure gives the same bytes.
    """
    for suffix in suffixes:
        written(axes, f"{os.fspath(stem)}{suffix}")
    pyplot().close(axes.figure)


def written(axes: Any, path: str | os.PathLike[str] | None) -> Any:
    """Write the figure of `axes` to `path` unless `path` is None, and return `axes`; the figure stays open.

    The suffix of the path determines the format. The same figure gives the same bytes.
    """
    if path is not None:
        # With a date, the same figure would give a different file.
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(Path(path).suffix.lower())
        with style(), told(path):
            axes.figure.savefig(path, bbox_inches="tight", pad_inches=0.03, metadata=undated)
    return axes


def labelled(results: Mapping[Any, Result]) -> dict[str, Result]:
    """Return results by label: those of a study by learner, and also by instance if there are several."""
    pairs = [key for key in results if isinstance(key, tuple)]
    several = len({instance for instance, _ in pairs}) > 1
    names = {key: f"{key[1]} on {key[0]}" if several else key[1] for key in pairs}
    return {names.get(key, key): result for key, result in results.items()}
