"""What every form of file becomes first: edges by name, with further columns and the place of each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from cmab.validation import shown


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a file, before names are numbered and columns mean anything.

    Parameters
    ----------
    file : Path
        Where they are from.
    form : str
        What the file is: "CSV with a header".
    ends : list of pairs
        The two names of each edge.
    places : list of str
        Where each stands: "line 3".
    columns : dict of str to list
        What else is told of each edge, by name.
    nodes : list
        Those that the file lists itself, in its order.
    directed : bool, optional
        Whether the file says that an edge goes one way.
    why : str
        By what it says so.
    mixed : str
        How it says so of some edges and not of others.
    n_nodes : int, optional
        What the first line gives as the number of nodes, whose names are numbers below it.
    """

    file: Path
    form: str
    ends: list[tuple[Hashable, Hashable]]
    places: list[str]
    columns: dict[str, list[object]] = field(default_factory=dict)
    nodes: list[Hashable] = field(default_factory=list)
    directed: bool | None = None
    why: str = ""
    mixed: str = ""
    n_nodes: int | None = None

    def fault(self, row: int, column: str, requirement: str) -> ValueError:
        """Return the error for what stands in a column of an edge."""
        value = shown(self.columns[column][row])
        return ValueError(f"{self.file}, {self.places[row]}, column {column}: {requirement}, got {value}")


def number_of(value: object) -> float:
    """Return a cell as a number, with a decimal point or comma, or in per cent; nan if it is none."""
    try:
        if isinstance(value, str):
            text = value.replace(",", ".").rstrip()
            return float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
