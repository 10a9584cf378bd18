"""Warnings of estimators in long sessions, and predictions and labels that are strings."""

import threading
import warnings

import numpy as np
import pytest
from models import LeastSquares

from cmab import Context, Feedback, ModelPolicy, Session
from oracles import TopK

ORACLE = TopK(6, k=2)


class Noisy(LeastSquares):
    """Least squares that warns in each fit and in each prediction."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn(f"no convergence after {len(X)} rows, gap {y.mean():.3g}", stacklevel=2)
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        warnings.warn("slow", DeprecationWarning, stacklevel=2)
        return super().predict(X)


class Patient(Noisy):
    """It warns in each round, because it also learns in each round."""

    def partial_fit(self, X, y, sample_weight=None):
        return self.fit(X, y, sample_weight)


class Wordy(LeastSquares):
    """No two of its warnings have the same text."""

    number = 0

    def predict(self, X):
        Wordy.number += 1
        warnings.warn("a" * Wordy.number, stacklevel=2)
        return super().predict(X)


class Refusing(LeastSquares):
    """It cannot learn in each round."""

    def partial_fit(self, X, y, sample_weight=None):
        raise ArithmeticError("no update")


def play(policy, rounds, text=None):
    """Play rounds in which the user warns by `text`, and return the session."""
    session, rng = Session(policy, rng=0), np.random.default_rng(1)
    for _ in range(rounds):
        if text is not None:
            warnings.warn(text, UserWarning, stacklevel=1)
        ticket = session.ask(Context(features=rng.random((6, 3))))
        session.tell(Feedback(ticket, rng.integers(2, size=2).astype(float)), ticket)
    return session


def texts(rule, policy, rounds, text=None):
    """Return the texts of the warnings that a filter of this rule shows."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter(rule)
        play(policy, rounds, text)
    return [str(one.message) for one in shown]


@pytest.mark.parametrize("estimator", [Noisy, Patient])
@pytest.mark.parametrize("rule", ["always", "default"])
def test_the_same_warning_is_shown_once_for_each_policy(estimator, rule):
    before = warnings.showwarning
    for _ in range(2):
        found = texts(rule, ModelPolicy(ORACLE, estimator()), 60)
        assert len(found) == 2
        assert found[0].startswith("no convergence")
        assert found[1] == "slow"
    assert warnings.showwarning is before


def test_warnings_of_the_user_are_shown_as_her_filters_say():
    """A fit must neither hide warnings of other code nor let Python repeat those that it shows once."""
    assert texts("always", ModelPolicy(ORACLE, Noisy()), 40, "mine").count("mine") == 40
    assert texts("default", ModelPolicy(ORACLE, Patient()), 40, "mine too").count("mine too") == 1
    assert texts("ignore", ModelPolicy(ORACLE, Noisy()), 40, "mine") == []


def test_texts_that_always_differ_end_after_a_hundred():
    assert len(texts("always", ModelPolicy(ORACLE, Wordy(), exploration="none"), 150)) == 100


def test_a_failing_update_is_told_once_between_two_fits():
    policy = ModelPolicy(ORACLE, Refusing(), exploration="none", growth=1.0)
    found = texts("always", policy, 200)
    assert 1 <= len(found) <= 1 + np.log2(400 / 10)
    assert all("Refusing.partial_fit must accept" in text and "no update" in text for text in found)


def test_other_threads_warn_as_before():
    running, done = threading.Event(), threading.Event()

    class Slow(LeastSquares):
        def predict(self, X):
            running.set()
            assert done.wait(60)
            return super().predict(X)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        thread = threading.Thread(target=play, args=(ModelPolicy(ORACLE, Slow(), exploration="none"), 10))
        thread.start()
        assert running.wait(60)
        for _ in range(3):
            warnings.warn("of another thread", stacklevel=1)
        done.set()
        thread.join()
    assert [str(one.message) for one in shown] == ["of another thread"] * 3


class Spelled(LeastSquares):
    """Its predictions are strings that could be read as numbers."""

    def predict(self, X):
        return super().predict(X).astype(str)


class Labelled(LeastSquares):
    """A classifier that names its classes by strings."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        return np.column_stack([1.0 - self.predict(X), self.predict(X)])


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (Spelled(), r"Spelled\.predict must return one number for each of 2 rows, got .*'0\."),
        (Labelled(), r"Labelled\.classes_ must contain 1, .* got .*'no', 'yes'"),
    ],
)
def test_strings_are_told_and_lose_nothing(estimator, words):
    with pytest.warns(RuntimeWarning, match=words):
        session = play(ModelPolicy(ORACLE, estimator), 10)
    assert session.state.seen == 20
