"""Demos on linear families of super arms: ``cmab demo NAME``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.plotting import layout
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.arms import BernoulliArms, SemiBandit
from instances.demos._command import command
from instances.demos._demo import LEADER, LEADING, Learners, Problem, named_pairs
from instances.demos._pictures import apart, draw_ranked, draw_streets
from oracles import GraphicMatroid, TopK

_MOST_ARMS = 1_000_000
#: The learners of the demos.
LEARNERS: Learners = {
    **LEADING,
    "Thompson": {"class": "CTS"},
    "CUCB": {"class": "CUCB"},
    "CUCB, radius / 4": {"class": "CUCB", "radius_factor": 0.25},
    "Epsilon-greedy": {"class": "EpsilonGreedy"},
    "Random probabilities": {"class": "RandomPolicy"},
}


@command(
    learners=LEARNERS,
    reward="reward",
    unit="clicks",
    sentence="{whole} chosen by {who} get {value} clicks per round; those chosen for click rates drawn at "
    "random get {random}, and the best ones {best}.",
    heading="clicks",
    arms="advertisements",
    horizon=3000,
    replications=10,
)
def top_k(*, arms: int = 50, k: int | None = None, rng: int = 0) -> Problem:
    """Learn the k advertisements with the largest click rates; k of them are shown together in each round.

    Parameters
    ----------
    arms : int
        Number of advertisements; their click rates are evenly spaced from 0.6 to 0.1
    k : int, optional
        Number of advertisements shown in a round. The default is 5, or all if there are fewer
    rng : int
        Seed of all randomness
    """
    count = integer("arms", arms, 1, _MOST_ARMS)
    k = min(5, count) if k is None else k
    oracle = TopK(count, k)
    # Shuffled, because ties go to the lower index, so the order of the arms would be a hint.
    rates = stream(root(rng), Purpose.ESTIMATION, 0).permutation(np.linspace(0.6, 0.1, arms))

    def draw(chosen: IntArray) -> Any:
        return draw_ranked(rates, chosen, "True click rate", f"Chosen by {LEADER.name}, {k} of {arms:,}")

    told = [f"{arms:,} advertisements with click rates from 0.6 to 0.1; {k} are shown in a round"]
    return Problem(
        SemiBandit(BernoulliArms(rates), oracle),
        oracle,
        draw,
        told=told,
        title=f"{k} of {arms:,} advertisements",
        whole=f"{k} advertisements",
        names=lambda chosen: [f"number {arm}" for arm in chosen],
    )


@command(
    learners=LEARNERS,
    reward="reward",
    unit="ties that hold",
    sentence="{value} of {whole} hold in the tree of {who}, {random} in the tree for "
    "probabilities drawn at random, and {best} in the best tree.",
    heading="ties that hold",
    arms="ties",
    horizon=2000,
    replications=8,
)
def spanning_tree(*, rng: int = 0) -> Problem:
    """Learn the most reliable spanning tree of Zachary's karate club.

    Each tie holds with a probability that increases with the number of contexts in which its two members met.
    In each round the learner chooses a spanning tree and observes which of its ties hold.

    Parameters
    ----------
    rng : int
        Seed of all randomness
    """
    import networkx as nx

    graph: nx.Graph[Any] = nx.karate_club_graph()
    oracle = GraphicMatroid(graph)
    ties: Any = graph.edges(data="weight")
    # A tie holds if at least one of its contexts does, each with probability 0.2.
    environment = SemiBandit(BernoulliArms([1 - 0.8**weight for *_, weight in ties]), oracle)

    def draw(tree: IntArray) -> Any:
        chosen: Any = oracle.labels(tree)
        best: Any = oracle.labels(oracle.solve(environment.means, np.random.default_rng(0)))
        label, title = "True probability that a tie holds", f"Zachary's karate club: tree of {LEADER.name}"
        marked = {"labels": list(graph), "edges": apart(chosen, best)}
        return draw_streets(graph, layout(graph), environment.means, label, title, **marked)

    size = len(graph) - 1
    told = [f"Zachary's karate club: {len(graph)} members, {oracle.n_arms} ties; a tree has {size} of them"]
    return Problem(
        environment,
        oracle,
        draw,
        told=told,
        title="Zachary's karate club",
        whole=f"{size} ties",
        arms=lambda: named_pairs(oracle.arm_labels(), "one end", "other end"),
    )
