"""Cascades up to a deadline, against enumeration of coins and delays, and closed forms in continuous time."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import gamma

from instances import DeadlineCascade, IndependentCascade
from oracles import DeadlineInfluence, DirectedGraph
from oracles.influence.deadlines import TimedSets
from oracles.influence.search import count_hits

GRAPHS = [
    DirectedGraph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], n_nodes=5),
    DirectedGraph.from_edges([0, 1, 2, 3], [1, 2, 0, 2], n_nodes=4),
]


def on_time(graph, live, delays, seeds, deadline, weights):
    """Return the weight of who has heard by then, time by time: everybody tells what they have heard."""
    heard = dict.fromkeys(seeds, 0)
    for _ in range(graph.n_nodes):
        for arm in np.flatnonzero(live):
            tail, head = int(graph.tails[arm]), int(graph.heads[arm])
            if tail in heard and heard[tail] + delays[arm] <= deadline:
                heard[head] = min(heard.get(head, deadline), heard[tail] + delays[arm])
    return weights[list(heard)].sum()


def enumerated(graph, means, meeting, seeds, deadline, weights):
    """Return the expected weight over all coins, and all delays of 1, ..., deadline, and more."""
    laws = [[m * (1 - m) ** d for d in range(deadline)] + [(1 - m) ** deadline] for m in meeting]
    total = 0.0
    for live in product([0, 1], repeat=graph.n_arcs):
        coins = np.prod(np.where(live, means, 1 - means))
        # Of an arc that is not live, any delay will do.
        drawn = [
            [(d + 1, chance) for d, chance in enumerate(law) if chance > 0.0] if coin else [(1, 1.0)]
            for law, coin in zip(laws, live, strict=True)
        ]
        for each in product(*drawn):
            delays, parts = zip(*each, strict=True)
            total += coins * np.prod(parts) * on_time(graph, live, delays, seeds, deadline, weights)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS, ids=["diamond", "cycle"])
@pytest.mark.parametrize(("deadline", "meets"), [(1, 0.4), (2, 1.0), (3, 0.6)])
def test_spreads_sets_and_cascades_are_those_of_enumeration(graph, deadline, meets):
    """Within 5 standard errors, three ways, two seed sets: false alarm 4e-6 a row."""
    rng = np.random.default_rng(3)
    means, meeting = rng.uniform(0.2, 0.9, graph.n_arcs), np.full(graph.n_arcs, meets)
    meeting[0] = min(1.0, 1.5 * meets)
    weights = rng.choice([1.0, 2.0], graph.n_nodes)
    oracle = DeadlineInfluence(graph, 1, deadline=deadline, meeting=meeting, node_weights=weights)
    place = DeadlineCascade(graph, means, deadline=deadline, meeting=meeting)
    reverse = TimedSets.within(oracle.delays, graph, means, weights)
    for seeds in ([0], [1, 3]):
        exact = enumerated(graph, means, meeting, seeds, deadline, weights)
        value, error = oracle.spread(np.array(seeds), means, cascades=100_000)
        assert abs(value - exact) <= 5 * error + 1e-9
        n_sets = 100_000
        share = count_hits(reverse, 5, 0, n_sets, reverse.owners(np.array(seeds)))[0] / n_sets
        error = weights.sum() * np.sqrt(share * (1 - share) / n_sets)
        assert abs(weights.sum() * share - exact) <= 5 * error
        exact = enumerated(graph, means, meeting, seeds, deadline, np.ones(graph.n_nodes))
        rewards = [place.play(np.array(seeds), rng).reward for _ in range(5000)]
        assert abs(np.mean(rewards) - exact) <= 5 * np.std(rewards) / np.sqrt(5000) + 1e-9
        assert abs(place.expected_reward(np.array(seeds)) - exact) <= 5 * place.standard_error(
            np.array(seeds)
        )


def test_continuous_time_is_that_of_closed_forms():
    """A chain is a sum of exponential delays, two ways a minimum; 5 standard errors: false alarm 2e-6."""
    chain = DirectedGraph.from_edges([0, 1, 2], [1, 2, 3])
    means = np.array([0.9, 0.5, 0.8])
    oracle = DeadlineInfluence(chain, 1, deadline=1.5, rates=2.0)
    exact = 1 + sum(np.cumprod(means) * gamma.cdf(1.5, [1, 2, 3], scale=0.5))
    value, error = oracle.spread([0], means, cascades=100_000)
    assert abs(value - exact) <= 5 * error
    reverse = TimedSets.within(oracle.delays, chain, means)
    share = count_hits(reverse, 5, 0, 100_000, reverse.owners(np.array([0])))[0] / 100_000
    assert abs(4 * share - exact) <= 5 * 4 * np.sqrt(share * (1 - share) / 100_000)
    # 0 to 1 and 0 to 2 to 1, at rates 1, 3 and 3, all messages successful.
    two = DirectedGraph.from_edges([0, 0, 2], [1, 2, 1])
    oracle = DeadlineInfluence(two, 1, deadline=0.7, rates=[1.0, 3.0, 3.0])
    late = np.exp(-0.7) * gamma.sf(0.7, 2, scale=1 / 3)
    value, error = oracle.spread([0], np.ones(3), cascades=100_000)
    assert abs(value - (1 + (1 - late) + (1 - np.exp(-2.1)))) <= 5 * error


@pytest.mark.parametrize("law", [{}, {"meeting": 0.3}, {"rates": 5.0}], ids=["hops", "meeting", "rates"])
def test_with_all_the_time_there_is_it_is_an_independent_cascade(law):
    """The same coins, world by world; and with little time no cascade is longer than with more."""
    rng = np.random.default_rng(1)
    tails = rng.integers(0, 30, 100)
    graph = DirectedGraph.from_edges(tails, (tails + rng.integers(1, 30, 100)) % 30)
    means, seeds = np.full(graph.n_arcs, 0.25), np.array([0, 5])
    endless = DeadlineCascade(graph, means, deadline=1e6, **law)
    usual = IndependentCascade(graph, means)
    rewards = []
    for number in range(20):
        shown, known = (place.play(seeds, np.random.default_rng(number)) for place in (endless, usual))
        assert shown.reward == known.reward
        assert dict(zip(shown.arms, shown.outcomes, strict=True)) == dict(
            zip(known.arms, known.outcomes, strict=True)
        )
        shorter = [
            DeadlineCascade(graph, means, deadline=time, **law).play(seeds, np.random.default_rng(number))
            for time in (0.5, 1, 2, 4)
        ]
        rewards.append([*(feedback.reward for feedback in shorter), shown.reward])
    assert (np.diff(rewards, axis=1) >= 0).all()
    assert np.mean(rewards, axis=0)[0] < np.mean(rewards, axis=0)[-1]
