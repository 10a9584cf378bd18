"""Policies with models of the user: fits, explorations, blends, memory, saving and faults of estimators."""

import threading

import numpy as np
import pytest
from models import Coin, Constant, LeastSquares
from refusals import refused
from scipy.optimize import minimize_scalar

from cmab import Context, Feedback, ModelPolicy, Session
from cmab.policies.estimators import Blend, blended, fit, predict, ridge
from oracles import TopK

ORACLE = TopK(6, k=2)
RNG = np.random.default_rng


def played(policy, rounds, seed=0, session=None):
    """Play rounds with fresh features and outcomes 0 or 1, and return the session and the mean rewards."""
    session = Session(policy, rng=seed) if session is None else session
    rng, rewards = RNG((1, seed)), []
    for _ in range(rounds):
        rows = rng.random((policy.oracle.n_arms, 3))
        ticket = session.ask(Context(features=rows))
        chances = rows[ticket.super_arm, 0]
        session.tell(Feedback(ticket, (rng.random(len(chances)) < chances).astype(float)), ticket)
        rewards.append(chances.mean())
    return session, np.array(rewards)


def learned(policy, rounds, means, seed=0):
    """Play rounds with the policy's own features, and return the session and the mean of the last rounds."""
    session, rng, rewards = Session(policy, rng=seed), RNG((1, seed)), []
    for _ in range(rounds):
        ticket = session.ask()
        session.tell(Feedback(ticket, (rng.random(len(ticket)) < means[ticket.super_arm]).astype(float)))
        rewards.append(means[ticket.super_arm].mean())
    return session, float(np.mean(rewards[rounds // 2 :]))


FEATURES = RNG(0).random((8, 3))
#: Between 0.2 and 0.9; the mean of two random arms is 0.5, the best two have more than 0.8.
MEANS = np.linspace(0.2, 0.9, 8)[np.argsort(np.argsort(FEATURES[:, 0]))]


@pytest.mark.parametrize("exploration", ["mixture", "epsilon", "none"])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_each_exploration_finds_good_arms(exploration, sense):
    """The mean of 60 random pairs has a deviation of 0.021 around 0.55. The limits are 4.8 of them away."""
    means = MEANS if sense == "max" else 1.1 - MEANS
    options = {"exploration": exploration, "members": 3}
    policy = ModelPolicy(TopK(8, 2, sense=sense), LeastSquares(), FEATURES, **options)
    _, mean = learned(policy, 120, means)
    assert mean > 0.65 if sense == "max" else mean < 0.45


@pytest.mark.parametrize("estimator", [LeastSquares(), Constant(), Coin()])
def test_a_saved_session_continues_exactly(estimator, tmp_path):
    policy = ModelPolicy(ORACLE, estimator, members=3)
    session, _ = played(policy, 33)
    session.save(tmp_path / "session")
    loaded = Session.load(tmp_path / "session", policy)
    context = Context(features=RNG(3).random((6, 3)))
    for _ in range(20):
        tickets = session.ask(context), loaded.ask(context)
        assert np.array_equal(*tickets)
        for one, ticket in zip((session, loaded), tickets, strict=True):
            one.tell(Feedback(ticket, [1.0, 0.0]), ticket)


# Blends -------------------------------------------------------------------------------------------------


class Corner(Constant):
    """Predicts one mean inside a box and another one outside, which no line can."""

    def fit(self, X, y):
        self.means = [y[box].mean() if box.any() else y.mean() for box in (self.box(X), ~self.box(X))]

    def box(self, X):
        return (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)

    def predict(self, X):
        return np.where(self.box(X), *self.means)


@pytest.mark.parametrize("shape", [(30, 4), (5, 12), (1, 3)])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_line_minimises_the_penalised_squares(shape, scale):
    """Stationary: the gradient of the penalised squares in standardised features is zero."""
    rng = RNG(shape)
    rows, outcomes = scale * rng.random(shape), rng.random(shape[0])
    weights = rng.integers(0, 3, shape[0]) + 1
    line = ridge(rows, outcomes, weights)
    copies = np.repeat(rows, weights, axis=0)
    rest = np.repeat(outcomes, weights) - line.predict(copies)
    assert rest.sum() == pytest.approx(0.0, abs=1e-9 * len(rest))
    gradient = rest @ (copies - copies.mean(axis=0)) - line.slope * copies.std(axis=0) ** 2
    assert np.allclose(gradient, 0.0, atol=1e-9 * scale * len(rest))


@pytest.mark.parametrize(("weights", "mean"), [([1, 0, 2, 1], 0.5), ([0, 0, 0, 0], np.nan)])
def test_equal_outcomes_need_no_estimator(weights, mean):
    """Many refuse labels of one kind; rows without weight do not count."""
    model = fit(None, np.eye(4), np.array([0.5, 1.0, 0.5, 0.5]), np.array(weights), 0)
    np.testing.assert_array_equal(predict(model, np.eye(4)), [mean] * 4)


@pytest.mark.parametrize("truth", [lambda x: x[:, 0], lambda x: ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) / 2])
@pytest.mark.parametrize("estimator", [Constant(), Corner(), LeastSquares()])
def test_the_share_has_the_least_error_on_unused_rows(truth, estimator):
    rng = RNG(0)
    rows = rng.random((400, 4))
    outcomes = truth(rows) + 0.1 * rng.standard_normal(400)
    tasks = [(estimator, rows, outcomes, weights, 0) for weights in rng.poisson(1.0, (5, 400))]
    models = [fit(*task) for task in tasks]
    found = blended(tasks, models)
    share = found[0].share if isinstance(found[0], Blend) else 1.0

    def error(a):
        total = 0.0
        for (*_, weights, _), model in zip(tasks, models, strict=True):
            out, line = weights == 0, ridge(rows, outcomes, weights)
            mix = a * model.predict(rows[out]) + (1 - a) * line.predict(rows[out])
            total += ((outcomes[out] - mix) ** 2).sum()
        return total

    best = minimize_scalar(error, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).x
    assert error(share) <= error(best) * (1 + 1e-9)


def test_a_poor_model_earns_as_much_as_a_line():
    """Where the truth is linear, even a model that learns nothing gets most of the possible reward.

    The three best of 20 uniform means have the mean 0.86 on average. Without the blend, the choices
    would be random: 0.5, with a standard error below 0.012 over 200 rounds.
    """
    oracle = TopK(20, k=3)
    assert played(ModelPolicy(oracle, Constant()), 200)[1].mean() > 0.75


# Faults -------------------------------------------------------------------------------------------------


class Broken(LeastSquares):
    """Least squares that fails in a way of its own after 60 rows."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def fit(self, X, y, sample_weight=None):
        if len(X) > 60 and self.fault == "raise":
            raise RuntimeError("singular")
        self.is_broken = len(X) > 60
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        means = super().predict(X)
        faults = {
            "nan": means * np.nan,
            "shape": means[:1, None, None],
            "text": "much",
            "ragged": [[1.0], [2, 3]],
        }
        return faults[self.fault] if self.is_broken else means


@pytest.mark.parametrize("fault", ["raise", "nan", "shape", "text", "ragged"])
def test_after_a_failed_fit_the_last_good_models_are_used(fault):
    policy = ModelPolicy(ORACLE, Broken(fault), exploration="none", max_rows=100)
    session, _ = played(policy, 20)
    with pytest.warns(RuntimeWarning, match=r"Broken\.\w+ must .* continues with the models of the last fit"):
        session, rewards = played(policy, 400, session=session)
    state = session.state
    assert state.seen == 840
    assert len(state.rows) <= 100 + 20 + 2
    assert "Broken" in policy.failure(state)
    assert rewards.mean() > 0.55


class Locked(LeastSquares):
    """It cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


test_wrong_estimators_are_refused = refused(
    (lambda: ModelPolicy(ORACLE, object()), r"estimator must have fit\(X, y\)"),
    (lambda: ModelPolicy(ORACLE, LeastSquares), r"must be an instance, such as LeastSquares\(\)"),
    (lambda: ModelPolicy(ORACLE, Locked()), r"copiable by copy\.deepcopy.*_thread\.lock"),
    error=TypeError,
)


def test_wrong_rounds_are_refused():
    session = Session(ModelPolicy(ORACLE, Coin(), exploration="none"), rng=0)
    with pytest.raises(ValueError, match=r"context must have features"):
        session.ask()
    ticket = session.ask(Context(features=np.eye(6)))
    with pytest.raises(ValueError, match=r"outcomes must lie between 0 and 1 for the classifier Coin, got 2"):
        session.policy.update(session.state, Feedback(ticket, [2.0, 1.0]), ticket)
    session.tell(Feedback(ticket, [0.0, 1.0]))
    with pytest.raises(ValueError, match=r"must have shape \(6, 6\)"):
        session.ask(Context(features=np.eye(6, 3)))
