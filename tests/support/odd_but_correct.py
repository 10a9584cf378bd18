"""Correct classes of users in odd but legal styles: no check may find a fault in any of them."""

import collections
import functools
import math
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab import (
    ArmStatistics,
    Environment,
    Explorer,
    Feedback,
    IndexPolicy,
    LinearOracle,
    Oracle,
    Policy,
    round_key,
)
from cmab.goals import ExploreM
from instances import BernoulliArms, GaussianArms, SemiBandit
from oracles import TopK

N, K = 5, 2
PAIRS = [(i, j) for i in range(N) for j in range(i)]
MEANS = np.array([0.3, 0.9, 0.1, 0.75, 0.6])


# Oracles ---------------------------------------------------------------------------------------------------


class Slots(LinearOracle):
    """Has slots, and a docstring as its only other content."""

    __slots__ = ("k",)
    n_arms = N

    def __init__(self):
        self.k = K

    def solve(self, means, rng):
        return np.argpartition(-means, self.k - 1)[: self.k]


class Loops(LinearOracle):
    """Compares all pairs in Python, the last of equal ones wins."""

    n_arms = N

    def solve(self, means, rng):
        top = None
        for pair in PAIRS:
            worth = means[pair[0]] + means[pair[1]]
            if top is None or worth >= top[0]:
                top = worth, pair
        return np.array(top[1])


@functools.lru_cache(maxsize=64)
def _solved(numbers):
    return tuple(sorted(range(len(numbers)), key=lambda i: (-numbers[i], i))[:K])


class Cached(LinearOracle):
    """Caches answers in a function of its module, and keeps statistics of its own calls on the class."""

    n_arms, calls = N, 0

    def solve(self, means, rng):
        type(self).calls += 1
        return np.array(_solved(tuple(means.tolist())), np.int64)


class Lazy(LinearOracle):
    """Builds its table at the first call."""

    n_arms = N

    @functools.cached_property
    def table(self):
        table = np.zeros((len(PAIRS), N))
        for row, pair in zip(table, PAIRS, strict=True):
            row[list(pair)] = 1.0
        return table

    def solve(self, means, rng):
        return np.flatnonzero(self.table[np.argmax(self.table @ means)])


class Shuffled(LinearOracle):
    """Breaks ties at random, with its generator, by a random order of the arms."""

    n_arms = N

    def solve(self, means, rng):
        order = rng.permutation(N)
        return order[np.argsort(-means[order], kind="stable")][:K]


class Pooled(LinearOracle):
    """Solves in a pool of threads, which it starts at the first call and which ends with it."""

    n_arms = N

    def __init__(self):
        self._pool = None

    def __getstate__(self):
        return {"_pool": None}

    def solve(self, means, rng):
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
        return self._pool.submit(lambda: np.argsort(-means, kind="stable")[:K]).result()


class Careful(LinearOracle):
    """Locks, catches what it expects, and raises for what it does not accept."""

    n_arms = N
    _lock = threading.Lock()

    def solve(self, means, rng):
        if not np.isfinite(means).all():
            raise ValueError("means must be finite")
        self._lock.acquire()
        try:
            try:
                with np.errstate(all="raise"):
                    scaled = means / np.abs(means).max()
            except FloatingPointError:
                scaled = means
            return np.lexsort((np.arange(N), -scaled))[:K] if np.ptp(scaled) > 1e-300 else np.arange(K)
        finally:
            self._lock.release()


class Cheapest(LinearOracle):
    """Costs, with names for the arms, an answer that is read-only, and 32-bit integers."""

    n_arms, sense = N, "min"

    def solve(self, means, rng):
        answer = np.argsort(means, kind="stable")[:K].astype(np.int32)
        answer.flags.writeable = False
        return answer

    def labels(self, super_arm):
        return [("shop", "abcde"[entry]) for entry in super_arm]


class Tupled(LinearOracle):
    """Answers with a tuple of Python integers."""

    n_arms = N

    def solve(self, means, rng):
        return tuple(sorted(range(N), key=lambda arm: (-means[arm], arm))[:K])


class ListedAnswer(Tupled):
    """Answers with a new list of Python integers."""

    def solve(self, means, rng):
        return list(super().solve(means, rng))


class Reliable(Oracle):
    """A product reward, in logarithms, with a warning that it hides."""

    has_membership = True
    n_arms = N

    def solve(self, means, rng):
        return np.sort(np.argsort(means, kind="stable")[-K:])

    def expected_reward(self, super_arm, means):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(np.exp(np.log(means[super_arm]).sum()))

    def triggered_arms(self, super_arm):
        return super_arm

    def is_feasible(self, super_arm):
        return len(super_arm) == K


# Policies --------------------------------------------------------------------------------------------------


def radius(stats, scale=1.5):
    return np.sqrt(scale * math.log(stats.rounds + 1) / np.maximum(stats.counts, 1))


class WarnsAtFirst(IndexPolicy):
    """Divides by the counts, which numpy warns about until all arms were seen."""

    def indices(self, stats, rng):
        bonus = np.sqrt(1.5 * np.log(stats.rounds + 1) / stats.counts)
        return np.nan_to_num(stats.means + bonus, nan=1e6, posinf=1e6)


class Jittered(IndexPolicy):
    """Breaks ties by tiny random numbers."""

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 2.0, stats.means + radius(stats)) + 1e-9 * rng.random(N)


class GaussianSampler(IndexPolicy):
    def indices(self, stats, rng):
        return rng.normal(stats.means, 1.0 / np.sqrt(stats.counts + 1.0))


@dataclass(frozen=True, eq=False)
class WithPrior(IndexPolicy):
    """Has a prior for each arm, given as a list."""

    prior: Any = field(default_factory=lambda: [0.1 * i for i in range(N)])

    def indices(self, stats, rng):
        weight = stats.counts / (stats.counts + 2.0)
        return weight * stats.means + (1 - weight) * np.array(self.prior) + radius(stats)


class Listed(Policy):
    """Keeps Python lists in its own state, and forgets nothing."""

    oracle = TopK(N, K)

    def initial_state(self, rng=None):
        return Book([[] for _ in range(N)])

    def select(self, state, rng, context=None):
        rounds = sum(map(len, state.outcomes))
        scores = [
            np.mean(told) + math.sqrt(2 * math.log(1 + rounds) / len(told)) if told else 9.0
            for told in state.outcomes
        ]
        return self.oracle.solve(np.array(scores), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
            state.outcomes[arm] = [*state.outcomes[arm], outcome]


@dataclass
class Book:
    """All outcomes of each arm."""

    outcomes: list


@dataclass
class Phase:
    """Sums of an explore-then-commit rule."""

    counts: np.ndarray
    sums: np.ndarray
    t: int = 0
    committed: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


class Commits(Policy):
    """Explores in turn, and then commits for good: later feedback changes nothing."""

    oracle = TopK(N, K)

    def initial_state(self, rng=None):
        return Phase(np.zeros(N), np.zeros(N))

    def select(self, state, rng, context=None):
        if len(state.committed):
            return state.committed.copy()
        return np.array([(K * state.t + i) % N for i in range(K)])

    def update(self, state, feedback, ticket=None, rng=None):
        if len(state.committed):
            return
        state.counts[feedback.arms] += 1
        np.add.at(state.sums, feedback.arms, feedback.outcomes)
        state.t += 1
        if state.t >= 100:
            state.committed = self.oracle.solve(
                state.sums / np.maximum(state.counts, 1), np.random.default_rng(0)
            )


@dataclass(frozen=True, eq=False)
class Mixed(IndexPolicy):
    """Explores with a known probability, and declares its propensities."""

    epsilon: float = 0.2

    def indices(self, stats, rng):
        return np.where(stats.counts == 0, 1.0, stats.means)

    def select(self, state, rng, context=None):
        greedy = super().select(state, rng)
        return rng.choice(N, K, replace=False) if rng.random() < self.epsilon else greedy

    def propensity(self, state, super_arm, context):
        greedy = IndexPolicy.select(self, state, np.random.default_rng(0))
        # A random choice is a sequence of two arms: each order has half the probability of the set.
        share = self.epsilon / (N * (N - 1))
        return share + (1 - self.epsilon) * bool(np.array_equal(greedy, super_arm))


class Forgets(Policy):
    """Forgets: only the last 200 outcomes count."""

    oracle = TopK(N, K)

    def initial_state(self, rng=None):
        return Window([], [])

    def select(self, state, rng, context=None):
        arms, outcomes = np.array(state.arms, np.int64), np.array(state.outcomes)
        counts = np.bincount(arms, minlength=N)
        sums = np.bincount(arms, outcomes, minlength=N) if len(arms) else np.zeros(N)
        bonus = np.sqrt(np.log(1 + len(arms)) / np.maximum(counts, 1))
        return self.oracle.solve(np.where(counts == 0, 5.0, sums / np.maximum(counts, 1) + bonus), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        order = np.argsort(feedback.arms)
        state.arms[:] = [*state.arms, *feedback.arms[order].tolist()][-200:]
        state.outcomes[:] = [*state.outcomes, *feedback.outcomes[order].tolist()][-200:]


@dataclass
class Window:
    """The last arms and outcomes."""

    arms: list
    outcomes: list


# Environments ----------------------------------------------------------------------------------------------


class Base(Environment):
    """Bernoulli arms, written out."""

    n_arms, means = N, MEANS.copy()

    def __init__(self):
        self.oracle = TopK(N, K)
        self.optimum = float(np.sort(MEANS)[-K:].sum())

    def numbers(self, rng):
        return np.random.default_rng(round_key(rng)).random(N)

    def play(self, super_arm, rng):
        outcomes = (self.numbers(rng)[super_arm] < self.means[super_arm]) * 1.0
        return Feedback(super_arm, outcomes, reward=outcomes.sum())

    def pull(self, arms, rng):
        return (rng.random(len(arms)) < self.means[arms]) * 1.0

    def expected_reward(self, super_arm):
        return self.means[super_arm].sum()


class DrawsAll(Base):
    """Draws the outcomes of all arms in each round, from the generator itself."""

    def play(self, super_arm, rng):
        outcomes = (rng.random(N) < self.means) * 1.0
        return Feedback(super_arm, outcomes[super_arm], reward=float(outcomes[super_arm].sum()))


class Sorted(Base):
    """Reports the arms in increasing order, with their outcomes."""

    def play(self, super_arm, rng):
        return super().play(np.sort(super_arm), rng)


class Counting(Base):
    """Keeps a cache of its expected rewards, and a private counter that affects nothing."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def expected_reward(self, super_arm):
        name = tuple(sorted(super_arm.tolist()))
        return self.known.setdefault(name, float(sum(self.means[arm] for arm in name)))


class Uneven(Base):
    """Outcomes of three values, with another law for each arm."""

    support = (-1.0, 2.0)
    means = np.array([0.0, 0.5, -0.5, 1.0, 0.25])

    def __init__(self):
        super().__init__()
        self.optimum = 1.5

    def play(self, super_arm, rng):
        outcomes = self.value(np.arange(N), self.numbers(rng))[super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def value(self, arms, numbers):
        # Values -1 and 2 with a chance that gives the mean.
        return np.where(numbers < (self.means[arms] + 1) / 3, 2.0, -1.0)

    def pull(self, arms, rng):
        return self.value(arms, rng.random(arms.shape))


class Certain(Base):
    """Certain outcomes, as of a deterministic simulation."""

    def play(self, super_arm, rng):
        return Feedback(super_arm, self.means[super_arm], reward=float(self.means[super_arm].sum()))

    def pull(self, arms, rng):
        return self.means[arms].copy()


class Unrewarded(Base):
    """Shows one of the chosen arms only, and no reward."""

    def play(self, super_arm, rng):
        feedback = super().play(super_arm, rng)
        first = np.argmin(feedback.arms)
        return Feedback(feedback.arms[[first]], feedback.outcomes[[first]])


class Common(Base):
    """One number for all arms of a round, so that their outcomes depend on each other."""

    def numbers(self, rng):
        return np.full(N, rng.random())


class Gaussian(SemiBandit):
    """A class with nothing of its own."""

    def __init__(self):
        super().__init__(GaussianArms(MEANS, 0.5), TopK(N, K))


# Explorers -------------------------------------------------------------------------------------------------


class Base2(Explorer):
    """Hoeffding's radius, all arms in each request."""

    n_arms, goal, support, delta = 4, ExploreM(2), (0.0, 1.0), 0.1

    def initial_state(self, rng=None):
        return ArmStatistics.empty(4)

    def select(self, state, rng, context=None):
        return np.arange(4)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def radii(self, state):
        counts = np.maximum(state.counts, 1)
        return np.sqrt(np.log(4 * 4 * counts**2.0 / self.delta) / (2 * counts))

    def order(self, state):
        return np.argsort(-state.means, kind="stable")

    def is_done(self, state):
        if state.counts.min() == 0:
            return False
        order, half = self.order(state), self.radii(state)
        return bool((state.means - half)[order[:2]].min() > (state.means + half)[order[2:]].max())

    def recommend(self, state):
        return np.sort(self.order(state)[:2])


class OneByOne(Base2):
    """Samples the arm with the fewest outcomes, ties at random."""

    def select(self, state, rng, context=None):
        fewest = np.flatnonzero(state.counts == state.counts.min())
        return rng.choice(fewest, 1)


class Batches(Base2):
    """Asks for more outcomes in each request."""

    def pulls(self, state):
        return 1 + int(state.counts.min())


class WithIntervals(Base2):
    def intervals(self, state):
        half = self.radii(state)
        return state.means - half, np.minimum(state.means + half, 1.0)


@dataclass
class Seen:
    """Outcomes as lists."""

    outcomes: list


class OwnState(Base2):
    """Keeps all outcomes."""

    def initial_state(self, rng=None):
        return Seen([[] for _ in range(4)])

    def update(self, state, feedback, ticket=None, rng=None):
        for arm, outcome in zip(feedback.arms, feedback.outcomes, strict=True):
            state.outcomes[arm].append(float(outcome))

    def summary(self, state):
        stats = ArmStatistics.empty(4)
        stats.counters[:] = [len(told) for told in state.outcomes]
        stats.means[:] = [math.fsum(told) / max(len(told), 1) for told in state.outcomes]
        return stats

    def is_done(self, state):
        return Base2.is_done(self, self.summary(state))

    def recommend(self, state):
        return Base2.recommend(self, self.summary(state))


class Steps(Base2):
    """Defines `step` itself."""

    def step(self, state, rng):
        return np.empty(0, np.int64) if self.is_done(state) else self.select(state, rng)


class FixedBudget(Explorer):
    """A budget without a proof, a goal or a declared error."""

    n_arms, budget = 4, 400

    def initial_state(self, rng=None):
        return ArmStatistics.empty(4)

    def select(self, state, rng, context=None):
        return rng.permutation(4)[: 1 + (state.rounds % 2)]

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def is_done(self, state):
        return bool(state.counts.sum() >= self.budget - 1)

    def recommend(self, state):
        return np.array([int(np.argmax(state.means))])


class Strings(Base2):
    """Has names, a default dictionary and a cached property."""

    names = collections.defaultdict(str, {0: "first"})  # noqa: RUF012

    @functools.cached_property
    def log_level(self):
        return math.log(16 / self.delta)

    def radii(self, state):
        counts = np.maximum(state.counts, 1)
        return np.sqrt((self.log_level + 2 * np.log(counts)) / (2 * counts))


ORACLES = [Slots, Loops, Cached, Lazy, Shuffled, Pooled, Careful, Cheapest, Tupled, ListedAnswer, Reliable]
POLICIES = [WarnsAtFirst, Jittered, GaussianSampler, WithPrior, Listed, Commits, Mixed, Forgets]
ENVIRONMENTS = [Base, DrawsAll, Sorted, Counting, Uneven, Certain, Unrewarded, Common, Gaussian]
EXPLORERS = [Base2, OneByOne, Batches, WithIntervals, OwnState, Steps, FixedBudget, Strings]


def arguments(make, kind=None):
    """Return an object of the class, and the further arguments of its checks."""
    kind = kind or next(name for name, makes in _KINDS.items() if make in makes)
    if kind == "ORACLES":
        return make(), ([sorted(pair) for pair in PAIRS],), {}
    if kind == "POLICIES":
        oracle = TopK(N, K)
        thing = make(oracle) if issubclass(make, IndexPolicy) else make()
        return thing, (SemiBandit(BernoulliArms(MEANS), oracle),), {}
    if kind == "ENVIRONMENTS":
        return make(), ([(0, 1), (1, 3), (2, 4)],), {}
    delta = None if make is FixedBudget else 0.1
    return make(), (BernoulliArms([0.9, 0.1, 0.85, 0.1]),), {"delta": delta}


_KINDS = {"ORACLES": ORACLES, "POLICIES": POLICIES, "ENVIRONMENTS": ENVIRONMENTS, "EXPLORERS": EXPLORERS}
