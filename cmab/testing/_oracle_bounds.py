"""Checks of the bound on the optimum, and of the gaps of the arms, against the known super arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle, Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, require
from cmab.testing._oracle_subject import TOLERANCE, Subject
from cmab.testing._statistics import binomial_tail

_FORCED = "for include={}, exclude={} and means {}"


def check_optimum_bound(subject: Subject) -> Finding:
    """Check that `optimum_bound` is at least (costs: at most) the reward of every super arm."""
    oracle, failed, tried = subject.oracle, 0, 0
    if type(oracle).optimum_bound is Oracle.optimum_bound:
        return Finding("not tried: the default bound is correct if alpha is")
    allowed = 1 - oracle.beta
    for state, means in enumerate(subject.timed(subject.some())):
        bound: Any = oracle.optimum_bound(means.copy(), np.random.default_rng(state))
        values = subject.worths(means)
        best = float(values.max() if oracle.sense == "max" else values.min())
        tried += 1
        # Also wrong for nan.
        if oracle.sign * (bound - best) >= -TOLERANCE * (1 + abs(best)):
            continue
        failed += 1
        told = (means, bound, subject.rivals[int(np.argmax(oracle.sign * values))], best)
        text = "optimum_bound for means {} is {:.9g}, but {} has reward {:.9g}"
        require(allowed > 0, "optimum bound", text, *told)
        text = (
            f"{failed} of {tried} bounds fail, more than beta={oracle.beta:.6g} permits; for example, {text}"
        )
        require(binomial_tail(failed, tried, allowed) >= LEVEL / 10, "optimum bound", text, *told)
    return Finding(f"{tried} problems", LEVEL if allowed > 0 else 0.0)


def check_gaps(subject: Subject) -> Finding | None:
    """Check that `gaps` returns the loss of moving each arm to the other side, also under constraints."""
    oracle = subject.oracle
    if subject.family is None or not isinstance(oracle, LinearOracle) or not oracle.can_constrain:
        return None
    if type(oracle).gaps is LinearOracle.gaps:
        return Finding("not tried: the default calls solve_constrained")
    if not oracle.is_exact:
        return Finding("not tried: the oracle is not exact")
    membership = np.zeros((len(subject.family), oracle.n_arms), np.bool_)
    for row, arm in zip(membership, subject.family, strict=True):
        row[arm] = True
    rng, tried, can_include = np.random.default_rng((63, subject.rng)), 0, True
    for means in subject.timed(subject.problems):
        sides = rng.choice(3, oracle.n_arms, p=(0.7, 0.15, 0.15))
        include, exclude = np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)
        left = membership[membership[:, include].all(axis=1) & ~membership[:, exclude].any(axis=1)]
        if not len(left):
            continue
        if not can_include and len(include):
            continue
        try:
            _check_gaps(oracle, left, means, include, exclude)
        except TypeError:
            if not len(include):
                raise
            can_include = False  # the oracle supports excluded arms only
            continue
        tried += 1
    return Finding(f"{tried} problems")


def _check_gaps(
    oracle: LinearOracle, left: Any, means: FloatArray, include: IntArray, exclude: IntArray
) -> None:
    given = means.copy()
    answer, gaps = oracle.gaps(given, include.copy(), exclude.copy(), np.random.default_rng(7))
    told = (include, exclude, means)
    require(np.array_equal(given, means), "gaps", "gaps must not modify its means {}", means)
    values = oracle.sign * np.array([oracle.expected_reward(np.flatnonzero(row), means) for row in left])
    chosen = np.zeros(oracle.n_arms, np.bool_)
    chosen[np.asarray(answer, np.int64)] = True
    text = "the answer {} of gaps is not one of the remaining super arms " + _FORCED
    here = np.flatnonzero((left == chosen).all(axis=1))
    require(len(here) > 0, "gaps", text, answer, *told)
    best, slack = float(values.max()), TOLERANCE * (1 + np.abs(means).sum())
    text = "the answer {} of gaps has reward {:.9g}, but the optimum is {:.9g} " + _FORCED
    is_best = values[here[0]] >= best - slack
    require(is_best, "gaps", text, answer, oracle.sign * values[here[0]], oracle.sign * best, *told)
    # The arm is on the other side of its place in the answer.
    others = np.where(left != chosen, values[:, None], -np.inf)
    expected = best - others.max(axis=0)
    gaps = np.asarray(gaps, np.float64)
    require(gaps.shape == expected.shape, "gaps", "gaps must be {} numbers, got {}", oracle.n_arms, gaps)
    with np.errstate(invalid="ignore"):
        same = (gaps == expected) | (np.abs(gaps - expected) <= slack)
    text = "the gaps are {}, but the losses of the best other super arms are {} " + _FORCED
    require(bool(same.all()), "gaps", text, gaps, expected, *told)
