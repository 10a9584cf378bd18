"""Demos on linear families of super arms: ``cmab demo NAME``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, LLR, EpsilonGreedy, LinearOracle, UniformlyRandom
from cmab.policy import AnyPolicy
from instances._comparison import Comparison
from instances.arms import BernoulliArms
from instances.semi_bandit import SemiBandit
from oracles import TopK


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
    environment = SemiBandit(BernoulliArms(np.linspace(0.6, 0.1, arms)), oracle)
    comparison = Comparison(environment, learners(oracle), "clicks", "CUCB")
    yield from comparison.run(rounds, replications, seed, jobs, out)


def learners(oracle: LinearOracle) -> dict[str, AnyPolicy]:
    """Return the learners of these demos."""
    return {
        "Thompson": CTS(oracle),
        "CUCB": CUCB(oracle),
        "CUCB, radius / 4": CUCB(oracle, scale=0.25),
        "LLR": LLR(oracle),
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random": UniformlyRandom(oracle),
    }
