"""Each planted fault is found, with default effort, by the check that is meant to; sound ones pass."""

import planted_environments
import planted_explorers
import planted_oracles
import planted_policies
import pytest

from cmab.testing import environment_checks, explorer_checks, oracle_checks, policy_checks


def of_oracle(fault):
    oracle = fault.make()
    return oracle_checks(oracle, planted_oracles.family_of(oracle))


def of_policy(fault):
    takes_oracle = fault.make is not planted_policies.KeepsFeedback
    policy = fault.make(planted_policies.ORACLE) if takes_oracle else fault.make()
    return policy_checks(policy, planted_policies.environment())


def of_environment(fault):
    environment = fault.make()
    return environment_checks(environment, planted_environments.super_arms_of(environment))


def of_explorer(fault):
    explorer = fault.make()
    return explorer_checks(
        explorer, planted_explorers.environment(), delta=planted_explorers.delta_of(explorer)
    )


KINDS = {
    "oracle": (planted_oracles.FAULTS, of_oracle, 45 / 51),
    "policy": (planted_policies.FAULTS, of_policy, 18 / 24),
    "environment": (planted_environments.FAULTS, of_environment, 17 / 21),
    "explorer": (planted_explorers.FAULTS, of_explorer, 12 / 14),
}
SLOW = ("Wrong16", "RandomFifth", "TwoPerCent")
ITEMS = [
    pytest.param(kind, fault, id=f"{kind}-{fault.name}", marks=[pytest.mark.slow] * (fault.name in SLOW))
    for kind, (faults, _, _) in KINDS.items()
    for fault in faults
    if fault.check
]


@pytest.mark.parametrize(("kind", "fault"), ITEMS)
def test_each_planted_fault_is_found(kind, fault):
    checks = {check.title: check for check in KINDS[kind][1](fault)}
    with pytest.raises(AssertionError, match=f"^({fault.check}|sense): "):
        checks[fault.check].run()


@pytest.mark.parametrize("kind", KINDS)
def test_few_faults_are_beyond_the_checks(kind):
    faults, _, least = KINDS[kind]
    found = [fault for fault in faults if fault.check]
    assert len(found) / len(faults) >= least
    assert all(fault.why_not for fault in faults if not fault.check)


ODD = [
    planted_oracles.Diary,
    planted_oracles.RandomTies,
    planted_oracles.OneAtATime,
    planted_oracles.Sometimes,
]


@pytest.mark.slow
@pytest.mark.parametrize("make", [*ODD, *planted_oracles.SOUND_WITHOUT_FAMILY])
def test_sound_oracles_pass(make):
    oracle = make()
    for check in oracle_checks(oracle, planted_oracles.family_of(oracle), seconds=0.2):
        check.run()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("make", [*planted_oracles.SOUND, *planted_oracles.SOUND_WITHOUT_FAMILY])
def test_sound_oracles_pass_with_any_seed(make, seed):
    oracle = make()
    for check in oracle_checks(oracle, planted_oracles.family_of(oracle), seconds=0.5, rng=seed):
        check.run()


@pytest.mark.slow
def test_sound_policies_environments_and_explorers_pass():
    for policy in planted_policies.SOUND:
        for check in policy_checks(policy(planted_policies.ORACLE), planted_policies.environment(), rng=3):
            check.run()
    for make in planted_environments.SOUND:
        environment = make()
        super_arms = planted_environments.super_arms_of(environment)
        for check in environment_checks(environment, super_arms, rng=3):
            check.run()
    for explorer in planted_explorers.SOUND:
        for check in explorer_checks(explorer(), planted_explorers.environment(), delta=0.1, rng=3):
            check.run()
