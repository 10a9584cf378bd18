"""ETCG: greedy sets from rewards alone."""

import math

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from cmab import ETCG, Context, Feedback, Session, simulate
from instances import IndependentCascade
from oracles import GraphicMatroid, InfluenceMaximization, TopK

RNG = np.random.default_rng
STARS = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])


def etcg(n, k, horizon, rewards):
    """ETCG as printed, in plain Python: yields the sets that are played; `rewards` says what each earns."""
    root = math.sqrt(2 * math.log(horizon))
    times = max(1, math.ceil((horizon * root / (n + 2 * n * k * root)) ** (2 / 3)))
    chosen, left = [], horizon
    for _ in range(k):
        means = {}
        rest = [entry for entry in range(n) if entry not in chosen]
        sums = dict.fromkeys(rest, 0.0)
        for _ in range(times):
            for entry in rest:
                yield sorted([*chosen, entry])
                sums[entry] += rewards(sorted([*chosen, entry]), horizon - left)
                left -= 1
        means = {entry: total / times for entry, total in sums.items()}
        chosen.append(max(rest, key=lambda entry: (means[entry], -entry)))
    while True:
        yield sorted(chosen)


@pytest.mark.parametrize(("n", "k", "horizon"), [(5, 3, 400), (4, 4, 50), (6, 1, 300), (1, 1, 5), (3, 2, 1)])
def test_etcg_is_that_of_the_paper(n, k, horizon):
    """The same sets in the same rounds, whatever was earned."""
    noise, weights = RNG(0).normal(size=horizon + 400), RNG(1).random(n)

    def rewards(chosen, number):
        return math.sqrt(weights[chosen].sum()) + 0.3 * noise[number]

    policy = ETCG(TopK(n, k), horizon)
    session, printed = Session(policy, rng=0), etcg(n, k, horizon, rewards)
    for number in range(horizon + 40):
        ticket = session.ask()
        assert ticket.super_arm.tolist() == next(printed)
        session.tell(Feedback([], [], reward=rewards(ticket.super_arm.tolist(), number)), ticket)
    assert session.state.rounds == horizon + 40


def test_it_finds_the_greedy_seeds_from_the_spread_alone():
    """Two of nine people, by rewards alone; then it stays with them."""
    world = IndependentCascade(STARS, 0.9, k=2, feedback="none")
    oracle = InfluenceMaximization(STARS, k=2)
    policy = ETCG(oracle, 600)
    run = simulate(policy, world, 600, replications=2, rng=0)
    for state in run.states:
        assert sorted(state.chosen.tolist()) == [0, 4]
        assert world.expected_reward(policy.select(state, RNG(0))) == pytest.approx(world.optimum)
    explored = policy.trials * (9 + 8)
    late = run.regret[:, -1] - run.regret[:, np.searchsorted(run.rounds, explored)]
    np.testing.assert_allclose(late, late[0])  # committed: the same in all runs


def test_rewards_of_any_scale():
    """Ten times the rewards, or a shift by minus five, lead to the same sets."""

    def played(scale, shift):
        session, rng = Session(ETCG(TopK(4, 2), 200), rng=0), RNG(2)
        for _ in range(150):
            ticket = session.ask()
            reward = scale * (float(len(ticket)) + ticket.super_arm.sum() + rng.normal()) + shift
            session.tell(Feedback([], [], reward=reward), ticket)
        return session.state.chosen.tolist()

    assert played(1.0, 0.0) == played(1e-200, 0.0) == played(1e90, 0.0) == played(10.0, -5.0) == [3, 2]


def test_late_rewards_of_a_step_that_is_over_are_left_out():
    """Twenty tickets are out at once: each reward counts for the set that earned it, or not at all."""
    session, worth, waiting = Session(ETCG(TopK(4, 2), 40), rng=0), np.array([1.0, 4.0, 2.0, 3.0]), []
    for _ in range(300):
        waiting.append(session.ask())
        if len(waiting) == 20:
            ticket = waiting.pop(0)
            session.tell(Feedback([], [], reward=float(worth[ticket.super_arm].sum())), ticket)
            state = session.state
            tried = np.flatnonzero(state.trials)
            wanted = worth[tried] + worth[state.chosen].sum()
            np.testing.assert_allclose(state.sums[tried] / state.trials[tried], wanted)
    assert session.state.chosen.tolist() == [1, 3]


def test_it_needs_a_reward():
    policy = ETCG(TopK(4, 2), 100)
    state = policy.initial_state()
    with pytest.raises(ValueError, match=r"feedback\.reward must be known"):
        policy.update(state, Feedback([0], [1.0]))
    with pytest.raises(ValueError, match="at most 1e"):
        policy.update(state, Feedback([], [], reward=1e200))
    assert state.rounds == 0 and not state.sums.any()
    with pytest.raises(ValueError, match="context must be None"):
        policy.select(state, RNG(0), Context(available=np.ones(4, bool)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"chosen": np.array([0, 4])}, "chosen"),
        ({"sums": np.full(4, math.nan)}, "sums must"),
        ({"trials": np.array([1, 1, 1, 1])}, "trials must"),
        ({"chosen": np.array([0]), "trials": np.array([1, 0, 0, 0])}, "trials must"),
        ({"trials": np.array([-1, 0, 0, 0])}, "trials must"),
        ({"rounds": -1}, "rounds must"),
    ],
)
def test_states_that_no_rewards_lead_to_are_refused(change, told):
    policy = ETCG(TopK(4, 2), 100)
    state = policy.initial_state()
    state.rounds = 2
    for name, value in change.items():
        setattr(state, name, value)
    with pytest.raises(ValueError, match=told):
        state.check(policy.initial_state())


test_what_has_no_sets_of_k_is_refused = refused(
    (lambda: ETCG(TopK(3, 2), 0), "horizon must"),
    (lambda: ETCG(TopK(3, 2), 10**400), "horizon must"),
    (lambda: ETCG(TopK(3, 2, sense="min"), 9), "oracle must have all sets of k"),
    (lambda: ETCG(GraphicMatroid(nx.cycle_graph(3)), 9), "oracle must have all sets of k"),
    (
        lambda: ETCG(InfluenceMaximization(STARS, k=2, candidates=[0, 4, 7]), 9),
        "a set of k entries must be",
    ),
)
