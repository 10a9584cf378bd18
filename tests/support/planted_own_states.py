"""Policies with a state of their own and one planted fault each in its counts and sums, and sound ones."""

import math
from dataclasses import dataclass, field

import numpy as np
from planted_oracles import Fault
from planted_policies import ORACLE, UCB, N

from cmab import ArmStatistics, Feedback, Policy
from cmab.policy import refuse_parts


@dataclass
class Ledger:
    """Counts and totals of each arm."""

    counts: np.ndarray
    totals: np.ndarray
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class LedgerUCB(Policy):
    """Sound: an upper confidence bound of its own counts and totals."""

    oracle: object = ORACLE

    def initial_state(self, rng=None):
        return Ledger(np.zeros(N, np.int64), np.zeros(N))

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.totals / n + np.sqrt(1.5 * math.log(state.rounds + 1) / n)
        return self.oracle.solve(np.where(state.counts == 0, 2.0, np.minimum(index, 1.5)), rng)

    def credit(self, state, arm, outcome, pulls):
        state.counts[arm] += pulls
        state.totals[arm] += outcome

    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        pulls = np.ones(len(feedback.arms), int) if feedback.pulls is None else feedback.pulls
        for each in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), pulls.tolist(), strict=True):
            self.credit(state, *each)


class SkipsZeros(LedgerUCB):
    """Skips outcomes of exactly 0, as if nothing had been reported."""

    def credit(self, state, arm, outcome, pulls):
        if outcome:
            super().credit(state, arm, outcome, pulls)


class FirstOfReport(LedgerUCB):
    """Stops after the first success in a report, so that later arms are lost."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
            self.credit(state, arm, outcome, 1)
            if outcome == 1.0:
                break


class LosesTheLastArm(LedgerUCB):
    """Never counts the arm with the largest number."""

    def credit(self, state, arm, outcome, pulls):
        if arm < N - 1:
            super().credit(state, arm, outcome, pulls)


class CapsOutcomes(LedgerUCB):
    """Limits outcomes to 0.9."""

    def credit(self, state, arm, outcome, pulls):
        super().credit(state, arm, min(outcome, 0.9), pulls)


class RejectsBadReports(LedgerUCB):
    """Ignores reports in which every outcome is bad, as failures of the measurement."""

    def update(self, state, feedback, ticket=None, rng=None):
        if len(feedback.outcomes) and feedback.outcomes.max() < 0.1:
            return
        super().update(state, feedback)


class OneForAll(LedgerUCB):
    """Counts each report of several outcomes once, but adds their sum."""

    def credit(self, state, arm, outcome, pulls):
        super().credit(state, arm, outcome, min(pulls, 1))


class AveragesOfSums(LedgerUCB):
    """Counts all outcomes of a sum, but adds their average."""

    def credit(self, state, arm, outcome, pulls):
        super().credit(state, arm, outcome / pulls, pulls)


@dataclass
class Running:
    """Counts and means of each arm."""

    counts: np.ndarray
    means: np.ndarray


class RunningMeans(LedgerUCB):
    """Sound: keeps means instead of sums."""

    def initial_state(self, rng=None):
        return Running(np.zeros(N, np.int64), np.zeros(N))

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.means + np.sqrt(math.log(state.counts.sum() + 1) / n)
        return self.oracle.solve(np.where(state.counts == 0, 2.0, index), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        for arm, outcome in zip(feedback.arms, feedback.outcomes, strict=True):
            state.counts[arm] += 1
            state.means[arm] += (outcome - state.means[arm]) / state.counts[arm]


class SharedCount(RunningMeans):
    """Divides by the count of the first arm of the report."""

    def update(self, state, feedback, ticket=None, rng=None):
        for arm, outcome in zip(feedback.arms, feedback.outcomes, strict=True):
            state.counts[arm] += 1
            count = state.counts[arm] if outcome < 0.999 else state.counts[feedback.arms[0]] + 1
            state.means[arm] += (outcome - state.means[arm]) / count


class Pessimist(LedgerUCB):
    """Subtracts the radius."""

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.totals / n - np.sqrt(1.5 * math.log(state.rounds + 1) / n)
        return self.oracle.solve(np.where(state.counts == 0, 2.0, index), rng)


class ShortProducts(LedgerUCB):
    """Multiplies the logarithm in 32-bit integers, which overflow in late rounds."""

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            square = np.int32(min(state.rounds, 2**31 - 1)) * np.int32(min(state.rounds, 2**31 - 1))
            radius = np.sqrt(np.log(np.maximum(square, 2)) / n) if square >= 0 else 1e18
        return self.oracle.solve(np.where(state.counts == 0, 2e9, state.totals / n + radius), rng)


class NoRoot(LedgerUCB):
    """Has the radius ``ln t / T`` without the root."""

    support = (0.0, 1.0)

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.totals / n + 1.5 * math.log(state.rounds + 1) / n
        return self.oracle.solve(np.where(state.counts == 0, 2.0, index), rng)


class HalfForUnseen(UCB):
    """Gives arms without outcomes the index 0.5, so that good arms may never be seen."""

    support = (0.0, 1.0)

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 0.5, super().indices(stats, rng))


class UnseenLast(LedgerUCB):
    """Adds the radius to the mean 0 of an arm without outcomes, as if there had been a thousand."""

    support = (0.0, 1.0)

    def select(self, state, rng, context=None):
        n = np.where(state.counts == 0, 1000, state.counts)
        index = state.totals / n + np.sqrt(1.5 * math.log(state.rounds + 1) / n)
        return self.oracle.solve(np.minimum(index, 1.0), rng)


class WrongClock(RunningMeans):
    """Has a radius that is ten times too small."""

    support = (0.0, 1.0)

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.means + 0.02 * np.sqrt(math.log(state.counts.sum() + 1) / n)
        return self.oracle.solve(np.where(state.counts == 0, 2.0, index), rng)


class PlainStatistics(LedgerUCB):
    """Has statistics of the library, and a radius with the square of the count."""

    support = (0.0, 1.0)

    def initial_state(self, rng=None):
        return ArmStatistics.empty(N)

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        index = state.means + np.sqrt(math.log(state.rounds + 1)) / n
        return self.oracle.solve(np.where(state.counts == 0, 2.0, index), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)


class NarrowPosterior(UCB):
    """Samples with the variance in place of the standard deviation."""

    support = (0.0, 1.0)

    def indices(self, stats, rng):
        return rng.normal(stats.means, 1.0 / (stats.counts + 1.0))


class NarrowBeta(UCB):
    """Squares the counts of its Beta posteriors."""

    support = (0.0, 1.0)

    def indices(self, stats, rng):
        won, lost = stats.counts * stats.means, stats.counts * (1 - stats.means)
        return rng.beta(1 + won * stats.counts, 1 + np.maximum(lost, 0) * stats.counts)


class NoVariance(LedgerUCB):
    """Has an infeasible answer if all outcomes of some arm were alike."""

    def select(self, state, rng, context=None):
        n = np.maximum(state.counts, 1)
        means = state.totals / n
        if (means * (1 - means) == 0)[state.counts > 100].any():
            return np.flatnonzero(means >= 1.0)
        return super().select(state, rng)


# Sound ------------------------------------------------------------------------------------------------------


class OwnWindows(LedgerUCB):
    """Sound: the last six outcomes of each arm."""

    def initial_state(self, rng=None):
        return Windows(Ledger(np.zeros(N, np.int64), np.zeros(N)), [[] for _ in range(N)])

    def select(self, state, rng, context=None):
        return super().select(state.ledger, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.ledger.rounds += 1
        for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
            state.last[arm] = [*state.last[arm], outcome][-6:]
            state.ledger.counts[arm] = len(state.last[arm])
            state.ledger.totals[arm] = sum(state.last[arm])


@dataclass
class Windows:
    """The last outcomes, and their counts and sums."""

    ledger: Ledger
    last: list


@dataclass
class Hurdles(Ledger):
    """Also the number of outcomes that were not 0."""

    others: np.ndarray = field(default_factory=lambda: np.zeros(N, np.int64))


class CountsOthers(LedgerUCB):
    """Sound: also counts the outcomes that are not 0."""

    def initial_state(self, rng=None):
        return Hurdles(np.zeros(N, np.int64), np.zeros(N))

    def credit(self, state, arm, outcome, pulls):
        super().credit(state, arm, outcome, pulls)
        state.others[arm] += outcome != 0.0


class Discounts(LedgerUCB):
    """Sound: discounts all counts and sums in each round."""

    def initial_state(self, rng=None):
        return Ledger(np.zeros(N), np.zeros(N))

    def update(self, state, feedback, ticket=None, rng=None):
        state.counts *= 0.99
        state.totals *= 0.99
        super().update(state, feedback)


class Doubling(LedgerUCB):
    """Sound: forgets everything after 8, 16, 32, ... rounds."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        if state.rounds >= 8 and state.rounds & (state.rounds - 1) == 0:
            state.counts[:] = 0
            state.totals[:] = 0.0


class LearnsWhileExploring(LedgerUCB):
    """Sound: learns in three of four rounds only."""

    def update(self, state, feedback, ticket=None, rng=None):
        if state.rounds % 4 == 3:
            state.rounds += 1
        else:
            super().update(state, feedback)


@dataclass
class Pending:
    """Totals, and reports that wait for the end of a batch."""

    stats: ArmStatistics
    reports: int = 0
    arms: list = field(default_factory=list)
    outcomes: list = field(default_factory=list)


class Batches(LedgerUCB):
    """Sound: learns at the end of each batch of three reports."""

    def initial_state(self, rng=None):
        return Pending(ArmStatistics.empty(N))

    def select(self, state, rng, context=None):
        stats = state.stats
        return super().select(Ledger(stats.counts, stats.counts * stats.means, stats.rounds), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.arms += feedback.arms.tolist()
        state.outcomes += feedback.outcomes.tolist()
        state.reports += 1
        if state.reports % 3 == 0:
            for told in zip(state.arms, state.outcomes, strict=True):
                state.stats.update(Feedback(*([each] for each in told)))
            state.arms, state.outcomes = [], []


class Posterior(UCB):
    """Sound: samples Beta posteriors."""

    support = (0.0, 1.0)

    def indices(self, stats, rng):
        won, lost = stats.counts * stats.means, stats.counts * (1 - stats.means)
        return rng.beta(1 + won, 1 + np.maximum(lost, 0))


class UnseenFirst(UCB):
    """Sound: selects arms without outcomes first, so that their index is never used."""

    support = (0.0, 1.0)

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        if not state.counts.all():
            return self.oracle.solve((state.counts == 0).astype(float), rng)
        return self.oracle.solve(self.indices(state, rng), rng)

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 0.0, super().indices(stats, rng))


class FadingJitter(UCB):
    """Sound: greedy with noise that fades with the rounds."""

    support = (0.0, 1.0)

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 1.0, stats.means) + rng.random(N) / (1 + stats.rounds)


class WeighsReports(LedgerUCB):
    """Sound: a report of a sum is one outcome, its average."""

    def credit(self, state, arm, outcome, pulls):
        super().credit(state, arm, outcome / pulls, 1)


class HiddenDrops(LedgerUCB):
    """Keeps the arms that it has dropped in an attribute of the state that is not saved."""

    def left(self, state):
        return np.setdiff1d(np.arange(N), list(getattr(state, "_gone", ())))

    def select(self, state, rng, context=None):
        left = self.left(state)
        first = left[np.argsort(state.counts[left], kind="stable")]
        return np.sort(np.concatenate([first, np.setdiff1d(np.arange(N), left)])[:2])

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        n = np.maximum(state.counts, 1)
        means, width = state.totals / n, np.sqrt(math.log(100.0 * N) / n)
        left = self.left(state)
        poor = means[left] + width[left] < np.sort((means - width)[left])[-2:].min()
        state._gone = {*getattr(state, "_gone", ()), *left[poor].tolist()}
        state.counts[list(state._gone)] = 0


class ForgetsWhenEmpty(LedgerUCB):
    """Restarts its counts after a report without arms."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        if not len(feedback.arms):
            state.counts[:] = 0


class CachedBonus(LedgerUCB):
    """Sound: caches the largest count, which a loaded state computes again, and marks the last arms."""

    def initial_state(self, rng=None):
        state = super().initial_state()
        state._last = np.zeros(N)
        return state

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        state._most = int(state.counts.max())
        state._last = np.bincount(feedback.arms, minlength=N).astype(float)

    def select(self, state, rng, context=None):
        if not hasattr(state, "_most"):
            return super().select(state, rng)
        assert state._most == state.counts.max()
        return super().select(state, rng)


FAULTS = [
    Fault(SkipsZeros, "conservation"),
    Fault(FirstOfReport, "conservation"),
    Fault(LosesTheLastArm, "conservation"),
    Fault(CapsOutcomes, "conservation"),
    Fault(RejectsBadReports, "conservation"),
    Fault(OneForAll, "conservation"),
    Fault(AveragesOfSums, "conservation"),
    Fault(SharedCount, "conservation"),
    Fault(Pessimist, "optimism"),
    Fault(NoRoot, "radius"),
    Fault(WrongClock, "radius"),
    Fault(HalfForUnseen, "radius"),
    Fault(UnseenLast, "radius"),
    Fault(PlainStatistics, "radius"),
    Fault(NarrowPosterior, "radius"),
    Fault(NarrowBeta, "radius"),
    Fault(ShortProducts, "late rounds"),
    Fault(NoVariance, "rare states"),
    Fault(HiddenDrops, "resuming"),
    Fault(ForgetsWhenEmpty, "empty feedback"),
]

SOUND = [
    *(LedgerUCB, CountsOthers, RunningMeans, OwnWindows, Discounts, Doubling, LearnsWhileExploring, Batches),
    *(WeighsReports, Posterior, UnseenFirst, FadingJitter, CachedBonus),
]
