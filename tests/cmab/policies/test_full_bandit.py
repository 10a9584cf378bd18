"""CETC and ETCG: the sets that an algorithm asks for, from rewards alone."""

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from cmab import CETC, CTS, ETCG, Context, Feedback, Session, simulate
from instances import IndependentCascade
from oracles import GraphicMatroid, InfluenceMaximization, TopK

STARS = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])


def greedy(value, n, k):
    """Return k entries, each with the largest value together with those before."""
    chosen = []
    for _ in range(k):
        chosen.append(max(set(range(n)) - set(chosen), key=lambda entry: value([*chosen, entry])))
    return chosen


def cetc(oracle, horizon):
    """Return the policy with greedy sets, whose robustness is 2 k for n k queries."""
    n, k = oracle.n_choices, oracle.k
    return CETC(oracle, horizon, algorithm=partial(greedy, n=n, k=k), queries=n * k, robustness=2.0 * k)


BOTH = pytest.mark.parametrize("rule", [cetc, ETCG])


def trials(rule, n, k, horizon):
    """Return the number of trials of a set, as printed in the papers."""
    if rule is cetc:
        return math.ceil((2 * k * horizon / (n * k)) ** (2 / 3) * math.log(horizon) ** (1 / 3) / 2)
    root = math.sqrt(2 * math.log(horizon))
    return max(1, math.ceil((horizon * root / (n + 2 * n * k * root)) ** (2 / 3)))


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


@BOTH
@pytest.mark.parametrize(("n", "k", "horizon"), [(5, 3, 400), (4, 4, 50), (6, 1, 300)])
def test_the_sets_are_those_of_the_paper(rule, n, k, horizon):
    noise, weights = np.random.default_rng(0).normal(size=3 * horizon), np.random.default_rng(1).random(n)

    def rewards(chosen, number):
        return math.sqrt(weights[chosen].sum()) + 0.3 * noise[number]

    session, times = Session(rule(TopK(n, k), horizon), rng=0), trials(rule, n, k, horizon)
    printed = greedy_plays(n, k, times, rewards)
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


@BOTH
def test_late_rewards_of_earlier_queries_are_ignored(rule):
    policy = rule(TopK(3, 1), 20)
    session = Session(policy, rng=0)
    late = [session.ask() for _ in range(policy.trials + 2)]
    for ticket in late:
        session.tell(Feedback([], [], reward=1.0), ticket)
    assert session.state.values == [1.0]
    assert session.state.told == 0
    assert session.state.rounds == len(late)


@pytest.mark.slow
@BOTH
def test_it_finds_the_greedy_seeds_from_the_spread_alone(rule):
    world = IndependentCascade(STARS, 0.9, k=2, feedback="none")
    run = simulate(rule(InfluenceMaximization(STARS, k=2), 2000), world, 2000, replications=2, rng=0)
    assert [state.current.tolist() for state in run.states] == [[0, 4], [0, 4]]


@pytest.mark.slow
def test_observed_arms_need_fewer_rounds():
    """What the page says of semi-bandit feedback: `CTS` loses less than a third. The seed is fixed."""
    oracle = InfluenceMaximization(STARS, k=2)
    blind = simulate(cetc(oracle, 1000), IndependentCascade(STARS, 0.9, k=2, feedback="none"), 1000, rng=0)
    seeing = simulate(CTS(oracle), IndependentCascade(STARS, 0.9, k=2), 1000, rng=0)
    assert seeing.regret[0, -1] < blind.regret[0, -1] / 3


@BOTH
def test_it_needs_a_reward_and_no_context(rule):
    policy = rule(TopK(4, 2), 100)
    state = policy.initial_state()
    for feedback, words in ((Feedback([0], [1.0]), "must be known"), (Feedback([], [], reward=1e200), "1e")):
        with pytest.raises(ValueError, match=words):
            policy.update(state, feedback)
    assert state.rounds == 0 and not state.told
    with pytest.raises(ValueError, match="context must be None"):
        Session(policy, rng=0).ask(Context(available=[True] * 4))


def asking(algorithm=best_single, queries=3, robustness=1.0, sense="max"):
    oracle = TopK(4, 2, sense=sense)
    return CETC(oracle, 100, algorithm=algorithm, queries=queries, robustness=robustness)


test_bad_parameters_are_refused = refused(
    (lambda: ETCG(GraphicMatroid(nx.cycle_graph(3)), 9), "all sets of k entries"),
    (lambda: ETCG(InfluenceMaximization(STARS, k=2, candidates=[0, 4, 7]), 9), "a set of k entries must be"),
    (lambda: asking(sense="min"), "rewards, not costs"),
    (lambda: ETCG(TopK(4, 2, sense="min"), 100), "and rewards"),
    (lambda: asking(algorithm=3), "algorithm must be a function"),
    (lambda: asking(algorithm=lambda value: [value([5])]).initial_state(), "entries"),
)
