"""The common form of all files: edges by name, with further columns and the place of each edge."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from cmab.validation import shown


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a file, before nodes are numbered and columns are interpreted.

    Parameters
    ----------
    file : Path
        The file of the edges.
    form : str
        The format of the file, such as "GraphML".
    ends : list of pairs
        The two names of each edge.
    places : list of str
        The place of each edge in the file, such as "line 3".
    columns : dict of str to list
        The further values of the edges, by name of the column.
    nodes : list
        The nodes that the file lists separately, in their order.
    directed : bool, optional
        Whether edges are directed; None if the file does not say so.
    why : str
        The reason for `directed`, as text of a message.
    mixed : str
        A description of the column by which only some edges are directed; empty otherwise.
    n_nodes : int, optional
        The number of nodes in the first line, if there is one. Names are then node numbers.
    notes : list of str
        Further lines on how the file was read.
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
    notes: list[str] = field(default_factory=list)

    def fault(self, row: int, column: str, requirement: str) -> ValueError:
        """Return the error for the value in a column of an edge."""
        value = shown(self.columns[column][row])
        return ValueError(f"{self.file}, {self.places[row]}, column {column}: {requirement}, got {value}")


def number_of(value: object) -> float:
    """Return a cell as a number (decimal point or comma, or a percentage), nan if it is not a number."""
    try:
        if isinstance(value, str):
            text = value.replace(",", ".").rstrip()
            return float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
