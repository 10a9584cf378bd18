"""Names that figures and files can show, and axes with room for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cmab._streams import printable
from cmab.plotting import pyplot, style

# Two figures fit side by side on a screen, and their letters are readable on a phone.
_WIDTH, _HEIGHT = 4.6, 2.9
_LINE = 0.17
_LONGEST_SLUG = 60
_LONGEST_LABEL = 40


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return for each name a different text that is valid as a file name and as an anchor."""
    found: dict[str, str] = {}
    for name in names:
        text = plain = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_SLUG].strip("-") or "unnamed"
        number = 1
        # Names that differ only in capitals or signs must not share a file.
        while text in found.values():
            number += 1
            text = f"{plain}-{number}"
        found[name] = text
    return found


def drawn_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each name a different label for figures: one line, no formulas, at most 40 letters or so."""
    found: dict[str, str] = {}
    for name in names:
        text = printable(name)
        if len(text) > _LONGEST_LABEL:
            text = f"{text[: _LONGEST_LABEL - 15]}…{text[-14:]}"
        text = plain = text.replace("$", r"\$")
        number = 1
        while text in found.values():
            number += 1
            text = f"{plain} ({number})"
        # Matplotlib omits labels that begin with an underscore from legends.
        found[name] = f" {text}" if text.startswith("_") else text
    return found


def new_axes(n_names: int = 0, height: float = _HEIGHT) -> Any:
    """Return new axes with room for a legend of `n_names` lines below them."""
    with style():
        return pyplot().figure(figsize=(_WIDTH, height + _LINE * n_names)).add_subplot()
