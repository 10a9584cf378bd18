"""Explorers with a state of their own and one planted fault each in its counts or claims, and sound ones."""

from dataclasses import dataclass

import numpy as np
from planted_explorers import DELTA
from planted_oracles import Fault

from cmab import ArmStatistics, Explorer
from cmab.goals import ExploreM


@dataclass
class Sheet:
    """Counts, sums and squares of each arm."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray


class SheetRace(Explorer):
    """Sound: samples all arms until Hoeffding's intervals separate the two best ones."""

    n_arms, goal, support, delta = 4, ExploreM(2), (0.0, 1.0), DELTA

    def initial_state(self, rng=None):
        return Sheet(np.zeros(4, np.int64), np.zeros(4), np.zeros(4))

    def select(self, state, rng, context=None):
        return np.arange(4)

    def credit(self, state, arm, outcome, pulls, square):
        state.counts[arm] += pulls
        state.sums[arm] += outcome
        state.squares[arm] += square

    def update(self, state, feedback, ticket=None, rng=None):
        pulls = np.ones(len(feedback.arms), int) if feedback.pulls is None else feedback.pulls
        squares = feedback.outcomes**2 if feedback.squares is None else feedback.squares
        for each in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), pulls, squares, strict=True):
            self.credit(state, *each)

    def means(self, state):
        return state.sums / np.maximum(state.counts, 1)

    def intervals(self, state):
        n = np.maximum(state.counts, 1)
        half = np.sqrt(np.log(4 * 4 * n**2.0 / self.delta) / (2 * n))
        half = np.where(state.counts > 0, half, np.inf)
        return self.means(state) - half, self.means(state) + half

    def is_done(self, state):
        lower, upper = self.intervals(state)
        best = self.recommend(state)
        return bool(lower[best].min() >= np.delete(upper, best).max())

    def recommend(self, state):
        return np.sort(np.argsort(-self.means(state), kind="stable")[:2])


class SkipsZeros(SheetRace):
    """Skips outcomes of exactly 0."""

    def credit(self, state, arm, outcome, pulls, square):
        if outcome:
            super().credit(state, arm, outcome, pulls, square)


class RoundsOutcomes(SheetRace):
    """Rounds outcomes of at least 0.5 up to 1."""

    def credit(self, state, arm, outcome, pulls, square):
        super().credit(state, arm, 1.0 if 0.5 <= outcome < 1.0 else outcome, pulls, square)


class OneForAll(SheetRace):
    """Counts each sum of outcomes once, but adds all of it."""

    def credit(self, state, arm, outcome, pulls, square):
        super().credit(state, arm, outcome, min(pulls, 1), square)


class SquareOfTheSum(SheetRace):
    """Adds the square of a sum in place of the sum of squares."""

    def credit(self, state, arm, outcome, pulls, square):
        super().credit(state, arm, outcome, pulls, square if pulls == 1 else outcome**2)


class CertifiesLeaders(SheetRace):
    """Certifies as soon as every arm has ten outcomes, although the stopping rule does not hold."""

    def is_certified(self, state):
        return self.is_done(state) or bool(state.counts.min() >= 10 and np.ptp(self.means(state)) > 0.3)


class PlainRace(SheetRace):
    """Sound: the same race with statistics of the library."""

    def initial_state(self, rng=None):
        return ArmStatistics.empty(4)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def means(self, state):
        return state.means


class FallingLevel(PlainRace):
    """Its intervals fall with the count, not with the root of the count, once there are 500 outcomes."""

    def intervals(self, state):
        lower, upper = super().intervals(state)
        n = np.maximum(state.counts, 1)
        half = np.where(n > 500, 50 / n, (upper - lower) / 2)
        return state.means - half, state.means + half


class SheetBatches(SheetRace):
    """Sound: asks for more outcomes in each request."""

    def pulls(self, state):
        return 1 + int(state.counts.min())


FAULTS = [
    Fault(SkipsZeros, "conservation"),
    Fault(RoundsOutcomes, "conservation"),
    Fault(OneForAll, "conservation"),
    Fault(SquareOfTheSum, "conservation"),
    Fault(CertifiesLeaders, "certificates"),
    Fault(FallingLevel, "intervals"),
]

SOUND = [SheetRace, PlainRace, SheetBatches]
