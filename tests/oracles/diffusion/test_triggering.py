"""Triggering models: worlds and sets of the user against enumeration, and known models said in this way."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from oracles import (
    DirectedGraph,
    InfluenceMaximization,
    TriggeringInfluence,
    TriggeringModel,
)
from oracles.influence.sets import SetCollection

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
def test_certified_spread_against_enumeration():
    """Ratios hold (delta 1e-7 each) and two estimates agree: 48 comparisons at 5.7 errors, 6e-7 in all."""
    rng = np.random.default_rng(0)
    for trial in range(12):
        graph, means = random_problem(rng)
        worth = rng.random(N) if trial % 2 else np.ones(N)
        oracle = TriggeringInfluence(
            graph, triggering=AllOrNone(), k=2, epsilon=0.3, delta=1e-7, node_weights=worth
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
@pytest.mark.parametrize(("triggering", "model"), [(Coins(), "ic"), (Thresholds(), "lt")])
def test_known_models_said_by_live_arcs(triggering, model):
    """Spreads under the oracle of the model: 40 comparisons at 5.9 errors, below 2e-7."""
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


def test_sets_do_not_depend_on_who_draws_them():
    graph, means = random_problem(np.random.default_rng(2))
    whole = drawn(graph, Coins(), means, 5000)
    pieces = drawn(graph, Coins(), means, 1, threads=3)
    for size in (7, 1023, 1025, 5000):
        pieces.grow(size)
    assert np.array_equal(whole.ends, pieces.ends)
    assert np.array_equal(whole.pool, pieces.pool)
