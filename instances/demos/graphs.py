"""Demos on graphs from networkx and on grids: coverage, matching, routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab import LinearOracle
from cmab.arrays import FloatArray, IntArray
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.arms import BernoulliArms, SemiBandit
from instances.coverage import Coverage
from instances.demos._command import command
from instances.demos._demo import LEADER, Problem, named_pairs
from instances.demos._pictures import apart, draw_streets, draw_two_columns
from instances.demos.linear import LEARNERS
from oracles import Matching, ShortestPath

if TYPE_CHECKING:
    import networkx as nx

_MOST_STREETS = 500


@command(
    learners=LEARNERS,
    reward="reward",
    unit="events",
    sentence="women chosen by {who} take up {value} of {whole}; women chosen for probabilities drawn at "
    "random take up {random}, and the best women {best}.",
    heading="events",
    arms="pairs",
    horizon=1000,
    replications=5,
)
def coverage(*, k: int = 3, rng: int = 0) -> Problem:
    """Choose k of the women in Davis's study of Southern women, so that they take up most events.

    A chosen woman takes up each event that she attended in the study with an unknown probability. In each
    round the learner chooses k women and observes which events each of them takes up. The reward is the
    number of events taken up by at least one of them.

    Parameters
    ----------
    k : int
        Number of women chosen in a round
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
        title = f"Women chosen by {LEADER.name}"
        return draw_two_columns(graph, sides, chances, title, nodes=nodes, edges={"May take up": edges})

    told = [
        f"Davis's Southern women: {len(women)} women, {len(events)} events; {k} women are chosen in a round"
    ]
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title=f"Davis's Southern women, {k} chosen",
        whole=f"{len(events)} events",
        names=oracle.labels,
        arms=lambda: named_pairs(oracle.arm_labels(), "woman", "event"),
    )


@command(
    learners=LEARNERS,
    reward="reward",
    unit="pairs",
    sentence="{value} pairs succeed in the matching of {who}, {random} in the matching for "
    "probabilities drawn at random, and {best} in the best matching.",
    heading="pairs",
    arms="pairs",
    horizon=1000,
    replications=5,
)
def matching(*, rng: int = 0) -> Problem:
    """Learn a matching of Davis's Southern women with the events that they attended.

    Each pair of a woman and an event in the study succeeds with an unknown probability. In each round the
    learner assigns each woman to at most one event and each event to at most one woman, and observes which
    pairs succeed.

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
            f"Matching of {LEADER.name}",
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
    learners=LEARNERS,
    reward="cost",
    unit="congested streets",
    sentence="the route of {who} has {value} congested streets, the route for "
    "probabilities drawn at random has {random}, and the best route has {best}.",
    heading="congested",
    arms="streets",
    horizon=1000,
    replications=5,
)
def routing(*, side: int = 6, rng: int = 0) -> Problem:
    """Learn the route with the least congestion through a grid of streets.

    Each street is congested with an unknown probability. In each round the learner drives from one corner to
    the opposite corner and observes which streets of the route are congested.

    Parameters
    ----------
    side : int
        Number of crossings on each side of the grid
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
        label, title = "True probability that a street is congested", f"Route of {LEADER.name}"
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
    """Return a random probability for each edge, the same for the same seed."""
    # From a separate stream, so that the probabilities are independent of learners and outcomes.
    return stream(root(rng), Purpose.ESTIMATION, 0).uniform(0.1, 0.9, graph.number_of_edges())


def _two_sides(graph: nx.Graph[Any]) -> list[list[Any]]:
    data: Any = graph.nodes(data="bipartite")
    return [[node for node, side in data if side == number] for number in (0, 1)]


def _best(environment: SemiBandit, oracle: LinearOracle) -> Any:
    """Return the edges of the best super arm."""
    # The oracle is exact and draws no random numbers.
    return oracle.labels(oracle.solve(environment.means, np.random.default_rng(0)))


def _pairs(oracle: LinearOracle, arms: IntArray) -> list[str]:
    pairs: Any = oracle.labels(arms)
    return [f"{u} with {v}" for u, v in pairs]
