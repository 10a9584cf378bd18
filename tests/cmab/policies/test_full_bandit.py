"""ETCG: greedy sets from rewards alone."""

import math

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from cmab import ETCG, Context, Feedback, Session, simulate
from instances import IndependentCascade
from oracles import GraphicMatroid, InfluenceMaximization, TopK

STARS = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])


def greedy_plays(n, k, times, rewards):
    """Explore then commit with greedy sets, in plain Python: yields the sets that are played."""
    chosen, number = [], 0
    for _ in range(k):
        means = {}
        for entry in set(range(n)) - set(chosen):
            total = 0.0
            for _ in range(times):
                yield sorted([*chosen, entry])
                total += rewards(sorted([*chosen, entry]), number)
                number += 1
            means[entry] = total / times
        chosen.append(max(means, key=lambda entry: (means[entry], -entry)))
    while True:
        yield sorted(chosen)


@pytest.mark.parametrize(("n", "k", "horizon"), [(5, 3, 400), (4, 4, 50), (6, 1, 300)])
def test_the_sets_are_those_of_the_paper(n, k, horizon):
    noise, weights = np.random.default_rng(0).normal(size=3 * horizon), np.random.default_rng(1).random(n)

    def rewards(chosen, number):
        return math.sqrt(weights[chosen].sum()) + 0.3 * noise[number]

    session, root = Session(ETCG(TopK(n, k), horizon), rng=0), math.sqrt(2 * math.log(horizon))
    times = max(1, math.ceil((horizon * root / (n + 2 * n * k * root)) ** (2 / 3)))
    printed = greedy_plays(n, k, times, rewards)
    for number in range(2 * horizon):
        ticket = session.ask()
        assert ticket.super_arm.tolist() == next(printed)
        session.tell(Feedback([], [], reward=rewards(ticket.super_arm.tolist(), number)), ticket)
    assert len(session.state.tried) == sum(n - i for i in range(k))


@pytest.mark.slow
def test_it_finds_the_greedy_seeds_from_the_spread_alone():
    world = IndependentCascade(STARS, 0.9, k=2, feedback="none")
    run = simulate(ETCG(InfluenceMaximization(STARS, k=2), 2000), world, 2000, replications=2, rng=0)
    assert [state.current.tolist() for state in run.states] == [[0, 4], [0, 4]]


def test_it_needs_a_reward_and_no_context():
    policy = ETCG(TopK(4, 2), 100)
    state = policy.initial_state()
    for feedback, words in ((Feedback([0], [1.0]), "must be known"), (Feedback([], [], reward=1e200), "1e")):
        with pytest.raises(ValueError, match=words):
            policy.update(state, feedback)
    assert state.rounds == 0 and not state.told
    with pytest.raises(ValueError, match="context must be None"):
        Session(policy, rng=0).ask(Context(available=[True] * 4))


test_bad_parameters_are_refused = refused(
    (lambda: ETCG(GraphicMatroid(nx.cycle_graph(3)), 9), "all sets of k entries"),
    (lambda: ETCG(InfluenceMaximization(STARS, k=2, candidates=[0, 4, 7]), 9), "a set of k entries must be"),
    (lambda: ETCG(TopK(4, 2, sense="min"), 100), "and rewards"),
)
