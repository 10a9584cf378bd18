"""Policies with models of the user: fits, explorations, blends, memory, saving and faults of estimators."""

import threading

import numpy as np
import pytest
from models import Coin, Constant, LeastSquares
from refusals import refused
from scipy.optimize import minimize_scalar

from cmab import Context, Feedback, ModelPolicy, Session
from cmab.policies import PositionBased
from cmab.policies.estimators import Blend, blended, fit, ridge
from oracles import TopK
from oracles.lists import Slate

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


def test_the_number_of_fits_is_logarithmic_and_memory_is_bounded():
    sizes = []

    class Counting(LeastSquares):
        def fit(self, X, y, sample_weight=None):
            sizes.append(len(X))
            return super().fit(X, y, sample_weight)

    played(ModelPolicy(ORACLE, Counting(), exploration="none", growth=0.5), 500)
    assert len(sizes) <= 1 + np.log(1000 / 10) / np.log(1.5)
    # A geometric series: all fits together cost at most 1 + 1 / growth = 3 times the last one.
    assert sum(sizes) <= 3 * 1000
    session, _ = played(ModelPolicy(ORACLE, LeastSquares(), members=2, max_rows=50), 200)
    state = session.state
    assert (state.fitted, state.seen) == (50, 400)
    assert len(state.rows) <= 50 + 0.2 * 50 + 2


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


def test_classifiers_learn_outcomes_between_0_and_1():
    """The share of 1,000 labels has a standard deviation of at most 0.016; 0.1 is six of them."""
    policy = ModelPolicy(TopK(2, 2), Coin(), np.eye(2), exploration="none")
    session = Session(policy, rng=0)
    for _ in range(500):
        session.tell(Feedback(session.ask(), [0.2, 0.4]))
    (model,) = policy._models(session.state)
    assert abs(model.share - 0.3) < 0.1
    assert set(session.state.outcomes) == {0.2, 0.4}


def test_only_available_arms_are_predicted():
    class Strict(LeastSquares):
        def predict(self, X):
            assert (X < 1.0).all()
            return super().predict(X)

    session, _ = played(ModelPolicy(ORACLE, Strict(), exploration="none"), 20)
    rows = np.full((6, 3), 0.5)
    rows[0] = 7.0
    assert 0 not in session.ask(Context(features=rows, available=np.arange(6) > 0))


def test_equal_predictions_are_ordered_at_random():
    """A constant model: each of 6 arms is chosen in 1/3 of 3,000 rounds, six standard deviations."""
    policy = ModelPolicy(ORACLE, Constant(), exploration="none")
    session, _ = played(policy, 30)
    rows, counts = np.eye(6, 3), np.zeros(6)
    for seed in range(3000):
        counts[policy.select(session.state, RNG(seed), Context(features=rows))] += 1
    assert np.abs(counts / 3000 - 1 / 3).max() < 6 * np.sqrt(2 / 9 / 3000)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
@pytest.mark.parametrize("huge", [0.0, 1e9])
def test_an_offset_or_a_huge_number_does_not_make_others_equal(offset, huge):
    policy = ModelPolicy(ORACLE, LeastSquares(), support=None, exploration="none")
    values = offset + np.array([0.1, 0.5, 0.3, 0.9, 0.7, huge or 0.2])
    assert np.argsort(policy._clipped(values)).tolist() == np.argsort(values).tolist()


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


class Unset(LeastSquares):
    """It has parameters that cannot be read."""

    def get_params(self):
        raise RuntimeError("no parameters")

    def set_params(self, **params):
        return self


class Erasing(LeastSquares):
    """It overwrites the data that it is given."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        X *= 0.0
        y *= 0.0
        return self


class Hidden:
    """Has predictions only after its fit, and models of its own, as `StackingRegressor`."""

    def __init__(self):
        self.estimators = [LeastSquares()]

    @property
    def predict(self):
        return self.model_.predict

    def fit(self, X, y, sample_weight=None):
        self.model_ = self.estimators[0].fit(X, y, sample_weight)


def test_an_estimator_that_never_works_leaves_random_choices():
    with pytest.warns(RuntimeWarning, match=r"Unset.*no parameters.*random super arms"):
        session, _ = played(ModelPolicy(ORACLE, Unset()), 20)
    assert session.state.seen == len(session.state.rows) == 40


@pytest.mark.parametrize("estimator", [Erasing(), Hidden()])
def test_odd_estimators_learn(estimator):
    session, rewards = played(ModelPolicy(ORACLE, estimator, exploration="none"), 200)
    assert session.state.rows.min() > 0.0
    assert rewards[100:].mean() > 0.6


def test_predictions_that_fail_are_named():
    class Late(LeastSquares):
        def predict(self, X):
            return super().predict(X) if (X < 5).all() else np.full(len(X), np.nan)

    session, _ = played(ModelPolicy(ORACLE, Late(), exploration="none"), 20)
    with pytest.raises(ValueError, match=r"Late\.predict must return one finite number"):
        session.ask(Context(features=np.full((6, 3), 9.0)))
    assert len(session.ask(Context(features=np.zeros((6, 3))))) == 2


class Locked(LeastSquares):
    """It cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


test_wrong_estimators_are_refused = refused(
    (lambda: ModelPolicy(ORACLE, object()), r"estimator must have fit\(X, y\)"),
    (lambda: ModelPolicy(ORACLE, LeastSquares), r"must be an instance, such as LeastSquares\(\)"),
    (lambda: ModelPolicy(ORACLE, Locked()), r"copiable by copy\.deepcopy.*_thread\.lock"),
    (lambda: PositionBased(Constant(), 2), "sample_weight"),
    (lambda: PositionBased(Coin(), 2), "must be a regressor"),
    error=TypeError,
)
test_wrong_parameters_are_refused = refused(
    (lambda: PositionBased(LeastSquares(), 0), "positions"),
    (lambda: PositionBased(LeastSquares(), 2, examination=[1.0, 0.0]), "above 0"),
    (lambda: PositionBased(LeastSquares(), 2).fit(np.ones((3, 3)), np.ones(3)), "pair_features"),
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


@pytest.mark.parametrize("examination", [None, [1.0, 0.6, 0.2]])
def test_effects_of_positions_are_learned(examination):
    """Outcomes without noise are explained exactly, up to the ridge."""
    page = Slate(20, positions=3)
    effects, own = np.array([1.0, 0.6, 0.2]), RNG(0).random((20, 1))
    X = page.pair_features(own)
    y = np.tile(effects, 20) * (0.1 + 0.8 * np.repeat(own[:, 0], 3))
    model = PositionBased(LeastSquares(1e-9), 3, examination=examination, repeats=40).fit(X, y)
    assert np.allclose(model.effects, effects, atol=0.01)
    assert np.allclose(model.predict(X), y, atol=0.01)
    policy = ModelPolicy(page, PositionBased(LeastSquares(), 3, examination=examination), X)
    session, _ = learned(policy, 25, y)
    assert len(session.ask()) == 3
