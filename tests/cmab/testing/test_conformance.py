"""Every row of `cases.py` goes through the checks that ship with the package."""

from cases import ENVIRONMENTS, EXPLORERS, GROWING, ORACLES, POLICIES

from cmab.testing import (
    environment_checks,
    explorer_checks,
    oracle_checks,
    parametrize_with_checks,
    policy_checks,
)
from instances import BernoulliArms, SemiBandit

# Of each row, for this suite has hundreds of checks; the default of a user's own class is longer.
SECONDS = 0.2


def _of_oracles():
    for case in ORACLES:
        family = None if case.super_arms is None else case.super_arms()
        yield from oracle_checks(
            case.make(),
            family,
            low=case.low,
            high=case.high,
            trials=case.trials,
            seconds=SECONDS,
            name=case.name,
        )


def _of_environments():
    for case in ENVIRONMENTS:
        yield from environment_checks(case.make(), case.super_arms, seconds=SECONDS, name=case.name)


def _of_policies():
    for case in (*POLICIES, *GROWING):
        for sense in case.senses:
            oracle = case.family(5, k=2, sense=sense)
            environment = SemiBandit(BernoulliArms([0.9, 0.75, 0.6, 0.3, 0.1]), oracle)
            yield from policy_checks(
                case.make(oracle), environment, seconds=SECONDS, name=f"{case.name}-{sense}"
            )


def _of_explorers():
    arms = BernoulliArms([0.9, 0.1, 0.85, 0.1])
    for case in EXPLORERS:
        yield from explorer_checks(case.make(), arms, delta=case.delta, seconds=SECONDS, name=case.name)


@parametrize_with_checks(_of_oracles(), _of_environments(), _of_policies(), _of_explorers())
def test_conforms(check):
    check.run()
