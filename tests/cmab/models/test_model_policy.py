"""Policies with models of the user: fits, explorations, memory, saving and faults of estimators."""

import threading
import warnings

import numpy as np
import pytest
from models import Coin, Doubtful, LeastSquares, RunningMean

from cmab import Context, Feedback, ModelPolicy, Session
from oracles import Knapsack, TopK

ORACLE = TopK(6, k=2)


def played(policy, rounds, seed=0, mean=lambda rows: rows[:, 0], session=None):
    """Play rounds with fresh features and outcomes 0 or 1, and return the session and the mean rewards."""
    session = Session(policy, rng=seed) if session is None else session
    rng, rewards = np.random.default_rng((1, seed)), []
    for _ in range(rounds):
        rows = rng.random((policy.oracle.n_arms, 3))
        ticket = session.ask(Context(features=rows))
        chances = mean(rows)[ticket.super_arm]
        session.tell(Feedback(ticket, (rng.random(len(chances)) < chances).astype(float)), ticket)
        rewards.append(chances.mean())
    return session, np.array(rewards)


@pytest.mark.parametrize("exploration", ["mixture", "history", "bootstrap", "epsilon", "none", "deviation"])
def test_every_exploration_learns(exploration):
    """Random play has mean 1/2 and deviation below 0.21 / sqrt(200): 0.6 is 7 deviations above it."""
    policy = ModelPolicy(ORACLE, Doubtful(), exploration=exploration, members=4)
    _, rewards = played(policy, 300)
    assert rewards[100:].mean() > 0.6


def test_models_are_the_fits_to_the_kept_rows():
    """Each member equals a fit of our own to the rows, weights and artificial rows in the state."""
    policy = ModelPolicy(ORACLE, LeastSquares(), exploration="bootstrap", members=3, blend=False)
    session, _ = played(policy, 40)
    state = session.state
    assert 0 < state.fitted <= len(state.rows) == 80
    assert (state.weights.mean() - 1.0) ** 2 < 25 / state.weights.size  # Poisson(1), five deviations
    for j, model in enumerate(state.models(policy.estimator)):
        rows = np.repeat(state.rows[: state.fitted], state.weights[: state.fitted, j], axis=0)
        told = np.repeat(state.outcomes[: state.fitted], state.weights[: state.fitted, j])
        assert np.allclose(LeastSquares().fit(rows, told).coefficients, model.coefficients)


def test_the_number_of_fits_is_logarithmic():
    sizes = []

    class Counting(LeastSquares):
        def fit(self, X, y, sample_weight=None):
            sizes.append(len(X))
            return super().fit(X, y, sample_weight)

    played(ModelPolicy(ORACLE, Counting(), exploration="none", growth=0.5), 500)
    assert len(sizes) <= 1 + np.log(1000 / 10) / np.log(1.5)
    # A geometric series: all fits together cost at most 1 + 1 / growth = 3 times the last one.
    assert sum(sizes) <= 3 * 1000


@pytest.mark.parametrize("forget", ["oldest", "random"])
def test_memory_is_bounded(forget):
    policy = ModelPolicy(ORACLE, LeastSquares(), members=2, max_rows=50, forget=forget)
    session, _ = played(policy, 200)
    state = session.state
    assert state.fitted == 50
    assert len(state.rows) <= 50 + 0.2 * 50 + 2
    assert state.seen == 400
    if forget == "random":  # all rows had the same chance: the oldest are not all gone
        assert state.keys[:50].max() < 0.5


@pytest.mark.parametrize("estimator", [LeastSquares(), RunningMean(), Coin()])
def test_a_saved_session_continues_exactly(estimator, tmp_path):
    policy = ModelPolicy(ORACLE, estimator, members=3)
    session, _ = played(policy, 33)
    session.save(tmp_path / "session")
    loaded = Session.load(tmp_path / "session", policy)
    context = Context(features=np.random.default_rng(3).random((6, 3)))
    for _ in range(20):
        tickets = session.ask(context), loaded.ask(context)
        assert np.array_equal(*tickets)
        for one, ticket in zip((session, loaded), tickets, strict=True):
            one.tell(Feedback(ticket, [1.0, 0.0]), ticket)
    archive = np.load(tmp_path / "session", allow_pickle=False)
    assert all(archive[name].dtype != object for name in archive.files)


def test_another_estimator_or_version_is_refused(tmp_path, monkeypatch):
    policy = ModelPolicy(ORACLE, LeastSquares())
    session, _ = played(policy, 10)
    session.save(tmp_path / "session")
    other = ModelPolicy(ORACLE, LeastSquares(ridge=2.0))
    with pytest.raises(ValueError, match="ridge"):
        Session.load(tmp_path / "session", other)
    Session.load(tmp_path / "session", other, accept_changes=True)
    import models

    monkeypatch.setattr(models, "__version__", "2.0", raising=False)
    with pytest.raises(ValueError, match=r"library models in the file, models 2\.0 here"):
        Session.load(tmp_path / "session", policy)


def test_classifiers_learn_outcomes_between_0_and_1():
    """The share of 1,000 labels has a standard deviation of at most 0.016; 0.1 is six of them."""
    policy = ModelPolicy(TopK(2, 2), Coin(), np.eye(2), exploration="none")
    session = Session(policy, rng=0)
    for _ in range(500):
        session.tell(Feedback(session.ask(), [0.2, 0.4]))
    (model,) = session.state.models(policy.estimator)
    assert abs(model.share - 0.3) < 0.1
    assert set(session.state.outcomes) == {0.2, 0.4}


def test_partial_fit_is_used_between_fits():
    policy = ModelPolicy(ORACLE, RunningMean(), exploration="none")
    session, _ = played(policy, 40)
    state = session.state
    (model,) = state.models(policy.estimator)
    assert model.calls == ["fit"] + ["partial"] * len(state.ends)
    assert model.n == len(state.rows)
    assert model.total == pytest.approx(state.outcomes.sum())


def test_only_available_arms_are_predicted():
    class Strict(LeastSquares):
        def predict(self, X):
            assert (X < 1.0).all()
            return super().predict(X)

    policy = ModelPolicy(ORACLE, Strict(), exploration="none")
    session, _ = played(policy, 20)
    rows = np.full((6, 3), 0.5)
    rows[0] = 7.0
    ticket = session.ask(Context(features=rows, available=np.arange(6) > 0))
    assert 0 not in ticket


class Locked(LeastSquares):
    """It cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Broken(LeastSquares):
    """Least squares that fails in a way of its own after 60 rows."""

    fault = "raise"

    def fit(self, X, y, sample_weight=None):
        if len(X) > 60 and self.fault == "raise":
            raise RuntimeError("singular")
        self.is_broken = len(X) > 60
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        means = super().predict(X)
        if not self.is_broken:
            return means
        return {"nan": means * np.nan, "shape": means[:1, None, None], "text": "much"}[self.fault]


@pytest.mark.parametrize("fault", ["raise", "nan", "shape", "text"])
def test_after_a_failed_fit_the_last_good_models_are_used(fault):
    estimator = Broken()
    estimator.fault = fault
    policy = ModelPolicy(ORACLE, estimator, exploration="none", max_rows=100)
    session, _ = played(policy, 20)
    with pytest.warns(RuntimeWarning, match=r"Broken\.\w+ must .* continues with the models of the last fit"):
        session, rewards = played(policy, 400, session=session)
    state = session.state
    assert state.fitted <= 60
    assert state.seen == 840
    assert len(state.rows) <= state.fitted + 120 + 2
    assert rewards.mean() > 0.55


class Unseen(LeastSquares):
    """Its fit returns another object, so that it cannot predict."""

    def fit(self, X, y, sample_weight=None):
        return LeastSquares().fit(X, y, sample_weight)


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


@pytest.mark.parametrize(("estimator", "words"), [(Unseen(), "AttributeError"), (Unset(), "no parameters")])
def test_estimators_that_never_work_leave_random_choices(estimator, words):
    with pytest.warns(RuntimeWarning, match=rf"{type(estimator).__name__}.*{words}.*random super arms"):
        session, _ = played(ModelPolicy(ORACLE, estimator), 20)
    assert session.state.seen == len(session.state.rows) == 40


def test_unusable_deviations_keep_the_last_models():
    class Vague(Doubtful):
        def predict(self, X, return_std=False):
            found = super().predict(X, return_std)
            return (found[0], found[1] * np.nan) if return_std and self.size > 30 else found

        def fit(self, X, y, sample_weight=None):
            self.size = len(X)
            return super().fit(X, y, sample_weight)

    policy = ModelPolicy(ORACLE, Vague(), exploration="optimism")
    with pytest.warns(RuntimeWarning, match=r"Vague\.predict must return finite numbers, got nan"):
        session, _ = played(policy, 60)
    assert 0 < session.state.fitted <= 30


def test_data_are_not_lost_to_an_estimator_that_overwrites_them():
    session, rewards = played(ModelPolicy(ORACLE, Erasing(), exploration="none"), 200)
    assert session.state.rows.min() > 0.0
    assert rewards[100:].mean() > 0.6


def test_predictions_that_fail_are_named():
    class Late(LeastSquares):
        def predict(self, X):
            return super().predict(X) if (X < 5).all() else np.full(len(X), np.nan)

    session, _ = played(ModelPolicy(ORACLE, Late(), exploration="none"), 20)
    with pytest.raises(ValueError, match=r"Late\.predict must return finite numbers, got nan"):
        session.ask(Context(features=np.full((6, 3), 9.0)))
    assert len(session.ask(Context(features=np.zeros((6, 3))))) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ModelPolicy(ORACLE, object()), r"estimator must have fit\(X, y\)"),
        (lambda: ModelPolicy(ORACLE, LeastSquares), r"must be an instance, such as LeastSquares\(\)"),
        (lambda: ModelPolicy(ORACLE, LeastSquares(), exploration="deviation"), "return_std"),
        (lambda: ModelPolicy(ORACLE, Locked()), r"copiable by copy\.deepcopy.*_thread\.lock"),
    ],
)
def test_wrong_estimators_are_refused(make, words):
    with pytest.raises(TypeError, match=words):
        make()


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


def test_equal_predictions_are_ordered_at_random():
    """A constant model: each of 6 arms is chosen in 1/3 of 3,000 rounds, six standard deviations."""
    policy = ModelPolicy(ORACLE, RunningMean(), exploration="none")
    session, _ = played(policy, 30)
    rows, counts = np.eye(6, 3), np.zeros(6)
    for seed in range(3000):
        counts[policy.select(session.state, np.random.default_rng(seed), Context(features=rows))] += 1
    assert np.abs(counts / 3000 - 1 / 3).max() < 6 * np.sqrt(2 / 9 / 3000)


def test_other_oracles_get_the_same_predictions():
    policy = ModelPolicy(Knapsack([1, 2, 3, 2, 1, 2], 4), LeastSquares(), exploration="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, rewards = played(policy, 150)
    assert rewards[50:].mean() > 0.6


@pytest.mark.parametrize("support", [(0, 5), (0, 1), (-1, 1), (0, 5.0)])
@pytest.mark.parametrize("exploration", ["mixture", "none", "epsilon"])
def test_ends_of_a_support_may_be_integers(support, exploration):
    policy = ModelPolicy(ORACLE, LeastSquares(), support=support, exploration=exploration)
    session, _ = played(policy, 20)
    values = policy.indices(session.state, np.random.default_rng(0), Context(features=np.eye(6)[:, :3]))
    assert len(np.unique(values)) > 2


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e9])
@pytest.mark.parametrize("huge", [0.0, 1e9])
def test_an_offset_or_a_huge_number_does_not_make_others_equal(offset, huge):
    policy = ModelPolicy(ORACLE, LeastSquares(), support=None, exploration="none")
    values = offset + np.array([0.1, 0.5, 0.3, 0.9, 0.7, huge or 0.2])
    order = np.argsort(values)
    assert (
        np.argsort(policy._without_ties(values.copy(), np.random.default_rng(0))).tolist() == order.tolist()
    )


class Odd(LeastSquares):
    """Returns one of several values that are no predictions."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def predict(self, X):
        return self.answer(super().predict(X), X)


class Graded:
    def __array__(self, *_, **__):
        raise RuntimeError("call detach() first")


def changed(values, X):
    X *= 2.0
    return values


@pytest.mark.parametrize(
    "answer", [lambda *_: Graded(), lambda *_: [[1.0], [2.0, 3.0]], lambda v, _: v.astype(str) + "a", changed]
)
def test_strange_predictions_are_told_and_lose_nothing(answer):
    session = Session(ModelPolicy(ORACLE, Odd(answer)), rng=0)
    with pytest.warns(RuntimeWarning, match="Odd.predict must"):
        played(session.policy, 30, session=session)
    assert session.state.seen == 60
    assert (session.state.rows <= 1.0).all()


class Hidden:
    """Has predictions only after its fit, and models of its own, as `StackingRegressor`."""

    def __init__(self):
        self.estimators = [LeastSquares()]

    @property
    def predict(self):
        return self.model_.predict

    def fit(self, X, y, sample_weight=None):
        self.model_ = self.estimators[0].fit(X, y, sample_weight)


def test_predictions_may_exist_only_after_the_fit():
    _, found = played(ModelPolicy(ORACLE, Hidden()), 200)
    assert found[100:].mean() > 0.6
