"""Blends of a model with ridge regression: the line, the share, and what they do to rewards."""

import numpy as np
import pytest
from models import Coin, Doubtful, LeastSquares, RunningMean
from scipy.optimize import minimize_scalar

from cmab import Context, Feedback, ModelPolicy, Session
from cmab.models.background import fit_all
from cmab.models.blending import Blend, blended, ridge
from oracles import TopK


class Flat:
    """Predicts the mean, whatever the features are."""

    def fit(self, X, y, sample_weight=None):
        self.mean = np.average(y, weights=sample_weight)

    def predict(self, X):
        return np.full(len(X), self.mean)


class Corner(Flat):
    """Predicts one mean inside a box and another one outside, which no line can."""

    def fit(self, X, y, sample_weight=None):
        self.means = [y[box].mean() if box.any() else y.mean() for box in (self.box(X), ~self.box(X))]

    def box(self, X):
        return (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)

    def predict(self, X):
        return np.where(self.box(X), *self.means)


def data(truth, n=400, d=4, members=5, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.random((n, d))
    return rows, truth(rows) + 0.1 * rng.standard_normal(n), rng.poisson(1.0, (n, members))


def tasks(estimator, truth, **others):
    rows, outcomes, weights = data(truth, **others)
    return [(estimator, rows, outcomes, w, j) for j, w in enumerate(weights.T)]


@pytest.mark.parametrize("shape", [(30, 4), (5, 12), (40, 1), (1, 3)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_line_minimises_the_penalised_squares(shape, scale):
    """Stationary: the gradient of the penalised squares in standardised features is zero."""
    rng = np.random.default_rng(shape)
    rows, outcomes = scale * rng.random(shape), rng.random(shape[0])
    weights = rng.integers(0, 3, shape[0]) + 1
    line = ridge(rows, outcomes, weights)
    copies = np.repeat(rows, weights, axis=0)
    spread = copies.std(axis=0)
    rest = np.repeat(outcomes, weights) - line.predict(copies)
    assert rest.sum() == pytest.approx(0.0, abs=1e-9 * len(rest))
    gradient = rest @ (copies - copies.mean(axis=0)) - line.slope * spread**2
    assert np.allclose(gradient, 0.0, atol=1e-9 * scale * len(rest))


def test_constant_features_and_no_rows_give_a_constant_line():
    rows = np.full((6, 2), 1e9 / 3)
    line = ridge(rows, np.arange(6.0), np.ones(6, np.int64))
    assert np.array_equal(line.predict(rows), np.full(6, 2.5))
    assert ridge(rows, np.arange(6.0), np.zeros(6, np.int64)).predict(rows[:1]) == 2.5


@pytest.mark.parametrize("truth", [lambda x: x[:, 0], lambda x: ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) / 2])
@pytest.mark.parametrize("estimator", [Flat(), Corner(), LeastSquares()])
def test_the_share_has_the_least_error_on_unused_rows(truth, estimator):
    given = tasks(estimator, truth)
    models = fit_all(given, None)
    found = blended(given, models)
    share = found[0].share if isinstance(found[0], Blend) else 1.0

    def error(a):
        total = 0.0
        for (_, rows, outcomes, weights, _), model in zip(given, models, strict=True):
            out, line = weights == 0, ridge(rows, outcomes, weights)
            mix = a * model.predict(rows[out]) + (1 - a) * line.predict(rows[out])
            total += ((outcomes[out] - mix) ** 2).sum()
        return total

    best = minimize_scalar(error, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).x
    assert error(share) <= error(best) * (1 + 1e-9)


def test_the_better_of_the_two_has_the_weight():
    def share(estimator, truth):
        given = tasks(estimator, truth, n=2000)
        first = blended(given, fit_all(given, None))[0]
        return first.share if isinstance(first, Blend) else 1.0

    assert share(Flat(), lambda x: x[:, 0]) == pytest.approx(0.0, abs=0.05)
    assert share(Corner(), lambda x: ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) / 2) == pytest.approx(1.0, abs=0.05)


def test_models_are_returned_as_they_are_without_unused_rows_or_with_too_many_features():
    rows, outcomes, _ = data(lambda x: x[:, 0], n=50)
    given = [(Flat(), rows, outcomes, np.ones(50, np.int64), 0)]
    models = fit_all(given, None)
    assert blended(given, models) is models
    wide = [(Flat(), np.zeros((2001, 2001)), np.zeros(2001), np.zeros(2001, np.int64), 0)]
    assert blended(wide, models) is models


def rewards(policy, rounds=200, seed=0):
    session, rng, total = Session(policy, rng=seed), np.random.default_rng((3, seed)), 0.0
    for _ in range(rounds):
        rows = rng.random((20, 4))
        ticket = session.ask(Context(features=rows))
        means = rows[ticket.super_arm, 0]
        session.tell(Feedback(ticket, (rng.random(len(means)) < means).astype(float)), ticket)
        total += means.mean()
    return session, total / rounds


def test_a_poor_model_earns_as_much_as_a_line():
    """Where the truth is linear, even a model that learns nothing gets most of the possible reward.

    The three best of 20 uniform means have the mean 0.905 on average. Without the blend, the choices are
    random: 0.5, with a standard error below 0.012 over 200 rounds.
    """
    oracle = TopK(20, k=3)
    assert rewards(ModelPolicy(oracle, Flat()))[1] > 0.8
    assert rewards(ModelPolicy(oracle, Flat(), blend=False))[1] < 0.6


@pytest.mark.parametrize("estimator", [LeastSquares(), RunningMean(), Coin(), Doubtful()])
def test_a_loaded_session_blends_as_before(tmp_path, estimator):
    policy = ModelPolicy(TopK(20, k=3), estimator)
    session, _ = rewards(policy, rounds=40)
    session.save(tmp_path / "session.npz")
    loaded = Session.load(tmp_path / "session.npz", policy)
    context = Context(features=np.random.default_rng(5).random((20, 4)))
    assert loaded.ask(context).super_arm.tolist() == session.ask(context).super_arm.tolist()


class Online(Flat):
    """Learns each round, and forgets the rounds before."""

    def partial_fit(self, X, y):
        self.mean = y.mean()


def test_models_that_learn_each_round_are_not_blended():
    """Their line would be that of the last fit, and the share would ignore what they learned since."""
    session, _ = rewards(ModelPolicy(TopK(20, k=3), Online(), growth=100.0), rounds=60)
    policy = session.policy
    assert not any(isinstance(m, Blend) for m in session.state.models(policy.estimator, policy._added))
