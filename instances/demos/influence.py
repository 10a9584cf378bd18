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
from instances.demos._cascade_pictures import animate_learning, draw_cascade, whole_network
from instances.demos._command import command
from instances.demos._demo import Learners, Problem
from instances.graphs import constant_probabilities, trivalency, weighted_cascade
from instances.networks.network import read_network
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
    "CUCB": {"class": "CUCB"},
    # Not seeds drawn at random, which reach fewer: the oracle sees who has many ties.
    "Random probabilities": {"class": "UniformlyRandom"},
}
_FURTHER: Learners = {
    "CUCB, prior": {"class": "CUCB", "radius_factor": 0.05, **_PRIOR},
    "Epsilon-greedy": {"class": "EpsilonGreedy"},
}
# Reverse-reachable sets that expected spreads of small networks are read from: a standard error of at most
# a thousandth of the network, in a quarter of the time of the usual number.
_FEW_SETS, _MANY_SETS, _SMALL = 2**18, 2**20, 1_000


def _film(*, animate: Path | None = None) -> Callable[[Study], object] | None:
    """Refuse a file that no film can have; return what makes it."""
    if animate is None:
        return None
    check_animation(animate)

    def make(study: Study) -> None:
        (table,) = study.outline.instances.values()
        environment = study.plan.problems["influence"]
        assert isinstance(environment, IndependentCascade)
        network = whole_network(environment.graph) if "graph" in table else _les_miserables()
        assert study.rounds is not None
        animate_learning(
            study.plan.policies["influence", _FEATURED],
            environment,
            horizon=int(study.rounds[-1]),
            rng=study.seed,
            path=animate,
            name=_FEATURED,
            network=network,
        )

    return make


@command(
    learners=_LEARNERS,
    reward="spread",
    unit="nodes",
    featured=_FEATURED,
    further=_FURTHER,
    horizon=300,
    replications=4,
    n_jobs=-1,
    then=_film,
    sentence="seeds chosen by Thompson sampling with a prior reach {value} of {whole}, the oracle's for"
    " probabilities drawn at random {random} (the best that are known, {best}).",
)
def influence(
    *,
    graph: Path | None = None,
    directed: bool | None = None,
    probability_column: str | None = None,
    weight_column: str | None = None,
    header: bool | None = None,
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
        Edge list or CSV with names, GraphML, GML, GEXF, Pajek or JSON, gzipped or not; the characters of Les
        Misérables and who meets whom if left out
    directed : bool, optional
        Whether a tie goes one way, from its first name to its second; as the file says if left out
    probability_column : str, optional
        Column of the probabilities; one called so, or the only one of numbers, if left out
    weight_column : str, optional
        Column of weights: the probability of a tie is its share of all weights into its head
    header : bool, optional
        Whether the first line of the file names columns; that is found out if left out
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
    if graph is None:
        of_a_file = {
            "directed": directed,
            "probability_column": probability_column,
            "weight_column": weight_column,
            "header": header,
        }
        if given := [name for name, value in of_a_file.items() if value is not None]:
            raise ValueError(f"{given[0]} is for the file of a graph, and graph is not given")
        characters = _les_miserables()
        network: nx.Graph[Any] | None = characters
        arcs, told = as_directed_graph(characters), ["Les Misérables, who meets whom: ties go both ways"]
    else:
        read = read_network(
            graph,
            directed=directed,
            probability_column=probability_column,
            weight_column=weight_column,
            header=header,
        )
        arcs, told = read.graph, list(read.told)
        network = whole_network(arcs)
    truth, why = _truth(arcs, model, probability, rng)
    told += why
    told.append(
        f"{arcs.n_nodes:,} people, {arcs.n_arcs:,} ways from one to another; {k} seeds are chosen in a round"
    )
    n_rr_sets = _FEW_SETS if arcs.n_nodes <= _SMALL else _MANY_SETS
    environment = IndependentCascade(arcs, truth, k=k, n_rr_sets=n_rr_sets)

    def draw(seeds: IntArray) -> Any:
        return draw_cascade(environment, seeds, network, title=f"Seeds of {_FEATURED}\n")

    return Problem(
        environment,
        InfluenceMaximization(arcs, k=k, epsilon=epsilon),
        draw,
        told=told,
        title=f"{'Les Misérables' if graph is None else graph.name}, {k} seeds",
        whole=f"{arcs.n_nodes:,} people",
        names=lambda seeds: [arcs.label(node) for node in seeds],
    )


def _les_miserables() -> nx.Graph[Any]:
    import networkx as nx

    network: nx.Graph[Any] = nx.les_miserables_graph()
    return network


def _truth(
    graph: DirectedGraph, model: Model | None, probability: float, rng: int
) -> tuple[FloatArray, list[str]]:
    """Return the probabilities, and a line on where they are from unless the file has told it."""
    if model is None and graph.probabilities is not None:
        return graph.probabilities, []
    unused = [] if graph.probabilities is None else ["those of the file are not used, as asked for"]
    if model in (None, "weighted-cascade"):
        said = "probabilities are one over the number of ties into a person (weighted cascade)"
        return weighted_cascade(graph), [said, *unused]
    if model == "constant":
        chances = constant_probabilities(graph, real("probability", probability, 0.0, 1.0))
        return chances, [f"probabilities are {probability:g} each", *unused]
    drawn = trivalency(graph, stream(root(rng), Purpose.ESTIMATION, 0))
    return drawn, ["probabilities are 0.1, 0.01 or 0.001, drawn (trivalency)", *unused]
