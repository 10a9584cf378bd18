"""Correct classes that draw a number for each arm, return lists, or know listed super arms only."""

import itertools
from dataclasses import dataclass, field

import numpy as np
from odd_but_correct import MEANS, N

from cmab import Environment, Feedback, LinearOracle, Policy
from oracles import TopK


class BestPairs(LinearOracle):
    """The two best arms, as lists, with or without arms that are forced in or out."""

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


ORACLES = [BestPairs]


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

    def initial_state(self):
        return Sums(np.zeros(len(self.PAIRS)), np.zeros(len(self.PAIRS), np.int64))

    def select(self, state, rng):
        plays = np.maximum(state.plays, 1)
        bonus = np.sqrt(4.0 * np.log(2.0 + state.plays.sum()) / plays)
        index = np.where(state.plays == 0, 9.0, state.rewards / plays + bonus)
        return list(self.PAIRS[int(np.argmax(index))])

    def update(self, state, feedback, ticket):
        if np.isnan(feedback.reward):
            return
        place = next(i for i, pair in enumerate(self.PAIRS) if set(pair) == set(ticket.super_arm.tolist()))
        state.rewards[place] += feedback.reward
        state.plays[place] += 1


POLICIES = [OfListedPairs]


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
