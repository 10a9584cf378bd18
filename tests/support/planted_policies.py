"""Policies with one planted fault each, and the check that names it."""

import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from planted_oracles import START, Fault

from cmab import CUCB, ArmStatistics, Context, Feedback, IndexPolicy, LogRadius, Policy, RandomPolicy
from instances import BernoulliArms, SemiBandit
from oracles import TopK

N, K = 5, 2
MEANS = np.array([0.3, 0.9, 0.1, 0.75, 0.6])
ORACLE = TopK(N, K)


def environment():
    """Return what the policies are tried on."""
    return SemiBandit(BernoulliArms(MEANS), ORACLE)


class UCB(IndexPolicy):
    """Sound: an upper confidence bound for each arm, in Python."""

    sign = 1.0

    def indices(self, stats, rng):
        radius = np.sqrt(1.5 * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1))
        return np.where(stats.counts == 0, 1.0, np.clip(stats.means + self.sign * radius, -1.0, 1.0))


class NoRoot(UCB):
    """Its radius is ``ln t / T`` without the root, so that it soon is below the standard error."""

    def indices(self, stats, rng):
        radius = 1.5 * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1)
        return np.where(stats.counts == 0, 1.0, np.clip(stats.means + radius, -1.0, 1.0))


class SixteenthOfTheRadius(UCB):
    """Divides the radius by 16."""

    sign = 1 / 16


class SharedRadius(UCB):
    """Keeps a parameter in the class, so that the last instance made decides for all."""

    def __init__(self, oracle, factor=1.0):
        super().__init__(oracle)
        self.factor = SharedRadius.last = factor

    def indices(self, stats, rng):
        radius = np.sqrt(SharedRadius.last * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1))
        return np.where(stats.counts == 0, 1.0, np.clip(stats.means + radius, -1.0, 1.0))


class Certain(RandomPolicy):
    """Claims that each of its random choices was certain."""

    def propensity(self, state, super_arm, context):
        return 1.0


class MinusRadius(UCB):
    sign = -1.0


class ClockOfTheLastRound(UCB):
    """Takes the logarithm of t - 1 for that of t."""

    def indices(self, stats, rng):
        radius = np.sqrt(1.5 * np.log(max(stats.rounds, 1)) / np.maximum(stats.counts, 1))
        return np.where(stats.counts == 0, 1.0, np.minimum(stats.means + radius, 1.0))


@dataclass(frozen=True, eq=False)
class Peeking(UCB):
    place: Any = field(default_factory=environment)

    def indices(self, stats, rng):
        return self.place.means + 0.01 * rng.random(N)


class Unseen(UCB):
    """Never looks at an arm that it has not seen."""

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, -1.0, super().indices(stats, rng))


class NextArm(UCB):
    """Credits each outcome to the next arm."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(Feedback(np.sort((feedback.arms + 1) % N), feedback.outcomes))


class SwappedOutcomes(UCB):
    def update(self, state, feedback, ticket=None, rng=None):
        state.update(Feedback(feedback.arms, feedback.outcomes[::-1].copy()))


@dataclass
class Ticks(ArmStatistics):
    """Statistics and a clock of its own."""

    ticks: int = 0


class EveryTwentieth(UCB):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return Ticks(empty.counters, empty.means, empty.deviations)

    def update(self, state, feedback, ticket=None, rng=None):
        state.ticks += 1
        if state.ticks % 20:
            state.update(feedback)


class GlobalDraws(UCB):
    def indices(self, stats, rng):
        return super().indices(stats, rng) + 1e-3 * np.random.random(N)  # noqa: NPY002


class WallClock(UCB):
    def select(self, state, rng, context=None):
        return super().select(state, rng) if time.time() < START + 3600 else np.arange(K)


class WritesFeedback(UCB):
    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        feedback.outcomes[:] = 0.0


@dataclass
class Newest(ArmStatistics):
    """Statistics, and the number of the newest ticket."""

    number: int = 0


class DropsLate(UCB):
    """Takes in only what is at least as new as what it knows."""

    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return Newest(empty.counters, empty.means, empty.deviations)

    def update(self, state, feedback, ticket=None, rng=None):
        if ticket.number >= state.number:
            state.number = ticket.number
            state.update(feedback)
        else:
            state.rounds += 1


@dataclass
class Notes:
    """Statistics beside the last outcomes, as they were told."""

    stats: ArmStatistics
    last: Any = None


class KeepsFeedback(Policy[Any]):
    """Its state holds the caller's own array."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Notes(ArmStatistics.empty(N), np.empty(0))

    def select(self, state, rng, context=None):
        return UCB(ORACLE).select(state.stats, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.stats.update(feedback)
        state.last = feedback.outcomes


class Leak(UCB):
    def select(self, state, rng, context=None):
        _kept.append(np.zeros(12_500))
        return super().select(state, rng)


_kept: list[Any] = []


class InfeasibleLater(UCB):
    def select(self, state, rng, context=None):
        return super().select(state, rng) if state.rounds < 60 else np.arange(K + 1)


class EmptyFeedback(UCB):
    def update(self, state, feedback, ticket=None, rng=None):
        assert feedback.outcomes.max() <= 1.0
        state.update(feedback)


class Round137(UCB):
    """Goes by its own clock from then on: another game has another."""

    calls = 0

    def select(self, state, rng, context=None):
        object.__setattr__(self, "calls", self.calls + 1)
        return super().select(state, rng) if self.calls < 137 else worst_pair(state)


class BadFrom137(UCB):
    def select(self, state, rng, context=None):
        return super().select(state, rng) if state.rounds < 137 else worst_pair(state)


def worst_pair(state):
    return np.argsort(state.means, kind="stable")[:K]


class OnTheClass(UCB):
    """Remembers all games in one place, which a new game empties."""

    counts = np.zeros(N, np.int64)

    def initial_state(self, rng=None):
        self.counts[:] = 0
        return super().initial_state()

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        self.counts[feedback.arms] += 1

    def indices(self, stats, rng):
        return np.where(self.counts == 0, 1.0, stats.means + np.sqrt(2 / np.maximum(self.counts, 1)))


class OnTheObject(UCB):
    def initial_state(self, rng=None):
        object.__setattr__(self, "last", np.arange(K))
        return super().initial_state()

    def select(self, state, rng, context=None):
        chosen = super().select(state, rng) if state.rounds % 2 == 0 else self.last
        object.__setattr__(self, "last", chosen)
        return chosen


class ChangesState(UCB):
    def select(self, state, rng, context=None):
        state.rounds += 1
        return super().select(state, rng)


class OwnGenerator(UCB):
    def indices(self, stats, rng):
        return super().indices(stats, rng) + np.random.default_rng().random(N)


class OneAtATime(UCB):
    """Takes one feedback for each super arm, in turn."""

    asked = False

    def select(self, state, rng, context=None):
        object.__setattr__(self, "asked", True)
        return super().select(state, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        if not self.asked:
            raise ValueError("late")
        object.__setattr__(self, "asked", False)
        state.update(feedback)


@dataclass
class Hidden(ArmStatistics):
    """Statistics with a set, which no file of a session holds."""

    seen: Any = field(default_factory=set)


class NotSaved(UCB):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return Hidden(empty.counters, empty.means, empty.deviations)


def with_own_state(oracle):
    """Return a sound policy with a state of its own, whose classes have not been used before.

    They are those of a script: pickled copies hold them by value.
    """

    @dataclass
    class Sums:
        counts: np.ndarray
        sums: np.ndarray
        rounds: int = 0

    class OwnState(Policy):
        def initial_state(self, rng=None):
            return Sums(np.zeros(N), np.zeros(N))

        def select(self, state, rng, context=None):
            tried = np.maximum(state.counts, 1)
            radius = np.sqrt(np.log(state.rounds + 2) / tried)
            return self.oracle.solve(np.where(state.counts == 0, 2.0, state.sums / tried + radius), rng)

        def update(self, state, feedback, ticket=None, rng=None):
            state.counts[feedback.arms] += 1
            state.sums[feedback.arms] += feedback.outcomes
            state.rounds += 1

    for cls in (Sums, OwnState):
        cls.__module__, cls.__qualname__ = "__main__", cls.__name__
        setattr(sys.modules["__main__"], cls.__name__, cls)
    policy = OwnState()
    policy.oracle = oracle
    return policy


class IgnoresAvailable(UCB):
    def select(self, state, rng, context=None):
        return super().select(state, rng)


class IgnoresValues(UCB):
    """Uses the available entries of a context, and ignores all other parts."""

    def select(self, state, rng, context=None):
        known = Context(available=None if context is None else context.available)
        return super().select(state, rng, known)


class OneAvailable(UCB):
    """Plays one arm that is available, which is too few."""

    def select(self, state, rng, context=None):
        if context is None or context.available is None:
            return super().select(state, rng)
        return np.flatnonzero(context.available)[:1]


class WritesContext(UCB):
    """Scales the features that it is told, for the next round to find them so."""

    def update(self, state, feedback, ticket=None, rng=None):
        if ticket.context is not None:
            ticket.context.features[...] /= 2.0
        super().update(state, feedback)


class WritesSuperArm(UCB):
    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        ticket.super_arm[:] = np.sort(ticket.super_arm)[::-1]


@dataclass
class WithFeatures(ArmStatistics):
    features: Any = field(default_factory=lambda: np.zeros((N, 2)))


class KeepsContext(UCB):
    """Its state holds the features themselves, not a copy."""

    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return WithFeatures(empty.counters, empty.means, empty.deviations)

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        if ticket.context is not None:
            state.features = ticket.context.features


class DrawsToLearn(UCB):
    """Sound: knows what was played, and draws random numbers to learn."""

    def update(self, state, feedback, ticket=None, rng=None):
        assert set(feedback.arms) <= set(ticket)
        rng.random()
        super().update(state, feedback)


class SortsArms(UCB):
    """Credits outcomes to the arms in sorted order."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(Feedback(np.sort(feedback.arms), feedback.outcomes))


class Rounds(UCB):
    def update(self, state, feedback, ticket=None, rng=None):
        state.update(Feedback(feedback.arms, np.round(feedback.outcomes)))


class FastClock(UCB):
    """Counts each round twice."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        state.rounds += 1


class Forgetful(UCB):
    """Ignores outcomes that are 0."""

    def update(self, state, feedback, ticket=None, rng=None):
        told = feedback.outcomes > 0
        state.update(Feedback(feedback.arms[told], feedback.outcomes[told]))


class WholeSuperArm(UCB):
    """Counts all arms of the super arm, also those that were not observed."""

    def update(self, state, feedback, ticket=None, rng=None):
        outcomes = dict(zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True))
        state.update(Feedback(ticket.super_arm, [outcomes.get(arm, 0.0) for arm in ticket]))


@dataclass
class Wins:
    """Integer sums."""

    counts: np.ndarray
    wins: np.ndarray


class IntegerSums(Policy[Any]):
    """Adds outcomes to integers, so that it cuts them."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Wins(np.zeros(N, np.int64), np.zeros(N, np.int64))

    def select(self, state, rng, context=None):
        tried = np.maximum(state.counts, 1)
        bonus = np.sqrt(np.log(state.counts.sum() + 2) / tried)
        return ORACLE.solve(np.where(state.counts == 0, 2.0, state.wins / tried + bonus), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.counts[feedback.arms] += 1
        state.wins[feedback.arms] += feedback.outcomes.astype(np.int64)


@dataclass
class Rewarded(ArmStatistics):
    """Statistics, and the sum of the rewards."""

    total: float = 0.0


class NeedsReward(UCB):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return Rewarded(empty.counters, empty.means, empty.deviations)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        state.total += feedback.reward


class NoVariance(UCB):
    """Its index is nan for arms whose outcomes were all equal."""

    def indices(self, stats, rng):
        with np.errstate(all="ignore"):
            radius = np.sqrt(1.5 * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1))
            bound = stats.means + radius * stats.variances / stats.variances
        return np.where(stats.counts < 5, 1.0, bound)


class Overflows(UCB):
    """Multiplies counts, which no longer fit into 64 bits after a million rounds."""

    def indices(self, stats, rng):
        with np.errstate(all="ignore"):
            return np.where(
                stats.counts == 0, 9.0, stats.means * np.sign(stats.counts**4) + 1 / (1 + stats.counts)
            )


class ShortClock(UCB):
    """Squares the number of rounds in 32 bits."""

    def indices(self, stats, rng):
        t = np.array(stats.rounds).astype(np.int32)
        radius = np.sqrt(np.log(np.maximum(t * t, 1)) / np.maximum(stats.counts, 1))
        return np.where(stats.counts == 0, 9.0, stats.means + radius)


class TiesByItself(UCB):
    """Breaks ties at random, without its generator."""

    def select(self, state, rng, context=None):
        indices = self.indices(state, rng)
        if len(np.unique(indices)) == 1 and state.rounds > 3:
            return np.random.default_rng().permutation(N)[:K]
        return super().select(state, rng)


class FirstArm(UCB):
    """The first arm has a larger index than the others."""

    def indices(self, stats, rng):
        return super().indices(stats, rng) + 0.1 * (np.arange(N) == 0)


@dataclass
class WithLast(ArmStatistics):
    last: Any = field(default_factory=lambda: np.arange(K))


class ReturnsItsState(UCB):
    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return WithLast(empty.counters, empty.means, empty.deviations)

    def select(self, state, rng, context=None):
        return state.last

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)
        state.last = super().select(state, np.random.default_rng(0))


class WrongPropensity(UCB):
    """Explores in a tenth of the rounds, and forgets that it then may choose the best pair, too."""

    def select(self, state, rng, context=None):
        if rng.random() < 0.5:
            return np.sort(rng.choice(N, K, replace=False))
        return super().select(state, rng)

    def propensity(self, state, super_arm, context):
        best = np.array_equal(
            np.sort(super_arm), np.sort(UCB(ORACLE).select(state, np.random.default_rng(0)))
        )
        return 0.5 if best else 0.05


class RightPropensity(WrongPropensity):
    """Sound: its propensities are right."""

    def propensity(self, state, super_arm, context):
        return 0.5 * (super().propensity(state, super_arm, context) == 0.5) + 0.05


class Rewinds(UCB):
    """Its pickled states have forgotten the number of rounds."""

    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        return Amnesiac(empty.counters, empty.means, empty.deviations)


class Amnesiac(ArmStatistics):
    def __getstate__(self):
        return {**self.__dict__, "rounds": 0}


@dataclass
class Level:
    """Sums of each arm, and a running level of all outcomes."""

    counts: np.ndarray
    sums: np.ndarray
    rounds: int = 0
    level: float = 0.5


class OwnSums(Policy):
    """Sound: an upper confidence bound with a state of its own."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Level(np.zeros(N), np.zeros(N))

    def select(self, state, rng, context=None):
        tried = np.maximum(state.counts, 1)
        index = state.sums / tried + np.sqrt(np.log(state.rounds + 2) / tried)
        cap = 3.0 + state.level
        return self.oracle.solve(np.nan_to_num(np.minimum(np.where(state.counts == 0, 2.5, index), cap)), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        state.counts[feedback.arms] += 1
        state.sums[feedback.arms] += feedback.outcomes


class PositionCredit(OwnSums):
    """Credits outcomes to the sorted super arm, whichever arms the feedback names."""

    def update(self, state, feedback, ticket=None, rng=None):
        arms = np.sort(ticket.super_arm)[: len(feedback.outcomes)]
        super().update(state, Feedback(arms, feedback.outcomes))


class EmptyPoison(OwnSums):
    """Has a level of nan for ever after a feedback without arms."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        with np.errstate(all="ignore"):
            mean = feedback.outcomes.sum() / np.float64(len(feedback.outcomes))
        state.level = float(0.9 * state.level + 0.1 * mean)


class HalfPrecision(OwnSums):
    """Adds outcomes in half precision, in which sums stop growing at 2048."""

    def initial_state(self, rng=None):
        return Level(np.zeros(N), np.zeros(N, np.float16))


class Bytes(OwnSums):
    """Counts in single bytes, which start again at 0 after 255 outcomes."""

    def initial_state(self, rng=None):
        return Level(np.zeros(N, np.uint8), np.zeros(N))


class IgnoresPulls(OwnSums):
    """Counts a sum of outcomes as one outcome, whose index is limited to 1."""

    def select(self, state, rng, context=None):
        tried = np.maximum(state.counts, 1)
        index = state.sums / tried + np.sqrt(np.log(state.rounds + 2) / tried)
        return self.oracle.solve(np.where(state.counts == 0, 1.0, np.minimum(index, 1.0)), rng)


class PullsOfRounds(IgnoresPulls):
    """Counts all outcomes as rounds, but each sum as one outcome of its arm."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        if feedback.pulls is not None:
            state.rounds += int(feedback.pulls.max()) - 1


class KeepsReservations(OwnSums):
    """Counts a round when its ticket is issued, and again when its feedback arrives."""

    def reserve(self, state, ticket):
        state.rounds += 1


@dataclass
class Queue(Level):
    """Sums, and the super arms of the pending tickets."""

    waiting: list = field(default_factory=list)


class OldestTicket(OwnSums):
    """Credits the average outcome to the oldest pending ticket, whichever ticket was reported."""

    def initial_state(self, rng=None):
        return Queue(np.zeros(N), np.zeros(N))

    def reserve(self, state, ticket):
        state.waiting.append(np.array(ticket.super_arm))

    def update(self, state, feedback, ticket=None, rng=None):
        arms = state.waiting.pop(0) if state.waiting else feedback.arms
        average = feedback.outcomes.sum() / max(len(feedback.arms), 1)
        super().update(state, Feedback(arms, np.full(len(arms), average)))


class FailuresTwice(UCB):
    """Draws from a posterior in which each failure counts twice."""

    def indices(self, stats, rng):
        wins = stats.counts * stats.means
        return rng.beta(1 + wins, 1 + 2 * (stats.counts - wins))


class SleepersAreZero(OwnSums):
    """Gives sleeping arms the index 0, which is that of available arms without a success."""

    def select(self, state, rng, context=None):
        means = state.sums / np.maximum(state.counts, 1)
        index = np.where(state.counts < 2, 1.0, means)
        if context is not None and context.available is not None:
            index = np.where(context.available, index, 0.0)
        return self.oracle.solve(index, rng)


class OtherKernel(CUCB):
    """Its compiled rule has a larger radius than its indices."""

    def kernel(self):
        return CUCB(self.oracle, radius=LogRadius(6.0)).kernel()


def own_sums(oracle):
    """Return the sound policy on which the two above are based."""
    policy = OwnSums()
    policy.oracle = oracle
    return policy


class SpreadOfReports(UCB):
    """Adds squared deviations from the average of the report, not from the mean of the arm."""

    def update(self, state, feedback, ticket=None, rng=None):
        before = state.deviations.copy()
        state.update(feedback)
        if len(feedback.arms):
            apart = feedback.outcomes - feedback.outcomes.mean()
            state.deviations[feedback.arms] = before[feedback.arms] + apart**2


class FirstLeader(UCB):
    """The first arm with the largest mean has a larger index, unless all arms are equal."""

    def indices(self, stats, rng):
        leads = np.arange(N) == np.argmax(stats.means)
        return super().indices(stats, rng) - 0.1 * leads * (np.ptp(stats.means) > 0)


@dataclass
class Successes:
    a: Any
    b: Any


class UnseenFailures(Policy):
    """Counts arms that were played but not observed as failures."""

    def __init__(self, oracle):
        self.oracle = oracle

    def initial_state(self, rng=None):
        return Successes(np.ones(N), np.ones(N))

    def select(self, state, rng, context=None):
        return self.oracle.solve(rng.beta(state.a, state.b), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.b[ticket.super_arm] += 1
        state.a[feedback.arms] += feedback.outcomes
        state.b[feedback.arms] -= feedback.outcomes


class ForgetsExploration(UCB):
    """Greedy with exploration; its propensities omit that exploration selects the greedy super arm too."""

    def select(self, state, rng, context=None):
        if rng.random() < 0.2:
            return np.sort(rng.choice(N, K, replace=False))
        return np.sort(self.oracle.solve(state.means, rng))

    def propensity(self, state, super_arm, context):
        greedy = self.oracle.solve(state.means, np.random.default_rng(0))
        return 0.8 if set(greedy.tolist()) == set(super_arm.tolist()) else 0.02


FAULTS = [
    Fault(SharedRadius, "instances"),
    Fault(HalfPrecision, "long reports"),
    Fault(Bytes, "long reports"),
    Fault(PullsOfRounds, "splitting"),
    Fault(IgnoresPulls, None, "most policies are used where each outcome is reported alone"),
    Fault(FailuresTwice, "limit"),
    Fault(KeepsReservations, "reservations"),
    Fault(SleepersAreZero, "availability"),
    Fault(OtherKernel, "compiled"),
    Fault(UnseenFailures, "unobserved"),
    Fault(ForgetsExploration, "propensity"),
    Fault(SpreadOfReports, "splitting"),
    Fault(FirstLeader, "duplication"),
    Fault(PositionCredit, "report order"),
    Fault(EmptyPoison, "empty feedback"),
    Fault(SortsArms, "conservation"),
    Fault(Rounds, "conservation"),
    Fault(Forgetful, "conservation"),
    Fault(FastClock, "conservation"),
    Fault(WholeSuperArm, "conservation"),
    Fault(IntegerSums, "conservation"),
    Fault(SortsArms, "report order"),
    Fault(NeedsReward, "missing reward"),
    Fault(NoVariance, "rare states"),
    Fault(Overflows, "late rounds"),
    Fault(ShortClock, "late rounds"),
    Fault(TiesByItself, "constant outcomes"),
    Fault(FirstArm, "relabelling"),
    Fault(ReturnsItsState, "aliasing"),
    Fault(WrongPropensity, "propensity"),
    Fault(MinusRadius, "optimism"),
    Fault(NoRoot, "radius"),
    Fault(SixteenthOfTheRadius, "radius"),
    Fault(ClockOfTheLastRound, None, "it learns as well; no promise is broken"),
    Fault(Peeking, "learning"),
    Fault(Unseen, "exploration"),
    Fault(NextArm, "credit"),
    Fault(SwappedOutcomes, "credit"),
    Fault(EveryTwentieth, "credit"),
    Fault(GlobalDraws, "global randomness"),
    Fault(WallClock, "clock"),
    Fault(WritesFeedback, "feedback"),
    Fault(KeepsFeedback, "feedback"),
    Fault(Leak, "growth"),
    Fault(InfeasibleLater, "feasibility"),
    Fault(EmptyFeedback, "empty feedback"),
    Fault(Round137, "determinism"),
    Fault(BadFrom137, "learning"),
    Fault(OnTheClass, "memory"),
    Fault(OnTheObject, "memory"),
    Fault(ChangesState, "state"),
    Fault(OwnGenerator, "determinism"),
    Fault(OneAtATime, "late feedback"),
    Fault(DropsLate, "late feedback"),
    Fault(OldestTicket, "late feedback"),
    Fault(NotSaved, "resuming"),
    Fault(Rewinds, "sequences"),
    Fault(IgnoresAvailable, "availability"),
    Fault(OneAvailable, "availability"),
    Fault(IgnoresValues, "context"),
    Fault(WritesContext, "tickets"),
    Fault(WritesSuperArm, "tickets"),
    Fault(KeepsContext, "tickets"),
    Fault(Certain, "propensity"),
]

SOUND = [UCB, CUCB, DrawsToLearn, RightPropensity, with_own_state, own_sums]
