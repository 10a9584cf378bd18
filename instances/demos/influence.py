"""The demo of online influence maximisation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cmab import CTS, CUCB, Clairvoyant, EpsilonGreedy, UniformlyRandom
from cmab.arrays import FloatArray, IntArray
from cmab.plotting import check_animation
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, root, stream
from cmab.validation import real
from instances.demos._cascade_pictures import animate_learning, draw_cascade
from instances.demos._comparison import Comparison
from instances.graphs import constant, read_edge_list, trivalency, weighted_cascade
from instances.spreading.independent_cascade import IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.diffusion.directed_graph import as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

Model = Literal["weighted-cascade", "constant", "trivalency"]
_FEATURED = "Thompson, prior"


def influence(
    *,
    graph: Path | None = None,
    undirected: bool = False,
    model: Model | None = None,
    probability: float = 0.1,
    k: int = 5,
    rounds: int = 500,
    replications: int = 10,
    epsilon: float = 0.1,
    seed: int = 0,
    jobs: int = -1,
    animate: Path | None = None,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Learn whom to convince first: online influence maximisation under the independent-cascade model.

    Parameters
    ----------
    graph : Path, optional
        Edge list, gzipped or not: two node ids (integers) a line, and perhaps a probability; the characters
        of Les Misérables and who meets whom if left out
    undirected : bool
        Every line of the file is an edge for both directions
    model : str
        Truth: one over the in-degree of an edge's head, the same for all, or one of 0.1, 0.01, 0.001; if
        left out, the probabilities of the file, and where it has none the first of these
    probability : float
        Edge probability of the constant model
    k : int
        Seeds chosen in a round
    rounds : int
        Rounds of a replication
    replications : int
        Independent replications of each learner
    epsilon : float
        Accuracy of the oracle, whose guarantee is 1 - (1 - 1/k)^k - epsilon
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    animate : Path, optional
        GIF or MP4 of the seeds that the Thompson learner with a prior chooses, and of what they reach
    out : Path, optional
        Folder for pictures (PNG and PDF) and numbers (CSV)
    """
    if animate is not None:
        check_animation(animate)
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

    comparison = Comparison(environment, learners, "spread", "nodes", _FEATURED, draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)
    if animate is not None:
        animate_learning(learners[_FEATURED], environment, rounds, seed, animate, network)


def _les_miserables() -> nx.Graph[Any]:
    import networkx as nx

    network: nx.Graph[Any] = nx.les_miserables_graph()
    return network


def _truth(graph: DirectedGraph, model: Model | None, probability: float, seed: int) -> FloatArray:
    if model is None and graph.probabilities is not None:
        return graph.probabilities
    if model in (None, "weighted-cascade"):
        return weighted_cascade(graph)
    if model == "constant":
        return constant(graph, real("probability", probability, 0.0, 1.0))
    return trivalency(graph, stream(root(seed), Purpose.ESTIMATION, 0))


def _learners(oracle: InfluenceMaximization, environment: IndependentCascade) -> dict[str, AnyPolicy]:
    # Influence is rare: a prior that says so spares the learner from buying every unseen edge.
    prior: dict[str, Any] = {"prior_mean": 0.05, "prior_weight": 20.0}
    return {
        "Clairvoyant": Clairvoyant(oracle, environment.means),
        _FEATURED: CTS(oracle, **prior),
        "CUCB, prior": CUCB(oracle, scale=0.05, **prior),
        "CUCB": CUCB(oracle),
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random": UniformlyRandom(oracle),
    }
