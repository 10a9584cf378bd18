"""Demos on linear families of super arms: ``cmab demo NAME``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, LLR, EpsilonGreedy, Oracle, UniformlyRandom
from cmab.arrays import IntArray
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, root, stream
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from instances.demos._comparison import Comparison
from oracles import GraphicMatroid, TopK


def top_k(
    *,
    arms: int = 50,
    k: int = 5,
    rounds: int = 5000,
    replications: int = 20,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Choose the k most clicked of many advertisements, shown together and each with its own click rate.

    Parameters
    ----------
    arms : int
        Advertisements; their click rates fall evenly from 0.6 to 0.1
    k : int
        Places in a round
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
    oracle = TopK(arms, k)
    # Shuffled: ties go to the lower index, and an ordered truth would make that a hint.
    rates = stream(root(seed), Purpose.ESTIMATION, 0).permutation(np.linspace(0.6, 0.1, arms))
    environment = SemiBandit(BernoulliArms(rates), oracle)
    comparison = Comparison(environment, learners(oracle), "reward", "clicks", "CUCB")
    yield from comparison.run(rounds, replications, seed, jobs, out)


def spanning_tree(
    *,
    rounds: int = 3000,
    replications: int = 10,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Learn the most reliable spanning tree of Zachary's karate club, tie by tie.

    A tie holds a message with a probability that grows with the number of contexts in which the two members
    met; every round the learner chooses a tree and sees which of its ties held.

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

    graph: nx.Graph[Any] = nx.karate_club_graph()
    oracle = GraphicMatroid(graph)
    ties: Any = graph.edges(data="weight")
    environment = SemiBandit(BernoulliArms([1 - 0.8**weight for *_, weight in ties]), oracle)

    def draw(tree: IntArray) -> Any:
        from cmab.plotting import draw_graph

        chosen: Any = oracle.labels(tree)
        return draw_graph(graph, edges={"Tree of the last round": chosen}, title="Zachary's karate club")

    comparison = Comparison(environment, learners(oracle), "reward", "ties that hold", "Thompson", draw)
    yield from comparison.run(rounds, replications, seed, jobs, out)


def learners(oracle: Oracle) -> dict[str, AnyPolicy]:
    """Return the learners of these demos; LLR knows linear rewards only."""
    linear: dict[str, AnyPolicy] = {"LLR": LLR(oracle)} if oracle.is_linear else {}
    return {
        "Thompson": CTS(oracle),
        "CUCB": CUCB(oracle),
        "CUCB, radius / 4": CUCB(oracle, scale=0.25),
        **linear,
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random": UniformlyRandom(oracle),
    }
