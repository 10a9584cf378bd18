"""The check of the optimum of an environment whose budgets allow an average use of resources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog

from cmab.arrays import FloatArray
from cmab.feedback import Feedback
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject

# Standard errors, and largest amounts divided by the number of rounds, between an average and its bounds.
_ERRORS, _JUMPS = 7.1, 60.0
#: The probability that one average is outside its bounds, by the inequality of Maurer and Pontil (2009,
#: Theorem 4) with ln(2 / level) = 25, for amounts up to the largest that was seen.
_LEVEL = 1e-10


def check_allowed_optimum(subject: Subject) -> tuple[str, float]:
    """Check that mixtures of the super arms within the allowance are not better than the optimum.

    The mean use of each super arm is bounded by the use in its rounds. A mixture that is within the allowance
    for the upper bounds is possible, so that the optimum is at least its reward. If the super arms are all,
    the optimum is at most the reward of the best mixture for the lower bounds.

    Returns
    -------
    text : str
        How much the check tried.
    false_alarm : float
        Probability that a correct environment fails.
    """
    environment = subject.environment
    optimum, allowance = float(environment.optimum), np.asarray(environment.allowance, np.float64)
    uses = [[_used(told) for told in rounds] for rounds in subject.rounds]
    if math.isnan(optimum) or any(used is None for rounds in uses for used in rounds):
        return "not tried: the optimum or the use of resources is not known", 0.0
    rewards = np.array([environment.expected_reward(arm.copy()) for arm in subject.super_arms])
    bounds = [_bounds(np.array(rounds)) for rounds in uses]
    low, high = (np.array(ends) for ends in zip(*bounds, strict=True))
    slack = 1e-6 * (1 + abs(optimum))
    least = _best(rewards, high, allowance, is_whole=True)
    text = (
        "mixtures of the super arms with an average use within the allowance {} have rewards up to {:.6g},"
        " but the optimum is {:.6g}"
    )
    good = least is None or optimum >= least - slack
    require(good, "optimum", text, allowance, least, optimum)
    if subject.exhaustive:
        most = _best(rewards, low, allowance, is_whole=False)
        good = most is None or optimum <= most + slack
        require(good, "optimum", text, allowance, most, optimum)
    return f"mixtures of {len(rewards)} super arms within the allowance", 2 * low.size * _LEVEL


def _used(told: Feedback) -> FloatArray | None:
    if told.used is not None:
        return told.used
    return None if told.costs is None else told.costs.sum(axis=0)


def _bounds(used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the mean use of each resource in the rounds of a super arm."""
    n = len(used)
    width = _ERRORS * used.std(axis=0) / math.sqrt(n) + _JUMPS * np.abs(used).max(axis=0) / n
    return np.maximum(used.mean(axis=0) - width, 0.0), used.mean(axis=0) + width


def _best(rewards: FloatArray, uses: FloatArray, allowance: FloatArray, is_whole: bool) -> float | None:
    """Return the largest mean reward of a mixture within the allowance, or None if there is none.

    The shares of the super arms add up to 1, or to at most 1 unless `is_whole`.
    """
    ones = np.ones((1, len(rewards)))
    sums: dict[str, Any] = {"A_eq": ones, "b_eq": [1.0]} if is_whole else {}
    rows = uses.T if is_whole else np.vstack([uses.T, ones])
    limits = allowance if is_whole else np.append(allowance, 1.0)
    found = linprog(-rewards, A_ub=rows, b_ub=limits, bounds=(0.0, 1.0), **sums)
    return -float(found.fun) if found.status == 0 else None
