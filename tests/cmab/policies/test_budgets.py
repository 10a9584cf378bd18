"""Budgets of resources: never overspent, late, cancelled or resumed, and spent as the linear program says."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from cmab import CUCB, Campaign, Feedback, PrimalDualCUCB, Session, Ticket, simulate
from cmab.bounds import best_mixture
from cmab.testing import check_policy
from instances import BernoulliArms, BetaArms, ResourceSemiBandit
from oracles import TopK

ORACLE = TopK(4, k=2)
USES = [BernoulliArms([0.9, 0.2, 0.6, 0.4]), BetaArms([1, 2, 3, 1], [3, 2, 1, 1])]
PLACE = ResourceSemiBandit(BernoulliArms([0.9, 0.3, 0.7, 0.5]), ORACLE, uses=USES, allowance=[0.4, 0.6])


def learner(rounds=100, **settings):
    return PrimalDualCUCB(ORACLE, [0.4 * rounds, 0.6 * rounds], horizon=rounds, **settings)


# Never overspent --------------------------------------------------------------------------------------------


def used_up(rng):
    """Return what a run on a random instance used up, its budgets, and what the policy said was left."""
    m = int(rng.integers(1, 5))
    k, resources, horizon = int(rng.integers(1, m + 1)), int(rng.integers(1, 3)), int(rng.integers(1, 12))
    oracle = TopK(m, k)
    budgets = k + rng.uniform(0.0, 4.0, resources) * (rng.random(resources) < 0.8)
    budgets = np.floor(budgets) if rng.random() < 0.5 else budgets
    rule = PrimalDualCUCB(
        oracle,
        budgets,
        horizon=horizon,
        radius_factor=rng.choice([0.0, 0.3, 1.0]),
        rate=rng.choice([0.0, 1.0]),
    )
    rewards, chances = rng.random(m), rng.random((m, resources)) ** rng.choice([0.1, 1.0])
    is_whole, is_late = rng.random() < 0.5, rng.random() < 0.3
    state, spent, waiting = rule.initial_state(), np.zeros(resources), []
    for t in range(2 * horizon):
        if rule.is_done(state) and not waiting:
            break
        arms = rule.select(state, rng)
        ticket = Ticket(t, arms)
        rule.reserve(state, ticket)
        shape = (len(arms), resources)
        costs = (rng.random(shape) < chances[arms]) * (1.0 if is_whole else rng.random(shape))
        spent += costs.sum(axis=0)
        told = len(arms) if rng.random() < 0.8 else 0  # or nothing is known of the round
        outcomes = (rng.random(told) < rewards[arms[:told]]).astype(float)
        waiting.append((ticket, Feedback(arms[:told], outcomes, costs=costs[:told])))
        while waiting and (not is_late or rng.random() < 0.4):
            ticket, seen = waiting.pop(int(rng.integers(len(waiting))))
            rule.update(state, seen, ticket, rng)
    return spent, budgets, rule.budgets_left(state)


def test_budgets_are_never_overspent_in_random_runs():
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(200):
        spent, budgets, left = used_up(rng)
        assert (spent <= budgets + 1e-9).all()
        # What is said to be left is there, whatever was not told.
        assert (left <= budgets - spent + 1e-9).all() and (left >= -1e-9).all()
        most = max(most, float((spent / budgets).max()))
    assert most > 0.95  # budgets were at stake


def test_a_cancelled_ticket_counts_as_used_unless_told_otherwise():
    session = Session(PrimalDualCUCB(ORACLE, [9.0], horizon=20), rng=0)
    tickets = [session.ask() for _ in range(3)]
    session.cancel(tickets[0])
    assert session.policy.budgets_left(session.state).tolist() == [3.0]
    session.tell(Feedback([], [], used=[0.0]), tickets[1])
    assert session.policy.budgets_left(session.state).tolist() == [5.0]
    session.tell(Feedback([0], [1.0], costs=[[0.25]]), tickets[2])
    left = session.policy.budgets_left(session.state)
    assert left.tolist() == [5.75]  # arm 1 was not told, and counts as 1
    assert not session.is_done
    while not session.is_done:
        session.ask()
    assert session.policy.budgets_left(session.state).tolist() == [1.75] and list(session.ask()) == []


# Resuming ---------------------------------------------------------------------------------------------------


def test_budgets_that_are_overspent_already_are_refused(tmp_path):
    def rule(budget):
        return PrimalDualCUCB(TopK(3, 2), [budget], horizon=50)

    campaign = Campaign(rule(20.0), tmp_path / "journal.db", rng=0)
    for _ in range(3):
        request = campaign.ask()
        campaign.tell(Feedback(request.ticket, [1.0, 1.0], costs=[[1.0], [1.0]]), request)
    with pytest.raises(ValueError, match=r"budgets must cover the amounts .* that leave .*-1\.0\]"):
        Campaign(rule(5.0), tmp_path / "journal.db", accept_changes=True)
    # The journal is as it was, and a budget that bears it goes on.
    same = Campaign(rule(20.0), tmp_path / "journal.db")
    assert same.policy.budgets_left(same.state).tolist() == [14.0]
    later = Campaign(rule(6.0), tmp_path / "journal.db", accept_changes=True)
    assert later.policy.budgets_left(later.state).tolist() == [0.0] and later.is_done


# What budgets allow -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_mixture_is_that_of_the_enumerated_program(seed):
    rng = np.random.default_rng(seed)
    m, k, resources = 6, 1 + seed % 3, 1 + seed % 2
    means, costs, allowance = rng.random(m), rng.random((resources, m)), rng.uniform(0.1, 1.0, resources)
    family = [list(arm) for arm in itertools.combinations(range(m), k)]
    rows = [[use[arm].sum() for arm in family] for use in costs] + [[1.0] * len(family)]
    best = linprog([-means[arm].sum() for arm in family], A_ub=rows, b_ub=[*allowance, 1.0])
    found = best_mixture(TopK(m, k), means, costs, allowance)
    assert found.value == pytest.approx(-best.fun)
    assert len(found.super_arms) <= resources + 1 and found.shares.sum() <= 1.0 + 1e-9
    worth = sum(s * means[arm].sum() for s, arm in zip(found.shares, found.super_arms, strict=True))
    uses = sum(s * costs[:, arm].sum(axis=1) for s, arm in zip(found.shares, found.super_arms, strict=True))
    assert worth == pytest.approx(found.value) and (uses <= allowance + 1e-9).all()
    # The dual: what the allowances are worth, and the best super arm beyond its price.
    beyond = max(0.0, max((means - found.prices @ costs)[arm].sum() for arm in family))
    assert found.prices @ allowance + beyond == pytest.approx(found.value)


def test_the_mixture_refuses_what_it_cannot_be_of():
    with pytest.raises(ValueError, match="oracle must be linear, exact and maximise rewards"):
        best_mixture(TopK(3, k=1, sense="min"), np.ones(3), np.ones((1, 3)), [1.0])
    with pytest.raises(ValueError, match=r"costs must have shape \(1, 3\)"):
        best_mixture(TopK(3, k=1), np.ones(3), np.ones(3), [1.0])
    with pytest.raises(ValueError, match="costs"):
        best_mixture(TopK(3, k=1), np.ones(3), -np.ones((1, 3)), [1.0])
    assert best_mixture(TopK(3, k=1), -np.ones(3), np.ones((1, 3)), [1.0])[0] == 0.0


@pytest.mark.slow
def test_the_mean_reward_comes_near_what_budgets_allow():
    """CUCB that stops in time does not: 0.58 of it, however long it plays."""
    means, oracle, allowance = np.linspace(0.1, 1.0, 10), TopK(10, k=3), np.array([0.6, 0.9])
    uses = [BernoulliArms(means**2), BernoulliArms(np.roll(means, 3) * means)]
    place = ResourceSemiBandit(BernoulliArms(means), oracle, uses=uses, allowance=allowance)

    def share(rounds, **settings):
        rule = PrimalDualCUCB(oracle, allowance * rounds, horizon=rounds, radius_factor=0.3, **settings)
        result = simulate(rule, place, rounds, checkpoints=[rounds], replications=2, rng=0)
        return result.expected_rewards.mean() / rounds / place.optimum

    shares = [share(300), share(3000)]
    assert share(300, rate=0.0) < 0.8 < shares[0] < shares[1] - 0.01, shares
    assert 0.95 < shares[1] < 1.005, shares


def test_with_budgets_that_never_bind_it_is_cucb():
    rule = PrimalDualCUCB(ORACLE, [800.0, 800.0], horizon=400)
    free, plain = (simulate(each, PLACE, 400, rng=0) for each in (rule, CUCB(ORACLE)))
    assert np.array_equal(free.rewards, plain.rewards)


# What is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budgets", [[], [0.0], [1.9], [-3.0], [np.nan], [np.inf], [[5.0]], 5.0, None, "5", [5.0, 1.0]]
)
def test_budgets_that_are_none(budgets):
    with pytest.raises(ValueError, match="budgets"):
        PrimalDualCUCB(ORACLE, budgets, horizon=10)


def test_feedback_that_does_not_fit_the_budgets_changes_nothing():
    session = Session(PrimalDualCUCB(ORACLE, [9.0], horizon=20), rng=0)
    ticket = session.ask()
    for told in ({"costs": [[1.5], [0.0]]}, {"costs": [[0.5, 0.5]] * 2}, {"used": [1.0, 1.0]}):
        with pytest.raises(ValueError, match="feedback"):
            session.tell(Feedback(ticket, [1.0, 0.0], **told), ticket)
    assert session.policy.budgets_left(session.state).tolist() == [7.0] and session.pending == (0,)


# Beside other things ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_common_checks_pass_where_budgets_bind():
    check_policy(learner(60), PLACE)
