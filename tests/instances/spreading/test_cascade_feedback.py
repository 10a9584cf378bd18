"""What cascades show: edges, nodes, credit, nothing; each against a slow reference with the same coins."""

from collections import Counter

import numpy as np
import pytest

from cmab.compiled import keyed_uniform
from cmab.environment import round_key
from instances import IndependentCascade, LinearThreshold
from oracles import DirectedGraph

N = 10


def random_graph(rng, arcs=35):
    tails = rng.integers(N, size=arcs)
    return DirectedGraph.from_edges(tails, (tails + rng.integers(1, N, size=arcs)) % N, n_nodes=N)


def independent(rng, feedback="edge"):
    graph = random_graph(rng)
    return IndependentCascade(graph, rng.choice([0.0, 0.2, 0.5, 1.0], graph.n_arcs), feedback=feedback)


def threshold(rng, feedback="edge"):
    graph = random_graph(rng)
    shares = rng.random(graph.n_arcs)
    shares /= np.bincount(graph.heads, shares, N)[graph.heads]
    return LinearThreshold(graph, shares * rng.choice([0.3, 0.8, 1.0], N)[graph.heads], feedback=feedback)


def steps(graph, live, seeds):
    """For each step, the arcs that try each head that is not active yet; and when nodes became active."""
    since, frontier, tried = dict.fromkeys(seeds, 0), list(seeds), []
    while frontier:
        attempts = {}
        for arm in range(graph.n_arcs):
            tail, head = int(graph.tails[arm]), int(graph.heads[arm])
            if tail in frontier and head not in since:
                attempts.setdefault(head, []).append(arm)
        frontier = [head for head, arms in attempts.items() if any(live[arm] for arm in arms)]
        since |= dict.fromkeys(frontier, len(tried) + 1)
        tried.append(attempts)
    return tried, since


def live_arcs(environment, seed):
    """The live arcs of the round that this seed plays, from its random numbers."""
    graph, key = environment.graph, round_key(np.random.default_rng(seed))
    if environment.model == "ic":
        position = np.argsort(graph.out_arcs[1])
        return [keyed_uniform(key, i) < p for i, p in zip(position, environment.means, strict=True)]
    live, reached = [], [0.0] * N
    for head, weight in zip(graph.heads.tolist(), environment.means, strict=True):
        live.append(reached[head] <= keyed_uniform(key, head) < reached[head] + weight)
        reached[head] += weight
    return live


@pytest.mark.parametrize(
    ("make", "feedback"), [(independent, "node"), (threshold, "node"), (threshold, "edge")]
)
def test_what_is_shown_of_the_edges_that_tried(make, feedback):
    """Alone, for nodes; only in the first step in which a head was tried, for thresholds."""
    rng = np.random.default_rng(0)
    told, hidden = 0, 0
    for trial in range(60):
        environment = make(rng, feedback)
        seeds = rng.choice(N, 3, replace=False)
        shown, live = environment.play(seeds, np.random.default_rng(trial)), live_arcs(environment, trial)
        tried, since = steps(environment.graph, live, seeds.tolist())
        wanted, before = {}, set()
        for attempts in tried:
            for head, arms in attempts.items():
                fresh = environment.model == "ic" or head not in before
                if fresh and (feedback == "edge" or len(arms) == 1):
                    wanted |= {arm: float(live[arm]) for arm in arms}
                else:
                    hidden += 1
            before |= set(attempts)
        assert dict(zip(shown.arms.tolist(), shown.outcomes.tolist(), strict=True)) == wanted
        assert shown.reward == len(since)
        told += len(wanted)
    assert min(told, hidden) > 20


def test_credit_goes_to_one_edge_of_those_that_tried():
    rng = np.random.default_rng(1)
    for trial in range(60):
        environment = independent(rng, "credit")
        seeds = rng.choice(N, 3, replace=False)
        shown, live = environment.play(seeds, np.random.default_rng(trial)), live_arcs(environment, trial)
        credited = dict(zip(shown.arms.tolist(), shown.outcomes.tolist(), strict=True))
        tried, _ = steps(environment.graph, live, seeds.tolist())
        assert sum(len(arms) for attempts in tried for arms in attempts.values()) == len(credited)
        for attempts in tried:
            for arms in attempts.values():
                assert sum(credited[arm] for arm in arms) == any(live[arm] for arm in arms)


@pytest.mark.slow
def test_credit_is_uniform_and_biased():
    """Each of three edges gets a third of P(active): 3 binomial counts at 5.5 deviations, 2e-7."""
    graph = DirectedGraph.from_edges([0, 1, 2], [3, 3, 3])
    environment = IndependentCascade(graph, [0.8, 0.4, 0.0], feedback="credit")
    rng, credited, rounds = np.random.default_rng(2), Counter(), 20_000
    for _ in range(rounds):
        feedback = environment.play(np.array([0, 1, 2]), rng)
        credited.update(feedback.arms[feedback.outcomes == 1.0].tolist())
    share = (1 - 0.2 * 0.6) / 3
    for arm in range(3):
        assert abs(credited[arm] / rounds - share) < 5.5 * (share * (1 - share) / rounds) ** 0.5


@pytest.mark.parametrize(
    ("make", "feedback"), [(independent, "node"), (threshold, "edge"), (threshold, "node")]
)
def test_what_is_shown_is_unbiased_on_cycles(make, feedback):
    """Means of all outcomes shown: at most 105 comparisons at 5.9 deviations of the coin, 4e-7 in all."""
    rng = np.random.default_rng(3)
    environment = make(rng, feedback)
    total, count = np.zeros(environment.n_arms), np.zeros(environment.n_arms)
    for _ in range(10_000):
        shown = environment.play(np.array([0]), rng)
        total[shown.arms] += shown.outcomes
        count[shown.arms] += 1
    p, often = environment.means, count > 100
    assert (np.abs(total - p * count) <= 5.9 * np.sqrt(p * (1 - p) * count) + 1e-9)[often].all()
    assert often.sum() >= 7
