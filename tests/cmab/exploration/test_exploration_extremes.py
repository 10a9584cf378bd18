"""Extreme parameters of every explorer: refused with a name or run in time, and nothing false certified."""

import math
import os
import signal
import sys
import traceback
from dataclasses import fields, replace

import numpy as np
import pytest
from cases import EXPLORERS

from cmab import identify
from instances import BernoulliArms

TINY, NEXT = 5e-324, 1.0 - 2.0**-53
REALS = (TINY, 1e-300, 1e-30, 1e-9, NEXT, 1.0, 1e30, 1.7e308, math.nan, math.inf, -math.inf, -1.0, 0.0)
WHOLE = (0, 1, -1, 3, 4, 5, 2**31, 2**62, 2**63, 10**30, True, 1.5)
INTERVALS = (
    (0.0, TINY),
    (-1e300, 1e300),
    (-1.7e308, 1.7e308),
    (1.0, 0.0),
    (0.0, math.nan),
    (0.0, 1.0 + 2.0**-52),
)
VALUES = {"int": WHOLE, "float": REALS, "float | None": REALS, "tuple[float, float]": INTERVALS}
# Arms that a few hundred samples cannot tell apart, the worse ones first, and arms without noise.
ALIKE = BernoulliArms([0.5 - 1e-9, 0.5 - 1e-9, 0.5, 0.5])
CERTAIN = BernoulliArms([0.0, 0.0, 1.0, 1.0])


def variants(explorer):
    for field in fields(explorer):
        for value in VALUES.get(str(field.type), ()):
            if field.init and field.name != "n_arms":
                yield field.name, value


def attempt(explorer, name, value):
    """Run the variant; a ValueError that is ours names what it refuses."""
    try:
        changed = replace(explorer, **{name: value})
        for arms in (ALIKE, CERTAIN):
            found = identify(changed, arms, rng=0, replications=2, max_samples=400)
            # Almost certain to err is what a delta of almost 1 allows.
            assert not (found.certified & ~found.correct).any() or (name == "delta" and value == NEXT)
    except ValueError as error:
        assert " must " in str(error), error


def in_time(action, seconds):
    """Run `action` in a process of its own; return what went wrong, if anything, also if it does not end."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)  # its default action ends the process, in compiled code as well
            for step in action:
                os.write(sending, repr(step).encode() + b"\n")
            os._exit(0)
        except BaseException:
            os.write(sending, traceback.format_exc().encode())
            os._exit(1)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        text = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return "" if status == 0 else f"status {status} after\n" + text[-2000:]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("case", EXPLORERS, ids=lambda case: case.name)
def test_extreme_parameters(case):
    explorer = case.make()
    # Compiled here, so that the child need not.
    for arms in (ALIKE, CERTAIN):
        identify(explorer, arms, rng=0, max_samples=400)

    def all_of_them():
        for name, value in variants(explorer):
            yield name, value
            attempt(explorer, name, value)

    sys.stdout.flush()
    assert not in_time(all_of_them(), seconds=60)


@pytest.mark.parametrize("value", [2**63, 10**30, 0, -1, 1.5, True, math.nan])
def test_caps_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="max_samples must be an integer"):
        identify(EXPLORERS[0].make(), ALIKE, rng=0, max_samples=value)


def test_the_largest_cap_is_a_cap():
    assert identify(EXPLORERS[0].make(), CERTAIN, rng=0, max_samples=2**62).stopped.all()
    assert np.all(identify(EXPLORERS[0].make(), ALIKE, rng=0, max_samples=4).samples == 4)
