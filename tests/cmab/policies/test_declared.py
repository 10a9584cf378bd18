"""Declared ranges: what lies beside them is refused by name, and docstrings say them."""

import inspect
import math
import re
from dataclasses import fields, replace

import pytest
from cases import EXPLORERS, POLICIES

from cmab import LogRadius, validation
from cmab.parameters import ranges

MADE = [
    *(case.make(case.family(5, k=2)) for case in POLICIES),
    *(case.make() for case in EXPLORERS),
    LogRadius(),
]
#: Parameters without a declared range: it depends on other parameters, or the oracle, or is that of an array.
BY_HAND = {"dimension", "prior_weight", "bias"}
NUMBER = re.compile(r"^(int|float|bool)( \| None)?$")
#: As docstrings say them: "in (0, 1)", "in ``[1, n_arms - 1]``".
SAID = re.compile(r"(?<!covers all )\bin (?:``)?([\[(])([\d.e-]+), ([\d.e-]+)([\])])")


def beside(declared, thing):
    """Yield values just outside of a declared range."""
    bounds = declared.bounds_for(thing)
    if declared.check in (validation.real, validation.integer):
        low, high = bounds["low"], bounds["high"]
        step = 1 if declared.check is validation.integer else 0 if bounds["inside"] else 1e-3
        if low is not None and low > -math.inf:
            yield low - max(step, step * abs(low))
        if high is not None and high < math.inf:
            yield high + max(step, step * abs(high))
        yield from (math.nan, "1", True)
    elif declared.check is validation.one_of:
        yield from ("no such choice", 1)
    elif "least" in bounds:
        yield from (bounds["least"] - 1, 0.5)
    elif "support" in declared.check.__name__ or declared.check is validation.interval:
        yield from ((1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (0.0,), "01")
    else:
        yield "no such value"
    if not declared.optional:
        yield None


@pytest.mark.parametrize("thing", MADE, ids=lambda thing: type(thing).__name__)
def test_values_beside_a_range_are_refused_by_name(thing):
    # A bound may be that of another parameter, which is looked at first.
    bound = "|".join(name for name, one in ranges(thing).items() if any(map(callable, one.bounds.values())))
    for name, declared in ranges(thing).items():
        if not next(part.init for part in fields(thing) if part.name == name):
            continue
        replace(thing, **{name: getattr(thing, name)})
        for value in beside(declared, thing):
            with pytest.raises(ValueError, match=rf"\b({name}|{bound or name})\b"):
                replace(thing, **{name: value})


def test_every_number_has_a_declared_range():
    for thing in MADE:
        for part in fields(thing):
            if part.init and NUMBER.match(str(part.type)) and part.name not in BY_HAND:
                assert part.name in ranges(thing), f"{type(thing).__name__}.{part.name}"


@pytest.mark.parametrize("thing", MADE, ids=lambda thing: type(thing).__name__)
def test_docstrings_say_the_declared_range(thing):
    parameters = (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    for entry in re.split(r"\n(?=\w)", parameters):
        name, said = entry.partition(" :")[0].strip(), SAID.search(entry)
        bounds = ranges(thing)[name].bounds if said and name in ranges(thing) else {}
        if "low" in bounds and not callable(bounds["high"]):
            opening, low, high, closing = said.groups()
            told = f"the declared range of {name!r} is {bounds}, its entry says {said[0]!r}: {entry}"
            assert bounds["high"] == pytest.approx(float(high)), told
            # Where a formula overflows close to the end, the range begins a little above it.
            assert bounds["low"] == pytest.approx(float(low), abs=1e-99), told
            assert (opening == "(" and closing == ")") == bounds.get("inside", False) or float(low) == 0.0
