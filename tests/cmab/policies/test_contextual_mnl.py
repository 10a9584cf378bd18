"""Choices by multinomial logit on features: against scipy, the papers' formulas, and the truth."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from refusals import refused
from scipy.linalg import eigvalsh
from scipy.optimize import minimize

from cmab import (
    ContextualMNLUCB,
    Feedback,
    LinearStatistics,
    Ticket,
    simulate,
)
from instances import LinearMultinomialLogit, MultinomialLogit
from oracles import Assortment, InfluenceMaximization, TopK

RNG = np.random.default_rng


def surprise(theta, offered, bought):
    """Minus the log-likelihood of one choice: the place of what was bought, None for nothing."""
    u = [0.0, *(x @ theta for x in offered)]
    return math.log(sum(math.exp(one) for one in u)) - u[0 if bought is None else 1 + bought]


def curvature(theta, offered):
    """The covariance of the features of what is bought, choice by choice."""
    v = [1.0, *(math.exp(x @ theta) for x in offered)]
    xs = [np.zeros(len(theta)), *offered]
    p = [one / sum(v) for one in v]
    mean = sum(chance * x for chance, x in zip(p, xs, strict=True))
    return sum(chance * np.outer(x - mean, x - mean) for chance, x in zip(p, xs, strict=True))


def least(loss, start):
    """Where scipy finds the minimum, without a slope."""
    return minimize(loss, start, method="BFGS", options={"gtol": 1e-9}).x


def customers(n, d, truth, rng, scale=1.0):
    """Yield what n customers were offered, one to three items, and what they bought."""
    for _ in range(n):
        offered = scale * rng.normal(size=(int(rng.integers(1, 4)), d))
        v = np.exp(offered @ truth)
        place = rng.choice(len(v) + 1, p=np.append(v, 1.0) / (1.0 + v.sum()))
        yield offered, None if place == len(v) else int(place)


def told(state, offered, bought):
    chosen = np.zeros(len(offered))
    if bought is not None:
        chosen[bought] = 1.0
    state.update_choice(offered, chosen)


def test_each_customer_moves_the_posterior_to_the_mode_of_the_next():
    """Mode and precision after each of 25 customers, both from the prior that the ones before have left."""
    rng, m, v = RNG(3), np.zeros(3), 0.7 * np.eye(3)
    state = LinearStatistics.empty(3, ridge=0.7)
    for offered, bought in customers(25, 3, np.array([1.0, -2.0, 0.5]), rng):
        told(state, offered, bought)

        def loss(theta, m=m, v=v, offered=offered, bought=bought):
            return 0.5 * (theta - m) @ v @ (theta - m) + surprise(theta, offered, bought)

        m = least(loss, m)
        v = v + curvature(m, offered)
        assert state.posterior().theta[0] == pytest.approx(m, abs=1e-5)
        assert state.precision[0] == pytest.approx(v, abs=1e-5)
    state.check(LinearStatistics.empty(3, ridge=0.7))
    assert state.rounds == 25


@pytest.mark.slow
def test_the_likelihood_of_all_rounds_is_met_nearly():
    """Against the maximum of the regularised likelihood of the whole history: a fifth of a standard error."""
    rng, truth = RNG(1), np.array([0.8, -1.0, -0.4])
    history, state = list(customers(250, 3, truth, rng)), LinearStatistics.empty(3, ridge=1.0)
    for offered, bought in history:
        told(state, offered, bought)

    def loss(theta):
        return 0.5 * theta @ theta + sum(surprise(theta, *one) for one in history)

    best = least(loss, truth)
    away, precision = state.posterior().theta[0] - best, state.precision[0]
    assert math.sqrt(away @ precision @ away) < 0.2 * math.sqrt(3)
    whole = np.eye(3) + sum(curvature(best, offered) for offered, _ in history)
    shares = eigvalsh(precision, whole)  # of the width in each direction, squared
    assert 0.8 < shares.min() <= shares.max() < 1.25


def learned(policy, n=60):
    """Return a state after some customers of a shop of the policy's features."""
    state, rng = policy.initial_state(), RNG(2)
    place = MultinomialLogit(np.linspace(0.1, 0.9, policy.oracle.n_arms), policy.oracle)
    for number in range(n):
        offered = policy.select(state, rng)
        policy.update(state, place.play(offered, rng), Ticket(number, offered), rng)
    return state


def test_bounds_are_those_of_the_paper():
    """In round 61: the utility, and alpha_t of its width, by the inverse of the precision."""
    features, shop = RNG(0).normal(size=(6, 2)) / 4, Assortment(np.ones(6), k=2)
    policy = ContextualMNLUCB(shop, features, radius_factor=0.4)
    state = learned(policy)
    inverse = np.linalg.inv(state.precision[0])
    theta = inverse @ state.moment[0]
    alpha = 0.4 * math.sqrt(2 * 2 * math.log(1 + 61 / 2) + 2 * math.log(61))
    wanted = [x @ theta + alpha * math.sqrt(x @ inverse @ x) for x in features]
    found = policy.utilities(state, features)
    assert found == pytest.approx(np.array(wanted))
    v = np.exp(wanted)
    assert policy.indices(state, features, RNG(0)) == pytest.approx(v / (1 + v))
    offers = [some for size in (1, 2) for some in combinations(range(6), size)]
    v = np.minimum(v, 1.0)  # what the shop takes for the largest
    best = max(v[list(some)].sum() / (1 + v[list(some)].sum()) for some in offers)
    chosen = policy.select(state, RNG(0))
    assert v[chosen].sum() / (1 + v[chosen].sum()) == pytest.approx(best)


def test_a_purchase_is_compared_with_all_that_was_offered():
    """The ticket says what; without one, with nothing alone. Who buys nothing shows all by himself."""
    features, shop = np.array([[1.0, 0.0], [0.6, 0.6], [0.0, 1.0]]), Assortment([1.0, 2.0, 3.0], k=3)
    policy, rng = ContextualMNLUCB(shop, features), RNG(0)

    def after(*rounds):
        state = policy.initial_state()
        for offered, feedback in rounds:
            if offered is None:
                policy.update(state, feedback)
            else:
                policy.update(state, feedback, Ticket(0, np.array(offered)), rng)
        return state.posterior().theta[0]

    def mode(offered, bought):
        rows = features[offered]
        return least(lambda theta: 0.5 * theta @ theta + surprise(theta, rows, bought), np.zeros(2))

    sale = Feedback([1], [1.0], reward=2.0)
    assert after(([0, 1, 2], sale)) == pytest.approx(mode([0, 1, 2], 1), abs=1e-5)
    assert after(([1, 2], sale)) == pytest.approx(mode([1, 2], 0), abs=1e-5)
    assert after((None, sale)) == pytest.approx(mode([1], 0), abs=1e-5)
    none = Feedback([2, 0], [0.0, 0.0], reward=0.0)
    assert after(([0, 2], none)) == pytest.approx(mode([0, 2], None), abs=1e-5)
    assert after((None, none)) == pytest.approx(mode([0, 2], None), abs=1e-5)
    assert after(([0, 2], Feedback([], []))).tolist() == [0.0, 0.0]  # nothing was seen


@pytest.mark.slow
def test_other_features_in_each_round():
    """What is learned of some items serves for others: late ones cost less than a third of the first."""
    place = LinearMultinomialLogit(
        [1.0, -1.5], Assortment(np.linspace(0.5, 1.0, 12), k=2, max_attraction=8.0)
    )
    policy = ContextualMNLUCB(place.oracle, dimension=2, radius_factor=0.3)
    run = simulate(policy, place, 200, checkpoints=[30, 170, 200], replications=3, rng=0)
    first, late = run.regret[:, 0], run.regret[:, 2] - run.regret[:, 1]
    assert late.sum() < first.sum() / 3


test_what_is_no_choice_on_features_is_refused = refused(
    (
        lambda: ContextualMNLUCB(InfluenceMaximization(nx.complete_graph(3, nx.DiGraph), k=1), dimension=2),
        "oracle must",
    ),
    (lambda: LinearMultinomialLogit([1.0], TopK(3, 1)), "oracle must be an Assortment"),
    (lambda: LinearMultinomialLogit([], Assortment([1.0], 1)), "coefficients must have at least one entry"),
    (
        lambda: LinearMultinomialLogit([0.1], Assortment([1.0], 1)),
        r"norm at most ln\(max_attraction\) = 0",
    ),
    (lambda: LinearMultinomialLogit([math.nan], Assortment([1.0], 1)), "coefficients must"),
)
