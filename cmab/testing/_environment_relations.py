"""Checks of relations between rounds and pulls of an environment, which hold for every instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_numbers import EACH
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, mean_margin, require_mean

_SEEDS = 20
_FEW = 600
_PULLS = 20_000
_SLACK = 1e-9


def check_declaration(subject: Subject) -> None:
    """Check that the numbers of arms, the means, the support and the scale are valid and fit each other."""
    place = subject.environment
    n: Any = place.n_arms
    means = np.asarray(place.means)
    is_count = isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1
    require(is_count, "declaration", "n_arms must be a positive integer, got {!r}", n)
    numbers = means.shape == (n,) and means.dtype.kind in "fiu" and np.isfinite(means).all()
    require(numbers, "declaration", "means must be {} finite numbers, got {!r}", n, place.means)
    low, high = place.support
    require(low <= high, "declaration", "support must be an interval, got {}", place.support)
    slack = _SLACK * (1 + np.abs(means).max())
    inside = bool(((means >= low - slack) & (means <= high + slack)).all())
    require(inside, "declaration", "means must lie in the support {}, got {}", place.support, means)
    require(place.sigma >= 0, "declaration", "sigma must not be negative, got {}", place.sigma)
    oracle, choices = subject.oracle, place.n_choices
    if isinstance(oracle, Oracle):
        same = oracle.n_arms == n and choices in (None, oracle.n_choices)
        text = "the oracle has n_arms={}, n_choices={}, but the environment n_arms={}, n_choices={}"
        require(same, "declaration", text, oracle.n_arms, oracle.n_choices, n, choices)


def orders(super_arm: IntArray) -> Iterator[IntArray]:
    """Yield the super arm in reverse order, and in another order if there is one."""
    yield super_arm[::-1].copy()
    if len(super_arm) > 2:
        yield np.roll(super_arm, 1)


def check_order(subject: Subject) -> Finding:
    """Check that outcomes and rewards do not depend on the order of the entries of a super arm."""
    place = subject.environment
    each = subject.draws_each_arm
    are_sets, alike = getattr(subject.oracle, "is_linear", False), list[tuple[IntArray, IntArray]]()
    are_lists = False
    for super_arm in subject.super_arms:
        value = place.expected_reward(super_arm.copy())
        for order in orders(super_arm):
            other = place.expected_reward(order.copy())
            same = abs(value - other) <= _SLACK * (1 + abs(value))
            text = "the expected reward of {} is {:.6g}, but that of {} is {:.6g}"
            require(same or not are_sets, "order", text, super_arm, value, order, other)
            are_lists |= not same  # their order is part of the choice
            if same:
                alike.append((super_arm, order))
    for super_arm, order in () if each else alike:
        for seed in subject.seeds(_SEEDS, len(subject.super_arms)):
            one, two = (place.play(arm.copy(), np.random.default_rng(seed)) for arm in (super_arm, order))
            # Two lists may have equal expected rewards by chance.
            _require_same_round(super_arm, order, one, two, with_reward=not are_lists)
    return Finding(EACH if each else f"{len(alike)} super arms in other orders")


def _require_same_round(
    super_arm: IntArray, order: IntArray, one: Feedback, two: Feedback, with_reward: bool
) -> None:
    first, second = (dict(zip(f.arms.tolist(), f.outcomes.tolist(), strict=True)) for f in (one, two))
    text = (
        "the super arm {} shows outcome {} of arm {}, but in the order {} outcome {}, for the same"
        " generator state"
    )
    for arm in first.keys() & second.keys():
        told = (super_arm, first[arm], arm, order, second[arm])
        require(first[arm] == second[arm], "order", text, *told)
    if with_reward and first.keys() == second.keys() and not (np.isnan(one.reward) and np.isnan(two.reward)):
        text = "the super arm {} has reward {}, but in the order {} reward {}, for the same outcomes {}"
        same = abs(one.reward - two.reward) <= _SLACK * (1 + abs(one.reward))
        require(same, "order", text, super_arm, one.reward, order, two.reward, first)


def check_stream(subject: Subject) -> Finding:
    """Check that a round draws equally many numbers for all super arms, so that later rounds are the same."""
    arms = [order for arm in subject.super_arms for order in (arm, *orders(arm))]
    if subject.draws_each_arm:
        return Finding(EACH)
    tried = 0
    for seed in subject.seeds(_SEEDS):
        tried += 1
        ends = []
        for arm in arms:
            rng = np.random.default_rng(seed)
            subject.environment.play(arm.copy(), rng)
            ends.append(repr(rng.bit_generator.state))
        differ = next((arm for arm, end in zip(arms, ends, strict=True) if end != ends[0]), None)
        text = (
            "play draws other numbers for super arm {} than for {}, so that policies that differ"
            " once meet other"
            " outcomes in all later rounds; draw one number and derive the outcomes from it (`round_key`)"
        )
        require(differ is None, "stream", text, differ, arms[0])
    return Finding(f"{len(arms)} super arms with {tried} seeds")


def check_input(subject: Subject) -> Finding:
    """Check that rounds and pulls do not modify their arguments, and that answers may be overwritten."""
    place = subject.environment
    for super_arm in [order for arm in subject.super_arms for order in (arm, *orders(arm))]:
        given = super_arm.copy()
        first = place.play(given, np.random.default_rng(3))
        place.expected_reward(given)
        text = "play and expected_reward must not modify the super arm, but changed {} to {}"
        require(np.array_equal(given, super_arm), "input", text, super_arm, given)
        fixed = super_arm.copy()
        fixed.flags.writeable = False
        kept = (first.arms.copy(), first.outcomes.copy())
        for array in (first.arms, first.outcomes):
            if array.flags.writeable:
                array[...] = 0
        again = place.play(fixed, np.random.default_rng(3))
        same = np.array_equal(again.arms, kept[0]) and np.array_equal(again.outcomes, kept[1])
        text = (
            "after the feedback was overwritten, the same round of {} showed {} and {} instead of {} and {}"
        )
        require(same, "input", text, super_arm, again.arms, again.outcomes, *kept)
    if not subject.first_pulls:
        return Finding("rounds only")
    arms = np.resize(subject.arms[::-1], 2 * len(subject.arms))
    given = arms.copy()
    outcomes: Any = place.pull(given, np.random.default_rng(3))
    require(
        np.array_equal(given, arms),
        "input",
        "pull must not modify its arms, but changed {} to {}",
        arms,
        given,
    )
    kept_outcomes = np.array(outcomes)
    if isinstance(outcomes, np.ndarray) and outcomes.flags.writeable:
        outcomes[...] = 0.0
    again_outcomes = np.array(place.pull(arms.copy(), np.random.default_rng(3)))
    text = "after the pulled outcomes were overwritten, the same pulls gave {} instead of {}"
    require(np.array_equal(again_outcomes, kept_outcomes), "input", text, again_outcomes, kept_outcomes)
    return Finding("rounds and pulls")


def check_pull_order(subject: Subject) -> Finding:
    """Check that pulls in any order, one by one or summed, belong to the arms that were asked for."""
    place, rng = subject.environment, np.random.default_rng((15, subject.rng))
    # Slow environments are asked for fewer pulls.
    least, affordable = 40 * len(subject.arms), subject.affordable(0.06)
    asked = rng.permutation(np.resize(subject.arms, max(least, min(_PULLS, affordable))))
    outcomes = np.asarray(place.pull(asked.copy(), rng))
    require(
        outcomes.shape == asked.shape,
        "pull order",
        "pull of {} arms returned shape {}",
        len(asked),
        outcomes.shape,
    )
    tests = 0
    means, rare = np.array(place.means, np.float64), _spread(place.support)
    for arm in subject.arms:
        require_mean(
            "pull order",
            f"pulls of arm {arm} in mixed order",
            outcomes[asked == arm],
            float(means[arm]),
            rare,
        )
        tests += 1
    few = rng.permutation(np.resize(subject.arms, max(least, min(2000, affordable // 3))))
    pulls = rng.integers(1, 6, len(few))
    sums, squares = place.pull_many(few.copy(), pulls.copy(), rng)
    fits = np.shape(sums) == few.shape and np.shape(squares) == few.shape
    require(
        fits,
        "pull order",
        "pull_many of {} arms returned shapes {} and {}",
        len(few),
        np.shape(sums),
        np.shape(squares),
    )
    for arm in subject.arms:
        here = few == arm
        # Deviations of the sums from their expectations average to 0.
        deviations = np.asarray(sums)[here] - pulls[here] * means[arm]
        require_mean("pull order", f"deviations of sums of pulls of arm {arm}", deviations, 0.0, 6 * rare)
        tests += 1
    tests += _check_few(subject, rare)
    shown = place.sample(few[:1].copy(), 3, np.random.default_rng(1))
    good = np.array_equal(shown.arms, few[:1]) and shown.pulls is not None and shown.pulls[0] == 3
    require(
        good,
        "pull order",
        "sample of arm {} with 3 pulls returned arms {} with pulls {}",
        few[0],
        shown.arms,
        shown.pulls,
    )
    return Finding(f"{len(asked)} pulls and {len(few)} sums in mixed order", tests * MEAN_LEVEL)


def _check_few(subject: Subject, rare: float) -> int:
    """Check the means of requests of two arms, in both orders, one by one and as samples of three pulls."""
    place, rng = subject.environment, np.random.default_rng((16, subject.rng))
    means = np.array(place.means, np.float64)
    pair = subject.arms[[np.argmin(means[subject.arms]), np.argmax(means[subject.arms])]]
    if pair[0] == pair[1]:
        return 0
    pulled, sampled, alone = [], [], []
    for _ in subject.timed(range(_FEW), 0.04, _FEW // 10):
        pulled.append(np.asarray(place.pull(pair.copy(), rng)))
        alone.append([float(np.asarray(place.pull(pair[[end]], rng))[0]) for end in (0, 1)])
        sample = place.sample(pair[::-1].copy(), 3, rng)
        sampled.append(sample.outcomes[::-1] / 3)
    told = (
        (pulled, "pulls", "two arms"),
        (sampled, "samples of 3 pulls", "two arms"),
        (alone, "pulls", "one arm"),
    )
    for rows, what, asked in told:
        for arm, outcomes in zip(pair.tolist(), np.array(rows).T, strict=True):
            where = f"{what} of arm {arm} in requests of {asked}"
            require_mean("pull order", where, outcomes, float(means[arm]), rare)
            if rows is not sampled:
                many = subject.pulled[1][int(np.flatnonzero(subject.pulled[0] == arm)[0])]
                _require_same_variance(where, outcomes, many, float(means[arm]))
    return 14


def _require_same_variance(where: str, few: FloatArray, many: FloatArray, mean: float) -> None:
    """Raise ``AssertionError`` if pulls in small requests vary more or less than in large ones."""
    one, other = (few - mean) ** 2, (many - mean) ** 2
    spread = max(float(np.ptp(one)), float(np.ptp(other)))
    near = abs(one.mean() - other.mean()) <= mean_margin(one, spread) + mean_margin(other, spread)
    text = "{} have variance {:.6g}, but {:.6g} in large requests"
    require(near, "pull order", text, where, one.mean(), other.mean())


def _spread(support: tuple[float, float]) -> float:
    length = support[1] - support[0]
    return length if np.isfinite(length) else 0.0


def check_agreement(subject: Subject) -> Finding:
    """Check that the expected reward is that of the oracle for the true means, if it is a sum."""
    place, oracle = subject.environment, subject.oracle
    if not isinstance(oracle, Oracle) or not oracle.is_linear or place.context is not None:
        return Finding("not tried: there is no oracle of sums")
    for super_arm in subject.super_arms:
        here, there = (
            place.expected_reward(super_arm),
            oracle.expected_reward(super_arm, np.array(place.means)),
        )
        text = "the expected reward of {} is {:.6g}, but its oracle computes {:.6g} from the true means"
        require(abs(here - there) <= _SLACK * (1 + abs(there)), "agreement", text, super_arm, here, there)
    return Finding(f"{len(subject.super_arms)} super arms")
