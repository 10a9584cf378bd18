"""The estimates of a learner for each base arm, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cmab import AdaptiveCTS, Campaign
from cmab.arrays import FloatArray, IntArray
from cmab.policies.hierarchical import group_labels

#: The level of all intervals.
LEVEL = 0.9
# The number of draws of hidden outcomes, and of ties times draws.
_DRAWS, _EFFORT = 20, 2_000_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the mean outcome of each base arm: a mixture of Beta distributions in each group.

    Parameters
    ----------
    groups : IntArray, shape (n_arms,)
        The group of each arm. The prior of a group is one of several Beta distributions.
    chances : FloatArray, shape (n_groups, n_points)
        The posterior probability of each prior.
    wins, losses : FloatArray, shape (n_points,)
        The parameters of the priors.
    counts, shares : FloatArray, shape (n_arms,)
        The number of outcomes of each arm, and their mean as a share of the largest outcome.
    largest : float
        The largest outcome.
    """

    groups: IntArray
    chances: FloatArray
    wins: FloatArray
    losses: FloatArray
    counts: FloatArray
    shares: FloatArray
    largest: float

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return one draw of all means from the posterior."""
        at = [rng.choice(len(self.wins), p=row) for row in self.chances]
        point = np.array(at, np.int64)[self.groups]
        a = self.wins[point] + self.counts * self.shares
        b = self.losses[point] + self.counts * (1.0 - self.shares)
        return self.largest * rng.beta(a, b)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the mean square of each arm as shares of the largest outcome."""
        won, lost = self.counts * self.shares, self.counts * (1.0 - self.shares)
        mean, square = np.zeros(len(won)), np.zeros(len(won))
        for point in range(len(self.wins)):
            a, total = self.wins[point] + won, self.wins[point] + self.losses[point] + won + lost
            chance = self.chances[self.groups, point]
            mean += chance * a / total
            square += chance * a * (a + 1.0) / (total * (total + 1.0))
        return mean, square


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The estimates of a campaign: the average of posteriors, one for each draw of the hidden outcomes.

    Parameters
    ----------
    posteriors : list of Posterior
        The posteriors; a single one if no outcome is hidden.
    """

    posteriors: list[Posterior]

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the mean square of each arm as shares of the largest outcome."""
        found = [posterior.moments() for posterior in self.posteriors]
        both: FloatArray = np.array(found).mean(axis=0)
        return both[0], both[1]

    @property
    def means(self) -> FloatArray:
        """The expected mean outcome of each arm."""
        return self.posteriors[0].largest * self.moments[0]

    @property
    def counts(self) -> FloatArray:
        """The number of outcomes of each arm, observed or drawn."""
        counts: FloatArray = np.mean([posterior.counts for posterior in self.posteriors], axis=0)
        return counts

    def intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return an interval of each arm at `LEVEL`, from the Beta distribution with the same two moments."""
        from scipy.special import betaincinv

        mean, square = self.moments
        variance = np.maximum(square - mean**2, 1e-15)
        weight = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1e-6)
        a, b = np.maximum(mean * weight, 1e-9), np.maximum((1.0 - mean) * weight, 1e-9)
        # Arms without outcomes have the same distribution, so few of many arms need the slow inverse.
        pairs, places = np.unique(np.stack([a, b]), axis=1, return_inverse=True)
        levels = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
        ends: list[Any] = [np.asarray(betaincinv(pairs[0], pairs[1], at))[places.ravel()] for at in levels]
        return self.posteriors[0].largest * ends[0], self.posteriors[0].largest * ends[1]

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return one draw of all means."""
        return self.posteriors[rng.integers(len(self.posteriors))].draw(rng)


def beliefs_of(campaign: Campaign, prior: tuple[float, float] | None, largest: float) -> Beliefs:
    """Return the estimates of a campaign.

    Parameters
    ----------
    campaign : Campaign
        The campaign, with the default learner or with `CTS`.
    prior : tuple of float, optional
        The mean of the prior and its weight, if the campaign has one.
    largest : float
        The largest outcome.
    """
    n_draws = int(np.clip(_EFFORT // max(campaign.policy.oracle.n_arms, 1), 4, _DRAWS))
    states = campaign.completed_states(n_draws)
    return Beliefs([_posterior_of(state, campaign.policy, prior, largest) for state in states])


def _posterior_of(state: Any, policy: Any, prior: tuple[float, float] | None, largest: float) -> Posterior:
    n = policy.oracle.n_arms
    counts, shares = state.counts.astype(np.float64), np.clip(state.means / largest, 0.0, 1.0)
    if isinstance(policy, AdaptiveCTS):
        groups = group_labels(policy.oracle, policy.groups)
        wins, losses = policy.grid()
        n_groups = int(groups.max(initial=-1)) + 1
        chances = np.array(state.memory[: n_groups * len(wins)]).reshape(n_groups, len(wins))
        chances /= chances.sum(axis=1, keepdims=True)
    else:
        mean, weight = prior or (largest / 2.0, 2.0)
        share = mean / largest
        wins, losses = np.array([share * weight]), np.array([(1.0 - share) * weight])
        groups, chances = np.zeros(n, np.int64), np.ones((1, 1))
    wins, losses = np.maximum(wins, 1e-9), np.maximum(losses, 1e-9)
    return Posterior(groups, chances, wins, losses, counts, shares, largest)
