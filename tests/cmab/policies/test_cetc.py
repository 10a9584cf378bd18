"""CETC: the sets that an algorithm asks for, from rewards alone."""

import math

import networkx as nx
import numpy as np
import pytest

from cmab import CETC, CTS, Context, Feedback, Session, simulate
from instances import IndependentCascade
from oracles import GraphicMatroid, InfluenceMaximization, TopK

STARS = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])


def greedy_plays(n, k, horizon, rewards):
    """C-ETC with greedy, in plain Python: yields the sets that are played; `rewards` says what each earns."""
    times = math.ceil((2 * k * horizon / (n * k)) ** (2 / 3) * math.log(horizon) ** (1 / 3) / 2)
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

    session, printed = Session(CETC(TopK(n, k), horizon), rng=0), greedy_plays(n, k, horizon, rewards)
    for number in range(2 * horizon):
        ticket = session.ask()
        assert ticket.super_arm.tolist() == next(printed)
        session.tell(Feedback([], [], reward=rewards(ticket.super_arm.tolist(), number)), ticket)
    assert session.state.has_ended
    assert len(session.state.queries) == sum(n - i for i in range(k))


def best_single(value):
    """Ask for each of three entries."""
    return [max(range(3), key=lambda entry: value([entry]))]


def test_an_algorithm_of_the_user_is_asked_again_after_each_answer():
    policy = CETC(GraphicMatroid(nx.cycle_graph(4)), 30, algorithm=best_single, queries=3, robustness=1.0)
    session, worth, played = Session(policy, rng=0), [0.1, 0.9, 0.5], []
    for _ in range(30):
        ticket = session.ask()
        played.append(ticket.super_arm.tolist())
        session.tell(Feedback([], [], reward=worth[ticket.super_arm[0]]), ticket)
    times = policy.trials
    assert played[: 3 * times] == [[0]] * times + [[1]] * times + [[2]] * times
    assert played[3 * times :] == [[1]] * (30 - 3 * times)
    assert session.state.values == pytest.approx(worth)


def test_late_rewards_of_earlier_queries_are_ignored():
    policy = CETC(TopK(3, 1), 20)
    session = Session(policy, rng=0)
    late = [session.ask() for _ in range(policy.trials + 2)]
    for ticket in late:
        session.tell(Feedback([], [], reward=1.0), ticket)
    assert session.state.values == [1.0]
    assert session.state.told == 0
    assert session.state.rounds == len(late)


@pytest.mark.slow
def test_it_finds_the_greedy_seeds_from_the_spread_alone():
    world = IndependentCascade(STARS, 0.9, k=2, feedback="none")
    run = simulate(CETC(InfluenceMaximization(STARS, k=2), 2000), world, 2000, replications=2, rng=0)
    assert [state.current.tolist() for state in run.states] == [[0, 4], [0, 4]]


@pytest.mark.slow
def test_observed_arms_need_fewer_rounds():
    """What the page says of semi-bandit feedback: `CTS` loses less than a third. The seed is fixed."""
    oracle = InfluenceMaximization(STARS, k=2)
    blind = simulate(CETC(oracle, 1000), IndependentCascade(STARS, 0.9, k=2, feedback="none"), 1000, rng=0)
    seeing = simulate(CTS(oracle), IndependentCascade(STARS, 0.9, k=2), 1000, rng=0)
    assert seeing.regret[0, -1] < blind.regret[0, -1] / 3


def test_what_it_refuses():
    with pytest.raises(ValueError, match="all sets of k entries"):
        CETC(GraphicMatroid(nx.cycle_graph(4)), 100)
    with pytest.raises(ValueError, match="rewards, not costs"):
        CETC(TopK(4, 2, sense="min"), 100)
    with pytest.raises(ValueError, match="queries must be given"):
        CETC(TopK(4, 2), 100, algorithm=best_single)
    with pytest.raises(ValueError, match="robustness must be given"):
        CETC(TopK(4, 2), 100, algorithm=best_single, queries=3)
    with pytest.raises(ValueError, match="algorithm must be a function"):
        CETC(TopK(4, 2), 100, algorithm=3, queries=3, robustness=1.0)
    for wrong in ({"horizon": 0}, {"queries": 0}, {"robustness": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            CETC(**{"oracle": TopK(4, 2), "horizon": 100, **wrong})
    policy = CETC(TopK(4, 2), 100)
    with pytest.raises(ValueError, match="reward must be known"):
        policy.update(policy.initial_state(), Feedback([0], [1.0]))
    with pytest.raises(ValueError, match="context"):
        Session(policy, rng=0).ask(Context(available=[True] * 4))
    with pytest.raises(ValueError, match="entries"):
        CETC(TopK(2, 1), 9, algorithm=lambda value: [value([5])], queries=1, robustness=1.0).initial_state()
