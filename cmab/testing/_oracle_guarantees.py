"""Checks of what an oracle promises: alpha, beta and sense, also with arms forced in or out."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.testing._checks import binomial_tail, require
from cmab.testing._oracle_subject import TOLERANCE, Subject, key

_LEVEL = 1e-6


def check_guarantee(subject: Subject) -> None:
    """Answers are worth alpha times the optimum with probability beta (sense included)."""
    oracle, rivals = subject.oracle, subject.family
    if rivals is None:  # every answer is feasible, so each is a rival of the others
        rivals = list({key(answer): answer for answer in map(subject.solve, subject.all_means())}.values())
    problems = list(subject.all_means())
    # Only a promise with probability needs a fresh generator state for each problem.
    states = range(len(problems)) if oracle.beta < 1 else [7] * len(problems)
    tried = zip(problems, states, strict=True)
    failed = [means for means, state in tried if _falls_short(subject, rivals, means, state)]
    if not failed or binomial_tail(len(failed), len(problems), 1 - oracle.beta) >= _LEVEL:
        return
    # With beta < 1 a shortfall may be chance, and shrinking would chase it.
    means = failed[0] if oracle.beta < 1 else _shrink(subject, rivals, failed[0])
    answer = subject.solve(means)
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    best, worst = (max(values), min(values)) if oracle.sense == "max" else (min(values), max(values))
    value = oracle.expected_reward(answer, means)
    text = (
        f"{len(failed)} of {len(problems)} answers miss alpha={oracle.alpha:.6g} (beta={oracle.beta:.6g},"
        f" sense={oracle.sense!r}); for means {means} the answer {answer} is worth {value:.6g},"
        f" {rivals[values.index(best)]} is worth {best:.6g}"
    )
    if len({key(subject.solve(other)) for other in problems}) == 1:
        raise AssertionError(f"guarantee: {text}; it ignores its means")
    if abs(value - worst) <= TOLERANCE < abs(best - worst) and len(failed) > len(problems) // 2:
        raise AssertionError(f"sense: {text}; it seems to optimise the other way")
    raise AssertionError(f"guarantee: {text}")


def _falls_short(subject: Subject, rivals: list[IntArray], means: FloatArray, state: int) -> bool:
    """Return whether the answer is worse than alpha times the best of `rivals`."""
    oracle = subject.oracle
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    value = oracle.expected_reward(subject.solve(means, state), means)
    slack = TOLERANCE * (1.0 + abs(value))
    if oracle.sense == "max":
        return value < oracle.alpha * max(values) - slack
    return value > oracle.alpha * min(values) + slack


def _shrink(subject: Subject, rivals: list[IntArray], means: FloatArray) -> FloatArray:
    """Return simpler means that still fail: each entry at an end or in the middle where possible."""
    simple = (subject.low, subject.high, (subject.low + subject.high) / 2)
    for _ in range(3):  # an entry may become simple once the others are
        for arm in np.flatnonzero(~np.isin(means, simple)):
            for value in simple:
                simpler = np.where(np.arange(len(means)) == arm, value, means)
                if _falls_short(subject, rivals, simpler, 7):
                    means = simpler
                    break
    return means


def check_constraints(subject: Subject) -> None:
    """A LinearOracle that solves with arms forced in or out finds the best of what is left."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    if (
        subject.family is None
        or not isinstance(oracle, LinearOracle)
        or type(oracle).solve_constrained is LinearOracle.solve_constrained
    ):
        return
    family = [(frozenset(arm.tolist()), arm) for arm in subject.family]
    for means in subject.all_means():
        sides = rng.choice(3, oracle.n_arms, p=(0.6, 0.2, 0.2))
        include, exclude = np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)
        left = {key: arm for key, arm in family if key.issuperset(include) and key.isdisjoint(exclude)}
        what = f"with {include} forced in, {exclude} forced out and means {means}"
        try:
            answer = oracle.solve_constrained(means.copy(), include, exclude, np.random.default_rng(7))
        except TypeError:  # the oracle says that it cannot force arms in
            continue
        require((answer is None) == (not left), "constraints", f"got {answer}, {len(left)} are left {what}")
        if answer is None:
            continue
        require(frozenset(answer.tolist()) in left, "constraints", f"{answer} breaks them or is none {what}")
        values = [oracle.expected_reward(arm, means) for arm in left.values()]
        best = max(values) if oracle.sense == "max" else min(values)
        value = oracle.expected_reward(answer, means)
        good = not oracle.is_exact or abs(value - best) <= TOLERANCE * (1 + abs(best))
        require(good, "constraints", f"{answer} is worth {value:.6g}, the optimum {best:.6g} {what}")
