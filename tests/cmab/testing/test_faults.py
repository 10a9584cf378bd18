"""Faults that authors make are found, and correct classes are not accused."""

import planted_faults as planted
import pytest

from cmab.testing import ConformanceError, check_environment, check_explorer, check_oracle, check_policy
from instances import BernoulliArms, EmpiricalArms, SemiBandit


def check(kind, make):
    """Run all checks of an object of a class."""
    arms = BernoulliArms(planted.MEANS)
    if kind == "oracle":
        return check_oracle(make(), planted.FAMILIES.get(make, planted.FAMILY))
    if kind == "index":
        oracle = planted.OTHER_FAMILIES.get(make, lambda: planted.ORACLE)()
        return check_policy(make(oracle), SemiBandit(arms, oracle))
    if kind == "policy":
        place = planted.Contextual if make in planted.CONTEXTUAL else SemiBandit
        return check_policy(make(), place(arms, planted.ORACLE))
    if kind == "environment":
        return check_environment(make(), [(0, 1), (1, 3), (3, 4), (2, 1)])
    return check_explorer(make(), BernoulliArms([0.2, 0.8, 0.4]))


def items(table):
    return [pytest.param(kind, make, id=make.__name__) for kind, makes in table.items() for make in makes]


@pytest.mark.parametrize(("kind", "make"), items(planted.FAULTS))
def test_faults_are_found(kind, make):
    if make in planted.MISSED:
        pytest.skip(planted.MISSED[make])
    with pytest.raises(ConformanceError):
        check(kind, make)


@pytest.mark.parametrize(("kind", "make"), items(planted.SOUND))
def test_correct_classes_pass(kind, make):
    assert check(kind, make).passed


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("start", [0.0, 1.0, 1e3])
def test_rare_and_constant_outcomes_of_any_size_pass(start, length):
    low, high = start * length, start * length + length
    samples = [[low, high], [low] * 9 + [high], [low, 0.7 * low + 0.3 * high, high], [high]]
    arms = EmpiricalArms([*samples, [low] * 9999 + [high]], support=(low, high))
    assert check_environment(SemiBandit(arms, planted.ORACLE), [(0, 1), (2, 4), (3, 4)]).passed
