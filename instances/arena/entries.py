"""The entries of the arena: the policies of the library and tuned ones. An entry is one line."""

from __future__ import annotations

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
    RandomPolicy,
    RarelySwitchingCUCB,
    SlidingWindow,
)
from cmab.policies.ucb import LLR
from cmab.policy import AnyPolicy
from cmab.run.arena import Entry, Facts

_LINEAR = frozenset({"top-k", "matching", "path", "tree", "knapsack", "sets"})
_CHANGES = frozenset({"change"})


def hopeful_greedy(oracle: Oracle, facts: Facts, weight: float) -> AnyPolicy:
    """Return `Greedy` with pseudo-outcomes at the best end of the support."""
    return Greedy(oracle, prior_mean=facts.best_outcome, prior_weight=weight, support=facts.support)


def hopeful_cts(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `CTS` with a prior mean close to the best end of the support."""
    low, high = facts.support
    mean = low + (0.9 if facts.sense == "max" else 0.1) * (high - low)
    return CTS(oracle, prior_mean=mean, prior_weight=2.0, support=facts.support)


def position_ucb(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `PBMUCB` with the known probabilities of examination."""
    examination = np.asarray(facts.other["examination"])
    arms = np.arange(oracle.n_arms)
    return PBMUCB(oracle, examination[arms % len(examination)], arms // len(examination))


def discounted(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `DiscountedCUCB` with a memory of the square root of the horizon, times eight."""
    discount = 1.0 - 1.0 / (8.0 * facts.horizon**0.5)
    return DiscountedCUCB(oracle, discount=discount, radius_factor=0.3, support=facts.support)


def windowed(oracle: Oracle, facts: Facts) -> AnyPolicy:
    """Return `CTS` on the outcomes of a window of the square root of the horizon, times eight."""
    return SlidingWindow(CTS(oracle, support=facts.support), max(10, int(np.sqrt(facts.horizon) * 8)))


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
    Entry("CTS, hopeful prior", hopeful_cts, tuned=True),
    Entry.of(AdaptiveCTS),
    Entry.of(HierarchicalCTS),
    Entry.of(GaussianCTS),
    Entry.of(GaussianCTS, "GaussianCTS, sigma 0.15", sigma=0.15, tuned=True),
    Entry.of(Greedy),
    Entry("Greedy, 1 hopeful outcome", lambda o, facts: hopeful_greedy(o, facts, 1.0), tuned=True),
    Entry("Greedy, 5 hopeful outcomes", lambda o, facts: hopeful_greedy(o, facts, 5.0), tuned=True),
    Entry.of(EpsilonGreedy, epsilon=0.1),
    Entry.of(EpsilonGreedy, "EpsilonGreedy, decaying", epsilon=5.0, decay=True, tuned=True),
    Entry("Greedy, forced", lambda o, facts: ForcedExploration(Greedy(o, support=facts.support))),
    Entry.of(ESCB, kinds={"sets"}),
    Entry.of(FTPL, kinds=_CHANGES),
    Entry("DiscountedCUCB", discounted, _CHANGES, tuned=True),
    Entry("CTS, window", windowed, _CHANGES, tuned=True),
    Entry("CTS, restarts", lambda o, facts: GLRRestart(CTS(o, support=facts.support)), _CHANGES),
    Entry("PBMUCB", position_ucb, {"positions"}),
    Entry.of(MNLUCB, kinds={"assortment"}),
    Entry.of(MNLUCB, "MNLUCB, short", kinds={"assortment"}, log_factor=1.0, tuned=True),
    Entry("C2UCB", lambda o, facts: C2UCB(o, dimension=facts.other["dimension"], radius=0.5), {"features"}),
    Entry(
        "CombLinTS",
        lambda o, facts: CombLinTS(o, dimension=facts.other["dimension"], deviation_factor=0.5),
        {"features"},
    ),
)
