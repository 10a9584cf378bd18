"""What an environment declares and answers, refused where no run could be about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.environment import Environment
from cmab.feedback import Feedback, check_arrays, check_outcomes
from cmab.policy import AnyPolicy
from cmab.validation import check_vector, real, real_array, shown


def check_declared(environment: Environment) -> None:
    """Raise ``ValueError`` unless `support` is an interval, `sigma` a scale and `means` one number an arm."""
    try:
        low, high = (real_or_infinite("environment.support", end) for end in environment.support)
    except (TypeError, ValueError):
        low, high = math.inf, -math.inf
    if not low <= high or low == math.inf or high == -math.inf:
        raise ValueError(
            f"environment.support must be two numbers (low, high) with low <= high, which may be infinite,"
            f" got {shown(environment.support)}"
        )
    if real_or_infinite("environment.sigma", environment.sigma) < 0.0:
        raise ValueError(f"environment.sigma must not be negative, got {environment.sigma}")
    means: Any = environment.means
    if not isinstance(means, np.ndarray):
        raise ValueError(f"environment.means must be a numpy array, got {shown(means)}")
    check_vector("environment.means", real_array("environment.means", means), environment.n_arms)


def check_support(policy: AnyPolicy, environment: Environment) -> None:
    """Raise ``ValueError`` unless outcomes lie in the policy's support, or are sub-Gaussian as if they did.

    Then their means must lie in it: that is what confidence radii and caps rest on.
    """
    if policy.support is None or not policy.learns:
        return
    (low, high), (least, most) = policy.support, environment.support
    # Bounded outcomes in the support are all that the intervals need.
    if low <= least and most <= high:
        return
    # By Hoeffding's lemma outcomes in [low, high] are sub-Gaussian with sigma (high - low) / 2. What else is,
    # with means in the interval, has the same deviations: Gaussian arms may be learned with a support.
    slack, means = 1e-12 * (high - low), np.asarray(environment.means)
    if (
        environment.sigma > (high - low) / 2 + slack
        or not ((means >= low - slack) & (means <= high + slack)).all()
    ):
        raise ValueError(
            f"environment must have outcomes in [{low:g}, {high:g}], the support of {type(policy).__name__},"
            f" or means in it and a sigma of at most {(high - low) / 2:g}; got outcomes in [{least:g},"
            f" {most:g}], means from {means.min():g} to {means.max():g}, sigma {environment.sigma:g}."
            f" Give the policy a support that fits"
        )


def check_answer(method: str, feedback: Any, support: tuple[float, float]) -> None:
    """Raise ``ValueError`` unless `play` or `sample` returned feedback in the declared support."""
    if not isinstance(feedback, Feedback):
        raise ValueError(
            f"environment.{method} must return a Feedback(arms, outcomes), got {shown(feedback)}"
        )
    check_arrays(feedback)
    check_outcomes(feedback, support, "the support that the environment declares")


def finite_or_nan(name: str, value: Any) -> float:
    """Return a number that may be unknown."""
    # The usual case at once: this is asked in every round.
    if type(value) is float and not math.isinf(value):
        return value
    if isinstance(value, float | np.floating) and math.isnan(value):
        return math.nan
    if np.ndim(value):
        raise ValueError(f"{name} must be a real number, got {shown(value)}")
    return real(name, value)


def real_or_infinite(name: str, value: Any) -> float:
    """Return a number other than ``nan``."""
    if isinstance(value, float | np.floating) and math.isinf(value):
        return float(value)
    return real(name, value)
