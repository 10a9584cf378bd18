"""One table of faults that authors make: each class has one."""

# ruff: noqa: NPY002

from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np

from cmab import (
    ArmStatistics,
    Context,
    Environment,
    Explorer,
    Feedback,
    IndexPolicy,
    LinearOracle,
    Oracle,
    Policy,
    round_key,
)
from cmab.explorer import ExploreM
from cmab.policy import best_within, refuse_parts
from instances import BernoulliArms, SemiBandit
from oracles import PartitionMatroid, TopK

N, K = 5, 2
FAMILY = [*combinations(range(N), K)]
MEANS = np.array([0.3, 0.9, 0.5, 0.7, 0.1])


# Oracles ---------------------------------------------------------------------------------------------------


class Best(LinearOracle):
    """The best pair of five arms, which is correct."""

    n_arms, has_membership, can_constrain = N, True, True

    def solve(self, means, rng):
        return np.argsort(-(1.0 if self.sense == "max" else -1.0) * means, kind="stable")[:K]

    def is_feasible(self, super_arm):
        return len(super_arm) == K

    def solve_constrained(self, means, include, exclude, rng):
        left = np.setdiff1d(np.arange(N), np.union1d(include, exclude))
        if len(include) > K or len(include) + len(left) < K:
            return None
        order = left[np.argsort(-(1.0 if self.sense == "max" else -1.0) * means[left], kind="stable")]
        return np.concatenate((include, order[: K - len(include)])).astype(int)


class WrongOrder(Best):
    def solve(self, means, rng):
        return np.argsort(means, kind="stable")[:K]


class IgnoresSense(Best):
    sense = "min"

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]


class AllTied(Best):
    def solve(self, means, rng):
        return np.flatnonzero(means >= np.sort(means)[-K])


class WritesMeans(Best):
    def solve(self, means, rng):
        chosen = []
        for _ in range(K):
            chosen.append(int(np.argmax(means)))
            means[chosen[-1]] = -np.inf
        return np.array(chosen)


class ReturnsItsBuffer(Best):
    def __init__(self):
        self.out = np.zeros(K, int)

    def solve(self, means, rng):
        self.out[:] = super().solve(means, rng)
        return self.out


class GlobalTies(Best):
    def solve(self, means, rng):
        order = np.random.permutation(N)
        return order[np.argsort(-means[order], kind="stable")[:K]]


class Covers(Oracle):
    """Two of four sets of six parts; a greedy answer, with the ratio of the greedy algorithm."""

    n_arms, n_choices, alpha = 6, 4, 1 - 1 / np.e
    sets = ((0, 1, 2), (3, 4, 5), (0, 1, 3, 4), (2,))

    def parts(self, chosen):
        return np.unique(np.concatenate([np.array(self.sets[i]) for i in chosen])).astype(int)

    def triggered_arms(self, super_arm):
        return self.parts(super_arm)

    def expected_reward(self, super_arm, means):
        return float(means[self.parts(super_arm)].sum())

    def solve(self, means, rng):
        first = max(range(4), key=lambda i: means[list(self.sets[i])].sum())
        pairs = [[first, other] for other in range(4) if other != first]
        return np.array(max(pairs, key=lambda pair: self.expected_reward(pair, means)))


class GreedyDeclaredExact(Covers):
    alpha = 1.0


class TriggersTooLittle(Covers):
    def triggered_arms(self, super_arm):
        return np.array(self.sets[super_arm[0]])


class FallingReward(Covers):
    alpha = float("nan")

    def expected_reward(self, super_arm, means):
        parts = means[self.parts(super_arm)]
        return float(parts.sum() - 0.7 * (parts**2).sum())


class AlphaTooHigh(Best):
    alpha = 0.95

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[1 : K + 1]


class BetaTooHigh(Best):
    beta = 0.9

    def solve(self, means, rng):
        order = np.argsort(-means, kind="stable")
        return order[:K] if rng.random() < 0.6 else order[-K:]


class WithinByZeros(Best):
    def solve_within(self, means, available, rng):
        return self.solve(np.where(available, means, 0.0), rng)


class ForgetsInclude(Best):
    def solve_constrained(self, means, include, exclude, rng):
        return super().solve_constrained(means, np.empty(0, int), exclude, rng)


class FeasibleIsAtMost(Best):
    def is_feasible(self, super_arm):
        return len(super_arm) <= K


class NoMembershipFlag(LinearOracle):
    n_arms = N

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]

    def is_feasible(self, super_arm):
        return len(super_arm) == K


class GapsOfTheOptimum(Best):
    def gaps(self, means, include, exclude, rng):
        best = self.solve(means, rng)
        return best, np.abs(means - means[best].min())


# Policies --------------------------------------------------------------------------------------------------

ORACLE = TopK(N, K)


class UCB(IndexPolicy):
    """Upper confidence bounds for rewards, lower ones for costs, which is correct."""

    def radius(self, stats):
        return np.sqrt(1.5 * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1))

    def indices(self, stats, rng):
        sign = 1.0 if self.oracle.sense == "max" else -1.0
        unseen = 1.0 if sign > 0 else 0.0
        return np.where(stats.counts == 0, unseen, stats.means + sign * self.radius(stats))


class LowerBound(UCB):
    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 1.0, stats.means - self.radius(stats))


class UpperBoundForCosts(UCB):
    """Always an upper bound."""

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 0.0, stats.means + self.radius(stats))


class NoRoot(UCB):
    def radius(self, stats):
        return np.sqrt(1.5 * np.log(stats.rounds + 1)) / np.maximum(stats.counts, 1)


class SwappedBeta(IndexPolicy):
    def indices(self, stats, rng):
        won = stats.means * stats.counts
        return rng.beta(1 + stats.counts - won, 1 + won)


class OwnChoice(UCB):
    """The best indices, whatever the family is."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return np.argsort(-self.indices(state, rng))[:K]


@dataclass
class Table:
    counts: np.ndarray
    sums: np.ndarray
    rounds: int = 0


class OwnUCB(Policy):
    """UCB with a state of its own, which is correct."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Table(np.zeros(N), np.zeros(N))

    def index(self, state):
        counts = np.maximum(state.counts, 1)
        found = state.sums / counts + np.sqrt(1.5 * np.log(state.rounds + 1) / counts)
        return np.where(state.counts == 0, 1.0, found)

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available", "values", "costs"))
        return best_within(self.oracle, self.index(state), context, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        state.counts[feedback.arms] += 1
        state.sums[feedback.arms] += feedback.outcomes


class CountsInSelect(OwnUCB):
    def select(self, state, rng, context=None):
        state.rounds += 1
        return super().select(state, rng, context)


class LearnsInItself(OwnUCB):
    def __init__(self):
        object.__setattr__(self, "mine", Table(np.zeros(N), np.zeros(N)))

    def select(self, state, rng, context=None):
        return super().select(self.mine, rng, context)

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(self.mine, feedback)


@dataclass
class Diary(Table):
    seen: list = field(default_factory=list)


class KeepsTheFeedback(OwnUCB):
    def initial_state(self, rng=None):
        return Diary(np.zeros(N), np.zeros(N))

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        state.seen = [feedback.outcomes]


class CountsTheSuperArm(OwnUCB):
    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        state.counts[ticket.super_arm] += 1
        state.sums[feedback.arms] += feedback.outcomes


class SortsTheArms(OwnUCB):
    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        state.counts[feedback.arms] += 1
        state.sums[np.sort(feedback.arms)] += feedback.outcomes


class RewardForEach(OwnUCB):
    """The reward of the round in place of the outcome, minus nothing: arms look as good as their company."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.rounds += 1
        state.counts[feedback.arms] += 1
        state.sums[feedback.arms] -= feedback.outcomes


class ForgetsHalf(OwnUCB):
    """Discounts the counts, but not the sums."""

    def update(self, state, feedback, ticket=None, rng=None):
        state.counts *= 0.9
        super().update(state, feedback)


class HiddenAttribute(OwnUCB):
    """An attribute of the state that is no field, so that it is not saved."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback)
        state.late = getattr(state, "late", np.zeros(N)) + 0.1 * state.sums

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return self.oracle.solve(getattr(state, "late", np.ones(N)) + np.sin(7 * state.sums), rng)


class IgnoresAvailable(OwnUCB):
    def select(self, state, rng, context=None):
        return self.oracle.solve(self.index(state), rng)


class IgnoresValues(OwnUCB):
    def select(self, state, rng, context=None):
        if context is None or context.available is None:
            return self.oracle.solve(self.index(state), rng)
        return self.oracle.solve_within(self.index(state), context.available, rng)


class LastSuperArm(Policy):
    """Full-bandit feedback is credited to the last selection, not to the ticket."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Table(np.zeros(N), np.zeros(N))

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        counts = np.maximum(state.counts, 1)
        found = np.where(state.counts == 0, 2.0, state.sums / counts + 2 * np.sqrt(1 / counts))
        chosen = self.oracle.solve(found, rng)
        object.__setattr__(self, "last", chosen)
        return chosen

    def update(self, state, feedback, ticket=None, rng=None):
        state.counts[self.last] += 1
        state.sums[self.last] += feedback.reward


class GreedyWithPropensity(Policy):
    """A random pair with probability 0.3, otherwise the best one; the propensity forgets the former."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return ArmStatistics.empty(N)

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        if rng.random() < 0.3:
            return np.sort(rng.choice(N, K, replace=False))
        return np.sort(self.oracle.solve(state.means, rng))

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def propensity(self, state, super_arm, context):
        best = self.oracle.solve(state.means, np.random.default_rng(0))
        return 0.7 if set(best) == set(super_arm) else 0.3 / 10


class CommitsToTheWorst(GreedyWithPropensity):
    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        if state.rounds < 20:
            return np.sort(rng.choice(N, K, replace=False))
        return np.sort(self.oracle.solve(-state.means, rng))

    propensity = Policy.propensity


class PullsAreOne(IndexPolicy):
    """A sum of outcomes counts as one outcome."""

    indices = UCB.indices
    radius = UCB.radius

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(Feedback(feedback.arms, feedback.outcomes))


@dataclass
class Ridge:
    precision: np.ndarray
    moment: np.ndarray


THETA = np.array([0.1, 0.3, 0.5])


class Contextual(SemiBandit):
    """New features in each round."""

    def in_round(self, t, rng):
        features = rng.dirichlet(np.ones(3), self.n_arms)
        today = SemiBandit(BernoulliArms(features @ THETA), self.oracle)
        today.context = Context(features=features)
        return today


class LinUCB(Policy):
    """C2UCB, which is correct."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Ridge(np.eye(3), np.zeros(3))

    def select(self, state, rng, context=None):
        if context is None or context.parts != ("features",):
            raise ValueError("context must have features alone")
        solved = np.linalg.solve(state.precision, context.features.T)
        widths = np.sqrt(np.einsum("ij,ji->i", context.features, solved))
        return self.oracle.solve(state.moment @ solved + 0.3 * widths, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        seen = ticket.context.features[feedback.arms]
        state.precision += seen.T @ seen
        state.moment += seen.T @ feedback.outcomes


class WrongSignOfMoment(LinUCB):
    def update(self, state, feedback, ticket=None, rng=None):
        seen = ticket.context.features[feedback.arms]
        state.precision += seen.T @ seen
        state.moment -= seen.T @ feedback.outcomes


class IgnoresFeatures(OwnUCB):
    def select(self, state, rng, context=None):
        return self.oracle.solve(self.index(state), rng)


# Environments ----------------------------------------------------------------------------------------------


class Coins(Environment):
    """Independent coins with common random numbers, which is correct."""

    n_arms, means = N, MEANS
    oracle = ORACLE

    def __init__(self):
        self.optimum = float(np.sort(MEANS)[-K:].sum())

    def uniforms(self, rng):
        return np.random.default_rng(round_key(rng)).random(N)

    def play(self, super_arm, rng):
        outcomes = (self.uniforms(rng) < self.means)[super_arm].astype(float)
        return Feedback(super_arm, outcomes, reward=outcomes.sum())

    def pull(self, arms, rng):
        return (rng.random(len(arms)) < self.means[arms]).astype(float)

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


class NumbersByPosition(Coins):
    def play(self, super_arm, rng):
        outcomes = (self.uniforms(rng)[: len(super_arm)] < self.means[super_arm]).astype(float)
        return Feedback(super_arm, outcomes, reward=outcomes.sum())


class OptimumOfTheWorst(Coins):
    def __init__(self):
        self.optimum = float(np.sort(MEANS)[:K].sum())


class ShiftedMeans(Coins):
    def play(self, super_arm, rng):
        outcomes = (self.uniforms(rng) < np.roll(self.means, 1))[super_arm].astype(float)
        return Feedback(super_arm, outcomes, reward=outcomes.sum())


class AverageAsReward(Coins):
    def play(self, super_arm, rng):
        feedback = super().play(super_arm, rng)
        return feedback.with_reward(float(feedback.outcomes.mean()))


class ShowsSuccesses(Coins):
    def play(self, super_arm, rng):
        feedback = super().play(super_arm, rng)
        seen = feedback.outcomes > 0
        return Feedback(feedback.arms[seen], feedback.outcomes[seen], reward=feedback.reward)


class SmallSigma(Coins):
    sigma = 0.3


class SumsOfOneDraw(Coins):
    def pull_many(self, arms, pulls, rng):
        outcomes = self.pull(arms, rng)
        return pulls * outcomes, pulls * outcomes**2


class Drifts(Coins):
    t = 0

    def play(self, super_arm, rng):
        self.t += 1
        outcomes = (self.uniforms(rng) < self.means * 0.999**self.t)[super_arm].astype(float)
        return Feedback(super_arm, outcomes, reward=outcomes.sum())


class SharedOutcomes(Coins):
    def __init__(self):
        super().__init__()
        self.row = np.zeros(K)

    def play(self, super_arm, rng):
        self.row[:] = (self.uniforms(rng) < self.means)[super_arm]
        return Feedback.unchecked(np.asarray(super_arm), self.row, float(self.row.sum()))


class Cascade(Coins):
    """A list that is read up to the first success, which is correct."""

    oracle = None

    def __init__(self):
        self.optimum = self.expected_reward(np.array([1, 3]))

    def play(self, super_arm, rng):
        outcomes = (self.uniforms(rng) < self.means)[super_arm].astype(float)
        seen = int(np.argmax(outcomes)) + 1 if outcomes.any() else len(super_arm)
        return Feedback(super_arm[:seen], outcomes[:seen], reward=float(outcomes.any()))

    def expected_reward(self, super_arm):
        return float(1 - np.prod(1 - self.means[super_arm]))

    def triggering_probabilities(self, super_arm):
        chances = np.zeros(N)
        chances[super_arm] = np.cumprod(np.append(1.0, 1 - self.means[super_arm]))[:-1]
        return chances


class SureTriggering(Cascade):
    def triggering_probabilities(self, super_arm):
        return np.isin(np.arange(N), super_arm).astype(float)


class ChangesItself(Coins):
    def in_round(self, t, rng):
        self.means = np.roll(self.means, 1)
        return self


class OptimumOfAllArms(SemiBandit):
    """Arms sleep, but the optimum is that of all arms."""

    def __init__(self):
        super().__init__(BernoulliArms(MEANS), ORACLE)

    def in_round(self, t, rng):
        awake = rng.random(N) < 0.7
        awake[:2] = True
        today = Coins()
        today.context = Context(available=awake)
        return today


# Explorers -------------------------------------------------------------------------------------------------


class Race(Explorer):
    """Samples all arms until the best one is clear, by a union bound, which is correct."""

    n_arms, delta, sigma, goal = 3, 0.1, 0.5, ExploreM(1)

    def initial_state(self, rng=None):
        return ArmStatistics.empty(self.n_arms)

    def select(self, state, rng, context=None):
        return np.arange(self.n_arms)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def radius(self, state):
        n = np.maximum(state.counts, 1)
        return self.sigma * np.sqrt(2 * np.log(4 * self.n_arms * n**2 / self.delta) / n)

    def is_done(self, state):
        if state.rounds == 0:
            return False
        lower, upper = state.means - self.radius(state), state.means + self.radius(state)
        best = int(np.argmax(state.means))
        return bool(lower[best] > np.delete(upper, best).max())

    def recommend(self, state):
        return np.array([int(np.argmax(state.means))])


class RaceWithoutRoot(Race):
    def radius(self, state):
        n = np.maximum(state.counts, 1)
        return self.sigma * 2 * np.log(4 * self.n_arms * n**2 / self.delta) / n**1.5


class NoUnionOverTime(Race):
    def radius(self, state):
        return self.sigma * np.sqrt(2 * np.log(2 / self.delta) / np.maximum(state.counts, 1))


class TooQuick(Race):
    def is_done(self, state):
        return state.rounds >= 10


class WorstArm(Race):
    def recommend(self, state):
        return np.array([int(np.argmin(state.means))])


class CountsQuestions(Race):
    def is_done(self, state):
        state.rounds += 1
        return super().is_done(state)


class Budgeted(Race):
    """Uniform allocation of a budget, which is correct."""

    delta, sigma, is_bounded, budget = None, None, True, 50

    def is_done(self, state):
        return int(state.counts.sum()) + self.n_arms > self.budget


class OverBudget(Budgeted):
    def is_done(self, state):
        return int(state.counts.sum()) >= self.budget


class FalseIntervals(Race):
    def intervals(self, state):
        n = np.maximum(state.counts, 1)
        return state.means - 0.3 / np.sqrt(n), state.means + 0.3 / np.sqrt(n)


#: The families of oracles that do not choose two of five arms.
FAMILIES = dict.fromkeys(
    (Covers, GreedyDeclaredExact, TriggersTooLittle, FallingReward), tuple(combinations(range(4), 2))
)
OTHER_ORACLES = {
    OwnChoice: lambda: PartitionMatroid([0, 0, 0, 1, 1], 1),
    UpperBoundForCosts: lambda: TopK(N, K, sense="min"),
}
CONTEXTUAL = (WrongSignOfMoment, IgnoresFeatures, LinUCB)
#: Faults that the quick checks miss, with the reason.
MISSED = {
    NoUnionOverTime: "the error rate exceeds delta by less than a factor of two",
    GreedyWithPropensity: "the frequencies differ by less than a few hundred draws show",
}
SOUND = {
    "oracle": [Best, Covers],
    "index": [UCB],
    "policy": [OwnUCB, LinUCB],
    "environment": [Coins, Cascade],
    "explorer": [Race, Budgeted],
}


def faults(base):
    """Return the classes of this module with a fault that inherit from a base class."""
    sound = {Contextual, *chain.from_iterable(SOUND.values())}
    return [
        thing
        for thing in globals().values()
        if isinstance(thing, type)
        and issubclass(thing, base)
        and thing.__module__ == __name__
        and thing not in sound
    ]


FAULTS = {
    "oracle": faults(Oracle),
    "index": faults(IndexPolicy),
    "policy": [one for one in faults(Policy) if not issubclass(one, IndexPolicy | Explorer)],
    "environment": faults(Environment),
    "explorer": faults(Explorer),
}
