"""Faults that hide: wrong once in a while, in another process, or in the hands of the caller."""

import importlib
import os
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import cmab.testing
from cmab import LinearOracle, Oracle
from cmab.testing import oracle_checks
from cmab.theory import Smoothness

# These faults show at once, and all checks run to their end.
check_oracle = partial(cmab.testing.check_oracle, seconds=0.2)
N, K = 6, 2
FAMILY = list(combinations(range(N), K))


class Best(LinearOracle):
    """The best pair."""

    n_arms = N

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]


class TiesOfThree(Best):
    """Takes one arm of three or more that tie for the first place, and a bad one."""

    def solve(self, means, rng):
        first = np.flatnonzero(means == means.max())
        return np.array([first[0], np.argmin(means)]) if len(first) == 3 else super().solve(means, rng)


class Capped(Best):
    """Takes all means above 1 for equal."""

    def solve(self, means, rng):
        return super().solve(np.minimum(means, 1.0), rng)


class SlightlyOverstated(LinearOracle):
    """The best arm and its neighbour: half of the optimum, but 0.53 is declared."""

    n_arms, alpha = 12, 0.53

    def solve(self, means, rng):
        best = int(np.argmax(means))
        return np.array([best, (best + 1) % 12])


class WarmStart(Best):
    """Keeps the last answer when it is nearly as good as the new one."""

    last = np.arange(K)

    def solve(self, means, rng):
        new = super().solve(means, rng)
        if means[self.last].sum() < 0.999 * means[new].sum():
            self.last = new
        return self.last.copy()


class Buffer(Best):
    """Answers with a view of its own memory."""

    def __init__(self):
        self.answer = np.empty(K, np.int64)

    def solve(self, means, rng):
        self.answer[:] = super().solve(means, rng)
        return self.answer


class Constant(Best):
    """Answers with an array that it needs itself, where all means are equal."""

    def __init__(self):
        self.first = np.arange(K)

    def solve(self, means, rng):
        return self.first if np.ptp(means) == 0 else super().solve(means, rng)


class HashOrder(Best):
    """Goes through a set of names: ties fall as the hashes of this process do."""

    def __init__(self):
        self.names = {f"arm {i}" for i in range(N)}

    def solve(self, means, rng):
        order = np.array([int(name[4:]) for name in self.names])
        return order[np.argsort(-means[order], kind="stable")[:K]]


class Lenient(Best):
    """Chooses among the pairs with arm 0, but lets environments play any pair."""

    def solve(self, means, rng):
        return np.array([0, 1 + np.argmax(means[1:])])

    def is_feasible(self, super_arm):
        return len(super_arm) == K


class RareCrash(Best):
    def solve(self, means, rng):
        if means[0] > 0.9 and means[1] < 0.1 and 0.2 < means[2] < 0.8:
            raise KeyError("no entry")
        return super().solve(means, rng)


class Tampering(Best):
    """The reward function sorts the caller's super arm."""

    def expected_reward(self, super_arm, means):
        super_arm.sort()
        return super().expected_reward(super_arm, means)


class NoisyReward(Best):
    def expected_reward(self, super_arm, means):
        return super().expected_reward(super_arm, means) + 1e-6 * np.random.default_rng().random()


class TooLarge(Best):
    max_size = 1


class OwnSeed(Best):
    """Makes a sound rule random by a generator of its own that lives from call to call."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def solve(self, means, rng):
        return super().solve(means + 1e-9 * self.rng.random(N), rng)


class Jump(Oracle):
    """A bonus for certainty: the reward jumps where the sum passes one."""

    n_arms = N

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum() + (means[super_arm].sum() > 1))


class Root(Jump):
    """Steep at zero: no multiple of x bounds it, three times the root of x does."""

    def expected_reward(self, super_arm, means):
        return float(np.sqrt(means[super_arm]).sum())


FAULTS = [
    (TiesOfThree, "guarantee"),
    (Capped, "scale"),
    (WarmStart, "memory"),
    (Buffer, "buffer"),
    (Constant, "buffer"),
    pytest.param(HashOrder, "hashing|pickling", marks=pytest.mark.slow),
    (RareCrash, "errors: .*KeyError"),
    (Tampering, "input: expected_reward"),
    (NoisyReward, "determinism: expected_reward"),
    (TooLarge, "form: at most max_size=1"),
    (OwnSeed, "determinism|memory"),
    (Jump, "smoothness: .*jumps"),
]


@pytest.mark.parametrize(("faulty", "fault"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_each_fault_is_named(faulty, fault):
    with pytest.raises(AssertionError, match=f"^({fault})"):
        for check in oracle_checks(faulty(), FAMILY, seconds=0.2):
            check.run()


@pytest.mark.slow
def test_is_feasible_must_agree_with_the_family():
    with pytest.raises(AssertionError, match=r"^membership: is_feasible accepts"):
        check_oracle(Lenient(), super_arms=[(0, arm) for arm in range(1, N)])


@pytest.mark.slow
def test_a_ratio_that_is_slightly_too_high_is_hunted_down():
    family = list(combinations(range(12), 2))
    with pytest.raises(AssertionError, match=r"^guarantee"):
        check_oracle(SlightlyOverstated(), super_arms=family)
    honest = SlightlyOverstated()
    honest.alpha = 0.5
    check_oracle(honest, super_arms=family)


@pytest.mark.slow
def test_bounded_smoothness_is_tried_with_the_constants_given():
    check_oracle(Root(), super_arms=FAMILY)
    check_oracle(Root(), super_arms=FAMILY, smoothness=Smoothness(K, 0.5))
    with pytest.raises(AssertionError, match=r"^smoothness: .* apart, though no triggered mean moved"):
        check_oracle(Root(), super_arms=FAMILY, smoothness=Smoothness(K))
    with pytest.raises(AssertionError, match=r"^smoothness"):
        check_oracle(Best(), super_arms=FAMILY, smoothness=Smoothness(0.9 * K))


@pytest.mark.slow
def test_what_fails_is_told_with_simple_means():
    """A crash needs only three of its means; all come out at an end or in the middle."""
    with pytest.raises(AssertionError) as caught:
        check_oracle(RareCrash(), super_arms=FAMILY)
    means = caught.value.faults["errors"].rpartition("means [")[2].rstrip("]").split()
    assert {float(number) for number in means} <= {0.0, 0.5, 1.0}


class Loud(Best):
    """Writes to standard output, as solvers do."""

    def solve(self, means, rng):
        os.write(1, b"solving\n")
        return super().solve(means, rng)


@pytest.mark.slow
def test_an_oracle_may_print():
    check_oracle(Loud(), super_arms=FAMILY, trials=3)


class Homesick(Best):
    """Works in the process that made it only."""

    process = os.getpid()

    def solve(self, means, rng):
        if os.getpid() != self.process:
            raise OSError("not at home")
        return super().solve(means, rng)


@pytest.mark.slow
def test_another_process_that_fails_is_reported():
    oracle = Homesick()
    oracle.process = os.getpid()
    with pytest.raises(AssertionError, match=r"^hashing: .*not at home"):
        check_oracle(oracle, super_arms=FAMILY)


class Deadly(Homesick):
    """Takes the other process with it."""

    def solve(self, means, rng):
        if os.getpid() != self.process:
            os._exit(3)
        return Best.solve(self, means, rng)


class Located(Best):
    """Tells where it was solved, in a file."""

    def __init__(self, file):
        self.file = str(file)

    def solve(self, means, rng):
        with open(self.file, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{os.getpid()}\n")
        return super().solve(means, rng)


def processes(file):
    """Return where a check solved: here and in one other process."""
    check_oracle(Located(file), super_arms=FAMILY, trials=1)
    return {int(line) for line in file.read_text().split()} - {os.getpid()}


@pytest.mark.slow
def test_one_other_process_serves_many_oracles_until_one_kills_it(tmp_path):
    first, second = processes(tmp_path / "a"), processes(tmp_path / "b")
    assert len(first) == 1
    assert first == second
    with pytest.raises(AssertionError, match=r"^hashing: .*ended with status 3"):
        oracle = Deadly()
        oracle.process = os.getpid()
        check_oracle(oracle, super_arms=FAMILY, trials=1)
    third = processes(tmp_path / "c")
    assert len(third) == 1
    assert third != first


@pytest.mark.slow
def test_an_edit_of_a_loaded_source_starts_another_process(tmp_path, monkeypatch):
    source = tmp_path / "edited_oracle.py"
    source.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("edited_oracle")
    first = processes(tmp_path / "a")
    newest = max(path.stat().st_mtime for path in (*Path(cmab.__file__).parent.rglob("*.py"), source))
    os.utime(source, (newest + 10, newest + 10))
    assert processes(tmp_path / "b") != first
