"""Estimates of the means from observed and hidden outcomes, and the information in each kind of report."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray
from cmab.cascades.cascade import CascadeFeedback
from cmab.cascades.chain import Chain

#: The most flips of the passes for estimates, and the numbers of passes and of fixed means.
_ESTIMATING, _DRAWS, _FIXED = 4_000_000, 400, 60
#: The weight that fixes the means of a chain.
_HEAVY = 1e9


class Estimate(NamedTuple):
    """The posterior of the mean of one base arm: its expectation, and the ends of its credible interval."""

    name: Hashable
    mean: float
    low: float
    high: float


class Informed(NamedTuple):
    """What one kind of report has told.

    Attributes
    ----------
    kind : str
        ``"ties"``: outcomes of base arms; ``"steps"``: who joined, with the steps of some of them;
        ``"people"``: who joined; ``"number"``: only the reward; ``"nothing"``.
    rounds : int
        The number of reports.
    outcomes : float
        The number of outcomes in these rounds, observed and hidden. It is an expectation if some people were
        not asked.
    worth : float
        The number of observed outcomes that would tell as much.
    """

    kind: str
    rounds: int
    outcomes: float
    worth: float


def posterior(
    chain: Chain, level: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expectations of the means, and the ends of their credible intervals at `level`."""
    draws = max(20, int(chain.affordable(_ESTIMATING, _DRAWS)))
    found, mean = np.empty((draws, len(chain.won))), np.zeros(len(chain.won))
    for i in range(draws):
        chain.run(1.0, rng)
        wins, losses = chain.alpha + chain.won, chain.beta + chain.lost
        mean += wins / (wins + losses) / draws
        found[i] = rng.beta(wins, losses)
    low, high = np.quantile(found, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return mean, low, high


def information(
    chain: Chain, kinds: Sequence[str], rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return the number of outcomes and their worth for each kind of the rounds of a chain.

    The worth is the Fisher information on the means, in units of one outcome: the information of the complete
    outcomes minus the missing part, which is the variance of the score (Louis 1982). For the mean p of an arm
    with n outcomes, of which W succeed, it is ``n - Var(W) / (p (1 - p))``.
    """
    passes = max(10, int(chain.affordable(_ESTIMATING // 4, _FIXED)))
    p = np.zeros(len(chain.won))
    for _ in range(passes):
        chain.run(1.0, rng)
        p += (chain.alpha + chain.won) / (chain.alpha + chain.beta + chain.won + chain.lost) / passes
    fixed = chain.with_means(np.clip(p, 1e-6, 1.0 - 1e-6), _HEAVY)
    fixed.run(5.0, rng)
    names = sorted(set(kinds))
    sums = {name: np.zeros((3, len(p))) for name in names}
    for _ in range(passes):
        fixed.run(1.0, rng)
        for name, (won, tried) in fixed.tallies(names, kinds).items():
            sums[name] += np.stack([won, won * won, tried]) / passes
    found = {}
    for name, (first, second, tried) in sums.items():
        spread = np.maximum(second - first * first, 0.0) * passes / (passes - 1.0)
        worth = np.maximum(tried - spread / np.maximum(p * (1.0 - p), 1e-12), 0.0)
        sure = sum(len(chain.problems[r].sure) for r, kind in enumerate(kinds) if kind == name)
        found[name] = float(tried.sum() + sure), float(worth.sum() + sure)
    return found


def kind_of(feedback: CascadeFeedback) -> str:
    """Return the kind of a report with hidden outcomes."""
    return "steps" if feedback.cascade.has_steps else "people"
