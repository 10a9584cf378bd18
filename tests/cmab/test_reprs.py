"""What objects say of themselves: the same in every process, and their parameters."""

import inspect
import re

import numpy as np
import pytest
from cases import ENVIRONMENTS, EXPLORERS, GROWING, MEANS, ORACLES, POLICIES

from instances import BernoulliArms, BetaArms, EmpiricalArms, GaussianArms

ARMS = [
    BernoulliArms(MEANS),
    BernoulliArms(np.linspace(0, 1, 1000)),
    GaussianArms(MEANS, 0.3),
    GaussianArms(MEANS, 0.5),
    BetaArms(MEANS, 1 - MEANS),
    EmpiricalArms([[0.0, 1.0], [0.5]]),
    EmpiricalArms([[0.0, 1.0], [0.5]], support=(-1.0, 2.0)),
]
OBJECTS = [
    *(pytest.param(case.make, id=case.name) for case in (*ORACLES, *ENVIRONMENTS, *EXPLORERS)),
    *(pytest.param(lambda c=c: c.make(c.family(6, 2)), id=c.name) for c in (*POLICIES, *GROWING)),
    *(pytest.param(lambda arms=arms: arms, id=f"{type(arms).__name__}{i}") for i, arms in enumerate(ARMS)),
]
SCALAR = int | float | str | bool | np.number


@pytest.mark.parametrize("make", OBJECTS)
def test_reprs_tell_parameters_and_no_address(make):
    """Each that is no default and no data; what is inside tells its own in turn."""
    thing = make()
    text = repr(thing)
    assert text == repr(make())
    assert not re.search(r"\bat 0x|object>", text)
    assert text.isprintable()
    assert len(text) < 500
    if not text.startswith("_"):  # what a public class makes, such as a minor of a matroid
        assert text.startswith(type(thing).__name__)
        for name, parameter in inspect.signature(type(thing)).parameters.items():
            value = getattr(thing, name, None)
            is_derived = parameter.default is None and name not in text
            if is_derived:
                continue
            if isinstance(value, SCALAR) and value != parameter.default:
                shown = f"{value:g}" if isinstance(value, float) else repr(value)
                assert f"{name}={shown}" in text or f"{name}={value!r}" in text, name
            elif name in vars(thing) and value is not None and repr(value) != repr(parameter.default):
                assert f"{name}=" in text or repr(value) in text, name
