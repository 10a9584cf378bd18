"""Greedy for values of the user's: ratios by enumeration, plain greedy, coverage, and what is asked."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from cases import any_hit
from refusals import refused

from oracles import (
    Knapsack,
    PartitionMatroid,
    SubmodularOracle,
    UniformMatroid,
)

RNG = np.random.default_rng


def plain(oracle, means, fits, prices):
    """Greedy as a textbook has it: every entry asked in every step."""
    chosen, worth = [], oracle.expected_reward([], means)
    while True:
        gains = {
            entry: oracle.expected_reward([*chosen, entry], means) - worth
            for entry in range(oracle.n_choices)
            if entry not in chosen and fits([*chosen, entry])
        }
        if not gains:
            return chosen
        best = max(gains, key=lambda entry: gains[entry] / prices[entry])
        chosen.append(best)
        worth += gains[best]


def reach(graph):
    """Return the expected number of nodes next to a chosen one, each edge holding with its mean."""
    ends = np.array(graph.edges)

    def worth(means, chosen):
        missed = np.ones(len(graph))
        for u, v in ((0, 1), (1, 0)):
            held = np.isin(ends[:, u], chosen)
            np.multiply.at(missed, ends[held, v], 1.0 - means[held])
        missed[chosen] = 0.0
        return len(graph) - missed.sum()

    return worth


CONSTRAINTS = {
    "size": 3,
    "matroid": PartitionMatroid([0, 0, 0, 1, 1, 1, 2, 2], {0: 1, 1: 2, 2: 1}),
    "knapsack": Knapsack([3, 1, 2, 2, 4, 1, 3, 5], 6),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_lazy_is_plain_greedy_and_keeps_its_ratio(name):
    constraint = CONSTRAINTS[name]
    sets = [np.array(s, np.int64) for size in range(9) for s in combinations(range(8), size)]
    prices = constraint.weights if name == "knapsack" else np.ones(8)
    for seed in range(12):
        graph = nx.gnp_random_graph(8, 0.35, seed=seed)
        m = graph.number_of_edges()
        oracle = SubmodularOracle(m, constraint, reward=reach(graph), n_choices=8)
        means = RNG(seed).random(m)
        family = [chosen for chosen in sets if oracle.is_feasible(chosen)]
        parts = {tuple(chosen[list(some)]) for chosen in family for some in subsets(len(chosen))}
        greedy = plain(oracle, means, lambda entries: tuple(sorted(entries)) in parts, prices)  # noqa: B023
        answer = oracle.solve(means, 0)
        assert oracle.is_feasible(answer)
        value, optimum = (
            oracle.expected_reward(answer, means),
            max(oracle.expected_reward(chosen, means) for chosen in family),
        )
        alone = max(oracle.expected_reward([e], means) for e in range(8)) if name == "knapsack" else 0.0
        assert value == pytest.approx(max(alone, oracle.expected_reward(greedy, means)))
        assert value >= oracle.alpha * optimum - 1e-12


def subsets(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(n + 1))


test_bad_input_is_refused = refused(
    ((6, 0), {}, "constraint must be an integer"),
    ((6, 7), {}, "constraint must be an integer"),
    ((6, "two"), {}, "constraint must be an integer"),
    ((6, UniformMatroid(5, 2)), {}, "constraint must have 6 arms"),
    ((6, Knapsack([1, 2], 3)), {"n_choices": 3}, "constraint must have 3 arms"),
    ((6, 2), {"triggers": [0]}, "triggers must be callable"),
    by=lambda arguments, options: SubmodularOracle(*arguments, **{"reward": any_hit, **options}),
)
