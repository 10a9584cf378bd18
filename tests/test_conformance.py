"""Every row of `cases.py` goes through the checks that ship with the package."""

import pytest
from cases import ENVIRONMENTS, ORACLES, POLICIES

from cmab.testing import check_environment, check_oracle, check_policy
from instances import BernoulliArms, SemiBandit
from oracles import TopK


@pytest.mark.parametrize("case", ORACLES, ids=lambda case: case.name)
def test_oracle(case):
    family = None if case.super_arms is None else case.super_arms()
    check_oracle(case.make(), family, low=case.low, high=case.high)


@pytest.mark.parametrize("case", ENVIRONMENTS, ids=lambda case: case.name)
def test_environment(case):
    check_environment(case.make(), case.super_arms)


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.name)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_policy(case, sense):
    oracle = TopK(5, k=2, sense=sense)
    check_policy(case.make(oracle), SemiBandit(BernoulliArms([0.9, 0.75, 0.6, 0.3, 0.1]), oracle))
