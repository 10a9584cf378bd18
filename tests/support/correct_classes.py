"""Correct classes in the styles of many authors, which no check may accuse."""

# ruff: noqa: B905, RUF012

import collections
import math
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import networkx as nx
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
from cmab.explorer import ExploreM
from cmab.policy import best_within, refuse_parts
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.array([0.2, 0.8, 0.35, 0.6, 0.1, 0.45])
ORACLE = TopK(6, k=2)


class GridPath(LinearOracle):
    """Shortest monotone path in a 2x2 grid of streets (costs), by networkx."""

    sense, max_size = "min", 4

    def __init__(self):
        self.edges = [(u, v) for u, v in nx.grid_2d_graph(3, 3).edges if u < v]
        self.n_arms = len(self.edges)

    def arms(self, nodes):
        return [self.edges.index(edge) for edge in pairwise(nodes)]

    def solve(self, means, rng):
        graph = nx.DiGraph()
        graph.add_weighted_edges_from((*edge, cost) for edge, cost in zip(self.edges, means.tolist()))
        return self.arms(nx.shortest_path(graph, (0, 0), (2, 2), "weight", method="bellman-ford"))

    def family(self):
        return [self.arms(path) for path in nx.all_simple_paths(nx.DiGraph(self.edges), (0, 0), (2, 2))]


class Scheduler(LinearOracle):
    """Weighted intervals; random ties from rng; returns a set."""

    n_arms = 6
    spans = [(0, 3), (1, 4), (3, 5), (4, 6), (0, 6), (5, 7)]

    def family(self):
        def ok(a, b):
            return a[1] <= b[0] or b[1] <= a[0]

        return [
            s
            for r in range(7)
            for s in combinations(range(6), r)
            if all(ok(self.spans[a], self.spans[b]) for a, b in combinations(s, 2))
        ]

    def solve(self, means, rng):
        fam = self.family()
        w = np.array([means[list(s)].sum() for s in fam])
        best = np.flatnonzero(w >= w.max() - 1e-12)
        return set(fam[int(rng.choice(best))])


class ProductChain(Oracle):
    """Two of five in series: product of probabilities, clipped."""

    n_arms = 5
    has_membership = True
    max_size = 2

    def solve(self, means, rng):
        return np.lexsort((np.arange(5), -np.clip(means, 0, 1)))[:2]

    def expected_reward(self, super_arm, means):
        return float(np.prod(np.clip(means[super_arm], 0, 1)))

    def is_feasible(self, super_arm):
        return len(super_arm) == 2

    def triggered_arms(self, super_arm):
        return np.sort(super_arm)


class MaxOfThree(Oracle):
    n_arms = 6
    max_size = 3

    def solve(self, means, rng):
        top = int(np.argmax(means))
        return np.array([top, *[i for i in range(6) if i != top][:2]])

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].max())

    def triggered_arms(self, super_arm):
        return super_arm


class LocalSearch(LinearOracle):
    """Half-optimal spanning pair by random restarts, alpha .5, uses rng."""

    n_arms = 6
    alpha = 0.5

    def solve(self, means, rng):
        a = rng.permutation(6)[:3]
        return a if means[a].sum() >= 0.5 * np.sort(means)[-3:].sum() else np.argsort(-means)[:3]


class Refuses(LinearOracle):
    """Refuses negative means and declares nothing."""

    n_arms = 5

    def solve(self, means, rng):
        if (means < 0).any():
            raise ValueError("means must not be negative")
        return np.argsort(-means, kind="stable")[:2]


class Cached(LinearOracle):
    """An exact cache by bytes."""

    n_arms = 5

    def __init__(self):
        self.cache = {}

    def solve(self, means, rng):
        key = means.tobytes()
        if key not in self.cache:
            self.cache[key] = tuple(np.argsort(-means, kind="stable")[:2].tolist())
        return list(self.cache[key])


class OptionalArms(LinearOracle):
    """Any subset of at most three arms, so negative arms are left out."""

    n_arms = 5
    can_constrain = True
    has_membership = True

    def solve(self, means, rng):
        order = np.argsort(-means)[:3]
        return order[means[order] > 0]

    def is_feasible(self, s):
        return len(s) <= 3

    def solve_constrained(self, means, include, exclude, rng):
        if len(include) > 3:
            return None
        rest = [i for i in np.argsort(-means) if i not in include and i not in exclude and means[i] > 0]
        return np.array([*include, *rest[: 3 - len(include)]], int)


@dataclass
class Counts:
    pulls: list
    wins: list
    t: int = 0


class ListTS(Policy):
    """Beta Thompson sampling with Python lists."""

    oracle = ORACLE
    support = (0.0, 1.0)

    def initial_state(self, rng=None):
        return Counts([0.0] * 6, [0.0] * 6)

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return self.oracle.solve(
            np.array([rng.beta(1 + w, 1 + p - w) for p, w in zip(state.pulls, state.wins)]), rng
        )

    def update(self, state, feedback, ticket=None, rng=None):
        state.t += 1
        for a, x in zip(feedback.arms, feedback.outcomes):
            state.pulls[a] += 1
            state.wins[a] += float(x)


@dataclass(frozen=True, eq=False)
class MOSSLike(IndexPolicy):
    horizon: int = 1000

    def indices(self, stats, rng):
        n = np.maximum(stats.counts, 1)
        return np.where(
            stats.counts,
            stats.means
            + (1.0 if self.oracle.sense == "max" else -1.0)
            * np.sqrt(np.maximum(np.log(self.horizon / (6 * n)), 0) / n),
            0.5 + 0.5 * (1.0 if self.oracle.sense == "max" else -1.0),
        )


class KLucb(IndexPolicy):
    def indices(self, stats, rng):
        out = np.ones(len(stats.means))
        for i, (n, m) in enumerate(zip(stats.counts, stats.means)):
            if n == 0:
                continue
            lo, hi, lev = m, 1.0, math.log(stats.rounds + 1) / n
            for _ in range(30):
                q = (lo + hi) / 2
                p = min(max(m, 1e-12), 1 - 1e-12)
                q2 = min(max(q, 1e-12), 1 - 1e-12)
                if p * math.log(p / q2) + (1 - p) * math.log((1 - p) / (1 - q2)) > lev:
                    hi = q
                else:
                    lo = q
            out[i] = hi
        return out


class Tsallis(Policy):
    """EXP3-like with importance weights (k=2 by sampling without replacement)."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Counts(list(np.zeros(6)), list(np.zeros(6)))

    def probs(self, state):
        w = np.exp(0.2 * (np.array(state.wins) - max(state.wins)))
        return 0.9 * w / w.sum() + 0.1 / 6

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return rng.choice(6, 2, replace=False, p=self.probs(state))

    def update(self, state, feedback, ticket=None, rng=None):
        p = self.probs(state)
        for a, x in zip(feedback.arms, feedback.outcomes):
            state.wins[int(a)] += float(x) / min(1, 2 * p[int(a)])
        state.t += 1


@dataclass
class Rows:
    rows: np.ndarray
    n: int = 0


class Window20(Policy):
    """Ring buffer of 40 rounds."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Rows(np.full((40, 6), np.nan))

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available",))
        seen = ~np.isnan(state.rows)
        c = seen.sum(axis=0)
        m = np.where(seen, state.rows, 0).sum(axis=0) / np.maximum(c, 1)
        return best_within(
            self.oracle,
            np.where(c == 0, 1.0, m + np.sqrt(0.5 * math.log(41) / np.maximum(c, 1))),
            context,
            rng,
        )

    def update(self, state, feedback, ticket=None, rng=None):
        row = np.full(6, np.nan)
        row[feedback.arms] = feedback.outcomes
        state.rows[state.n % 40] = row
        state.n += 1


class EpsFirst(Policy):
    """Explore 60 rounds uniformly, then commit for good."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return ArmStatistics.empty(6)

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return np.sort(rng.permutation(6)[:2]) if state.rounds < 60 else self.oracle.solve(state.means, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        if state.rounds < 60:
            state.update(feedback)


class EpsGreedyP(Policy):
    """epsilon-greedy with its propensity."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return ArmStatistics.empty(6)

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return (
            np.sort(rng.choice(6, 2, replace=False))
            if rng.random() < 0.2
            else np.sort(self.oracle.solve(state.means, rng))
        )

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def propensity(self, state, super_arm, context):
        return 0.2 / 15 + 0.8 * (
            set(self.oracle.solve(state.means, np.random.default_rng(0)).tolist())
            == set(np.asarray(super_arm).tolist())
        )


@dataclass
class Pairs:
    n: np.ndarray
    s: np.ndarray
    seen: list


class FullBandit(Policy):
    """UCB1 over pairs, only the reward."""

    oracle = ORACLE
    pairs = tuple(combinations(range(6), 2))

    def initial_state(self, rng=None):
        return Pairs(np.zeros(15), np.zeros(15), [])

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        n = np.maximum(state.n, 1)
        v = np.where(state.n == 0, np.inf, state.s / n + 2 * np.sqrt(0.3 * np.log(1 + state.n.sum()) / n))
        return np.array(self.pairs[int(np.argmax(v))])

    def update(self, state, feedback, ticket=None, rng=None):
        if ticket is None or math.isnan(feedback.reward):
            return
        k = self.pairs.index(tuple(sorted(int(i) for i in ticket.super_arm)))
        state.n[k] += 1
        state.s[k] += feedback.reward


class RewardOnly(SemiBandit):
    def kernel(self):
        return None

    def play(self, super_arm, rng):
        return Feedback([], [], reward=super().play(super_arm, rng).reward)


class Prices(Policy):
    """Greedy-UCB on value x mean - cost."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return ArmStatistics.empty(6)

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("values", "costs"))
        i = np.where(
            state.counts == 0,
            1.0,
            np.minimum(
                1, state.means + np.sqrt(0.5 * np.log(state.rounds + 1) / np.maximum(state.counts, 1))
            ),
        )
        return self.oracle.solve(i if context is None else context.worth(i, self.oracle.sense), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)


class Coins(Environment):
    n_arms, means = 6, MEANS

    def __init__(self):
        self.optimum = 1.4

    def u(self, rng):
        return np.random.default_rng(round_key(rng)).random(6)

    def play(self, super_arm, rng):
        x = (self.u(rng) < self.means)[super_arm].astype(float)
        return Feedback(super_arm, x, reward=x.sum())

    def pull(self, arms, rng):
        return (rng.random(len(arms)) < self.means[arms]).astype(float)

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


class BetaEnv(Coins):
    def play(self, super_arm, rng):
        x = np.random.default_rng(round_key(rng)).beta(4 * MEANS, 4 - 4 * MEANS)[super_arm]
        return Feedback(super_arm, x, reward=x.sum())

    def pull(self, arms, rng):
        return rng.beta(4 * MEANS[arms], 4 - 4 * MEANS[arms])


class WideNoise(Coins):
    support = (-np.inf, np.inf)
    sigma = 0.6

    def play(self, super_arm, rng):
        x = MEANS[super_arm] + np.random.default_rng(round_key(rng)).uniform(-1, 1, 6)[super_arm]
        return Feedback(super_arm, x, reward=x.sum())

    def pull(self, arms, rng):
        return MEANS[arms] + rng.uniform(-1, 1, len(arms))


class Comonotone(Coins):
    """One uniform for all arms."""

    def play(self, super_arm, rng):
        x = (rng.random() < MEANS)[super_arm].astype(float)
        return Feedback(super_arm, x, reward=x.sum())


class ManyDraws(Coins):
    def play(self, super_arm, rng):
        x = (rng.random(6) < MEANS)[super_arm].astype(float)
        return Feedback(super_arm, x, reward=x.sum())


class HalfSeen(Coins):
    """Each outcome is reported with probability 1/2, independent of it; no reward."""

    def play(self, super_arm, rng):
        g = np.random.default_rng(round_key(rng))
        x = (g.random(6) < MEANS).astype(float)
        seen = super_arm[g.random(6)[super_arm] < 0.5]
        return Feedback(seen, x[seen])

    def triggering_probabilities(self, super_arm):
        return 0.5 * np.isin(np.arange(6), super_arm)


class Seasonal(SemiBandit):
    def __init__(self):
        super().__init__(BernoulliArms(MEANS), ORACLE)

    def in_round(self, t, rng):
        return SemiBandit(BernoulliArms(0.5 * MEANS + 0.25 + 0.25 * math.sin(t / 9)), ORACLE)


class Rare(Coins):
    means = np.array([1e-3, 0.999, 1e-4, 0.5, 0.0, 1.0])

    def __init__(self):
        self.optimum = float("nan")


class Elimination(Explorer):
    """Successive elimination for the best arm; correct."""

    n_arms, delta, sigma, goal = 4, 0.05, 0.5, ExploreM(1)

    def initial_state(self, rng=None):
        return ArmStatistics.empty(4)

    def rad(self, s):
        n = np.maximum(s.counts, 1)
        return self.sigma * np.sqrt(2 * np.log(np.pi**2 * 4 * n**2 / (3 * self.delta)) / n)

    def alive(self, s):
        if not s.counts.all():
            return np.arange(4)
        r = self.rad(s)
        return np.flatnonzero(s.means + r >= (s.means - r).max())

    def select(self, state, rng, context=None):
        return self.alive(state)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def is_done(self, state):
        return len(self.alive(state)) == 1

    def recommend(self, state):
        return np.array([int(np.argmax(state.means))])


class Batched(Elimination):
    def pulls(self, state):
        return 5


class OwnMean(Elimination):
    """Own state with sums."""

    def initial_state(self, rng=None):
        return Counts([0] * 4, [0.0] * 4)

    def alive(self, s):
        n = np.array(s.pulls)
        if not n.all():
            return np.arange(4)
        m = np.array(s.wins) / n
        r = self.sigma * np.sqrt(2 * np.log(np.pi**2 * 4 * n**2 / (3 * self.delta)) / n)
        return np.flatnonzero(m + r >= (m - r).max())

    def update(self, state, feedback, ticket=None, rng=None):
        k = np.ones(len(feedback.arms), int) if feedback.pulls is None else feedback.pulls
        for a, x, c in zip(feedback.arms, feedback.outcomes, k):
            state.pulls[int(a)] += int(c)
            state.wins[int(a)] += float(x)
        state.t += 1

    def recommend(self, state):
        return np.array([int(np.argmax(np.array(state.wins) / np.maximum(state.pulls, 1)))])


class Random1(Elimination):
    """Samples one random arm at a time."""

    def select(self, state, rng, context=None):
        unseen = np.flatnonzero(state.counts == 0)
        return unseen[:1] if len(unseen) else rng.choice(self.alive(state), 1)


Totals = collections.namedtuple("Totals", "counts sums rounds")


@dataclass
class Holder:
    """A state with one mutable field, which holds an immutable tuple."""

    totals: Totals = field(default_factory=lambda: Totals((0,) * 6, (0.0,) * 6, 0))


class Tuples(Policy):
    """Replaces a named tuple in its state with each report."""

    oracle = ORACLE

    def initial_state(self, rng=None):
        return Holder()

    def select(self, state, rng, context=None):
        refuse_parts(self, context)
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


CORRECT = {
    "oracle": [GridPath, Scheduler, ProductChain, MaxOfThree, LocalSearch, Refuses, Cached, OptionalArms],
    "index": [MOSSLike, KLucb],
    "policy": [ListTS, Tsallis, Window20, EpsFirst, EpsGreedyP, FullBandit, Prices, Tuples],
    "environment": [Coins, BetaEnv, WideNoise, Comonotone, ManyDraws, HalfSeen, Seasonal, Rare],
    "explorer": [Elimination, Batched, OwnMean, Random1],
}
#: The super arms of oracles without a method `family`; None for those that enumerate them by `is_feasible`.
FAMILIES = {
    **dict.fromkeys((ProductChain, Refuses, Cached), tuple(combinations(range(5), 2))),
    **dict.fromkeys((MaxOfThree, LocalSearch), tuple(combinations(range(6), 3))),
    OptionalArms: None,
}
