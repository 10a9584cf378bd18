"""A state with attributes that a file would lose is refused when it is saved, not wrong when it is loaded."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from cmab import Feedback, Policy, Session
from oracles import TopK


@dataclass
class Trend:
    """Levels of three arms; `drop` is an attribute that is no field, unless it is derived."""

    level: np.ndarray

    @cached_property
    def best(self) -> int:
        return int(np.argmax(self.level))


@dataclass(frozen=True, eq=False)
class Follower(Policy):
    """The best arm of the levels, which `update` changes."""

    oracle: TopK
    hides: bool = False

    def initial_state(self, rng=None):
        state = Trend(np.ones(self.oracle.n_arms))
        if self.hides:
            state.slope = 0.0
        return state

    def select(self, state, rng, context=None):
        return np.array([Trend(state.level).best if self.hides else int(np.argmax(state.level))])

    def update(self, state, feedback, ticket=None, rng=None):
        state.level[feedback.arms] = feedback.outcomes
        state.__dict__.pop("best", None)
        assert 0 <= state.best < len(state.level)


@pytest.mark.parametrize("hides", [False, True])
def test_attributes_that_are_not_fields_are_refused_unless_they_are_derived(hides, tmp_path):
    session = Session(Follower(TopK(3, k=1), hides), rng=0)
    session.tell(Feedback(session.ask(), [0.25]))
    if hides:
        with pytest.raises(ValueError, match=r"state must have all its attributes as fields .* slope"):
            session.save(tmp_path / "run")
        assert not list(tmp_path.iterdir())
    else:
        session.save(tmp_path / "run")
        loaded = Session.load(tmp_path / "run", session.policy)
        np.testing.assert_array_equal(loaded.ask().super_arm, session.ask().super_arm)
