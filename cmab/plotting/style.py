"""The look of all figures and their legends, and the only import of matplotlib.pyplot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

# Okabe and Ito's colours, safe for colour-blind readers. Dashes and markers distinguish curves in print.
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

    The first 49 looks differ in line style and marker.
    """
    lap, place = divmod(number, len(COLOURS))
    return {
        "color": COLOURS[place],
        "linestyle": DASHES[(place + lap) % len(DASHES)],
        # Each cycle combines colours with other dashes and markers: 7 of each give 49 looks.
        "marker": MARKERS[(place + 2 * lap) % len(MARKERS)],
    }


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
        with style():
            axes.figure.savefig(path, bbox_inches="tight", pad_inches=0.03, metadata=undated)
    return axes


def labelled(results: Mapping[Any, Result]) -> dict[str, Result]:
    """Return results by label: those of a study by learner, and also by instance if there are several."""
    pairs = [key for key in results if isinstance(key, tuple)]
    several = len({instance for instance, _ in pairs}) > 1
    names = {key: f"{key[1]} on {key[0]}" if several else key[1] for key in pairs}
    return {names.get(key, key): result for key, result in results.items()}


# Most entries in one column of a legend beside a figure of the usual height.
_TALL = 20
# Most letters of a name if a legend has two columns.
_WIDE = 24


def add_legend(axes: Any, handles: Sequence[Any]) -> None:
    """Add a legend beside the only axes of a figure, otherwise inside, or below if it is long."""
    settings: dict[str, Any] = {"handles": handles, "frameon": False, "handlelength": 3.2}
    # Only a layout engine makes room for a legend outside the axes.
    has_layout = axes.figure.get_layout_engine() is not None
    if has_layout and len(axes.figure.axes) == 1:
        columns = 1 + len(handles) // _TALL
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=columns, **settings)
    elif has_layout and len(handles) > len(COLOURS):
        columns = 2 if max(len(handle.get_label()) for handle in handles) <= _WIDE else 1
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=columns, **settings)
    else:
        axes.legend(loc="best", **settings)


#: Looks of common names, so that figures of different programs agree.
_RESERVED = {"CUCB": 0, "Thompson": 1, "CTS": 1, "Clairvoyant": 4, "Random": 5, "RandomPolicy": 5}
_MOST = len(DASHES) * len(MARKERS)
_FIRST = [number for number in range(len(COLOURS)) if number not in _RESERVED.values()]
_ORDER = [*_FIRST, *(number for number in range(_MOST) if number not in _FIRST)]
# The look that each name has had in this program.
_known: dict[str, int] = {}


def numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the number of the look of each name in a figure; a name keeps the number it had before."""
    asked = list(dict.fromkeys(names))
    # Names with a reserved look come first; the other names get the remaining looks.
    in_turn = sorted(asked, key=lambda name: name not in _RESERVED)
    for name in in_turn:
        if name not in _known:
            _known[name] = _free(set(_known.values()), _RESERVED.get(name))
    found: dict[str, int] = {}
    for name in in_turn:
        # After 49 names, looks are used again, but not twice in one figure unless it has more than 49 names.
        taken = set(found.values())
        found[name] = _free(taken, _known[name]) if _known[name] in taken else _known[name]
    return {name: found[name] for name in asked}


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, line style and marker of each name, the same in all figures of a program.

    Parameters
    ----------
    names : iterable of str
        The names in a figure; 49 names have different looks.

    Returns
    -------
    dict of str to dict
        For each name, keyword arguments of matplotlib's ``plot``.

    Examples
    --------
    >>> from cmab.plotting import looks
    >>> looks(["CUCB"])["CUCB"] == looks(["mine", "CUCB"])["CUCB"]
    True
    """
    return {name: look(number) for name, number in numbers(names).items()}


def _free(taken: set[int], wanted: int | None) -> int:
    """Return the wanted number if it is free, otherwise the first free number, if any."""
    order = _ORDER if wanted is None else [wanted, *_ORDER]
    return next((number for number in order if number not in taken), len(taken) % _MOST)
