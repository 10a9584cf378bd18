"""Logistic Thompson sampling: against optimisation by scipy, Chapelle and Li's algorithm, and the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from cmab import LogisticTS
from oracles import TopK


class Reference:
    """Algorithm 3 of Chapelle and Li (2011) with y in {-1, 1}, and the whole matrix."""

    def __init__(self, d, ridge, prior):
        self.m, self.q = np.array(prior, float), ridge * np.eye(d)

    def update(self, x, outcomes):
        y = 2.0 * outcomes - 1.0

        def loss(w):
            return 0.5 * (w - self.m) @ self.q @ (w - self.m) + np.log1p(np.exp(-y * (x @ w))).sum()

        def slope(w):
            return self.q @ (w - self.m) - (y / (1.0 + np.exp(y * (x @ w)))) @ x

        self.m = minimize(loss, self.m, jac=slope, method="BFGS", options={"gtol": 1e-10}).x
        p = 1.0 / (1.0 + np.exp(-x @ self.m))
        self.q = self.q + np.einsum("j,ja,jb->ab", p * (1 - p), x, x)


def test_posteriors_are_those_of_chapelle_and_li():
    """Batches of several arms in two groups, told one after the other."""
    rng = np.random.default_rng(3)
    oracle, group, prior = TopK(8, k=2), np.arange(8) % 2, [0.5, -1.0, -2.0]
    policy = LogisticTS(oracle, dimension=3, groups=group, ridge=0.7, prior_mean=prior, norm=9)
    state = policy.initial_state()
    references = [Reference(3, 0.7, prior) for _ in range(2)]
    for _ in range(25):
        features, arms = rng.normal(size=(8, 3)), rng.permutation(8)[:2]
        outcomes = (rng.random(2) < expit(features[arms] @ [1.0, -2.0, 0.5])).astype(float)
        policy._regress(state, features[arms], outcomes, group[arms])
        for number in set(group[arms]):
            own = arms[group[arms] == number]
            references[number].update(features[own], outcomes[group[arms] == number])
    posterior = state.posterior()
    for number, reference in enumerate(references):
        assert posterior.theta[number] == pytest.approx(reference.m, abs=1e-6)
        assert state.precision[number] == pytest.approx(reference.q, abs=1e-6)
    state.check(policy.initial_state())


def test_indices_are_means_under_one_draw():
    """The same standard normal numbers through the Cholesky factor of the covariance's inverse."""
    oracle = TopK(5, k=2)
    features = np.random.default_rng(0).normal(size=(5, 2)) / 4
    policy = LogisticTS(oracle, features, prior_mean=[1.0, -2.0], ridge=4.0, deviation_factor=0.5)
    indices = policy.indices(policy.initial_state(), features, np.random.default_rng(7))
    z = np.random.default_rng(7).standard_normal(2)
    assert indices == pytest.approx(expit(features @ ([1.0, -2.0] + 0.5 * z / 2.0)))
