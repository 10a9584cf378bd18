"""Cascades against a slow reference with the same coins, and against enumeration."""

import math
import pickle
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, simulate
from cmab.compiled import keyed_uniform
from cmab.environment import round_key
from instances import IndependentCascade, LinearThreshold
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence import graph as _memory
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


def test_policies_meet_the_same_coins():
    environment = random_environment(np.random.default_rng(1))
    one, other = (environment.play(np.array(s), np.random.default_rng(5)) for s in ([0], [0, 7, 3]))
    coins = dict(zip(other.arms.tolist(), other.outcomes.tolist(), strict=True))
    assert all(coins[arm] == x for arm, x in zip(one.arms.tolist(), one.outcomes.tolist(), strict=True))
    assert one.reward <= other.reward


def test_feedback_is_what_the_clusters_promise():
    """All out-edges of a node are seen together, so statistics with shared counters accept every round."""
    rng = np.random.default_rng(2)
    environment = random_environment(rng)
    oracle = InfluenceMaximization(environment.graph, 2)
    result = simulate(CUCB(oracle), environment, 30, rng=0)
    counts = result.states[0].counts
    assert counts.shape == (40,)
    assert counts.max() > 0


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


def test_the_pool_answers_where_enumeration_cannot():
    """Realised rewards average to the expected reward: 5 seed sets at 5.5 standard errors."""
    rng = np.random.default_rng(4)
    environment = random_environment(rng, n=30, arcs=150, n_rr_sets=50_000)
    coins = np.random.default_rng(0)
    for size in (1, 2, 3, 5, 8):
        seeds = rng.choice(30, size, replace=False)
        rewards = np.array([environment.play(seeds, coins).reward for _ in range(3000)])
        error = math.hypot(rewards.std() / math.sqrt(3000), environment.standard_error(seeds))
        assert abs(rewards.mean() - environment.expected_reward(seeds)) < 5.5 * error + 1e-9


def test_batches_of_cascades_have_honest_errors():
    """Against enumeration: 20 comparisons at 5.5 standard errors, below 1e-6 in all."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        environment = random_environment(rng, n=8, arcs=14)
        seeds = rng.choice(8, 2, replace=False)
        mean, error = environment.spread(seeds, 4000, rng)
        assert abs(mean - environment.expected_reward(seeds)) <= 5.5 * error + 1e-9
    with pytest.raises(ValueError, match="cascades"):
        environment.spread(seeds, 1, rng)
    one, two = (environment.spread(seeds, 5000, np.random.default_rng(1), threads=n) for n in (1, 2))
    assert one == two


def test_optimum_by_enumeration():
    rng = np.random.default_rng(5)
    environment = random_environment(rng, n=7, arcs=12, k=2)
    assert environment.optimum_is_exact
    values = [environment.expected_reward(np.array(seeds)) for seeds in combinations(range(7), 2)]
    assert environment.optimum == max(values)
    assert environment.expected_reward(environment.best_seeds) == max(values)


def test_optimum_by_greedy_is_said_to_be_a_lower_bound():
    environment = random_environment(np.random.default_rng(6), n=40, arcs=200, k=6, n_rr_sets=20_000)
    assert not environment.optimum_is_exact
    assert len(set(environment.best_seeds.tolist())) == 6
    rng = np.random.default_rng(0)
    tried = [environment.expected_reward(rng.choice(40, 6, replace=False)) for _ in range(50)]
    assert environment.optimum >= max(tried)


def test_without_k_there_is_no_optimum():
    environment = random_environment(np.random.default_rng(7))
    assert math.isnan(environment.optimum)
    assert not environment.optimum_is_exact
    with pytest.raises(ValueError, match="k must be given"):
        _ = environment.best_seeds


def test_pickling_leaves_the_pool_behind_and_draws_it_again():
    environment = random_environment(np.random.default_rng(8), n=30, arcs=150, k=3, n_rr_sets=5000)
    seeds = np.array([1, 2])
    value, size = environment.expected_reward(seeds), len(pickle.dumps(environment))
    assert size < 20_000
    environment.play(seeds, np.random.default_rng(0))
    assert len(pickle.dumps(environment)) == size
    assert pickle.loads(pickle.dumps(environment)).expected_reward(seeds) == value


def test_probabilities_come_from_an_attribute_or_an_array():
    graph = nx.Graph()
    graph.add_edge("a", "b", p=0.25, w=1.0)
    assert IndependentCascade(graph).means.tolist() == [0.25, 0.25]
    assert IndependentCascade(graph, "w").means.tolist() == [1.0, 1.0]
    assert IndependentCascade(graph, [0.5, 0.75]).means.tolist() == [0.5, 0.75]
    own = DirectedGraph.from_edges([0], [1], probabilities=[0.5])
    assert IndependentCascade(own).means.tolist() == [0.5]


test_refuses = refused(
    ({}, "probability"),
    ({"probability": [0.5]}, "length 2"),
    ({"probability": [0.5, -0.5]}, "probability"),
    ({"probability": [0.5, np.nan]}, "probability"),
    ({"probability": [0.5, 0.5], "k": 0}, "k"),
    ({"probability": [0.5, 0.5], "k": 4}, "k"),
    ({"probability": [0.5, 0.5], "n_rr_sets": 0}, "n_rr_sets"),
    by=lambda arguments: IndependentCascade(DirectedGraph.from_edges([0, 1], [1, 2]), **arguments),
)


@pytest.mark.parametrize("seeds", [[0, 0], [3], [-1], [0.5]])
def test_super_arms_are_checked(seeds):
    environment = IndependentCascade(DirectedGraph.from_edges([0, 1], [1, 2]), [0.5, 0.5])
    with pytest.raises(ValueError, match="super_arm"):
        environment.play(np.array(seeds), np.random.default_rng(0))


def test_too_little_memory_for_a_round_is_said_when_the_environment_is_made(monkeypatch):
    ends = np.zeros(2_000_000, np.int32)
    graph = DirectedGraph.from_edges(ends, ends + 1)
    monkeypatch.setattr(_memory, "_free", lambda: 10**8)
    with pytest.raises(MemoryError, match=r"a cascade on .*n_arcs=2000000\) needs about 0\.1 GB"):
        IndependentCascade(graph, ends)
    monkeypatch.setattr(_memory, "_free", lambda: 2 * 10**8)
    assert IndependentCascade(graph, ends).play(np.array([0]), np.random.default_rng(0)).reward == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("environment", [IndependentCascade, LinearThreshold])
def test_too_little_memory_for_a_batch_is_said_before_it_starts(monkeypatch, environment):
    ends = np.zeros(2_000_000, np.int32)
    graph = DirectedGraph.from_edges(ends, ends + 1)
    cascades = environment(graph, ends)
    cascades.spread(np.array([0]), 2, np.random.default_rng(0))
    monkeypatch.setattr(_memory, "_free", lambda: 10**8)
    cascades.spread(np.array([0]), 1024, np.random.default_rng(0), threads=8)  # work for one of them
    with pytest.raises(MemoryError, match=r"cascades on .*2000000\) on 8 threads needs about 0\.1 GB"):
        cascades.spread(np.array([0]), 8 * 1024, np.random.default_rng(0), threads=8)
