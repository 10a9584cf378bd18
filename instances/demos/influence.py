"""The demo of online influence maximization."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab import Study
from cmab.arrays import FloatArray, IntArray
from cmab.plotting import check_animation
from cmab.seeding import Purpose, root, stream
from cmab.validation import real
from instances.demos._cascade_pictures import animate_learning, draw_cascade, whole_network
from instances.demos._command import command
from instances.demos._demo import LEADER, LEADING, Learners, Problem, named_pairs, refuse
from instances.graphs import constant_probabilities, trivalency, weighted_cascade
from instances.networks.network import Network, read_network
from instances.spreading import IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence.graph import as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

Model = Literal["weighted-cascade", "constant", "trivalency"]
# Influence is rare. With this prior, the learner does not have to try every edge.
_PRIOR: dict[str, Any] = {"prior_mean": 0.05, "prior_weight": 20.0}
_LEARNERS: Learners = {
    "Clairvoyant": {"class": "Clairvoyant", "means": "$means"},
    # It learns the probabilities of each group of ties, from the degrees of nodes.
    **LEADING,
    "Thompson, prior": {"class": "CTS", **_PRIOR},
    # With the full radius, almost every edge has an upper bound of 1 for very long.
    "CUCB": {"class": "CUCB"},
    # Random seeds would reach fewer people, because the oracle uses the network.
    "Random probabilities": {"class": "RandomPolicy"},
}
_FURTHER: Learners = {
    "CUCB, prior": {"class": "CUCB", "radius_factor": 0.05, **_PRIOR},
    "Epsilon-greedy": {"class": "EpsilonGreedy"},
}
# Number of reverse-reachable sets for expected spreads. For small networks the standard error is then at most
# a thousandth of the network, in a quarter of the time of the default number.
_FEW_SETS, _MANY_SETS, _SMALL = 2**18, 2**20, 1_000


_USUAL_K = 5
# Most and fewest rounds, and the number of ties times rounds that takes about five seconds per learner and
# core.
_MOST_ROUNDS, _FEWEST_ROUNDS, _EFFORT = 300, 10, 2_000_000


def _usual_rounds(problem: Problem) -> int:
    """Return the default number of rounds, fewer for larger networks, so that a run takes less than a minute.

    On six networks (weighted cascade, k = 5), the leader reached 90 % of the best known spread in round 2
    (30, 200, 2,000 and 4,158 nodes) or in round 10 at the latest (15,229 and 30,000 nodes).
    """
    arms = problem.environment.n_arms
    return int(np.clip(_EFFORT // max(arms, 1), _FEWEST_ROUNDS, _MOST_ROUNDS))


@lru_cache(maxsize=1)
def _read_at(file: Path, _state: tuple[int, int], **how: Any) -> Network:
    return read_network(file, **how)


def _read(file: Path, **how: Any) -> Network:
    """Return the network of a file; the last one is cached, because a demo needs it twice."""
    found = file.stat()
    return _read_at(file, (found.st_mtime_ns, found.st_size), **how)


def _film(*, animate: Path | None = None) -> Callable[[Study], object] | None:
    """Check the file for the animation; return the function that writes the animation."""
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
            study.plan.policies["influence", LEADER.name],
            environment,
            horizon=int(study.rounds[-1]),
            rng=study.seed,
            path=animate,
            name=LEADER.name,
            network=network,
        )

    return make


@command(
    learners=_LEARNERS,
    reward="spread",
    unit="people",
    heading="people reached",
    arms="ties",
    further=_FURTHER,
    horizon=_usual_rounds,
    replications=4,
    n_jobs=-1,
    then=_film,
    sentence="seeds chosen by {who} reach {value} of {whole}; seeds chosen for probabilities drawn at random"
    " reach {random}, and the best known seeds reach {best}.",
)
def influence(
    *,
    graph: Path | None = None,
    directed: bool | None = None,
    probability_column: str | None = None,
    weight_column: str | None = None,
    header: bool | None = None,
    model: Model | None = None,
    probability: float | None = None,
    k: int | None = None,
    epsilon: float = 0.1,
    rng: int = 0,
) -> Problem:
    """Learn the most influential people: online influence maximization in the independent-cascade model.

    Parameters
    ----------
    graph : Path, optional
        Network file: edge list or CSV with names, GraphML, GML, GEXF, Pajek or JSON, gzipped or not. The
        default is the network of the characters of Les Misérables
    directed : bool, optional
        Ties go one way, from the first name to the second. By default, the file decides about directions
    probability_column : str, optional
        Column of the probabilities. By default, the column with such a name, or the only column of numbers
    weight_column : str, optional
        Column of weights: the probability of a tie is its weight over the sum of the weights into the same
        node
    header : bool, optional
        Whether the first line of the file has the names of the columns. By default, this is detected
    model : str
        True probabilities: one over the in-degree of an edge's head; the same for all edges; or 0.1, 0.01 or
        0.001 at random. The default is the probabilities of the file, or weighted-cascade if it has none
    probability : float, optional
        Probability of each edge, only for --model constant. The default is 0.1
    k : int, optional
        Number of seeds per round. The default is 5, or half of the people if there are fewer than ten
    epsilon : float
        Accuracy of the oracle: its approximation ratio is 1 - (1 - 1/k)^k - epsilon
    animate : Path, optional
        File for an animation (GIF or MP4) of the seeds that the default learner chooses, and of
        the people that they reach
    rng : int
        Seed of all randomness
    """
    if model is not None:
        columns = {"probability_column": probability_column, "weight_column": weight_column}
        refuse(columns, f"with --model {model}, which replaces the probabilities of the file")
    if model != "constant":
        refuse({"probability": probability}, "without --model constant")
    if graph is None:
        of_a_file = {
            "directed": directed,
            "probability_column": probability_column,
            "weight_column": weight_column,
            "header": header,
        }
        refuse(of_a_file, "without the file of a network (--graph)")
        characters = _les_miserables()
        network: nx.Graph[Any] | None = characters
        arcs, told = as_directed_graph(characters), ["Les Misérables: ties of characters who meet, both ways"]
    else:
        read = _read(
            graph,
            directed=directed,
            probability_column=probability_column,
            weight_column=weight_column,
            header=header,
        )
        arcs, told = read.graph, list(read.told)
        network = whole_network(arcs)
    if not arcs.n_arcs:
        raise ValueError(
            f"{graph} must have a tie between two people, got none (people: {arcs.n_nodes:,}); add"
            " lines with two names"
        )
    truth, why = _truth(arcs, model, 0.1 if probability is None else probability, rng)
    told += why
    k, chosen = (max(1, min(_USUAL_K, arcs.n_nodes // 2)), True) if k is None else (k, False)
    told.append(
        f"{arcs.n_nodes:,} people, {arcs.n_arcs:,} directed ties;"
        f" {k} {'seed is' if k == 1 else 'seeds are'} chosen in a round"
        + (" (--k changes this)" if chosen and k < _USUAL_K else "")
    )
    n_rr_sets = _FEW_SETS if arcs.n_nodes <= _SMALL else _MANY_SETS
    environment = IndependentCascade(arcs, truth, k=k, n_rr_sets=n_rr_sets)

    def draw(seeds: IntArray) -> Any:
        return draw_cascade(environment, seeds, network, title=f"Seeds of {LEADER.name}\n")

    oracle = InfluenceMaximization(arcs, k=k, epsilon=epsilon)
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title=f"{'Les Misérables' if graph is None else graph.name}, {k} seeds",
        whole=f"{arcs.n_nodes:,} people",
        names=lambda seeds: [arcs.label(node) for node in seeds],
        arms=lambda: named_pairs(oracle.arm_labels(), "from", "to"),
    )


def _les_miserables() -> nx.Graph[Any]:
    import networkx as nx

    network: nx.Graph[Any] = nx.les_miserables_graph()
    return network


def _truth(
    graph: DirectedGraph, model: Model | None, probability: float, rng: int
) -> tuple[FloatArray, list[str]]:
    """Return the true probabilities, and lines on their source unless it is the file."""
    if model is None and graph.probabilities is not None:
        return graph.probabilities, []
    unused = [] if graph.probabilities is None else ["the probabilities of the file are not used"]
    if model in (None, "weighted-cascade"):
        said = "probabilities are one over the number of ties into a person (weighted cascade)"
        return weighted_cascade(graph), [said, *unused]
    if model == "constant":
        chances = constant_probabilities(graph, real("probability", probability, 0.0, 1.0))
        return chances, [f"probabilities are {probability:g} each", *unused]
    drawn = trivalency(graph, stream(root(rng), Purpose.ESTIMATION, 0))
    return drawn, ["probabilities are 0.1, 0.01 or 0.001, drawn at random (trivalency)", *unused]
