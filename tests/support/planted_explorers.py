"""Explorers with one planted fault each, and the check that names it."""

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from planted_oracles import START, Fault

from cmab import ArmStatistics, Explorer, Feedback, LUCBPlusPlus, UGapEc
from cmab.exploration.rejects import SuccessiveRejects
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

    def initial_state(self, rng=None):
        return ArmStatistics.empty(4)

    def select(self, state, rng, context=None):
        return rng.permutation(4)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def pulls(self, state):
        return 25

    def is_done(self, state):
        return bool(state.counts.min() >= 100)

    def recommend(self, state):
        return np.sort(np.argsort(-state.means, kind="stable")[:2])


class SharedPulls(Sound):
    """Keeps a parameter in the class, so that the last instance made decides for all."""

    def __init__(self, size=25):
        self.size = SharedPulls.last = size

    def pulls(self, state):
        return SharedPulls.last


class ListedAnswer(Sound):
    def recommend(self, state):
        return super().recommend(state).tolist()


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


class TwiceTheBudget(SuccessiveRejects):
    def __init__(self):
        super().__init__(4, budget=200)

    def pulls(self, state):
        return 2 * super().pulls(state)

    def kernel(self):
        return None


class NeverEnds(SuccessiveRejects):
    def __init__(self):
        super().__init__(4, budget=200)

    def is_done(self, state):
        return False

    def select(self, state, rng, context=None):
        return super().select(state, rng) if not super().is_done(state) else np.arange(4)

    def kernel(self):
        return None


class FloatPulls(Sound):
    def pulls(self, state):
        return 1.0


class Peeking(Sound):
    def recommend(self, state):
        return np.sort(np.argsort(-environment().means, kind="stable")[:2])


class ConstantBudget(SuccessiveRejects):
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
    def select(self, state, rng, context=None):
        return np.zeros(2, np.int64)


class Moody(Sound):
    def select(self, state, rng, context=None):
        return np.random.default_rng().permutation(4)[:2]


class Meddling(Sound):
    def recommend(self, state):
        state.means[0] = 0.0
        return super().recommend(state)


class Counting(Sound):
    calls = 0

    def select(self, state, rng, context=None):
        object.__setattr__(self, "calls", self.calls + 1)
        return super().select(state, rng)


class WallClock(Sound):
    def select(self, state, rng, context=None):
        return super().select(state, rng) if time.time() < START + 3600 else np.arange(4)


class GlobalSeed(Sound):
    def select(self, state, rng, context=None):
        np.random.seed(0)  # noqa: NPY002
        return super().select(state, rng)


class SharedMemory(Sound):
    """All campaigns share what they have seen; a new one begins anew."""

    seen: ClassVar[list[int]] = [0]

    def initial_state(self, rng=None):
        self.seen[0] = 0
        return super().initial_state()

    def update(self, state, feedback, ticket=None, rng=None):
        self.seen[0] += 1
        super().update(state, feedback)

    def select(self, state, rng, context=None):
        return np.arange(4) if self.seen[0] % 4 == 0 else super().select(state, rng)


@dataclass
class Hidden(ArmStatistics):
    """Statistics with a set, which no file of a session holds."""

    seen: set = field(default_factory=set)


class NotSaved(Sound):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(4)
        return Hidden(empty.counters, empty.means, empty.deviations)


class CountsTwice(Sound):
    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        state.counters[feedback.arms] += feedback.pulls


class IgnoresFirst(Sound):
    """Ignores the first report, as a wrongly placed guard does."""

    def update(self, state, feedback, ticket=None, rng=None):
        if state.rounds > 0:
            state.update(feedback)
        else:
            state.rounds += 1


class SortsArms(Sound):
    def update(self, state, feedback, ticket=None, rng=None):
        state.update(
            Feedback(
                np.sort(feedback.arms), feedback.outcomes, pulls=feedback.pulls, squares=feedback.squares
            )
        )


@dataclass
class Sums:
    """A state of its own."""

    counts: np.ndarray
    sums: np.ndarray
    first: int = -1


class FavoursTheFirst(Sound):
    """Counts the first arm of a report in another way than the others."""

    def initial_state(self, rng=None):
        return Sums(np.zeros(4, np.int64), np.zeros(4))

    def update(self, state, feedback, ticket=None, rng=None):
        state.counts[feedback.arms] += feedback.pulls
        state.sums[feedback.arms] += feedback.outcomes
        state.first = int(feedback.arms[0])

    def is_done(self, state):
        return bool(state.counts.min() >= 100)

    def recommend(self, state):
        means = state.sums / np.maximum(state.counts, 1)
        means[state.first] += 0.5 * (state.first >= 0)
        return np.sort(np.argsort(-means, kind="stable")[:2])


class BooksAsAsked(FavoursTheFirst):
    """Books outcomes in the order of the arms, whichever order the report has."""

    def update(self, state, feedback, ticket=None, rng=None):
        arms = np.sort(feedback.arms)
        state.counts[arms] += feedback.pulls
        state.sums[arms] += feedback.outcomes


class TiesByItself(Sound):
    def recommend(self, state):
        if np.ptp(state.means) == 0.0:
            return np.sort(np.random.default_rng().permutation(4)[:2])
        return super().recommend(state)


@dataclass
class Requested(ArmStatistics):
    """Statistics, and the arms of the next request."""

    arms: np.ndarray = field(default_factory=lambda: np.arange(4))


class ReturnsItsState(Sound):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(4)
        return Requested(empty.counters, empty.means, empty.deviations)

    def select(self, state, rng, context=None):
        return state.arms


class WritesFeedback(Sound):
    """Turns the sums of the report into means, in place."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        feedback.outcomes[:] /= feedback.pulls


class WithUndo(Sound):
    """Sound: takes back a report."""

    def undo(self, state, feedback):
        counts = state.counters[feedback.arms] - feedback.pulls
        sums = state.counters[feedback.arms] * state.means[feedback.arms] - feedback.outcomes
        squares = (
            state.deviations[feedback.arms] + state.counters[feedback.arms] * state.means[feedback.arms] ** 2
        )
        state.means[feedback.arms] = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)
        state.counters[feedback.arms] = counts
        state.deviations[feedback.arms] = np.maximum(
            squares - feedback.squares - counts * state.means[feedback.arms] ** 2, 0
        )
        state.rounds -= 1


class IncompleteUndo(WithUndo):
    """Leaves the means as they are."""

    def undo(self, state, feedback):
        state.counters[feedback.arms] -= feedback.pulls
        state.rounds -= 1


class CertifiesAlways(Sound):
    def is_certified(self, state):
        return bool(state.counts.min() >= 25)


class StopsEarly(Sound):
    """Declares that its stopping rule proves the answer, which would need far more outcomes."""

    sigma, is_proven, delta = 0.5, True, 0.1


class Narrow(UGapEc):
    """Its intervals have a hundredth of the outcomes as width, whatever its level."""

    def intervals(self, state):
        lower, upper = super().intervals(state)
        return np.maximum(lower, state.means - 0.01), np.minimum(upper, state.means + 0.01)


def narrow():
    return Narrow(4, k=2, delta=DELTA, epsilon=0.05)


narrow.__name__ = "Narrow"


class LosesFarArms(UGapEc):
    """Returns an arm that is far from the best one, but only if there is such an arm."""

    def recommend(self, state):
        answer, worst = super().recommend(state), int(np.argmin(state.means))
        is_far = state.means.max() - state.means.min() > 0.5
        return np.sort([int(np.argmax(state.means)), worst]) if is_far else answer


def loses_far_arms():
    return LosesFarArms(4, k=2, delta=DELTA, epsilon=0.05)


loses_far_arms.__name__ = "LosesFarArms"


class Rewinds(Sound):
    """Its pickled states have forgotten the number of rounds."""

    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(4)
        return Amnesiac(empty.counters, empty.means, empty.deviations)


class Amnesiac(ArmStatistics):
    def __getstate__(self):
        return {**self.__dict__, "rounds": 0}


class SpreadWithinReports(Sound):
    """Adds the squared deviations within each report, without those between reports."""

    def update(self, state, feedback, ticket=None, rng=None):
        before = state.deviations.copy()
        state.update(feedback)
        within = feedback.squares - feedback.outcomes**2 / feedback.pulls
        state.deviations[feedback.arms] = before[feedback.arms] + within


class StopsInStep(Sound):
    """Its `step` stops after fewer outcomes than its stopping rule asks for."""

    def step(self, state, rng):
        done = state.counts.min() >= 50
        return np.empty(0, np.int64) if done else self.select(state, rng)


class WaitsForAGap(Sound):
    """Declares that all runs end, but does not stop while all means are equal."""

    is_bounded = True

    def is_done(self, state):
        return bool(state.counts.min() >= 100 and np.ptp(state.means) > 0)


class OtherKernel(LUCBPlusPlus):
    """Its compiled form has another error probability."""

    def kernel(self):
        return LUCBPlusPlus(4, 2, delta=1e-6).kernel()


def other_kernel():
    return OtherKernel(4, 2, delta=DELTA)


other_kernel.__name__ = "OtherKernel"


FAULTS = [
    Fault(StopsInStep, "steps"),
    Fault(WaitsForAGap, "ending"),
    Fault(other_kernel, "compiled"),
    Fault(SharedPulls, "instances"),
    Fault(SpreadWithinReports, "splitting"),
    Fault(CountsTwice, "conservation"),
    Fault(IgnoresFirst, "conservation"),
    Fault(SortsArms, "report order"),
    Fault(SortsArms, "conservation"),
    Fault(FavoursTheFirst, "report order"),
    Fault(BooksAsAsked, "report order"),
    Fault(TiesByItself, "constant outcomes"),
    Fault(ReturnsItsState, "aliasing"),
    Fault(IncompleteUndo, "undo"),
    Fault(WritesFeedback, "feedback"),
    Fault(CertifiesAlways, "certificates"),
    Fault(StopsEarly, "certificates"),
    Fault(narrow, "intervals"),
    Fault(loses_far_arms, "certificates"),
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
    Fault(ListedAnswer, "form"),
    Fault(OutOfRange, "form"),
    Fault(Repeats, "form"),
    Fault(Moody, "determinism"),
    Fault(Meddling, "state"),
    Fault(Counting, "state"),
    Fault(WallClock, "clock"),
    Fault(GlobalSeed, "global randomness"),
    Fault(SharedMemory, "memory"),
    Fault(NotSaved, "resuming"),
    Fault(Rewinds, "sequences"),
]

SOUND = [Sound, WithUndo]


def delta_of(explorer):
    """Return the error that it promises, if it does."""
    return None if isinstance(explorer, SuccessiveRejects) else DELTA
