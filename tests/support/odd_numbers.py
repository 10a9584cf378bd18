"""Correct classes that draw a number for each arm, return lists or sets, learn in halves, or rest."""

import itertools
from dataclasses import dataclass, field

import numpy as np
from odd_but_correct import MEANS, N

from cmab import ArmStatistics, Environment, Feedback, LinearOracle, Policy
from oracles import TopK


class BestPairs(LinearOracle):
    """The two best arms, as lists, with or without arms that are forced in or out."""

    can_constrain = True
    has_membership = True
    n_arms = N
    max_size = 2

    def is_feasible(self, super_arm):
        return len(super_arm) == 2

    def solve(self, means, rng):
        return sorted(range(N), key=lambda arm: (-means[arm], arm))[:2]

    def solve_constrained(self, means, include, exclude, rng):
        free = [arm for arm in range(N) if arm not in set(include) | set(exclude)]
        missing = 2 - len(include)
        if missing < 0 or len(free) < missing:
            return None
        return [*map(int, include), *sorted(free, key=lambda arm: (-means[arm], arm))[:missing]]


class PairsAsSets(BestPairs):
    """Answers are sets, and those with forced arms tuples."""

    can_constrain = True

    def solve(self, means, rng):
        return set(super().solve(means, rng))

    def solve_constrained(self, means, include, exclude, rng):
        found = super().solve_constrained(means, include, exclude, rng)
        return None if found is None else tuple(found)


ORACLES = [BestPairs, PairsAsSets]


@dataclass
class Sums:
    """The sums of rewards and the number of plays of each pair."""

    rewards: np.ndarray
    plays: np.ndarray


@dataclass(frozen=True, eq=False)
class OfListedPairs(Policy):
    """Learns from rewards alone, and fails for a super arm that is not a pair."""

    oracle: TopK = field(default_factory=lambda: TopK(N, 2))
    PAIRS = tuple(itertools.combinations(range(N), 2))

    def initial_state(self, rng=None):
        return Sums(np.zeros(len(self.PAIRS)), np.zeros(len(self.PAIRS), np.int64))

    def select(self, state, rng, context=None):
        plays = np.maximum(state.plays, 1)
        bonus = np.sqrt(4.0 * np.log(2.0 + state.plays.sum()) / plays)
        index = np.where(state.plays == 0, 9.0, state.rewards / plays + bonus)
        return list(self.PAIRS[int(np.argmax(index))])

    def update(self, state, feedback, ticket=None, rng=None):
        if np.isnan(feedback.reward):
            return
        place = next(i for i, pair in enumerate(self.PAIRS) if set(pair) == set(ticket.super_arm.tolist()))
        state.rewards[place] += feedback.reward
        state.plays[place] += 1


@dataclass
class Halves:
    """The statistics of the even and of the odd reports."""

    even: ArmStatistics
    odd: ArmStatistics
    turn: int = 0


@dataclass(frozen=True, eq=False)
class WorseHalf(Policy):
    """Learns even and odd reports apart, and believes the smaller of two upper bounds."""

    oracle: TopK = field(default_factory=lambda: TopK(N, 2))

    def initial_state(self, rng=None):
        return Halves(ArmStatistics.empty(N), ArmStatistics.empty(N))

    def select(self, state, rng, context=None):
        bounds = []
        for stats in (state.even, state.odd):
            radius = np.sqrt(np.log(2.0 + state.turn) / np.maximum(stats.counts, 1))
            bounds.append(np.where(stats.counts == 0, 1.0, np.minimum(stats.means + radius, 1.0)))
        return self.oracle.solve(np.minimum(*bounds), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        (state.odd if state.turn % 2 else state.even).update(feedback)
        state.turn += 1


@dataclass
class Plays:
    """Statistics, and the numbers of reported and of open plays."""

    stats: ArmStatistics
    reported: int = 0
    pending: int = 0


@dataclass(frozen=True, eq=False)
class FiftyRounds(Policy):
    """Plays fifty super arms, and rests afterwards."""

    oracle: TopK = field(default_factory=lambda: TopK(N, 2))
    may_rest = True

    def initial_state(self, rng=None):
        return Plays(ArmStatistics.empty(N))

    def is_done(self, state):
        return state.reported + state.pending >= 50

    def reserve(self, state, ticket):
        state.pending += len(ticket.super_arm) > 0

    def select(self, state, rng, context=None):
        if self.is_done(state):
            return []
        noise = rng.standard_normal(N) / (2.0 * np.sqrt(1.0 + state.stats.counts))
        return self.oracle.solve(np.where(state.stats.counts == 0, 0.5, state.stats.means) + noise, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.stats.update(feedback)
        if ticket is None or len(ticket.super_arm):
            state.reported += 1
            state.pending = max(0, state.pending - 1)


POLICIES = [OfListedPairs, WorseHalf]


class OneByOneRounds(Environment):
    """Flips a coin for each arm of the super arm, in its order, with small integers."""

    n_arms = n_choices = N
    means = MEANS

    def play(self, super_arm, rng):
        flips = [float(rng.integers(1000) < 1000 * MEANS[arm]) for arm in super_arm]
        return Feedback(super_arm, flips, reward=sum(flips))

    def pull(self, arms, rng):
        return rng.binomial(1, MEANS[arms]).astype(float)

    def expected_reward(self, super_arm):
        return float(MEANS[super_arm].sum())


class UntilAFailure(OneByOneRounds):
    """Draws one more number after each failure, so that the outcomes shift the stream."""

    def play(self, super_arm, rng):
        flips = [float(rng.random() < MEANS[arm]) for arm in super_arm]
        for _ in range(len(flips) - int(sum(flips))):
            rng.random()
        return Feedback(super_arm, flips, reward=sum(flips))


ENVIRONMENTS = [OneByOneRounds, UntilAFailure]
EXPLORERS = []
