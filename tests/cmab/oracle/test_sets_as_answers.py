"""A session and a run accept super arms as sets, lists and tuples."""

import numpy as np
import pytest

from cmab import CUCB, LinearOracle, Session, simulate
from instances import BernoulliArms, SemiBandit

MEANS = np.array([0.4, 0.9, 0.1, 0.7])
ALL = np.ones(4, np.bool_)


class Best(LinearOracle):
    """The two best arms, in an order and a type of choice."""

    can_constrain = True
    has_membership = True
    n_arms, max_size = 4, 2

    def __init__(self, kind):
        self.kind = kind

    def is_feasible(self, super_arm):
        return len(super_arm) == 2

    def solve(self, means, rng):
        return self.solve_constrained(means, [], [], rng)

    def solve_constrained(self, means, include, exclude, rng):
        forced, gone = set(np.asarray(include).tolist()), set(np.asarray(exclude).tolist())
        free = sorted(set(range(4)) - forced - gone, key=lambda arm: means[arm])
        missing = 2 - len(forced)
        if missing < 0 or len(free) < missing:
            return None
        return self.kind([*forced, *free[len(free) - missing :]])


@pytest.mark.parametrize("kind", [set, tuple])
def test_learners_play_such_answers(kind):
    environment = SemiBandit(BernoulliArms(MEANS), Best(list))
    expected = simulate(CUCB(Best(list)), environment, 200, rng=3).regret
    assert np.array_equal(simulate(CUCB(Best(kind)), environment, 200, rng=3).regret, expected)
    assert sorted(Session(CUCB(Best(kind)), rng=0).ask().super_arm.tolist()) == [2, 3]
