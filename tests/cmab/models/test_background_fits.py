"""Fits of model policies in a worker process."""

import copy
import pickle

import numpy as np
import pytest
from models import LeastSquares, RunningMean

from cmab import Feedback, ModelPolicy, Session
from oracles import TopK

FEATURES = np.random.default_rng(0).random((6, 3))


class Fragile(LeastSquares):
    """Least squares whose fits to more than 40 rows fail."""

    def fit(self, X, y, sample_weight=None):
        if len(X) > 40:
            raise RuntimeError("singular")
        return super().fit(X, y, sample_weight)


def policy_of(estimator, background=True, **options):
    return ModelPolicy(
        TopK(6, 2), estimator, FEATURES, exploration="bootstrap", members=2, background=background, **options
    )


def tell(session, rounds, seed):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        session.tell(Feedback(session.ask(), rng.integers(0, 2, 2).astype(float)))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [LeastSquares(), RunningMean()])
def test_choices_do_not_depend_on_the_time_of_a_fit(estimator):
    """Copies and loaded sessions have no worker, fit later by themselves, and continue alike."""
    session = Session(policy_of(estimator, growth=0.5, max_rows=60), rng=0)
    twins = 0
    for number in range(60):
        twin = pickle.loads(pickle.dumps(session))
        twins += session.state.begun > 0
        for one in (session, twin):
            tell(one, 5, number)
            assert one.state.begun <= len(one.state.rows) <= 60 + 60
        assert np.array_equal(session.state.outcomes, twin.state.outcomes)
        for seed in range(5):
            chosen = [
                session.policy.select(one.state, np.random.default_rng(seed)) for one in (session, twin)
            ]
            assert np.array_equal(*chosen)
    assert twins >= 3
    assert session.state.fitted == 60


@pytest.mark.slow
def test_a_fit_is_used_after_half_of_the_rows_until_the_next():
    session = Session(policy_of(LeastSquares(), growth=1.0), rng=0)
    tell(session, 5, 0)
    state = session.state
    assert (state.begun, state.fitted, state.due, state.use_from) == (10, 0, 20, 15)
    assert copy.deepcopy(state)._later is state._later
    tell(session, 2, 1)
    assert (state.begun, state.fitted) == (10, 0)
    tell(session, 1, 2)
    assert (state.begun, state.fitted) == (0, 10)


@pytest.mark.slow
def test_a_failure_in_the_worker_keeps_the_last_models():
    session = Session(policy_of(Fragile()), rng=0)
    with pytest.warns(RuntimeWarning, match=r"Fragile\.fit .* singular.* models of the last fit"):
        tell(session, 60, 0)
    assert 0 < session.state.fitted <= 50
    assert session.state.seen == 120


@pytest.mark.slow
def test_what_cannot_be_sent_is_fitted_here():
    class Locked(LeastSquares):
        def __deepcopy__(self, memo):
            return Locked(self.ridge)

        def __reduce__(self):
            raise TypeError("a lock")

    session = Session(policy_of(Locked()), rng=0)
    with pytest.warns(RuntimeWarning, match=r"a worker process must fit the models.*in this process"):
        tell(session, 12, 0)
    assert session.state.fitted > 0
