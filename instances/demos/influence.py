"""The demo of online influence maximisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cmab import Study
from cmab.arrays import FloatArray, IntArray
from cmab.plotting import check_animation
from cmab.seeding import Purpose, root, stream
from cmab.validation import real
from instances.demos._cascade_pictures import animate_learning, draw_cascade
from instances.demos._comparison import Learners, Problem, command
from instances.graphs import constant_probabilities, read_edge_list, trivalency, weighted_cascade
from instances.spreading.independent_cascade import IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.diffusion.directed_graph import as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

Model = Literal["weighted-cascade", "constant", "trivalency"]
_FEATURED = "Thompson, prior"
# Influence is rare: a prior that says so spares the learner from buying every unseen edge.
_PRIOR: dict[str, Any] = {"prior_mean": 0.05, "prior_weight": 20.0}
_LEARNERS: Learners = {
    "Clairvoyant": {"class": "Clairvoyant", "means": "$means"},
    _FEATURED: {"class": "CTS", **_PRIOR},
    # No knob: it learns by itself how rare influence is, for popular and unpopular nodes apart.
    "Thompson, learned prior": {"class": "HierarchicalCTS"},
    # With the whole radius nearly every edge looks certain for very long.
    "CUCB, prior": {"class": "CUCB", "radius_factor": 0.05, **_PRIOR},
    "CUCB": {"class": "CUCB"},
    "Epsilon-greedy": {"class": "EpsilonGreedy"},
    "Random": {"class": "UniformlyRandom"},
}


def _film(*, animate: Path | None = None) -> Callable[[Study], object] | None:
    """Refuse a file that no film can have; return what makes it."""
    if animate is None:
        return None
    check_animation(animate)

    def make(study: Study) -> None:
        (table,) = study.outline.instances.values()
        network = None if "graph" in table else _les_miserables()
        environment = study.plan.problems["influence"]
        assert isinstance(environment, IndependentCascade)
        assert study.rounds is not None
        animate_learning(
            study.plan.policies["influence", _FEATURED],
            environment,
            horizon=int(study.rounds[-1]),
            rng=study.seed,
            path=animate,
            network=network,
        )

    return make


@command(
    learners=_LEARNERS,
    reward="spread",
    unit="nodes",
    featured=_FEATURED,
    horizon=500,
    replications=10,
    n_jobs=-1,
    then=_film,
)
def influence(
    *,
    graph: Path | None = None,
    undirected: bool = False,
    model: Model | None = None,
    probability: float = 0.1,
    k: int = 5,
    epsilon: float = 0.1,
    rng: int = 0,
) -> Problem:
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
    epsilon : float
        Accuracy of the oracle, whose guarantee is 1 - (1 - 1/k)^k - epsilon
    animate : Path, optional
        GIF or MP4 of the seeds that the Thompson learner with a prior chooses, and of what they reach
    rng : int
        Seed of all randomness
    """
    network = _les_miserables() if graph is None else None
    if network is None:
        assert graph is not None
        directed = read_edge_list(graph, directed=not undirected)
    else:
        directed = as_directed_graph(network)
    environment = IndependentCascade(directed, _truth(directed, model, probability, rng), k=k)

    def draw(seeds: IntArray) -> Any:
        return draw_cascade(environment, seeds, network)

    return Problem(environment, InfluenceMaximization(directed, k=k, epsilon=epsilon), draw)


def _les_miserables() -> nx.Graph[Any]:
    import networkx as nx

    network: nx.Graph[Any] = nx.les_miserables_graph()
    return network


def _truth(graph: DirectedGraph, model: Model | None, probability: float, rng: int) -> FloatArray:
    if model is None and graph.probabilities is not None:
        return graph.probabilities
    if model in (None, "weighted-cascade"):
        return weighted_cascade(graph)
    if model == "constant":
        return constant_probabilities(graph, real("probability", probability, 0.0, 1.0))
    return trivalency(graph, stream(root(rng), Purpose.ESTIMATION, 0))
