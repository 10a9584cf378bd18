"""What objects say of themselves: the same in every process, and their parameters."""

import inspect
import re

import networkx as nx
import numpy as np
import pytest
from cases import ENVIRONMENTS, EXPLORERS, GROWING, MEANS, ORACLES, POLICIES

from cmab import (
    ArmStatistics,
    Policy,
)
from instances import BernoulliArms, BetaArms, EmpiricalArms, GaussianArms, SemiBandit
from oracles import Matching, ShortestPath, TopK

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


class Walk(Policy):
    """A policy of a user, no dataclass."""

    def __init__(self, oracle, step, *, names=("a", "b")):
        self.oracle, self.step, self._names = oracle, step, names

    def initial_state(self, rng=None):
        """Return empty statistics."""
        return ArmStatistics.empty(self.oracle.n_arms)

    def select(self, state, rng, context=None):
        """Return the first arm."""
        return np.array([0])

    def update(self, state, feedback, ticket=None, rng=None):
        """Count."""
        state.update(feedback)


class Weather(SemiBandit):
    """An environment of a user."""

    def __init__(self, arms, oracle, *, period=7):
        super().__init__(arms, oracle)
        self.period = period


THEIRS = {
    "Walk(TopK(n_arms=5, k=2), step=0.3)": lambda: Walk(TopK(5, 2), 0.3),
    "Walk(TopK(n_arms=5, k=2), step=1, names=('b',))": lambda: Walk(TopK(5, 2), 1, names=("b",)),
    "Weather(BernoulliArms(n_arms=2, means=[0.1, 1]), TopK(n_arms=2, k=1), period=3)": lambda: Weather(
        BernoulliArms([0.1, 1]), TopK(2, 1), period=3
    ),
    "ShortestPath(n_arms=2, n_nodes=3, source=0, target=2)": lambda: ShortestPath(nx.path_graph(3), 0, 2),
    "Matching(n_arms=2, sense='max', capacity=[2, 2, 2])": lambda: Matching(nx.path_graph(3), capacity=2),
}


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


@pytest.mark.parametrize("text", THEIRS)
def test_classes_of_users_tell_their_parameters_too(text):
    assert repr(THEIRS[text]()) == text
