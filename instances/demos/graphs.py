"""Demos on graphs that come with networkx: coverage, matching, routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab import LinearOracle
from cmab.arrays import FloatArray, IntArray
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from instances.coverage import Coverage
from instances.demos._command import command
from instances.demos._demo import LEADER, Problem, named_pairs
from instances.demos._pictures import apart, draw_streets, draw_two_columns
from instances.demos.linear import LINEAR, NONLINEAR
from oracles import Matching, ShortestPath

if TYPE_CHECKING:
    import networkx as nx

_MOST_STREETS = 500


@command(
    learners=NONLINEAR,
    reward="reward",
    unit="events",
    sentence="women chosen by {who} bring people to {value} of {whole}, the oracle's for "
    "probabilities drawn at random to {random} (the best, {best}).",
    heading="events",
    arms="pairs",
    horizon=1000,
    replications=5,
)
def coverage(*, k: int = 3, rng: int = 0) -> Problem:
    """Choose k hosts among the women of Davis's Southern study so that most events find one.

    A woman takes up each event that she attended in the study with an unknown probability; every round the
    learner chooses k women, sees who took up what, and earns the number of events taken up.

    Parameters
    ----------
    k : int
        Women chosen in a round
    rng : int
        Seed of all randomness
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.davis_southern_women_graph()
    environment = Coverage(graph, k, probability=_means(graph, rng))
    oracle = environment.oracle

    women, events = sides = _two_sides(graph)
    chances = _means(graph, rng)

    def draw(hosts: IntArray) -> Any:
        names = oracle.labels(hosts)
        edges = [(u, v) for u, v in graph.edges if u in names or v in names]
        reached = [v for pair in edges for v in pair if v not in names]
        nodes = {"Chosen women": names, "Events they may take up": list(dict.fromkeys(reached))}
        title = f"Hosts that {LEADER.name} chooses"
        return draw_two_columns(graph, sides, chances, title, nodes=nodes, edges={"May take up": edges})

    told = [f"Davis's Southern women: {len(women)} women, {len(events)} events, {k} hosts in a round"]
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title=f"Davis's Southern women, {k} hosts",
        whole=f"{len(events)} events",
        names=oracle.labels,
        arms=lambda: named_pairs(oracle.arm_labels(), "woman", "event"),
    )


@command(
    learners=LINEAR,
    reward="reward",
    unit="pairs",
    sentence="{value} pairs succeed in the matching that {who} chooses, and {random} in the best for "
    "probabilities drawn at random (in the best, {best}).",
    heading="pairs",
    arms="pairs",
    horizon=1000,
    replications=5,
)
def matching(*, rng: int = 0) -> Problem:
    """Learn who should go to which event: a matching of Davis's Southern women with events.

    Each pair of the study succeeds with an unknown probability; every round the learner sends each woman to
    at most one event and each event at most one woman, and sees which pairs succeeded.

    Parameters
    ----------
    rng : int
        Seed of all randomness
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.davis_southern_women_graph()
    oracle = Matching(graph, method="assignment")
    environment = SemiBandit(BernoulliArms(_means(graph, rng)), oracle)
    sides = _two_sides(graph)
    best = _best(environment, oracle)

    def draw(chosen: IntArray) -> Any:
        edges: Any = oracle.labels(chosen)
        return draw_two_columns(
            graph,
            sides,
            environment.means,
            f"The matching that {LEADER.name} chooses",
            edges=apart(edges, best),
        )

    told = [
        f"Davis's Southern women: {graph.number_of_edges()} pairs of {len(sides[0])} women and their events"
    ]
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title="Davis's Southern women, matched with events",
        names=lambda arms: _pairs(oracle, arms),
        arms=lambda: named_pairs(oracle.arm_labels(), "woman", "event"),
    )


@command(
    learners=LINEAR,
    reward="cost",
    unit="congested streets",
    sentence="the way that {who} chooses meets {value} congested streets, the best for "
    "probabilities drawn at random {random} (the best, {best}).",
    heading="congested",
    arms="streets",
    horizon=1000,
    replications=5,
)
def routing(*, side: int = 6, rng: int = 0) -> Problem:
    """Learn the way with the least congestion through a grid of streets.

    Each street is congested with an unknown probability; every round the learner drives from one corner to
    the other and sees which of its streets were congested.

    Parameters
    ----------
    side : int
        Crossings on each side of the grid
    rng : int
        Seed of all randomness
    """
    import networkx as nx

    integer("side", side, 2, _MOST_STREETS)
    graph: nx.Graph[Any] = nx.grid_2d_graph(side, side)
    corners = (0, 0), (side - 1, side - 1)
    oracle = ShortestPath(graph, *corners)
    environment = SemiBandit(BernoulliArms(_means(graph, rng)), oracle)
    best = _best(environment, oracle)

    def draw(path: IntArray) -> Any:
        edges: Any = oracle.labels(path)
        places = {node: node for node in graph}
        nodes = {"From": corners[:1], "To": corners[1:]}
        label, title = "True chance that a street is congested", f"The way that {LEADER.name} chooses"
        ways = apart(edges, best)
        return draw_streets(graph, places, environment.means, label, title, nodes=nodes, edges=ways)

    told = [f"a grid of {side} by {side} crossings, {graph.number_of_edges():,} streets, corner to corner"]
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title=f"{side} by {side} crossings",
        arms=lambda: named_pairs(oracle.arm_labels(), "one end", "other end"),
    )


def _means(graph: nx.Graph[Any], rng: int) -> FloatArray:
    """Return an unknown probability for each edge, the same for the same seed."""
    # From a stream of its own: the truth must not share numbers with learners or coins.
    return stream(root(rng), Purpose.ESTIMATION, 0).uniform(0.1, 0.9, graph.number_of_edges())


def _two_sides(graph: nx.Graph[Any]) -> list[list[Any]]:
    data: Any = graph.nodes(data="bipartite")
    return [[node for node, side in data if side == number] for number in (0, 1)]


def _best(environment: SemiBandit, oracle: LinearOracle) -> Any:
    """Return the edges of the best super arm."""
    # An exact oracle, which draws nothing.
    return oracle.labels(oracle.solve(environment.means, np.random.default_rng(0)))


def _pairs(oracle: LinearOracle, arms: IntArray) -> list[str]:
    pairs: Any = oracle.labels(arms)
    return [f"{u} with {v}" for u, v in pairs]
