"""A problem of a benchmark file: the arguments of an oracle and the means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab import Oracle
from cmab.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem of a benchmark file.

    Parameters
    ----------
    name : str
        The name of the file, and for a file of several problems the number of the problem in brackets.
    kind : str
        The kind of problem, such as ``"steiner_tree"``.
    oracle_class : type
        The class of oracles that solves the problem.
    arguments : dict
        The arguments of this class, such as ``graph`` and ``terminals``.
    given_means : FloatArray, optional
        The means; by default, the weights of the graph.
    optimum : float, optional
        The optimum, if the file contains it.

    Examples
    --------
    >>> import networkx as nx
    >>> from instances.benchmarks.problem import Problem
    >>> from oracles import SteinerTree
    >>> graph = nx.Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 5.0), (2, 3, 1.0)])
    >>> problem = Problem("small", "steiner_tree", SteinerTree, {"graph": graph, "terminals": [1, 3]})
    >>> problem.oracle(method="approximate").expected_reward([0, 1], problem.means)
    6.0
    """

    name: str
    kind: str
    oracle_class: type[Oracle]
    arguments: dict[str, Any]
    given_means: FloatArray | None = field(default=None, repr=False)
    optimum: float | None = None

    def oracle(self, **options: Any) -> Oracle:
        """Return the oracle of the problem.

        Parameters
        ----------
        **options
            Further arguments of the class, such as ``method`` or ``time_limit``, or other values of
            `arguments`.
        """
        return self.oracle_class(**{**self.arguments, **options})

    @property
    def means(self) -> FloatArray:
        """The means of the base arms, in the order of the oracle, shape (n_arms,)."""
        if self.given_means is not None:
            return self.given_means.copy()
        oracle: Any = self.oracle()
        means: FloatArray = oracle.means_of("weight")
        return np.array(means)
