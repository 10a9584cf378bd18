"""Faults that few problems show: on one arm, for one sense, near an end of the range, by compiled code."""

from itertools import combinations

import numpy as np
import pytest

from cmab import LinearOracle, Oracle
from cmab.testing import check_oracle
from oracles import TopK

N, K = 6, 2
FAMILY = list(combinations(range(N), K))


class Best(LinearOracle):
    """The best pair."""

    n_arms = N

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]


class Doubled(Best):
    """Lists the best arm twice where it is far ahead, in no order."""

    def solve(self, means, rng):
        first, second = super().solve(means, rng)
        return np.array([second, first, first] if means[first] > 2 * means[second] else [second, first])


class FirstCallOnly(Best):
    """Is right once."""

    answer = None

    def solve(self, means, rng):
        if self.answer is None:
            self.answer = super().solve(means, rng)
        return self.answer.copy()


class WithoutTheLastArm(Best):
    """Stops a loop one arm early."""

    def solve(self, means, rng):
        return super().solve(means[:-1], rng)


class Absolute(Best):
    """Takes means for positive."""

    def solve(self, means, rng):
        return super().solve(np.abs(means), rng)


class SharedMemo(Best):
    """Hands out the array that it remembers."""

    def __init__(self):
        self.memo = {}

    def solve(self, means, rng):
        return self.memo.setdefault(means.tobytes(), super().solve(means, rng))


class GlobalTies(Best):
    """Lets the global generator break ties, and puts it back."""

    def solve(self, means, rng):
        if len(np.unique(means)) == N:
            return super().solve(means, rng)
        order = np.random.permutation(N)  # noqa: NPY002
        return order[np.argsort(-means[order], kind="stable")[:K]]


class CoveredTracks(GlobalTies):
    """As before, and puts the state of the generator back."""

    def solve(self, means, rng):
        state = np.random.get_state()  # noqa: NPY002
        answer = super().solve(means, rng)
        np.random.set_state(state)  # noqa: NPY002
        return answer


class Overconfident(Best):
    """Succeeds nine times of ten."""

    beta = 0.95

    def solve(self, means, rng):
        return super().solve(means if rng.random() < 0.9 else -means, rng)


class BlindToOneHot(Best):
    """Overlooks one arm where it alone is worth anything."""

    def __init__(self, arm):
        self.arm = arm

    def solve(self, means, rng):
        is_hot = means[self.arm] > 0 and np.count_nonzero(means) == 1
        return super().solve(-means if is_hot else means, rng)


class BlindToOneCold(BlindToOneHot):
    """Takes one arm where it alone is worth less than the others."""

    def solve(self, means, rng):
        is_cold = (np.delete(means, self.arm) == means.max()).all() and means[self.arm] < means.max()
        return Best.solve(self, -means if is_cold else means, rng)


class Mask(Best):
    """Marks the chosen arms in a list of numpy's bools."""

    def solve(self, means, rng):
        return list(np.isin(np.arange(N), super().solve(means, rng)))


class FallsNearOne(Oracle):
    """A reward that falls where all chosen means exceed 0.97."""

    n_arms = N

    def solve(self, means, rng):
        return max(map(np.array, FAMILY), key=lambda arm: self.expected_reward(arm, means))

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum() - 4 * max(0.0, means[super_arm].min() - 0.97))


class OneSenseOnly(Best):
    """Forgets its sense."""

    def __init__(self, sense):
        self.sense = sense


class SameArray(Best):
    """Remembers the array that it was given instead of what was in it."""

    last = answer = None

    def solve(self, means, rng):
        if self.last is None or not np.array_equal(self.last, means):
            self.last, self.answer = means, super().solve(means, rng)
        return self.answer.copy()


class Rounded(Best):
    """Two digits are enough."""

    def solve(self, means, rng):
        return super().solve(np.round(means, 2), rng)


class WrongKernel(Best):
    """Its compiled form has another sense."""

    def kernel(self):
        return TopK(N, K, sense="min").kernel()


FAULTS = [
    ("doubled", Doubled, "form: entries must not repeat"),
    ("first_call", FirstCallOnly, "guarantee|memory"),
    ("last_arm", WithoutTheLastArm, "guarantee"),
    ("shared_memo", SharedMemo, "buffer"),
    ("global_ties", GlobalTies, "global randomness|determinism"),
    ("covered_tracks", CoveredTracks, "global randomness|determinism"),
    ("overconfident", Overconfident, "guarantee"),
    *[(f"one_hot_{arm}", lambda arm=arm: BlindToOneHot(arm), "guarantee") for arm in range(N)],
    *[(f"one_cold_{arm}", lambda arm=arm: BlindToOneCold(arm), "guarantee") for arm in range(N)],
    ("mask", Mask, "form: solve must return an array, got list"),
    ("falls_near_one", FallsNearOne, "monotonicity"),
    ("min", lambda: OneSenseOnly("min"), "sense"),
    ("same_array", SameArray, "memory"),
    ("wrong_kernel", WrongKernel, "compiled"),
    ("rounded", Rounded, "guarantee"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "fault"), [pytest.param(*row[1:], id=row[0]) for row in FAULTS])
def test_each_fault_is_named(make, fault):
    with pytest.raises(AssertionError, match=f"^({fault})"):
        check_oracle(make(), super_arms=FAMILY)


@pytest.mark.slow
def test_negative_means_are_tried_where_they_are_allowed():
    check_oracle(Absolute(), super_arms=FAMILY)
    with pytest.raises(AssertionError, match=r"^guarantee"):
        check_oracle(Absolute(), super_arms=FAMILY, low=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("sound", [Best, lambda: OneSenseOnly("max")])
def test_the_sound_ones_pass(sound):
    check_oracle(sound(), super_arms=FAMILY)
