"""Negative means: correct oracles that solve, clip or refuse them pass, others fail."""

import odd_scales as odd
import pytest

from cmab.testing import checks


def scale(make):
    found = checks(make(), odd.FAMILIES.get(make, odd.PAIRS), seconds=0.2)
    return next(check for check in found if check.title == "scale")


@pytest.mark.parametrize("make", odd.ORACLES, ids=lambda make: make.__name__)
def test_correct_oracles_pass(make):
    assert scale(make).find().text


@pytest.mark.parametrize("make", odd.WRONG, ids=lambda make: make.__name__)
def test_wrong_oracles_fail(make):
    with pytest.raises(AssertionError, match=r"^scale: "):
        scale(make).run()


def test_the_report_says_that_means_are_clipped_or_rejected():
    assert "clipped at 0" in scale(odd.Clips).find().text
    assert "rejected (AssertionError)" in scale(odd.Asserts).find().text
    assert "shift -0.5" in scale(odd.Subsets).find().text
