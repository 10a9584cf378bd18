"""Intervals by betting: fair games exactly, intervals by hand, coverage where Student's fails, refusals."""

from itertools import permutations, product

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import Log, LoggedRound, off_policy_value
from cmab.offline.estimators import log_capitals

LISTS = list(permutations("abc", 2))
LOGGING = dict(zip(LISTS, [0.02, 0.08, 0.1, 0.2, 0.3, 0.3], strict=True))
TARGET = dict(zip(LISTS, [0.5, 0.0, 0.2, 0.1, 0.1, 0.1], strict=True))
CLICKS = {"a": 0.9, "b": 0.3, "c": 0.3}  # of the first entry


def log_of(played, outcomes, chances=LOGGING, low=0.0, unit=1.0):
    return Log(
        LoggedRound(
            number=i,
            state="told",
            names=names,
            outcomes={name: low + unit * x for name, x in zip(names, seen, strict=True)},
            propensity=chances[names],
        )
        for i, (names, seen) in enumerate(zip(played, outcomes, strict=True))
    )


def drawn(rng, n):
    """Return a log of n rounds; the first entry earns, the second nothing."""
    played = [LISTS[i] for i in rng.choice(len(LISTS), n, p=[*LOGGING.values()])]
    return log_of(played, [(float(rng.random() < CLICKS[names[0]]), 0.0) for names in played])


TRUTH = sum(p * CLICKS[names[0]] for names, p in TARGET.items())


def test_every_game_is_fair():
    """The expected capital of each share of the stake is 1, by enumeration of what two rounds may be."""
    cases = [(LOGGING[names] * CLICKS[names[0]], TARGET[names] / LOGGING[names]) for names in LISTS]
    cases += [(LOGGING[names] * (1 - CLICKS[names[0]]), 0.0) for names in LISTS]
    for base, sign in ((0.0, 1.0), (25.0, -1.0)):
        expected = 0.0
        for rounds in product(cases, repeat=2):
            terms = np.array([base + sign * value for _, value in rounds])
            capitals = np.exp(log_capitals(terms, np.ones(2, int), base + sign * TRUTH, goal=0.2))
            assert len(capitals) == 4
            expected += np.prod([p for p, _ in rounds]) * capitals
        np.testing.assert_allclose(expected, 1.0, rtol=1e-12)


def by_hand(log, level, largest=None):
    """The interval as a scan over 1000 values, with the capitals as they grow from round to round."""
    w = np.array([TARGET[row.names] / LOGGING[row.names] for row in log])
    r, goal = np.array([sum(row.outcomes.values()) for row in log]), 2 / (1 - level)
    shares = [0.5**j for j in range(1, 1 + int(np.ceil(np.log2(len(log) / np.log(goal)))))]
    m = np.linspace(0.001, 1.0, 1000)

    def reached(earned):
        stakes = [np.ones(1000) for _ in range(len(shares) * (1 if largest is None else 2))]
        for weight, x in zip(w, earned, strict=True):
            for j, u in enumerate(shares):
                stakes[j] *= 1 + u * (weight * x - m) / m
                if largest is not None:
                    # Its smallest value, 1 - largest - m, loses the share u.
                    stakes[-1 - j] *= 1 + u * (weight * (x - 1) + 1 - m) / (largest - 1 + m)
        return m[np.mean(stakes, axis=0) >= goal].max(initial=0.0)

    return reached(r), 1 - reached(1 - r)


@pytest.mark.parametrize("bounded", [False, True])
def test_the_interval_is_what_the_bets_leave(bounded):
    log = drawn(np.random.default_rng(0), 150)
    how = {"logging": LOGGING} if bounded else {}
    found = off_policy_value(log, TARGET, level=0.9, reward_range=(0, 1), **how)
    assert found.interval == pytest.approx(by_hand(log, 0.9, 25.0 if bounded else None), abs=1.1e-3)
    assert found.value == off_policy_value(log, TARGET).value
    for method in ("rips", "iips"):
        # Entries in [0, 1] are lists in [0, 2]: nothing is earned at the second position.
        wide = off_policy_value(log, TARGET, method, logging=LOGGING, reward_range=(0, 1))
        assert 0.0 <= wide.interval[0] < TRUTH < wide.interval[1] <= 2.0


def test_order_scale_and_sign_change_nothing():
    log = drawn(np.random.default_rng(1), 100)
    how = {"logging": LOGGING, "level": 0.8}
    low, high = off_policy_value(log, TARGET, reward_range=(0, 1), **how).interval
    assert off_policy_value(Log(log[::-1]), TARGET, reward_range=(0, 1), **how).interval == pytest.approx(
        (low, high), abs=1e-8
    )
    names, seen = [row.names for row in log], [tuple(row.outcomes.values()) for row in log]
    for base, unit in ((0.0, 1e6), (-3.0, 5.0), (1.0, -1.0)):
        # Half of the base for either entry.
        moved = log_of(names, seen, low=base / 2, unit=unit)
        ends = sorted((base, base + unit))
        found = off_policy_value(moved, TARGET, reward_range=ends, **how).interval
        assert found == pytest.approx(sorted((base + unit * low, base + unit * high)), abs=1e-7 * abs(unit))


@pytest.mark.slow
@pytest.mark.parametrize("is_bounded", [False, True])
def test_intervals_hold_where_student_s_do_not(is_bounded):
    """Most of the value is earned in a fiftieth of the rounds: of 100 logs of 40, at the level 0.9.

    An interval that holds as it says does so in fewer logs than asserted with probability 1e-6 at most;
    Student's does in so few.
    """
    rng, chances = np.random.default_rng(2), {("a",): 0.5, ("b",): 0.3, ("c",): 0.2}
    target = dict(zip(chances, [0.4, 0.2, 0.4], strict=True))
    held, names = {"betting": 0, "student": 0}, [*chances]
    for _ in range(100):
        rare, often = rng.random(40) < 0.02, 0.02 * rng.random(40)
        played = [names[i] for i in rng.choice(3, 40, p=[*chances.values()])]
        log = log_of(played, [(x,) for x in np.where(rare, 1.0, often)], chances)
        for name, given in (("betting", {"reward_range": (0, 1)}), ("student", {})):
            logging = chances if is_bounded else None
            low, high = off_policy_value(log, target, level=0.9, logging=logging, **given).interval
            held[name] += low <= 0.02 + 0.98 * 0.01 <= high
    assert held["betting"] >= stats.binom.ppf(1e-6, 100, 0.9) > held["student"] > 0


def test_a_log_without_a_click_says_something():
    """Of the rule itself: at most four times the exact end of Clopper and Pearson, for clicks alone."""
    half = {("a",): 0.5, ("b",): 0.5}
    log = log_of([*half] * 200, [(0.0,)] * 400, half)
    low, high = off_policy_value(log, half, reward_range=(0, 1)).interval
    exact = 1 - 0.025 ** (1 / 400)
    assert low == 0.0
    assert exact < high < 4.0 * exact


LOG = drawn(np.random.default_rng(3), 30)


test_what_cannot_be_bet_on_is_refused = refused(
    ({"reward_range": (0, 0.5)}, r"rewards must lie in reward_range, \(0, 0.5\), got others in round"),
    ({"reward_range": (1, 0)}, "reward_range must be an interval"),
    ({"reward_range": (0, np.inf)}, "reward_range must be two finite numbers"),
    ({"reward_range": 1}, "reward_range must be two finite numbers"),
    ({"reward_range": (0, 1), "self_normalised": True}, "reward_range must be None with self_normalised"),
    ({"reward_range": (0, 1), "method": "dr", "model": len}, "reward_range must be None with 'dr'"),
    by=lambda how: off_policy_value(LOG, TARGET, **how),
)


def test_probabilities_that_no_value_fits_are_refused():
    """Weights of 1.4 in all rounds, too few of them for that to be improbable; of rewards of 0.5 each."""
    log = log_of([("a",)] * 20, [(0.5,)] * 20, {("a",): 1 / 1.4})
    with pytest.raises(ValueError, match="a log that no value explains"):
        off_policy_value(log, {("a",): 1.0}, reward_range=(0, 1), level=0.05)
