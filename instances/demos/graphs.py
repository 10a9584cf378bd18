"""Demos on graphs that come with networkx: coverage, matching, routing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmab.arrays import FloatArray, IntArray
from cmab.seeding import Purpose, root, stream
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from instances.coverage import Coverage
from instances.demos._comparison import Comparison
from instances.demos.linear import learners
from oracles import Matching, ShortestPath

if TYPE_CHECKING:
    import networkx as nx


def coverage(
    *,
    k: int = 3,
    rounds: int = 2000,
    replications: int = 10,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Choose k hosts among the women of Davis's Southern study so that most events find one.

    A woman takes up each event that she attended in the study with an unknown probability; every round the
    learner chooses k women, sees who took up what, and earns the number of events taken up.

    Parameters
    ----------
    k : int
        Women chosen in a round
    rounds : int
        Rounds of a replication
    replications : int
        Independent replications of each learner
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for pictures (PNG and PDF) and numbers (CSV)
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.davis_southern_women_graph()
    environment = Coverage(graph, k, probability=_means(graph, seed))
    oracle = environment.oracle

    def draw(hosts: IntArray) -> Any:
        names = oracle.labels(hosts)
        edges = [(u, v) for u, v in graph.edges if u in names or v in names]
        reached = [v for pair in edges for v in pair if v not in names]
        nodes = {"Chosen women": names, "Events they may take up": list(dict.fromkeys(reached))}
        return _draw(graph, "Davis's Southern women", nodes=nodes, edges={"Attendance": edges}, labels=names)

    comparison = Comparison(environment, learners(oracle), "reward", "events", "Thompson", draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)


def matching(
    *,
    rounds: int = 2000,
    replications: int = 10,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Learn who should go to which event: a matching of Davis's Southern women with events.

    Each pair of the study succeeds with an unknown probability; every round the learner sends each woman to
    at most one event and each event at most one woman, and sees which pairs succeeded.

    Parameters
    ----------
    rounds : int
        Rounds of a replication
    replications : int
        Independent replications of each learner
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for pictures (PNG and PDF) and numbers (CSV)
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.davis_southern_women_graph()
    oracle = Matching(graph, method="assignment")
    environment = SemiBandit(BernoulliArms(_means(graph, seed)), oracle)

    def draw(chosen: IntArray) -> Any:
        edges: Any = oracle.labels(chosen)
        sides: Any = graph.nodes(data="bipartite")
        events = {"Event": [node for node, side in sides if side == 1]}
        return _draw(
            graph, "Davis's Southern women", nodes=events, edges={"Matching of the last round": edges}
        )

    comparison = Comparison(environment, learners(oracle), "reward", "pairs", "Thompson", draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)


def routing(
    *,
    side: int = 6,
    rounds: int = 2000,
    replications: int = 10,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Learn the way with the least congestion through a grid of streets.

    Each street is congested with an unknown probability; every round the learner drives from one corner to
    the other and sees which of its streets were congested.

    Parameters
    ----------
    side : int
        Crossings on each side of the grid
    rounds : int
        Rounds of a replication
    replications : int
        Independent replications of each learner
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for pictures (PNG and PDF) and numbers (CSV)
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.grid_2d_graph(side, side)
    corners = (0, 0), (side - 1, side - 1)
    oracle = ShortestPath(graph, *corners)
    environment = SemiBandit(BernoulliArms(_means(graph, seed)), oracle)

    def draw(path: IntArray) -> Any:
        edges: Any = oracle.labels(path)
        places = {node: node for node in graph}
        nodes = {"From": corners[:1], "To": corners[1:]}
        return _draw(graph, "Streets", places, nodes=nodes, edges={"Way of the last round": edges})

    comparison = Comparison(environment, learners(oracle), "cost", "congested streets", "Thompson", draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)


def _means(graph: nx.Graph[Any], seed: int) -> FloatArray:
    """Return an unknown probability for each edge, the same for the same seed."""
    return stream(root(seed), Purpose.ESTIMATION, 0).uniform(0.1, 0.9, graph.number_of_edges())


def _draw(graph: nx.Graph[Any], title: str, places: Any = None, **groups: Any) -> Any:
    from cmab.plotting import draw_graph

    return draw_graph(graph, places, title=title, **groups)
