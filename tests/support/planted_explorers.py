"""Explorers with one planted fault each, and the check that names it."""

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from planted_oracles import START, Fault

from cmab import ArmStatistics, Explorer, SequentialHalving
from cmab.goals import ExploreM
from instances import BernoulliArms

MEANS = [0.9, 0.1, 0.8, 0.1]
DELTA = 0.1


def environment():
    """Return what the explorers are tried on."""
    return BernoulliArms(MEANS)


class Sound(Explorer):
    """A sound explorer: a hundred outcomes of each arm, in four requests, then the two best means."""

    n_arms, goal = 4, ExploreM(2)

    def initial_state(self):
        return ArmStatistics.empty(4)

    def select(self, state, rng):
        return rng.permutation(4)

    def update(self, state, feedback):
        state.update(feedback)

    def pulls(self, state):
        return 25

    def is_done(self, state):
        return bool(state.counts.min() >= 100)

    def recommend(self, state):
        return np.sort(np.argsort(-state.means, kind="stable")[:2])


class Wrong(Sound):
    """Names the worst arms with some probability, which the outcomes decide."""

    rate = 0.36

    def recommend(self, state):
        answer = super().recommend(state)
        wrong = self.is_done(state) and _coin(state) < self.rate
        return np.setdiff1d(np.arange(4), answer) if wrong else answer


def _coin(state):
    return np.random.default_rng([int(x * 1e9) for x in state.means]).random()


class Wrong16(Wrong):
    rate = 0.16


class TwiceTheBudget(SequentialHalving):
    def __init__(self):
        super().__init__(4, budget=200)

    def pulls(self, state):
        return 2 * super().pulls(state)

    def kernel(self):
        return None


class NeverEnds(SequentialHalving):
    def __init__(self):
        super().__init__(4, budget=200)

    def is_done(self, state):
        return False

    def select(self, state, rng):
        return super().select(state, rng) if not super().is_done(state) else np.arange(4)

    def kernel(self):
        return None


class FloatPulls(Sound):
    def pulls(self, state):
        return 1.0


class Peeking(Sound):
    def recommend(self, state):
        return np.sort(np.argsort(-environment().means, kind="stable")[:2])


class ConstantBudget(SequentialHalving):
    def __init__(self):
        super().__init__(4, budget=200)

    def recommend(self, state):
        return np.array([0])

    def kernel(self):
        return None


class OtherDelta(Sound):
    """Is content with far fewer outcomes than its delta asks for: on easy arms no error is seen."""

    def is_done(self, state):
        return bool(state.counts.min() >= 50)


class Unordered(Sound):
    def recommend(self, state):
        return super().recommend(state)[::-1]


class OutOfRange(Sound):
    def recommend(self, state):
        return super().recommend(state) + 2


class Repeats(Sound):
    def select(self, state, rng):
        return np.zeros(2, np.int64)


class Moody(Sound):
    def select(self, state, rng):
        return np.random.default_rng().permutation(4)[:2]


class Meddling(Sound):
    def recommend(self, state):
        state.means[0] = 0.0
        return super().recommend(state)


class Counting(Sound):
    calls = 0

    def select(self, state, rng):
        object.__setattr__(self, "calls", self.calls + 1)
        return super().select(state, rng)


class WallClock(Sound):
    def select(self, state, rng):
        return super().select(state, rng) if time.time() < START + 3600 else np.arange(4)


class GlobalSeed(Sound):
    def select(self, state, rng):
        np.random.seed(0)  # noqa: NPY002
        return super().select(state, rng)


class SharedMemory(Sound):
    """All campaigns share what they have seen; a new one begins anew."""

    seen: ClassVar[list[int]] = [0]

    def initial_state(self):
        self.seen[0] = 0
        return super().initial_state()

    def update(self, state, feedback):
        self.seen[0] += 1
        super().update(state, feedback)

    def select(self, state, rng):
        return np.arange(4) if self.seen[0] % 4 == 0 else super().select(state, rng)


@dataclass
class Hidden(ArmStatistics):
    """Statistics with a set, which no file of a session holds."""

    seen: set = field(default_factory=set)


class NotSaved(Sound):
    def initial_state(self):
        empty = ArmStatistics.empty(4)
        return Hidden(empty.counters, empty.means, empty.deviations)


FAULTS = [
    Fault(Wrong, "errors"),
    Fault(Wrong16, "errors"),
    Fault(TwiceTheBudget, "budget"),
    Fault(NeverEnds, "budget"),
    Fault(FloatPulls, "form"),
    Fault(Peeking, "places"),
    Fault(ConstantBudget, "places"),
    Fault(
        OtherDelta, None, "arms that are harder to tell apart would show it, at a hundred times the samples"
    ),
    Fault(Unordered, "form"),
    Fault(OutOfRange, "form"),
    Fault(Repeats, "form"),
    Fault(Moody, "determinism"),
    Fault(Meddling, "state"),
    Fault(Counting, "state"),
    Fault(WallClock, "clock"),
    Fault(GlobalSeed, "global randomness"),
    Fault(SharedMemory, "memory"),
    Fault(NotSaved, "resuming"),
]

SOUND = [Sound]


def delta_of(explorer):
    """Return the error that it promises, if it does."""
    return None if isinstance(explorer, SequentialHalving) else DELTA
