"""Learners whose means are linear in features: against CUCB, Gaussian CTS and regression written out."""

import numpy as np
import pytest
from refusals import refused
from scipy.optimize import minimize
from scipy.special import expit

from cmab import (
    C2UCB,
    CUCB,
    CombLinTS,
    Context,
    Feedback,
    GaussianCTS,
    LinearStatistics,
    LogisticTS,
    LogRadius,
    Session,
    simulate,
)
from instances import BernoulliArms, LinearSemiBandit, SemiBandit
from oracles import TopK

MEANS = np.array([0.8, 0.3, 0.7, 0.5, 0.2, 0.6])
ORACLE = TopK(6, k=2)
ONE_HOT = np.eye(6)


# The regression ----------------------------------------------------------------------------------------


def learned(rng, n_groups, rounds=30, d=3):
    """Return statistics of random outcomes, and all that they were told."""
    stats, told = LinearStatistics.empty(d, n_groups, ridge=0.7), []
    for _ in range(rounds):
        n = int(rng.integers(1, 5))
        rows, outcomes, weights = rng.normal(size=(n, d)), rng.normal(size=n), rng.random(n)
        group = rng.integers(n_groups, size=n)
        stats.update(rows, outcomes, None if n_groups == 1 else group, weights)
        told += zip(rows, outcomes, weights, group if n_groups > 1 else [0] * n, strict=True)
    return stats, told


@pytest.mark.parametrize("n_groups", [1, 3])
def test_estimates_and_widths_are_those_of_least_squares(n_groups):
    """The ridge as further rows of a least-squares problem, solved by QR; widths by the inverse."""
    rng = np.random.default_rng(n_groups)
    stats, told = learned(rng, n_groups)
    posterior = stats.posterior()
    assert stats.rounds == 30
    assert repr(stats) == f"LinearStatistics(dimension=3, groups={n_groups}, rounds=30)"
    stats.check(LinearStatistics.empty(3, n_groups, ridge=0.7))
    x, group = rng.normal(size=(7, 3)), rng.integers(n_groups, size=7)
    of = None if n_groups == 1 else group
    for number in range(n_groups):
        rows = [np.sqrt(w) * row for row, _, w, g in told if g == number]
        right = [np.sqrt(w) * y for _, y, w, g in told if g == number]
        design = np.vstack([*rows, np.sqrt(0.7) * np.eye(3)])
        theta = np.linalg.lstsq(design, np.append(right, np.zeros(3)), rcond=None)[0]
        assert posterior.theta[number] == pytest.approx(theta)
        inverse = np.linalg.inv(design.T @ design)
        own = group == number
        assert posterior.means(x, of)[own] == pytest.approx(x[own] @ theta)
        widths = np.sqrt([row @ inverse @ row for row in x[own]])
        assert posterior.widths(x, of)[own] == pytest.approx(widths)


def test_draws_have_the_posterior_covariance_and_the_seed_says_which():
    stats, _ = learned(np.random.default_rng(5), 2)
    posterior = stats.posterior()
    assert np.einsum("gij,gik->gjk", posterior.roots, posterior.roots) == pytest.approx(
        np.linalg.inv(stats.precision)
    )
    # By definition: L^T (theta - mean) = scale z, L being the one lower factor with a positive diagonal.
    drawn = posterior.draw(0.5, np.random.default_rng(9))
    factors = np.linalg.cholesky(stats.precision)
    z = np.einsum("gji,gj->gi", factors, drawn - posterior.theta) / 0.5
    assert z == pytest.approx(np.random.default_rng(9).standard_normal((2, 3)))


@pytest.mark.parametrize("norm", [1.0, 1e8, 1e99])
@pytest.mark.parametrize("rule", [C2UCB, CombLinTS, LogisticTS])
def test_a_ridge_lost_to_rounding_ends_no_campaign(rule, norm):
    """Features that are multiples of one another, and equal columns, of whatever scale."""
    rng = np.random.default_rng(0)
    for ridge in (1e-300, 1.0):
        session = Session(rule(TopK(5, k=2), dimension=3, norm=norm, ridge=ridge), rng=0)
        rows = norm / 2 * np.repeat(rng.random((5, 1)), 3, axis=1)
        for _ in range(40):
            ticket = session.ask(Context(features=rows * rng.random((5, 1))))
            session.tell(Feedback(ticket, rng.integers(0, 2, 2).astype(float)))
        slopes = session.state.posterior().means(rows) / (rows[:, 0] / norm)
        assert slopes == pytest.approx(np.full(5, slopes.mean()), rel=1e-3)


# One-hot features --------------------------------------------------------------------------------------


def play(policies, rounds, seed=0):
    """Return whether all policies chose the same in each round, each told of the same outcomes."""
    sessions = [Session(policy, rng=seed) for policy in policies]
    place, coins = SemiBandit(BernoulliArms(MEANS), policies[0].oracle), np.random.default_rng(seed)
    for _ in range(rounds):
        tickets = [session.ask() for session in sessions]
        chosen = {tuple(ticket.super_arm.tolist()) for ticket in tickets}
        assert len(chosen) == 1
        feedback = place.play(tickets[0].super_arm, coins)
        for session, ticket in zip(sessions, tickets, strict=True):
            session.tell(feedback, ticket)
    return sessions


@pytest.mark.parametrize("sense", ["max", "min"])
def test_one_hot_features_choose_as_cucb(sense):
    oracle = TopK(6, k=2, sense=sense)
    tiny = C2UCB(oracle, ONE_HOT, radius=LogRadius(), ridge=1e-12)
    play([CUCB(oracle), tiny], 250)
    prior = CUCB(oracle, prior_mean=0.0, prior_weight=2.0, radius=LogRadius.tight())
    play([prior, C2UCB(oracle, ONE_HOT, radius=LogRadius.tight(), ridge=2.0)], 150)
    # Arms as groups with a column of ones: the same once more.
    alone = {"groups": np.arange(6), "radius": LogRadius(), "ridge": 1e-12}
    play([CUCB(oracle), C2UCB(oracle, np.ones((6, 1)), **alone)], 100)


def test_one_hot_features_draw_as_gaussian_cts():
    """From one outcome of each arm on: an arm never seen comes first there, and has the prior here."""
    linear = CombLinTS(ORACLE, ONE_HOT, ridge=1e-12, deviation_factor=np.sqrt(1.1))
    gaussian = GaussianCTS(ORACLE, "independent")
    states = [policy.initial_state() for policy in (linear, gaussian)]
    coins, place = np.random.default_rng(1), SemiBandit(BernoulliArms(MEANS), ORACLE)
    for policy, state in zip((linear, gaussian), states, strict=True):
        policy.update(state, Feedback(np.arange(6), np.full(6, 0.5)))
    for number in range(200):
        one, other = (
            policy.select(state, np.random.default_rng(number))
            for policy, state in zip((linear, gaussian), states, strict=True)
        )
        assert one.tolist() == other.tolist()
        feedback = place.play(one, coins)
        linear.update(states[0], feedback)
        gaussian.update(states[1], feedback)


# The theorems' constants -------------------------------------------------------------------------------


def test_radii_are_those_of_the_theorems():
    """Written out once more, for t = 5, K = 2, d = 6."""
    policy = C2UCB(ORACLE, ONE_HOT, ridge=2.0, norm=3.0, bound=1.5, delta=0.2)
    alpha = 0.5 * np.sqrt(6 * np.log((1 + 5 * 2 * 9 / 2) / 0.2)) + np.sqrt(2) * 1.5
    assert policy.proven_radius(5) == pytest.approx(alpha)
    assert C2UCB(ORACLE, ONE_HOT, sigma=2.0, support=None).scale == 2.0


def test_bounds_hold_in_all_rounds():
    """Indices of C2UCB lie above the means, which fails with probability at most 1e-6."""
    environment = LinearSemiBandit(np.full(4, 0.5), TopK(15, k=3))
    policy = C2UCB(environment.oracle, dimension=4, delta=1e-6)
    state, rng = policy.initial_state(), np.random.default_rng(2)
    for t in range(1, 200):
        today = environment.in_round(t, rng)
        indices = policy.indices(state, today.context.features, rng)
        assert (indices >= today.means).all()
        chosen = policy.select(state, rng, today.context)
        shown = today.play(chosen, rng)
        state.update(today.context.features[shown.arms], shown.outcomes)


@pytest.mark.slow
def test_regret_grows_with_the_dimension_and_not_with_the_arms():
    """Means of 4 runs, with standard errors of a tenth: four times as much of either."""
    for make, parameters in ((C2UCB, {"radius": 0.5}), (CombLinTS, {})):
        regret = {}
        for d, m in ((3, 20), (12, 20), (12, 80)):
            environment = LinearSemiBandit(np.full(d, d**-0.5), TopK(m, k=3))
            policy = make(environment.oracle, dimension=d, **parameters)
            runs = simulate(policy, environment, 500, replications=4, rng=0)
            regret[d, m] = runs.regret[:, -1].mean()
        assert regret[12, 20] > 1.7 * regret[3, 20]
        assert regret[12, 80] < 1.5 * regret[12, 20]


# Features of rounds ------------------------------------------------------------------------------------


def test_features_of_a_ticket_are_those_of_its_round():
    """Told in another order, the regression is the same."""
    rng = np.random.default_rng(0)
    contexts = [Context(features=rng.random((6, 2)) / 2) for _ in range(5)]
    outcomes = rng.random((5, 2))
    states = []
    for order in (range(5), (3, 0, 4, 1, 2)):
        session = Session(C2UCB(ORACLE, dimension=2, radius=0.1), rng=1)
        tickets = [session.ask(context) for context in contexts]
        for number in order:
            session.tell(Feedback(tickets[number], outcomes[number]), tickets[number])
        states.append(session.state)
    assert states[0].precision == pytest.approx(states[1].precision)
    assert states[0].moment == pytest.approx(states[1].moment)


test_what_is_refused_when_they_are_made = refused(
    ({}, "dimension must be given if features are not"),
    ({"dimension": 10**7}, r"dimension must be at most 16384 with 1 group\(s\), .* got 10000000"),
    ({"dimension": 10**4, "groups": range(6)}, r"dimension must be at most 6688 with 6 group\(s\)"),
    ({"features": np.ones((5, 2))}, r"features must have shape \(6, d\), got \(5, 2\)"),
    ({"features": ONE_HOT, "dimension": 2}, r"features must have shape \(6, 2\), got \(6, 6\)"),
    ({"features": ONE_HOT * 7}, "got 7 of arm 0: divide all by it, or set norm=7"),
    ({"dimension": 2, "groups": [0, 1, 3, 0, 0, 0]}, "groups must be one integer for each of 6 arms"),
    ({"dimension": 2, "support": None}, "sigma must be given if support is None"),
    by=lambda arguments: C2UCB(ORACLE, **arguments),
)


# Logistic Thompson sampling, against scipy and the algorithm of Chapelle and Li --------------------------


class Reference:
    """Algorithm 3 of Chapelle and Li (2011) with y in {-1, 1}, and the whole matrix."""

    def __init__(self, d, ridge, prior):
        self.m, self.q = np.array(prior, float), ridge * np.eye(d)

    def update(self, x, outcomes):
        y = 2.0 * outcomes - 1.0

        def loss(w):
            return 0.5 * (w - self.m) @ self.q @ (w - self.m) + np.log1p(np.exp(-y * (x @ w))).sum()

        def slope(w):
            return self.q @ (w - self.m) - (y / (1.0 + np.exp(y * (x @ w)))) @ x

        self.m = minimize(loss, self.m, jac=slope, method="BFGS", options={"gtol": 1e-10}).x
        p = 1.0 / (1.0 + np.exp(-x @ self.m))
        self.q = self.q + np.einsum("j,ja,jb->ab", p * (1 - p), x, x)


def test_posteriors_are_those_of_chapelle_and_li():
    """Batches of several arms in two groups, told one after the other."""
    rng = np.random.default_rng(3)
    oracle, group, prior = TopK(8, k=2), np.arange(8) % 2, [0.5, -1.0, -2.0]
    policy = LogisticTS(oracle, dimension=3, groups=group, ridge=0.7, prior_mean=prior, norm=9)
    state = policy.initial_state()
    references = [Reference(3, 0.7, prior) for _ in range(2)]
    for _ in range(25):
        features, arms = rng.normal(size=(8, 3)), rng.permutation(8)[:2]
        outcomes = (rng.random(2) < expit(features[arms] @ [1.0, -2.0, 0.5])).astype(float)
        policy._regress(state, features[arms], outcomes, group[arms])
        for number in set(group[arms]):
            own = arms[group[arms] == number]
            references[number].update(features[own], outcomes[group[arms] == number])
    posterior = state.posterior()
    for number, reference in enumerate(references):
        assert posterior.theta[number] == pytest.approx(reference.m, abs=1e-6)
        assert state.precision[number] == pytest.approx(reference.q, abs=1e-6)
    state.check(policy.initial_state())


def test_indices_are_means_under_one_draw():
    """The same standard normal numbers through the Cholesky factor of the covariance's inverse."""
    oracle = TopK(5, k=2)
    features = np.random.default_rng(0).normal(size=(5, 2)) / 4
    policy = LogisticTS(oracle, features, prior_mean=[1.0, -2.0], ridge=4.0, deviation_factor=0.5)
    indices = policy.indices(policy.initial_state(), features, np.random.default_rng(7))
    z = np.random.default_rng(7).standard_normal(2)
    assert indices == pytest.approx(expit(features @ ([1.0, -2.0] + 0.5 * z / 2.0)))
