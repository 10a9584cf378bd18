"""The demo of online influence maximisation."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab import CTS, CUCB, Clairvoyant, EpsilonGreedy, UniformlyRandom
from cmab._validation import real
from cmab.arrays import FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, root, stream
from instances._comparison import Comparison
from instances.graphs import constant, read_edge_list, trivalency, weighted_cascade
from instances.independent_cascade import IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.directed_graph import as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

Model = Literal["weighted-cascade", "constant", "trivalency"]
_DRAWN = 250
_NAMED = 10


def influence(
    *,
    graph: Path | None = None,
    undirected: bool = False,
    model: Model = "weighted-cascade",
    probability: float = 0.1,
    k: int = 5,
    rounds: int = 500,
    replications: int = 10,
    epsilon: float = 0.1,
    seed: int = 0,
    jobs: int = -1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Learn whom to convince first: online influence maximisation under the independent-cascade model.

    Parameters
    ----------
    graph : Path, optional
        Edge list, gzipped or not: two node ids a line; the characters of Les Misérables and who meets whom
        if left out
    undirected : bool
        Every line of the file is an edge for both directions
    model : str
        Truth: one over the in-degree of an edge's head, the same for all, or one of 0.1, 0.01, 0.001
    probability : float
        Edge probability of the constant model
    k : int
        Seeds chosen in a round
    rounds : int
        Rounds of a replication
    replications : int
        Independent replications of each learner
    epsilon : float
        Accuracy of the oracle, whose guarantee is 1 - 1/e - epsilon
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for pictures (PNG and PDF) and numbers (CSV)
    """
    network = _les_miserables() if graph is None else None
    if network is None:
        assert graph is not None
        directed = read_edge_list(graph, directed=not undirected)
    else:
        directed = as_directed_graph(network)
    environment = IndependentCascade(directed, _truth(directed, model, probability, seed), k=k)
    oracle = InfluenceMaximization(directed, k=k, epsilon=epsilon)
    learners = _learners(oracle, environment)

    def draw(seeds: IntArray) -> Any:
        return draw_cascade(environment, seeds, network)

    comparison = Comparison(environment, learners, "spread", "nodes", "Thompson, prior", draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)


def _les_miserables() -> nx.Graph[Any]:
    import networkx as nx

    network: nx.Graph[Any] = nx.les_miserables_graph()
    return network


def _truth(graph: DirectedGraph, model: Model, probability: float, seed: int) -> FloatArray:
    if model == "weighted-cascade":
        return weighted_cascade(graph)
    if model == "constant":
        return constant(graph, real("probability", probability, 0.0, 1.0))
    return trivalency(graph, stream(root(seed), Purpose.ESTIMATION, 0))


def _learners(oracle: InfluenceMaximization, environment: IndependentCascade) -> dict[str, AnyPolicy]:
    # Influence is rare: a prior that says so spares the learner from buying every unseen edge.
    prior: dict[str, Any] = {"prior_mean": 0.05, "prior_weight": 20.0}
    return {
        "Clairvoyant": Clairvoyant(oracle, environment.means),
        "Thompson, prior": CTS(oracle, **prior),
        "CUCB, prior": CUCB(oracle, scale=0.05, **prior),
        "CUCB": CUCB(oracle),
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random": UniformlyRandom(oracle),
    }


def draw_cascade(
    environment: IndependentCascade, seeds: IntArray, network: nx.Graph[Any] | None = None, key: int = 0
) -> Any:
    """Draw seeds and one cascade from them, in the whole network or, without one, in the part it reaches.

    Parameters
    ----------
    environment : IndependentCascade
        Gives the cascade.
    seeds : IntArray
        Node numbers.
    network : networkx graph, optional
        Drawn whole; the nodes that the cascade reaches and edges between them if left out.
    key : int
        Which cascade.

    Returns
    -------
    matplotlib Axes
        With the picture.
    """
    from cmab.plotting import draw_graph

    graph = environment.graph
    feedback = environment.play(seeds, np.random.default_rng(key))
    live = feedback.arms[feedback.outcomes == 1.0]
    passed = _first_activations(graph, seeds, live)
    reached = np.concatenate((seeds, graph.heads[passed])) if len(passed) else seeds
    if network is None:
        network = _part(graph, reached[:_DRAWN])
    names = [graph.label(node) for node in seeds]
    inside = [graph.label(node) for node in reached[len(seeds) :] if graph.label(node) in network]
    edges = [(graph.label(graph.tails[arm]), graph.label(graph.heads[arm])) for arm in passed]
    edges = [(u, v) for u, v in edges if u in network and v in network]
    cut = f", {len(network):,} drawn" if len(network) < len(reached) else ""
    return draw_graph(
        network,
        nodes={"Seed": names, "Activated": inside},
        edges={"Passed on": edges},
        labels=names if len(names) <= _NAMED else (),
        title=f"One cascade from {len(seeds)} seeds reaches {len(reached):,} of {graph.n_nodes:,} nodes{cut}",
    )


def _first_activations(graph: DirectedGraph, seeds: IntArray, live: IntArray) -> IntArray:
    """Return, of the live arcs in the order of their tails' activation, those that activated their head."""
    active = set(seeds.tolist())
    first = []
    for arm in live:
        head = int(graph.heads[arm])
        if head not in active:
            active.add(head)
            first.append(arm)
    return np.array(first, np.int64)


def _part(graph: DirectedGraph, nodes: IntArray) -> nx.Graph[Any]:
    """Return the subgraph on `nodes`, without directions."""
    import networkx as nx

    inside = np.zeros(graph.n_nodes, np.bool_)
    inside[nodes] = True
    part: nx.Graph[Hashable] = nx.Graph()
    part.add_nodes_from(graph.label(node) for node in nodes)
    arcs = np.flatnonzero(inside[graph.tails] & inside[graph.heads])
    part.add_edges_from((graph.label(graph.tails[arc]), graph.label(graph.heads[arc])) for arc in arcs)
    return part
