"""Every row of `cases.py` passes the checks that ship with the package, and every class has a row."""

import inspect

import pytest
from cases import ENVIRONMENTS, EXPLORERS, GROWING, ORACLES, POLICIES

import cmab.exploration
import cmab.policies
import instances
import oracles
from cmab import Environment, Explorer, Oracle, Policy
from cmab.testing import check_environment, check_explorer, check_oracle, check_policy
from instances import BernoulliArms, SemiBandit


def named(cases):
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named(ORACLES))
def test_oracles_pass(case):
    family = None if case.super_arms is None else case.super_arms()
    assert check_oracle(case.make(), family, low=case.low, high=case.high).passed


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("case", named([*POLICIES, *GROWING]))
def test_policies_pass(case, sense):
    if sense not in case.senses:
        pytest.skip("the policy is for the other sense")
    oracle = case.family(5, k=2, sense=sense)
    environment = SemiBandit(BernoulliArms([0.9, 0.75, 0.6, 0.3, 0.1]), oracle)
    assert check_policy(case.make(oracle), environment).passed


@pytest.mark.parametrize("case", named(EXPLORERS))
def test_explorers_pass(case):
    arms = BernoulliArms([0.9, 0.1, 0.85, 0.1])
    assert check_explorer(case.make(), arms, delta=case.delta).passed


@pytest.mark.parametrize("case", named(ENVIRONMENTS))
def test_environments_pass(case):
    assert check_environment(case.make(), case.super_arms).passed


def classes(module, kind):
    """Return the names of the public classes of a kind that can be made."""
    found = [getattr(module, name) for name in module.__all__ if name != "__version__"]
    return {
        one.__name__
        for one in found
        if inspect.isclass(one) and issubclass(one, kind) and not inspect.isabstract(one)
    }


@pytest.mark.parametrize(
    ("module", "kind", "make"),
    [
        (oracles, Oracle, lambda: [case.make() for case in ORACLES]),
        (cmab.policies, Policy, lambda: [c.make(c.family(5, k=2)) for c in (*POLICIES, *GROWING)]),
        (cmab.exploration, Explorer, lambda: [case.make() for case in EXPLORERS]),
        (instances, Environment, lambda: [case.make() for case in ENVIRONMENTS]),
    ],
    ids=["oracles", "policies", "exploration", "instances"],
)
def test_every_public_class_has_a_row(module, kind, make):
    """A class that can be made is made by a row, or is the arms of one."""
    made = {type(part).__name__ for thing in make() for part in (thing, getattr(thing, "arms", None))}
    assert sorted(classes(module, kind) - made) == []
