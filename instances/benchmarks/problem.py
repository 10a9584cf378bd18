"""A problem of a benchmark file: the arguments of an oracle and the means."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab import Oracle
from cmab.arrays import FloatArray
from cmab.validation import shown


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
            `arguments`. A file of shortest paths has no ends, so `source` and `target` are required.

        Raises
        ------
        TypeError
            If an argument is missing that neither the file nor `options` contains.
        """
        given = {**self.arguments, **options}
        parameters = inspect.signature(self.oracle_class).parameters.values()
        named = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        missing = [one.name for one in named if one.default is one.empty and one.name not in given]
        if missing:
            raise TypeError(
                f"options must have {' and '.join(missing)} for {self.oracle_class.__name__}, because the "
                f"file does not contain them, got {shown(options)}; write problem.oracle("
                f"{', '.join(f'{name}=...' for name in missing)})"
            )
        return self.oracle_class(**given)

    @property
    def means(self) -> FloatArray:
        """The means of the base arms, in the order of the oracle, shape (n_arms,)."""
        if self.given_means is not None:
            return self.given_means.copy()
        oracle: Any = self.oracle()
        means: FloatArray = oracle.means_of("weight")
        return np.array(means)
