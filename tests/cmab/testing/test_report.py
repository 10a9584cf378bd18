"""Reports count what ran, expected failures are strict, and messages name the fault and simple means."""

import sys
import unittest
from itertools import combinations

import numpy as np
import pytest
from correct_classes import ManyDraws
from planted_faults import NumbersByPosition

from cmab import CUCB, LinearOracle
from cmab.testing import ConformanceError, check_environment, check_oracle, checks, parametrize_with_checks
from instances import BernoulliArms, SemiBandit
from oracles import TopK

FAMILY = [*combinations(range(4), 2)]


class Pairs(LinearOracle):
    """The best pair of four arms."""

    n_arms = 4

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:2]


class SingleArm(Pairs):
    """One arm too few if two means are large."""

    def solve(self, means, rng):
        best = super().solve(means, rng)
        return best[:1] if means[best].min() > 0.5 else best


def test_a_report_counts_what_ran():
    report = check_oracle(Pairs(), FAMILY)
    assert report.exhaustive
    told = str(report)
    assert told.startswith(f"Pairs: {len(report.passed)} passed, {len(report.not_tried)} not tried:")
    assert "compiled: there is no compiled form" in told
    assert len(report.passed) + len(report.not_tried) == len(report.results)
    assert {"guarantee", "feasibility", "determinism"} <= report.passed.keys()


def test_an_environment_without_common_random_numbers_is_not_told_that_all_passed():
    report = check_environment(ManyDraws(), [(0, 1), (1, 2), (2, 3)])
    assert "round_key" in report.not_tried["common numbers"]
    assert "not tried" in str(report)


def test_outcomes_that_depend_on_the_position_are_found():
    with pytest.raises(ConformanceError, match=r"common numbers: arm \d has the outcome"):
        check_environment(NumbersByPosition(), [(0, 1), (1, 2)])


def test_faults_are_reported_together_with_the_simplest_means():
    with pytest.raises(ConformanceError) as caught:
        check_oracle(SingleArm(), FAMILY)
    faults = caught.value.faults
    assert {"feasibility", "guarantee"} <= faults.keys()
    assert faults["feasibility"].startswith("feasibility: solve returned [2] for means [0.0, 0.0, 0.6, 0.6]")
    assert "checks failed: " in str(caught.value)
    assert caught.value.report.passed


def test_expected_failures_are_strict():
    reasons = {"feasibility": "known", "guarantee": "known"}
    told = str(check_oracle(SingleArm(), FAMILY, expected_failures=reasons))
    assert "2 failed as expected: feasibility, guarantee" in told
    with pytest.raises(ConformanceError, match="form: passed although expected_failures lists it"):
        check_oracle(Pairs(), FAMILY, expected_failures={"form": "a reason"})
    with pytest.raises(ValueError, match=r"expected_failures must name checks from .*, got \['forms'\]"):
        check_oracle(Pairs(), FAMILY, expected_failures={"forms": "a reason"})
    with pytest.raises(ValueError, match="must give a reason"):
        check_oracle(Pairs(), FAMILY, expected_failures={"form": ""})


def test_a_missing_hypothesis_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r'pip install "cmab\[checks\]"'):
        check_oracle(Pairs(), FAMILY)


@parametrize_with_checks(
    checks(Pairs(), FAMILY, name="pairs"),
    checks(SingleArm(), expected_failures={"guarantee": "too few arms"}),
)
def test_each_check_is_an_item(check):
    check.run()


def test_a_check_that_does_not_apply_is_skipped():
    oracle = TopK(4, k=2)
    environment = SemiBandit(BernoulliArms([0.9, 0.1, 0.5, 0.3]), oracle)
    named = {check.title: check for check in checks(CUCB(oracle), environment)}
    with pytest.raises(unittest.SkipTest, match="propensity is not defined"):
        named["propensities"].run()
