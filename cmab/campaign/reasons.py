"""The estimates of a learner with their uncertainty, and the reasons for a choice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab import AdaptiveCTS, Campaign
from cmab.arrays import FloatArray, IntArray
from cmab.campaign.files import Problem
from cmab.campaign.reports import Round
from cmab.oracle import Oracle
from cmab.policies.hierarchical import group_labels

if TYPE_CHECKING:
    from oracles.influence.maximization import InfluenceOracle

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


# The number of posterior draws, and of ties times draws, for the contribution of a person.
_DRAWS_reasons, _LEAST_DRAWS, _SPREAD_EFFORT = 40, 12, 4_000_000
_CASCADES, _VALUE_CASCADES = 100, 300


Kind = Literal["known", "explored"]


@dataclass(frozen=True)
class Reason:
    """The reason for one name of a choice.

    Attributes
    ----------
    name : hashable
        The name.
    mean, low, high : float
        The estimated contribution, and the ends of its 90 % interval. In a network, this is the number of
        people, including this person, that join because this person is asked, too.
    kind : {"known", "explored"}
        Whether the name is also in the best choice by the present estimates.
    asked : int
        In how many reported rounds the name was chosen before.
    is_first : bool
        Whether there was no report yet.
    """

    name: Hashable
    mean: float
    low: float
    high: float
    kind: Kind
    asked: int
    is_first: bool = False

    def in_words(self, *, is_network: bool) -> str:
        """Return the reason as sentences."""
        effect = self.effect(is_network=is_network)
        return f"{effect} {self.why(is_network=is_network)}" if effect else self.why(is_network=is_network)

    def effect(self, *, is_network: bool) -> str:
        """Return the sentence with the estimated contribution; empty before the first report."""
        if self.is_first:
            return ""
        if not is_network:
            return f"The mean result is about {self.mean:.2f}."
        mean = f"{self.mean:.1f}"
        return (
            f"Adds about {mean} {'person' if mean == '1.0' else 'people'} to the round, {self.name} included."
        )

    def why(self, *, is_network: bool) -> str:
        """Return the sentence with the kind of choice and the earlier rounds."""
        verb = "asked" if is_network else "chosen"
        before = (
            f"Never {verb} before"
            if not self.asked
            else f"{verb.capitalize()} {'once' if self.asked == 1 else f'{self.asked} times'} before"
        )
        if self.is_first:
            source = "by the shape of the network" if is_network else "before the first report"
            if self.kind == "known":
                return f"{before}; among the best {source}."
            return f"{before}; chosen to learn more, because there is no report yet."
        if self.kind == "known":
            return f"{before}; among the best by all reports so far."
        if self.asked >= 2:
            return f"{before}; chosen again to learn more, because the best choice is not certain yet."
        return f"{before}; chosen to learn more, because the best could be among the less known."


def reasons_of(problem: Problem, beliefs: Beliefs, of: Round, earlier: Sequence[Round]) -> list[Reason]:
    """Return the reason for each name of a round.

    Parameters
    ----------
    problem : Problem
        The problem of the campaign.
    beliefs : Beliefs
        The present estimates.
    of : Round
        The round.
    earlier : sequence of Round
        The rounds of the campaign. Only reported ones count.
    """
    from oracles.influence.maximization import InfluenceOracle

    number = {label: at for at, label in enumerate(problem.names.labels)}
    chosen = [number[name] for name in of.names if name in number]
    rng = np.random.default_rng(0)
    best = set(np.asarray(problem.oracle.solve(beliefs.means, rng)).tolist())
    if isinstance(problem.oracle, InfluenceOracle):
        rows = contributions(problem.oracle, beliefs, chosen, rng)
    else:
        low, high = beliefs.intervals()
        rows = np.stack([beliefs.means[chosen], low[chosen], high[chosen]], axis=1)
    asked = [sum(name in each.names for each in earlier if each.state == "reported") for name in of.names]
    by_name = dict(zip(of.names, asked, strict=True))
    reasons, is_first = [], not any(each.state == "reported" for each in earlier)
    for at, (mean, low, high) in zip(chosen, rows.tolist(), strict=True):
        name = problem.names.labels[at]
        kind: Kind = "known" if at in best else "explored"
        reasons.append(Reason(name, mean, low, high, kind, by_name[name], is_first))
    return reasons


def value_of(oracle: Oracle, choice: IntArray, means: FloatArray) -> float:
    """Return the expected result of a choice if the means are true."""
    from oracles.influence.maximization import InfluenceOracle

    if isinstance(oracle, InfluenceOracle):
        return float(oracle.spread(choice, np.clip(means, 0.0, 1.0), cascades=_VALUE_CASCADES)[0])
    return float(means[choice].sum())


def values_alone(oracle: Oracle, beliefs: Beliefs, chosen: list[int]) -> list[float]:
    """Return the expected result of each name if only this name is chosen.

    In a network, this is the number of people who join, with the person.
    """
    from oracles.influence.maximization import InfluenceOracle

    if not isinstance(oracle, InfluenceOracle):
        return [float(mean) for mean in beliefs.means[chosen]]
    rng = np.random.default_rng(0)
    draws = [beliefs.draw(rng) for _ in range(_LEAST_DRAWS)]
    values = [[value_of(oracle, np.array([at], np.int64), means) for means in draws] for at in chosen]
    return [float(np.mean(row)) for row in values]


def contributions(
    oracle: InfluenceOracle, beliefs: Beliefs, chosen: list[int], rng: np.random.Generator
) -> FloatArray:
    """Return the mean and the ends of the interval of the contribution of each chosen person, in rows.

    The contribution is the expected number of people that join if all chosen people are asked, minus the
    number if all but this person are asked. The interval has the uncertainty of the estimates of the ties.
    """
    n_draws = int(np.clip(_SPREAD_EFFORT // max(oracle.n_arms, 1), _LEAST_DRAWS, _DRAWS_reasons))
    found = np.empty((n_draws, len(chosen)))
    everyone = np.array(chosen, np.int64)
    for row in found:
        means = np.clip(beliefs.draw(rng), 0.0, 1.0)
        whole = oracle.spread(everyone, means, cascades=_CASCADES)[0]
        for at in range(len(chosen)):
            others = np.delete(everyone, at)
            rest = oracle.spread(others, means, cascades=_CASCADES)[0] if len(others) else 0.0
            row[at] = max(whole - rest, 0.0)
    tails = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
    low, high = np.quantile(found, tails, axis=0)
    return np.stack([found.mean(axis=0), low, high], axis=1)
