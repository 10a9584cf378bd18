"""Every row of `cases.py` goes through the checks that ship with the package, and every class has a row."""

import pytest
from cases import ENVIRONMENTS, EXPLORERS, GROWING, ORACLES, POLICIES
from public import public_classes

from cmab.testing import _trials, environment_checks, explorer_checks, oracle_checks, policy_checks
from instances import BernoulliArms, SemiBandit

# Of each row, for this suite has hundreds of checks; the default of a user's own class is longer.
SECONDS = 0.2
#: They start processes or compare the state of this one. By default, they run for every tenth row.
ISOLATION = {"process", "surroundings", "worker", "generator", "global_randomness", "hashing"}
#: They play a run up to its stop, or with late reports. By default, they run for every tenth row as well.
LONG = {"late_states", "late_resuming", "answers", "comparisons", "delays"}


def _of_oracles():
    for case in ORACLES:
        family = None if case.super_arms is None else case.super_arms()
        yield (
            case,
            oracle_checks(
                case.make(),
                family,
                low=case.low,
                high=case.high,
                trials=case.trials,
                seconds=SECONDS,
                name=case.name,
            ),
        )


def _of_environments():
    for case in ENVIRONMENTS:
        yield case, environment_checks(case.make(), case.super_arms, seconds=SECONDS, name=case.name)


def _of_policies():
    for case in (*POLICIES, *GROWING):
        for sense in case.senses:
            oracle = case.family(5, k=2, sense=sense)
            environment = SemiBandit(BernoulliArms([0.9, 0.75, 0.6, 0.3, 0.1]), oracle)
            name = f"{case.name}-{sense}"
            yield case, policy_checks(case.make(oracle), environment, seconds=SECONDS, name=name)


def _of_explorers():
    arms = BernoulliArms([0.9, 0.1, 0.85, 0.1])
    for case in EXPLORERS:
        yield case, explorer_checks(case.make(), arms, delta=case.delta, seconds=SECONDS, name=case.name)


def _items():
    seen = set()
    for rows in (_of_oracles(), _of_environments(), _of_policies(), _of_explorers()):
        for number, (case, checks) in enumerate(rows):
            is_second_sense = id(case) in seen
            seen.add(id(case))
            slow = case.slow.split() + sorted(ISOLATION | LONG if number % 10 else [])
            for check in checks:
                is_slow = is_second_sense or check.name.rpartition("-")[2] in slow
                yield pytest.param(check, id=check.name, marks=[pytest.mark.slow] if is_slow else [])


@pytest.fixture
def always_another_process(monkeypatch):
    """Use another process for each row, also if its code reads nothing that may be different there."""
    monkeypatch.setattr(_trials, "difference", lambda thing: f"a row, {thing}")


@pytest.mark.usefixtures("always_another_process")
@pytest.mark.parametrize("check", list(_items()))
def test_conforms(check):
    check.run()


ROWS = {
    "oracles": ORACLES,
    "instances": ENVIRONMENTS,
    "policies": [*POLICIES, *GROWING],
    "explorers": EXPLORERS,
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_public_class_has_a_row(kind):
    """A class that users may name in a study is made by a row of `cases.py`, or is the arms of one."""
    made = [case.make(case.family(5, k=2)) if kind == "policies" else case.make() for case in ROWS[kind]]
    found = {type(part).__name__ for thing in made for part in (thing, getattr(thing, "arms", None))}
    aliases = {"Learner"} if kind == "policies" else set()
    assert sorted(set(public_classes(kind)) - found - aliases) == []
