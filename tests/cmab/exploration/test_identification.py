"""The loop of pure exploration."""

import numpy as np
from refusals import refused

from cmab import identify
from cmab.exploration.phases import Halving
from cmab.exploration.rejects import SuccessiveRejects
from cmab.explorer import AggregateTopK, BestSuperArm, ExploreM
from instances import BernoulliArms, GaussianArms
from oracles import TopK

ARMS = BernoulliArms([0.8, 0.6, 0.4, 0.2])


def test_workers_do_not_change_the_numbers():
    one, two = (
        identify(SuccessiveRejects(4, budget=8), ARMS, replications=20, rng=1, n_jobs=n) for n in (1, 2)
    )
    assert np.array_equal(one.samples, two.samples)
    assert np.array_equal(one.arms, two.arms)
    assert len({tuple(arms) for arms in one.arms}) > 1


test_what_does_not_fit_is_refused = refused(
    (SuccessiveRejects(5, budget=50), ARMS, "same number of base arms"),
    (Halving(4, 1, epsilon=0.1, delta=0.1), GaussianArms(np.zeros(4)), "support of Halving"),
    by=lambda explorer, environment: identify(explorer, environment, rng=0),
)


def test_goals_differ():
    means = np.array([0.9, 0.5, 0.45, 0.1])
    pair = np.array([0, 2])
    assert not ExploreM(2).is_correct(pair, means)
    assert ExploreM(2, 0.06).is_correct(pair, means)
    assert AggregateTopK(2, 0.03).is_correct(pair, means)
    assert not AggregateTopK(2, 0.02).is_correct(pair, means)
    oracle = TopK(4, k=2)
    assert not BestSuperArm(oracle).is_correct(pair, means)
    assert BestSuperArm(oracle, 0.06).is_correct(pair, means)
    assert not BestSuperArm(oracle, 9.0).is_correct(np.array([0]), means)
