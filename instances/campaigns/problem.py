"""The problem of a campaign: its names, its oracle and its learner, from the files of its folder."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmab import CTS, Policy
from cmab.oracle import Oracle
from instances.campaigns.names import Names
from instances.campaigns.options import Options
from instances.campaigns.sheets import costs_in, decoded, names_in
from instances.networks.network import read_network
from oracles import DirectedGraph, Knapsack, TopK
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.variants import BudgetedInfluence


@dataclass(frozen=True, eq=False)
class Problem:
    """The names, the oracle and the learner of a campaign.

    Parameters
    ----------
    options : Options
        The options of the campaign.
    names : Names
        The names of the people or of the items.
    oracle : Oracle
        The family of choices.
    graph : DirectedGraph, optional
        The network, if there is one.
    told : tuple of str
        One line each about how the network was read.
    costs : dict
        The cost of each name, if there are costs.
    """

    options: Options
    names: Names
    oracle: Oracle
    graph: DirectedGraph | None = None
    told: tuple[str, ...] = ()
    costs: dict[Hashable, float] | None = None

    def learner(self) -> Policy[Any] | Oracle:
        """Return the learner: the default one, or Thompson sampling with the prior of the options."""
        mean, weight = self.options.prior_mean, self.options.prior_weight
        if mean is None or weight is None:
            return self.oracle
        support = (0.0, self.options.largest)
        return CTS(self.oracle, prior_mean=mean, prior_weight=weight, support=support)


def problem_of(folder: Path, options: Options) -> Problem:
    """Return the problem of a folder.

    Raises
    ------
    ValueError
        If a file is not valid, or does not fit the options.
    OSError
        If a file cannot be read.
    """
    if options.network is not None:
        return _of_network(folder, options)
    assert options.names is not None
    labels: list[Hashable] = [*_read(folder / options.names, names_in)]
    names = Names(labels)
    costs = _costs(folder, options, names)
    oracle: Oracle
    if options.k is not None:
        if options.k > len(labels):
            raise ValueError(f"k must be at most the number of names, {len(labels)}, got {options.k}")
        oracle = TopK(len(labels), k=options.k)
    else:
        assert options.budget is not None and costs is not None
        oracle = Knapsack([costs[label] for label in labels], capacity=options.budget)
    _check_never(names, options)
    return Problem(options, names, oracle.named(labels), costs=costs)


def _of_network(folder: Path, options: Options) -> Problem:
    assert options.network is not None
    try:
        network = read_network(folder / options.network, directed=options.directed)
    except ValueError as error:  # a new campaign is made in a temporary folder, which the user does not know
        raise ValueError(str(error).replace(str(folder / options.network), options.network)) from None
    graph = network.graph
    if not graph.n_arcs:
        raise ValueError(f"{options.network} must have a tie between two people, got none")
    names = Names([graph.label(node) for node in range(graph.n_nodes)])
    costs = _costs(folder, options, names)
    oracle: Oracle
    if options.k is not None:
        if options.k > graph.n_nodes:
            raise ValueError(f"k must be at most the number of people, {graph.n_nodes}, got {options.k}")
        oracle = InfluenceMaximization(graph, k=options.k)
    else:
        assert options.budget is not None and costs is not None
        oracle = BudgetedInfluence(graph, [costs[label] for label in names.labels], budget=options.budget)
    _check_never(names, options)
    return Problem(options, names, oracle, graph, network.told, costs)


def _costs(folder: Path, options: Options, names: Names) -> dict[Hashable, float] | None:
    if options.costs is None:
        return None
    listed = _read(folder / options.costs, costs_in)
    found: dict[Hashable, float] = {}
    for text, cost in listed.items():
        try:
            found[names.find(text)] = cost
        except ValueError as error:
            raise ValueError(f"{options.costs}: {error}") from None
    missing = [str(label) for label in names.labels if label not in found]
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        raise ValueError(
            f"{options.costs} must have a cost of each name, but has none of {', '.join(missing[:3])}{more}"
        )
    if options.budget is not None and min(found.values()) > options.budget:
        raise ValueError(
            f"the budget must be enough for at least one name, got {options.budget:g} with costs from"
            f" {min(found.values()):g}"
        )
    return found


def _check_never(names: Names, options: Options) -> None:
    never = names.find_all(options.never)
    if len(never) > len(names.labels) - (options.k or 1):
        raise ValueError(
            f"{options.k or 1} of {len(names.labels)} names must remain that may be chosen, got"
            f" {len(never)} that never are"
        )


def _read(file: Path, parse: Any) -> Any:
    """Return the contents of a table, with the name of the file in its errors."""
    data = file.read_bytes()
    try:
        return parse(decoded(data))
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None
