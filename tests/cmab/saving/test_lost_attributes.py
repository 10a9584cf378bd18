"""A derived attribute of a state is not saved: the loaded state computes it again."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cmab import Feedback, Policy, Session
from oracles import TopK


@dataclass
class Trend:
    """Levels of three arms; `best` is derived."""

    level: np.ndarray

    @cached_property
    def best(self) -> int:
        return int(np.argmax(self.level))


@dataclass(frozen=True, eq=False)
class Follower(Policy):
    """The best arm of the levels, which `update` changes."""

    oracle: TopK

    def initial_state(self, rng=None):
        return Trend(np.ones(self.oracle.n_arms))

    def select(self, state, rng, context=None):
        return np.array([int(np.argmax(state.level))])

    def update(self, state, feedback, ticket=None, rng=None):
        state.level[feedback.arms] = feedback.outcomes
        state.__dict__.pop("best", None)
        assert 0 <= state.best < len(state.level)


def test_a_derived_attribute_is_computed_again(tmp_path):
    session = Session(Follower(TopK(3, k=1)), rng=0)
    session.tell(Feedback(session.ask(), [0.25]))
    session.save(tmp_path / "run")
    loaded = Session.load(tmp_path / "run", session.policy)
    assert loaded.state.best == session.state.best
    np.testing.assert_array_equal(loaded.ask().super_arm, session.ask().super_arm)
