"""Correct classes in odd but legal styles pass all checks; reports say what was tried."""

import json

import numpy as np
import odd_but_correct as odd
import odd_numbers
import odd_styles
import pytest

from cmab.testing import ConformanceError, check, checks
from instances import BernoulliArms, ResourceSemiBandit

CLASSES = [*odd.ORACLES, *odd.POLICIES, *odd.ENVIRONMENTS, *odd.EXPLORERS]


def test_there_are_thirty_classes():
    assert len(CLASSES) >= 30


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # some of them warn in their first rounds
@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
def test_odd_but_correct_classes_pass(make):
    thing, arguments, settings = odd.arguments(make)
    report = check(thing, *arguments, **settings)
    assert report.false_alarm < 1e-6


STYLES = [
    (kind, make)
    for module in (odd_styles, odd_numbers)
    for kind in ("ORACLES", "POLICIES", "ENVIRONMENTS", "EXPLORERS")
    for make in getattr(module, kind)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), STYLES, ids=lambda part: getattr(part, "__name__", part))
def test_classes_in_further_styles_pass(kind, make):
    thing, arguments, settings = odd.arguments(make, kind)
    assert check(thing, *arguments, **settings).false_alarm < 1e-6


@pytest.mark.slow
def test_a_policy_that_rests_after_fifty_rounds_passes():
    policy = odd_numbers.FiftyRounds()
    uses = [BernoulliArms(np.full(odd.N, 0.2))]
    place = ResourceSemiBandit(BernoulliArms(odd.MEANS), policy.oracle, uses=uses)
    report = check(policy, place)
    assert "after 50 rounds" in str(report)  # the rounds that the policy plays


@pytest.mark.slow
def test_reports_are_json_and_name_untested_properties():
    thing, arguments, settings = odd.arguments(odd.FixedBudget)
    report = check(thing, *arguments, **settings, seconds=0.1)
    told = json.loads(report.as_json())
    outcomes = {each["property"]: each["outcome"] for each in told["checks"]}
    assert outcomes["certificates"] == "not tried"
    assert "certificates" in report.not_checked
    assert "not checked: " in str(report)
    assert "level='thorough'" in str(report)


class Wrong(odd.Base2):
    def recommend(self, state):
        return super().recommend(state)[::-1]


def test_an_error_has_a_report_a_reason_and_something_to_look_at():
    _, arguments, _ = odd.arguments(odd.Base2)
    with pytest.raises(ConformanceError, match=r"(?s)form: .*Reason: .*Look at: ") as caught:
        check(Wrong(), *arguments, seconds=0.1)
    told = json.loads(caught.value.report.as_json())
    assert {"property": "form", "outcome": "failed"}.items() <= told["checks"][1].items()


def test_arguments_of_environments_may_be_named():
    thing, arguments, _ = odd.arguments(odd.Base)
    assert checks(thing, super_arms=arguments[0])[0].name == "Base-process"


def test_levels_are_checked():
    _, arguments, _ = odd.arguments(odd.Base2)
    with pytest.raises(ValueError, match="level must be 'quick' or 'thorough', got 'slow'"):
        checks(odd.Base2(), *arguments, level="slow")
