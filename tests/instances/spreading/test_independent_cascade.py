"""Cascades against a slow reference with the same coins, and against enumeration."""

import math
import pickle

import numpy as np
from refusals import refused

from cmab.compiled import keyed_uniform
from cmab.environment import round_key
from instances import IndependentCascade
from oracles import DirectedGraph
from oracles.influence.spread import exact_spread


def random_environment(rng, n=12, arcs=40, **options):
    tails = rng.integers(n, size=arcs)
    heads = (tails + rng.integers(1, n, size=arcs)) % n
    means = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], arcs)
    return IndependentCascade(DirectedGraph.from_edges(tails, heads, n_nodes=n), means, **options)


def reference_cascade(environment, seeds, key):
    """Out-edges of every active node, each with its own coin, also towards active nodes."""
    graph = environment.graph
    active, order, observed = set(seeds), list(seeds), {}
    position = np.argsort(graph.out_arcs[1])
    for v in order:
        for arm in range(graph.n_arcs):
            if graph.tails[arm] == v:
                observed[arm] = float(keyed_uniform(key, position[arm]) < environment.means[arm])
                head = int(graph.heads[arm])
                if observed[arm] and head not in active:
                    active.add(head)
                    order.append(head)
    return active, observed


def test_play_against_a_slow_reference_with_the_same_coins():
    rng = np.random.default_rng(0)
    for trial in range(60):
        environment = random_environment(rng)
        seeds = rng.choice(12, 3, replace=False)
        feedback = environment.play(seeds, np.random.default_rng(trial))
        key = round_key(np.random.default_rng(trial))
        active, observed = reference_cascade(environment, seeds.tolist(), key)
        assert feedback.reward == len(active)
        assert dict(zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True)) == observed


def test_expected_reward_from_the_pool_agrees_with_enumeration():
    """40 comparisons at 5.5 standard errors, below 1e-5 in all."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        environment = random_environment(rng, n=8, arcs=14, n_rr_sets=20_000)
        for size in (1, 3):
            seeds = rng.choice(8, size, replace=False)
            value = environment.expected_reward(seeds)
            assert value == exact_spread(environment.graph, environment.means, seeds)
            assert environment.standard_error(seeds) == 0.0
            reverse, offsets, sets, n_sets = environment._judging
            hit = {s for v in reverse.component[seeds] for s in sets[offsets[v] : offsets[v + 1]].tolist()}
            share, certain = len(hit) / n_sets, reverse.certain[np.unique(reverse.component[seeds])].sum()
            error = reverse.total_weight * math.sqrt(max(share * (1 - share), 1e-9) / n_sets)
            assert abs(certain + reverse.total_weight * share - value) <= 5.5 * error


def test_pickling_leaves_the_pool_behind_and_draws_it_again():
    environment = random_environment(np.random.default_rng(8), n=30, arcs=150, k=3, n_rr_sets=5000)
    seeds = np.array([1, 2])
    value, size = environment.expected_reward(seeds), len(pickle.dumps(environment))
    assert size < 20_000
    environment.play(seeds, np.random.default_rng(0))
    assert len(pickle.dumps(environment)) == size
    assert pickle.loads(pickle.dumps(environment)).expected_reward(seeds) == value


test_refuses = refused(
    ({}, "probability"),
    ({"probability": [0.5]}, "length 2"),
    ({"probability": [0.5, -0.5]}, "probability"),
    ({"probability": [0.5, np.nan]}, "probability"),
    ({"probability": [0.5, 0.5], "n_rr_sets": 0}, "n_rr_sets"),
    by=lambda arguments: IndependentCascade(DirectedGraph.from_edges([0, 1], [1, 2]), **arguments),
)
