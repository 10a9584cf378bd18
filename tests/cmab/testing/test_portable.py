"""The inspection finds what another process may have different, and nothing in plain numerical code."""

import os
from dataclasses import dataclass

import numpy as np
import odd_but_correct as odd
import planted_oracles
import planted_policies
import pytest

from cmab import CUCB, LinearOracle
from cmab.testing import _oracle_process, check_oracle, checks
from cmab.testing._portable import difference
from instances import BernoulliArms, SemiBandit
from oracles import TopK

COUNTS = [0]


class Plain(LinearOracle):
    """Uses arrays, its attributes, a helper, a comprehension and an augmented assignment."""

    n_arms = 5
    max_size = 2

    def __init__(self):
        self.weights, self.calls = np.ones(5), 0

    def solve(self, means, rng):
        scores = [float(mean * weight) for mean, weight in zip(means, self.weights, strict=True)]
        return helper(np.array(scores))


def helper(scores):
    return np.sort(np.argsort(-scores, kind="stable")[:2])


class OfSet(Plain):
    def solve(self, means, rng):
        return np.sort([arm for arm in {"a", "b"} if arm == "a"] and helper(means))


class OfHash(Plain):
    def solve(self, means, rng):
        return helper(means * (hash("a") % 2 + 1))


class OfModule(Plain):
    def solve(self, means, rng):
        return helper(means * (os.getpid() > 0))


class OfList(Plain):
    def solve(self, means, rng):
        return helper(means + COUNTS[0])


class OfClass(Plain):
    calls = 0

    def solve(self, means, rng):
        OfClass.calls += 1
        return helper(means)


class OfType(Plain):
    def solve(self, means, rng):
        return helper(means * len(type(self).__name__))


class OfArray(Plain):
    shared = np.ones(5)


class OfAttribute(Plain):
    def __init__(self, names):
        super().__init__()
        self.names = names


@dataclass
class OfData:
    """Sound: a data class with an ordinary method."""

    size: int = 2

    def double(self):
        self.size *= 2
        return self.size


PURE = [Plain, OfData, planted_oracles.Best, odd.Base2, lambda: TopK(5, k=2), lambda: CUCB(TopK(5, k=2))]
PURE += [lambda: planted_policies.UCB(planted_policies.ORACLE)]
PURE += [lambda: SemiBandit(BernoulliArms([0.2, 0.9]), TopK(2, k=1))]


@pytest.mark.parametrize("make", PURE)
def test_numerical_code_reads_nothing_else(make):
    assert difference(make()) == ""


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (OfSet, "a set in solve"),
        (OfHash, "`hash` in solve"),
        (OfModule, "the module os"),
        (OfList, "COUNTS"),
        (OfClass, "the assignment of `calls` in solve"),
        (OfType, "`type` in solve"),
        (OfArray, "OfArray.shared"),
        (lambda: OfAttribute({"a", "b"}), "OfAttribute.names, a set"),
    ],
)
def test_other_code_is_named(make, found):
    assert difference(make()).startswith(found)


def test_numerical_code_is_checked_without_another_process(monkeypatch):
    def refuse(*_):
        raise AssertionError("another process was started")

    monkeypatch.setattr(_oracle_process, "_Helper", refuse)
    report = check_oracle(Plain(), seconds=0.1)
    assert "hashing" in report.not_checked


def test_thorough_checks_use_another_process(monkeypatch):
    used = []
    monkeypatch.setattr(_oracle_process, "_helpers", [])  # other tests leave a running process
    monkeypatch.setattr(_oracle_process, "_Helper", lambda: used.append(1) or 1 / 0)
    found = {check.title: check for check in checks(Plain(), level="thorough")}
    with pytest.raises(AssertionError, match="division by zero"):
        found["hashing"].run()
    assert used
