"""Correct classes in further odd but legal styles; the checks must not find a fault in any of them."""

import collections
import functools
import operator
from dataclasses import dataclass, field

import numba
import numpy as np
from odd_but_correct import MEANS, PAIRS, Base, Base2, K, N

from cmab import (
    CUCB,
    ArmStatistics,
    Environment,
    Feedback,
    IndexPolicy,
    LinearOracle,
    Policy,
    RadiusRule,
)
from oracles import TopK

# Oracles ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frozen(LinearOracle):
    """A frozen dataclass with slots; its fields are the declarations."""

    n_arms: int = N
    k: int = K
    weights: tuple[float, ...] = (1.0,) * N

    def solve(self, means, rng):
        return np.lexsort((np.arange(self.n_arms), -means * self.weights))[: self.k]


class Delegates(LinearOracle):
    """Takes everything that it lacks from another oracle."""

    n_arms = N

    def __init__(self):
        self.inner = TopK(N, K)

    def __getattr__(self, name):
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def solve(self, means, rng):
        return self.inner.solve(means, rng)


@numba.njit
def _two_best(means):
    first = np.argmax(means)
    second = 1 if first == 0 else 0
    for arm in range(len(means)):
        if arm != first and means[arm] > means[second]:
            second = arm
    return np.array([first, second])


class Jitted(LinearOracle):
    """Calls a function that numba compiles."""

    n_arms = N

    def solve(self, means, rng):
        return _two_best(np.ascontiguousarray(means))


class Generates(LinearOracle):
    """Takes the last of the improvements that a generator yields."""

    n_arms = N

    def improvements(self, means):
        best = -np.inf
        for pair in PAIRS:
            worth = sum(map(means.__getitem__, pair))
            if worth > best:
                best = worth
                yield pair

    def solve(self, means, rng):
        return list(collections.deque(self.improvements(means), maxlen=1).pop())


class Inherits(TopK):
    """A subclass of a shipped class that fixes its arguments, and sorts its answers."""

    def __init__(self):
        super().__init__(N, K)

    def solve(self, means, rng):
        return np.sort(super().solve(means, rng))


def _closure(k):
    @functools.lru_cache(maxsize=8)
    def order(numbers):
        return tuple(sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True)[:k])

    return order


_ORDER = _closure(K)


class Closes(LinearOracle):
    """Uses a closure with a cache, and a property for the number of arms."""

    @property
    def n_arms(self):
        return N

    @staticmethod
    def solve(means, rng):
        return np.fromiter(_ORDER(tuple(means.tolist())), np.int64, K)


ORACLES = [Frozen, Delegates, Jitted, Generates, Inherits, Closes]

# Policies --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Inflated(CUCB):
    """A subclass of a shipped policy that changes its indices."""

    factor: float = 0.5

    def indices(self, stats, rng):
        top = super().indices(stats, rng)
        return np.where(stats.counts > 0, stats.means + self.factor * (top - stats.means), top)


Totals = collections.namedtuple("Totals", "counts sums rounds")


@dataclass
class Holder:
    """A state with one mutable field, which holds an immutable tuple."""

    totals: Totals = field(default_factory=lambda: Totals((0,) * N, (0.0,) * N, 0))


class Tuples(Policy):
    """Replaces a named tuple in its state with each report."""

    oracle = TopK(N, K)

    def initial_state(self, rng=None):
        return Holder()

    def select(self, state, rng, context=None):
        t = state.totals
        scores = [
            s / c + (1.5 * np.log(t.rounds + 1) / c) ** 0.5 if c else 5.0
            for c, s in zip(t.counts, t.sums, strict=True)
        ]
        return self.oracle.solve(np.array(scores), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        told = dict(zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True))
        state.totals = Totals(
            tuple(c + (arm in told) for arm, c in enumerate(state.totals.counts)),
            tuple(s + told.get(arm, 0.0) for arm, s in enumerate(state.totals.sums)),
            state.totals.rounds + 1,
        )


@numba.njit
def _bounds(counts, means, rounds):
    out = np.empty(len(means))
    for arm in range(len(means)):
        out[arm] = 2.0 if counts[arm] == 0 else means[arm] + np.sqrt(np.log(rounds + 1.0) / counts[arm])
    return out


class Compiled(IndexPolicy):
    """Computes its indices in compiled code."""

    def indices(self, stats, rng):
        return _bounds(stats.counts.astype(float), stats.means, stats.rounds)


class Posterior(IndexPolicy):
    """Samples one number for each arm in a loop, from a posterior that it builds with `functools`."""

    def indices(self, stats, rng):
        won = stats.counts * stats.means
        draw = functools.partial(operator.methodcaller, "beta")
        pairs = zip((1 + won).tolist(), (1 + stats.counts - won).tolist(), strict=True)
        return np.array([draw(a, b)(rng) for a, b in pairs])


POLICIES = [Inflated, Tuples, Compiled, Posterior]

# Environments ----------------------------------------------------------------------------------------------


class Wraps(Environment):
    """Takes the truth from another environment, and passes its rounds on."""

    def __init__(self):
        self.inner = Base()
        self.n_arms, self.means = N, MEANS

    def play(self, super_arm, rng):
        told = self.inner.play(super_arm, rng)
        return Feedback(list(told.arms), tuple(told.outcomes), reward=told.reward)

    def pull(self, arms, rng):
        return self.inner.pull(arms, rng)

    def expected_reward(self, super_arm):
        return self.inner.expected_reward(super_arm)


@dataclass(frozen=True, eq=False)
class Table(Environment):
    """A frozen dataclass; the number of each arm comes from a generator of its own, seeded by the round."""

    means: np.ndarray = field(default_factory=lambda: MEANS.copy())
    n_arms: int = N

    def play(self, super_arm, rng):
        numbers = np.random.default_rng(int(rng.random() * 2**53)).random(N)
        outcomes = [float(numbers[arm] < self.means[arm]) for arm in super_arm]
        return Feedback(super_arm, outcomes, reward=sum(outcomes))

    def pull(self, arms, rng):
        return (rng.random(len(arms)) < self.means[arms]).astype(float)

    def expected_reward(self, super_arm):
        return float(sum(self.means[arm] for arm in super_arm))


class Keyed(Base):
    """Has integer outcomes, in the reverse of the order that was asked for."""

    def play(self, super_arm, rng):
        told = super().play(super_arm, rng)
        return _turned(told)


def _turned(told):
    return Feedback(told.arms[::-1], [int(x) for x in told.outcomes[::-1]], reward=told.reward)


ENVIRONMENTS = [Wraps, Table, Keyed]

# Explorers -------------------------------------------------------------------------------------------------


class Rule(RadiusRule):
    """A rule that fixes its arguments, with a radius written as a loop."""

    sigma = 0.5

    def __init__(self):
        super().__init__(4, 2, delta=0.1)

    def radii(self, state, is_high):
        levels = [self.delta / (2 * self.n_arms * c * (c + 1)) for c in state.counts.tolist()]
        return np.array(
            [
                self.sigma * np.sqrt(2 * np.log(1 / level) / c)
                for level, c in zip(levels, state.counts, strict=True)
            ]
        )


class Extended(ArmStatistics):
    """Statistics with a method of their own."""

    def best(self):
        return np.sort(np.argsort(-self.means, kind="stable")[:2])


class Typed(Base2):
    """Has statistics of a class of its own, and answers with their method."""

    def initial_state(self, rng=None):
        return Extended.empty(4)

    def recommend(self, state):
        return state.best()


EXPLORERS = [Rule, Typed]
