"""Faults that authors make are found, and correct classes are not accused."""

import correct_classes as correct
import planted_faults as planted
import pytest

from cmab.testing import ConformanceError, check_environment, check_explorer, check_oracle, check_policy
from instances import BernoulliArms, EmpiricalArms, SemiBandit


def check_planted(kind, make):
    """Run all checks of an object of a class with one fault."""
    arms = BernoulliArms(planted.MEANS)
    if kind == "oracle":
        return check_oracle(make(), planted.FAMILIES.get(make, planted.FAMILY))
    if kind == "index":
        oracle = planted.OTHER_ORACLES.get(make, lambda: planted.ORACLE)()
        return check_policy(make(oracle), SemiBandit(arms, oracle))
    if kind == "policy":
        place = planted.Contextual if make in planted.CONTEXTUAL else SemiBandit
        return check_policy(make(), place(arms, planted.ORACLE))
    if kind == "environment":
        return check_environment(make(), [(0, 1), (1, 3), (3, 4), (2, 1)])
    return check_explorer(make(), BernoulliArms([0.2, 0.8, 0.4]))


def check_correct(kind, make):
    """Run all checks of an object of a correct class."""
    arms = BernoulliArms(correct.MEANS)
    if kind == "oracle":
        family = make().family() if hasattr(make, "family") else correct.FAMILIES[make]
        return check_oracle(make(), family)
    if kind == "environment":
        return check_environment(make(), [(0, 1), (1, 3), (3, 4), (5, 1)])
    if kind == "explorer":
        return check_explorer(make(), BernoulliArms([0.1, 0.8, 0.4, 0.3]))
    place = correct.RewardOnly if make is correct.FullBandit else SemiBandit
    return check_policy(make(correct.ORACLE) if kind == "index" else make(), place(arms, correct.ORACLE))


def items(table):
    return [pytest.param(kind, make, id=make.__name__) for kind, makes in table.items() for make in makes]


@pytest.mark.parametrize(("kind", "make"), items(planted.FAULTS))
def test_faults_are_found(kind, make):
    if make in planted.MISSED:
        pytest.skip(planted.MISSED[make])
    with pytest.raises(ConformanceError):
        check_planted(kind, make)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), items(planted.SOUND))
def test_classes_without_their_faults_pass(kind, make):
    assert check_planted(kind, make).passed


@pytest.mark.parametrize(("kind", "make"), items(correct.CORRECT))
def test_correct_classes_pass(kind, make):
    assert check_correct(kind, make).passed


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("start", [0.0, 1.0, 1e3])
def test_rare_and_constant_outcomes_of_any_size_pass(start, length):
    low, high = start * length, start * length + length
    samples = [[low, high], [low] * 9 + [high], [low, 0.7 * low + 0.3 * high, high], [high]]
    arms = EmpiricalArms([*samples, [low] * 9999 + [high]], support=(low, high))
    assert check_environment(SemiBandit(arms, planted.ORACLE), [(0, 1), (2, 4), (3, 4)]).passed
