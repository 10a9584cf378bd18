"""The defaults of a user's oracle, and super arms as sets, lists and tuples."""

from dataclasses import dataclass

import numpy as np
import pytest

from cmab import CUCB, LinearOracle, Oracle, Session, simulate
from instances import BernoulliArms, SemiBandit


@dataclass(frozen=True)
class Window(LinearOracle):
    """The windows of neighbouring arms, as a frozen dataclass."""

    n_arms: int
    width: int

    def solve(self, means, rng):
        sums = np.convolve(means, np.ones(self.width), mode="valid")
        return np.argmax(sums) + np.arange(self.width)


class Rooms(Oracle):
    """Two of three rooms; each room triggers four arms of its own."""

    n_arms, n_choices = 12, 3

    def solve(self, means, rng):
        return np.sort(np.argsort(-means.reshape(3, 4).sum(axis=1), kind="stable")[:2])

    def expected_reward(self, super_arm, means):
        return float(means.reshape(3, 4)[super_arm].sum())

    def triggered_arms(self, super_arm):
        return np.sort((4 * super_arm[:, None] + np.arange(4)).ravel())


def test_a_frozen_dataclass_takes_names_and_keeps_the_original_without():
    windows = Window(5, 2)
    named = windows.named(list("abcde"))
    assert named.labels(named.solve(np.arange(5.0), None)) == ["d", "e"]
    assert windows.labels(np.array([3, 4])) == [3, 4]
    environment = SemiBandit(BernoulliArms([0.1, 0.2, 0.9, 0.8, 0.3]), named)
    assert simulate(CUCB(named), environment, 50, rng=0).exact_regret.shape[0] == 1


def test_the_default_size_counts_base_arms_and_not_entries():
    rooms = Rooms()
    triggered = max(len(rooms.triggered_arms(np.array(pair))) for pair in [(0, 1), (0, 2), (1, 2)])
    assert rooms.n_choices < triggered <= rooms.max_size == rooms.n_arms


MEANS = np.array([0.4, 0.9, 0.1, 0.7])


class Best(LinearOracle):
    """The two best arms, in a type of choice."""

    n_arms, max_size = 4, 2

    def __init__(self, kind):
        self.kind = kind

    def solve(self, means, rng):
        return self.kind(np.argsort(-means, kind="stable")[:2].tolist())


@pytest.mark.parametrize("kind", [set, tuple])
def test_learners_play_such_answers(kind):
    environment = SemiBandit(BernoulliArms(MEANS), Best(list))
    expected = simulate(CUCB(Best(list)), environment, 200, rng=3).regret
    assert np.array_equal(simulate(CUCB(Best(kind)), environment, 200, rng=3).regret, expected)
    assert sorted(Session(CUCB(Best(kind)), rng=0).ask().super_arm.tolist()) == [0, 1]
