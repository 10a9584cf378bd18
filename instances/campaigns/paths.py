"""The people that no path of a report reaches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from instances.campaigns.names import short
from oracles import DirectedGraph


class UnreachableError(ValueError):
    """A report of a person that no chain of joined people reaches.

    Parameters
    ----------
    sentence : str
        The sentence with the name of the person.

    Attributes
    ----------
    sentence : str
        The same sentence, without a remedy.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(
            f"{sentence} Did you forget somebody in between? Add them to the report, or give them as"
            " unknown if they may have joined without your knowledge."
        )
        self.sentence = sentence


def check_paths(
    graph: DirectedGraph,
    asked: Iterable[Hashable],
    joined: Iterable[Hashable],
    unknown: Iterable[Hashable],
) -> None:
    """Raise `UnreachableError` unless the people asked reach all joined people, perhaps through unknown ones.

    Parameters
    ----------
    graph : DirectedGraph
        The network.
    asked, joined, unknown : iterable of hashable
        The names of the people asked, of the joined people, and of those that may have joined.
    """
    numbers = graph.node_numbers
    first = {numbers[name] for name in asked if name in numbers}
    told = [numbers[name] for name in joined if name in numbers]
    allowed = {*first, *told, *(numbers[name] for name in unknown if name in numbers)}
    is_allowed = np.zeros(graph.n_nodes, np.bool_)
    is_allowed[list(allowed)] = True
    between = np.flatnonzero(is_allowed[graph.tails] & is_allowed[graph.heads])
    ties = list(zip(graph.tails[between].tolist(), graph.heads[between].tolist(), strict=True))
    reached = _reached(first, ties)
    lost = [node for node in told if node not in reached]
    if not lost:
        return
    tailed = {head for _, head in ties}
    alone = next((node for node in lost if node not in tailed), None)
    if alone is None:
        some = ", ".join(short(str(graph.label(node))) for node in lost[:5])
        raise UnreachableError(f"No chain of people who joined leads from the people asked to {some}.")
    name = short(str(graph.label(alone)))
    if any(tail == alone for tail, _ in ties):
        raise UnreachableError(
            f"{name} can tell people who were asked or who joined, but in the network none of them can"
            f" tell {name}."
        )
    raise UnreachableError(f"{name} knows nobody who was asked or who joined.")


def _reached(first: set[int], ties: list[tuple[int, int]]) -> set[int]:
    """Return the people that the first ones reach along the ties."""
    heads: dict[int, list[int]] = {}
    for tail, head in ties:
        heads.setdefault(tail, []).append(head)
    found, queue = {*first}, [*first]
    while queue:
        new = [head for head in heads.get(queue.pop(), ()) if head not in found]
        found.update(new)
        queue += new
    return found
