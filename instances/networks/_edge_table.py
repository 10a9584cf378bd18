"""The common form of all files: edges by name, with further columns and the place of each edge."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from cmab.run.tables import numbers_of
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
    one_way : list of bool, optional
        Which edges are directed, if only some are.
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
    one_way: list[bool] | None = None
    n_nodes: int | None = None
    notes: list[str] = field(default_factory=list)

    def fault(self, row: int, column: str, requirement: str) -> ValueError:
        """Return the error for the value in a column of an edge."""
        value = shown(self.columns[column][row])
        return ValueError(f"{self.file}, {self.places[row]}, column {column}: {requirement}, got {value}")


def number_of(value: object) -> float:
    """Return a cell as a number, as people write it, nan for other text or an unclear comma."""
    try:
        return float(value) if not isinstance(value, str) else numbers_of([value])[0]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
