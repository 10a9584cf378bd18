"""The entries of the arena: the policies of the library and tuned ones. An entry is one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab import (
    C2UCB,
    CTS,
    CUCB,
    ESCB,
    FTPL,
    KLCUCB,
    MNLUCB,
    PBMUCB,
    AdaptiveCTS,
    BayesUCB,
    CombLinTS,
    DiscountedCUCB,
    EpsilonGreedy,
    ForcedExploration,
    GaussianCTS,
    GLRRestart,
    Greedy,
    HierarchicalCTS,
    Oracle,
    Policy,
    RandomPolicy,
    RarelySwitchingCUCB,
    SlidingWindow,
)
from cmab.arena import Entry, Facts
from cmab.policies.llr import LLR

AnyPolicy = Policy[Any]
_LINEAR = frozenset({"top-k", "matching", "path", "tree", "knapsack", "sets"})
_CHANGES = frozenset({"change"})


def hopeful_greedy(oracle: Oracle, facts: Facts, weight: float) -> AnyPolicy:
    """Return `Greedy` with pseudo-outcomes at the best end of the support."""
    return Greedy(oracle, prior_mean=facts.best_outcome, prior_weight=weight, support=facts.support)


def hopeful_cts(oracle: Oracle, facts: Facts, weight: float) -> AnyPolicy:
    """Return `CTS` with a prior mean close to the best end of the support."""
    low, high = facts.support
    share = 0.9 if facts.sense == "max" else 0.1
    return CTS(oracle, prior_mean=low + share * (high - low), prior_weight=weight, support=facts.support)


def forced_greedy(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `Greedy` with forced exploration."""
    return ForcedExploration(Greedy(oracle, support=facts.support))


def windowed_cts(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `CTS` on the outcomes of a sliding window."""
    return SlidingWindow(CTS(oracle, support=facts.support), max(10, int(np.sqrt(facts.horizon) * 8)))


def restarted_cts(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `CTS` that restarts after a change was detected."""
    return GLRRestart(CTS(oracle, support=facts.support))


def discounted(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `DiscountedCUCB` with a memory of the square root of the horizon, times eight."""
    rate = 1.0 / (8.0 * facts.horizon**0.5)
    return DiscountedCUCB(oracle, discount=1.0 - rate, radius_factor=0.3, support=facts.support)


def contextual_ucb(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `C2UCB` with a small constant radius."""
    return C2UCB(oracle, dimension=facts.other["dimension"], radius=0.5)


def contextual_ts(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `CombLinTS` on the features of each round."""
    return CombLinTS(oracle, dimension=facts.other["dimension"], deviation_factor=0.5)


def position_ucb(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `PBMUCB` with the known probabilities of examination."""
    examination = np.asarray(facts.other["examination"])
    arms = np.arange(oracle.n_arms)
    return PBMUCB(oracle, examination[arms % len(examination)], arms // len(examination))


#: All entries. Entries with kinds play only there; all others play wherever their policy accepts the problem.
ENTRIES: tuple[Entry, ...] = (
    Entry.of(RandomPolicy),
    Entry.of(CUCB),
    Entry.of(CUCB, "CUCB x 0.3", radius_factor=0.3, tuned=True),
    Entry.of(CUCB, "CUCB x 0.1", radius_factor=0.1, tuned=True),
    Entry.of(KLCUCB),
    Entry.of(BayesUCB),
    Entry.of(RarelySwitchingCUCB),
    Entry.of(LLR, kinds=_LINEAR),
    Entry.of(CTS),
    Entry.of(CTS, "CTS shared", coupling="shared"),
    Entry.of(CTS, "CTS, weak prior", prior_weight=0.5, tuned=True),
    Entry.of(hopeful_cts, "CTS, hopeful prior", weight=2.0, tuned=True),
    Entry.of(AdaptiveCTS),
    Entry.of(HierarchicalCTS),
    Entry.of(GaussianCTS),
    Entry.of(GaussianCTS, "GaussianCTS boosted", coupling="boosted"),
    Entry.of(GaussianCTS, "GaussianCTS, sigma 0.15", sigma=0.15, tuned=True),
    Entry.of(Greedy),
    Entry.of(hopeful_greedy, "Greedy, 1 hopeful outcome", weight=1.0, tuned=True),
    Entry.of(hopeful_greedy, "Greedy, 5 hopeful outcomes", weight=5.0, tuned=True),
    Entry.of(EpsilonGreedy, epsilon=0.1),
    Entry.of(EpsilonGreedy, "EpsilonGreedy, decaying", epsilon=5.0, decay=True, tuned=True),
    Entry.of(forced_greedy, "Greedy, forced"),
    Entry.of(ESCB, kinds=("sets",)),
    Entry.of(FTPL, kinds=_CHANGES),
    Entry.of(discounted, "DiscountedCUCB", kinds=_CHANGES, tuned=True),
    Entry.of(windowed_cts, "CTS, window", kinds=_CHANGES, tuned=True),
    Entry.of(restarted_cts, "CTS, restarts", kinds=_CHANGES),
    Entry.of(position_ucb, "PBMUCB", kinds=("positions",)),
    Entry.of(MNLUCB, kinds=("assortment",)),
    Entry.of(MNLUCB, "MNLUCB, short", kinds=("assortment",), log_factor=1.0, tuned=True),
    Entry.of(contextual_ucb, "C2UCB", kinds=("features",)),
    Entry.of(contextual_ts, "CombLinTS", kinds=("features",)),
)
