"""Triggering models: worlds and sets of the user against enumeration, and known models said in this way."""

import math
from collections import Counter
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy import stats

from oracles import (
    DirectedGraph,
    IndependentTriggering,
    InfluenceMaximization,
    TriggeringInfluence,
    TriggeringModel,
)
from oracles.influence.search import Search
from oracles.influence.sets import Room, SetCollection

N = 6


class Coins(TriggeringModel):
    def live_arcs(self, graph, means, rng):
        return rng.random(graph.n_arcs) < means


class AllOrNone(TriggeringModel):
    """A node listens to everybody or to nobody, with the largest mean of the arcs into it."""

    def live_arcs(self, graph, means, rng):
        return (rng.random(graph.n_nodes) < listening(graph, means))[graph.heads]


class Thresholds(TriggeringModel):
    def live_arcs(self, graph, means, rng):
        number, live = rng.random(graph.n_nodes), np.zeros(graph.n_arcs, bool)
        below = np.zeros(graph.n_nodes)
        for arm, head in enumerate(graph.heads):
            live[arm] = below[head] <= number[head] < below[head] + means[arm]
            below[head] += means[arm]
        return live


class LazyCoins(IndependentTriggering):
    def triggering_set(self, graph, arcs, means, rng):
        return rng.random(len(arcs)) < means[arcs]


class LazyCoinsOfMany(LazyCoins):
    def triggering_sets(self, graph, arcs, askers, means, rng):
        return rng.random(len(arcs)) < means[arcs]


class LazyAllOrNone(IndependentTriggering):
    def triggering_set(self, graph, arcs, means, rng):
        return np.full(len(arcs), rng.random() < means[arcs].max())


class LazyThresholds(IndependentTriggering):
    def triggering_set(self, graph, arcs, means, rng):
        number, ends = rng.random(), np.cumsum(means[arcs])
        return (ends - means[arcs] <= number) & (number < ends)


class LazyThresholdsOfMany(LazyThresholds):
    def triggering_sets(self, graph, arcs, askers, means, rng):
        number, ends = rng.random(askers[-1] + 1)[askers], np.cumsum(means[arcs])
        firsts = np.flatnonzero(np.diff(askers, prepend=-1))
        ends -= (ends - means[arcs])[firsts][askers]
        return (ends - means[arcs] <= number) & (number < ends)


LAZY = {
    Coins: [LazyCoins, LazyCoinsOfMany],
    AllOrNone: [LazyAllOrNone],
    Thresholds: [LazyThresholds, LazyThresholdsOfMany],
}


def listening(graph, means):
    chances = np.zeros(graph.n_nodes)
    np.maximum.at(chances, graph.heads, means)
    return chances


def random_problem(rng, arcs=10):
    tails = rng.integers(N, size=arcs)
    graph = DirectedGraph.from_edges(tails, (tails + rng.integers(1, N, size=arcs)) % N, n_nodes=N)
    shares = rng.random(arcs)
    return graph, 0.9 * shares / np.bincount(graph.heads, shares, N)[graph.heads]


def reached(graph, live, seeds):
    active = set(seeds)
    for _ in range(N):
        active |= {int(graph.heads[a]) for a in np.flatnonzero(live) if graph.tails[a] in active}
    return active


def spread_if_all_or_none(graph, means, seeds, worth):
    chances, total = listening(graph, means), 0.0
    for listens in product([False, True], repeat=N):
        chance = math.prod(p if yes else 1 - p for p, yes in zip(chances, listens, strict=True))
        total += chance * worth[list(reached(graph, np.array(listens)[graph.heads], seeds))].sum()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("triggering", [AllOrNone, LazyAllOrNone])
def test_certified_spread_against_enumeration(triggering):
    """Ratios hold (delta 1e-7 each) and two estimates agree: 48 comparisons at 5.7 errors, 6e-7 in all."""
    rng = np.random.default_rng(0)
    for trial in range(12):
        graph, means = random_problem(rng)
        worth = rng.random(N) if trial % 2 else np.ones(N)
        oracle = TriggeringInfluence(
            graph, triggering=triggering(), k=2, epsilon=0.3, delta=1e-7, node_weights=worth
        )
        answer = oracle.solve_certified(means, rng)
        value = spread_if_all_or_none(graph, means, answer.seeds.tolist(), worth)
        best = max(spread_if_all_or_none(graph, means, s, worth) for s in combinations(range(N), 2))
        assert answer.certified
        assert value >= answer.ratio * best - 1e-12
        assert abs(answer.spread - value) <= 5.7 * answer.standard_error + 1e-9
        mean, error = oracle.spread(answer.seeds, means)
        assert abs(mean - value) <= 5.7 * error + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("triggering", "model"),
    [
        *((make(), "ic") for make in [Coins, *LAZY[Coins]]),
        *((make(), "lt") for make in [Thresholds, *LAZY[Thresholds]]),
    ],
)
def test_known_models_said_by_live_arcs(triggering, model):
    """Spreads under the oracle of the model: 120 comparisons at 5.9 errors, below 5e-7."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        graph, means = random_problem(rng)
        mine = TriggeringInfluence(graph, triggering=triggering, k=2, epsilon=0.3)
        theirs = InfluenceMaximization(graph, 2, epsilon=0.3, model=model)
        seeds = rng.choice(N, 2, replace=False)
        (one, error), (two, other) = (oracle.spread(seeds, means, cascades=1000) for oracle in (mine, theirs))
        assert abs(one - two) <= 5.9 * math.hypot(error, other) + 1e-9
        answer = mine.solve_certified(means, rng)
        value, error = theirs.spread(answer.seeds, means, cascades=4000)
        assert abs(answer.spread - value) <= 5.9 * math.hypot(error, answer.standard_error) + 1e-9


def drawn(graph, triggering, means, n_sets, owners=(), key=11, threads=1):
    """Sets as the oracle draws them, left at `owners`."""
    oracle = TriggeringInfluence(graph, triggering=triggering, k=1)
    sets = SetCollection(oracle._reverse_graph(means), key, threads=threads)
    sets.stop_at(np.array(owners, np.int64))
    sets.grow(n_sets)
    return sets


def as_lists(sets):
    return [sets.pool[a:b].tolist() for a, b in pairwise(sets.ends)]


@pytest.mark.slow
@pytest.mark.parametrize("left_early", [False, True])
@pytest.mark.parametrize(("whole", "lazy"), [(w, make) for w, many in LAZY.items() for make in many])
def test_lazy_sets_have_the_distribution_of_those_of_worlds(whole, lazy, left_early):
    """As sets of nodes, whether left early or not: chi-square, false alarm below 1e-7 in each of 10 tests."""
    graph, means = random_problem(np.random.default_rng(5), arcs=9)
    owners = [int(graph.out_degrees.argmax())] if left_early else []
    n_sets = 10_000
    one, other = (drawn(graph, make(), means, n_sets, owners, key) for make, key in ((whole, 3), (lazy, 4)))
    for nodes in as_lists(other):
        assert not set(nodes[:-1]) & set(owners)
    # Where a set is left, what it holds by then depends on the order of the search: whether it is, does not.
    kept = [
        Counter("left" if set(nodes) & set(owners) else tuple(sorted(nodes)) for nodes in as_lists(sets))
        for sets in (one, other)
    ]
    common = [name for name in kept[0] | kept[1] if kept[0][name] + kept[1][name] >= 20]
    counts = np.array([[each[name] for name in common] for each in kept])
    rest = n_sets - counts.sum(axis=1, keepdims=True)
    counts = np.hstack((counts, rest)) if rest.sum() >= 20 else counts
    statistic = ((counts[0] - counts[1]) ** 2 / counts.sum(axis=0)).sum()
    assert len(common) > 5
    assert stats.chi2.sf(statistic, counts.shape[1] - 1) > 1e-7
    if not left_early:
        assert one.edges_examined / n_sets == pytest.approx(other.edges_examined / n_sets, rel=0.05)


def test_every_node_of_a_set_draws_once():
    """Also a node that two live arcs lead out of; for another set it draws anew."""
    asked, numbers = Counter(), []

    class Certain(LazyCoins):
        def triggering_set(self, graph, arcs, means, rng):
            asked[int(graph.heads[arcs[0]])] += 1
            numbers.append(rng.random())
            assert arcs.tolist() == np.flatnonzero(graph.heads == graph.heads[arcs[0]]).tolist()
            return np.ones(len(arcs), bool)

    graph = DirectedGraph.from_edges([1, 0, 0, 2], [3, 1, 2, 3])  # 0 reaches 3 in two ways
    reverse = TriggeringInfluence(graph, triggering=Certain(), k=1)._reverse_graph(np.ones(4))
    pool, ends = np.empty(4 * 256, np.int32), np.zeros(257, np.int64)
    unowned, stamps = np.full(4, -1, np.int32), np.zeros(4, np.int32)
    assert reverse.draw(5, 0, 256, Room(unowned, ends, pool, stamps))[:2] == (256, 0)
    sets = [pool[a:b].tolist() for a, b in pairwise(ends)]
    wanted = {0: [0], 1: [0, 1], 2: [0, 2], 3: [0, 1, 2, 3]}
    assert all(sorted(nodes) == wanted[nodes[0]] for nodes in sets)
    assert asked == Counter(node for nodes in sets for node in nodes if node > 0)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("triggering", [Coins(), LazyCoins(), LazyCoinsOfMany()])
def test_sets_do_not_depend_on_who_draws_them(triggering):
    graph, means = random_problem(np.random.default_rng(2))
    whole = drawn(graph, triggering, means, 5000)
    pieces = drawn(graph, triggering, means, 1, threads=3)
    for size in (7, 1023, 1025, 5000):
        pieces.grow(size)
    assert np.array_equal(whole.ends, pieces.ends)
    assert np.array_equal(whole.pool, pieces.pool)


@pytest.mark.parametrize("triggering", [AllOrNone(), LazyAllOrNone(), LazyCoinsOfMany()])
def test_threads_do_not_change_the_answer(triggering):
    graph, means = random_problem(np.random.default_rng(2))
    one, two = (
        TriggeringInfluence(
            graph, triggering=triggering, k=2, search=Search(first_rr_sets=4096, threads=n)
        ).solve_certified(means, np.random.default_rng(3))
        for n in (1, 2)
    )
    assert one.seeds.tolist() == two.seeds.tolist()
    assert (one.spread, one.rr_sets) == (two.spread, two.rr_sets)


def test_worlds_of_a_lazy_model():
    """Means of arcs in worlds are those of the model: 10 arcs at 5.6 errors, 2e-7 in all."""
    graph, means = random_problem(np.random.default_rng(6))
    rng, model = np.random.default_rng(7), LazyThresholdsOfMany()
    worlds = np.array([model.live_arcs(graph, means, rng) for _ in range(4000)])
    assert (np.abs(worlds.mean(axis=0) - means) <= 5.6 * np.sqrt(means * (1 - means) / 4000) + 1e-9).all()
    assert all(np.bincount(graph.heads[live], minlength=1).max(initial=0) <= 1 for live in worlds)
