"""Checks of an environment during a run, which raise before the result would be wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment, changes
from cmab.feedback import Context, Feedback, check_arrays, check_outcomes
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.solver_certificate import metered
from cmab.validation import check_vector, real, real_array, shown

#: Number of super arms, the first ones of a run, whose expected rewards are computed again later.
_WITNESSES = 4


class Referee:
    """The environment of each round of a run, with the sum of the optima, and checks that it is consistent.

    The expected reward of a super arm is computed once while the policy repeats this super arm, and the
    regret refers to one optimum. Therefore `check` computes the optimum again in rounds 2, 4, 8, ... and at
    the end, and also the expected rewards of the last super arm and of the first ones. Each new environment
    that `in_round` returns is checked.

    Parameters
    ----------
    environment : Environment
        The environment of the run.
    policy : Policy
        The policy, which the environment of each round must fit.
    rng : numpy.random.Generator
        The stream for `in_round`.

    Attributes
    ----------
    changes : bool
        Whether rounds differ.
    best : float
        The sum of the optima of all rounds so far, if rounds differ.
    optimum : float
        The optimum of the round of the last call of `at`.
    """

    def __init__(self, environment: Environment, policy: AnyPolicy, rng: np.random.Generator) -> None:
        self.environment, self.changes, self.best = environment, changes(environment), 0.0
        self._policy, self._rng = policy, rng
        self._means: FloatArray = np.array(environment.means, np.float64)
        self._optimum = finite_or_nan("environment.optimum", environment.optimum)
        self.optimum = self._optimum
        self._world, self._context, self._look = environment, environment.context, 2
        self._played, self._value = b"none", math.nan
        self._first: dict[bytes, float] = {}

    def at(self, t: int) -> Environment:
        """Return the environment as it is in round `t`."""
        if t == self._look:  # a logarithmic number of checks is cheap, and detects changes
            self.check(t)
            self._look *= 2
        if not self.changes:
            return self.environment
        with metered(None):  # do not count calls of the environment to the oracle of the policy
            world = self.environment.in_round(t, self._rng)
            if world is not self._world:
                check_world(self.environment, world, t)
                check_support(self._policy, world)
            if world is not self._world or world.context is not self._context:
                check_context(world, self._policy.oracle)
            self.optimum = finite_or_nan(f"the optimum of round {t}", world.optimum)
            self.best += self.optimum
        self._world, self._context = world, world.context
        return world

    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the expected reward of a super arm in the round of the last call of `at`."""
        # Reuse the expected reward of a repeated super arm, because computing it can be slow.
        played = super_arm.tobytes()
        if self.changes or played != self._played:
            answer = self._world.expected_reward(super_arm)
            self._value = finite_or_nan("environment.expected_reward(super_arm)", answer)
            self._played = played
            if len(self._first) < _WITNESSES:
                self._first.setdefault(played, self._value)
        return self._value

    def check(self, t: int) -> None:
        """Raise ``ValueError`` if the means, the optimum or expected rewards have changed by round `t`."""
        means: Any = self.environment.means
        optimum = finite_or_nan("environment.optimum", self.environment.optimum)
        if not np.array_equal(self._means, means, equal_nan=True):
            arm = int(np.flatnonzero(np.asarray(means) != self._means)[0])
            changed = f"the mean of arm {arm} was {self._means[arm]} and is {means[arm]}"
        elif optimum != self._optimum and not (math.isnan(optimum) and math.isnan(self._optimum)):
            changed = f"the optimum was {self._optimum} and is {optimum}"
        elif self._has_other_reward():
            changed = "the expected reward of a super arm has changed"
        else:
            return
        raise ValueError(
            "environment must keep its means, optimum and expected rewards during a run, because the regret"
            f" refers to one optimum, but by round {t} {changed}; if rounds differ, define in_round(t, rng),"
            " which returns the environment of round t"
        )

    def _has_other_reward(self) -> bool:
        if self.changes:
            return False
        # Include the first super arms: the value of the last one may be from after the change.
        for played, value in (*self._first.items(), (self._played, self._value)):
            if math.isnan(value):  # unknown, or no round was played
                continue
            super_arm = np.frombuffer(played, np.int64).copy()
            # A tolerance for sums in another order.
            if not math.isclose(self.environment.expected_reward(super_arm), value, rel_tol=1e-9):
                return True
        return False


def check_declared(environment: Environment) -> None:
    """Raise ``ValueError`` unless `support`, `sigma` and `means` of an environment are valid."""
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
    """Raise ``ValueError`` unless the outcomes of an environment fit the support of a policy.

    They fit if they lie in the support, or if all means lie in it and sigma is at most half its length. The
    confidence radii and caps of the policy require this.
    """
    if policy.support is None or not policy.learns:
        return
    (low, high), (least, most) = policy.support, environment.support
    # Outcomes in the support satisfy all confidence intervals.
    if low <= least and most <= high:
        return
    # By Hoeffding's lemma, outcomes in [low, high] are sub-Gaussian with sigma (high - low) / 2. Others with
    # this sigma and means in the interval, such as Gaussian outcomes, have the same deviations.
    slack, means = 1e-12 * (high - low), np.asarray(environment.means)
    if (
        environment.sigma > (high - low) / 2 + slack
        or not ((means >= low - slack) & (means <= high + slack)).all()
    ):
        raise ValueError(
            f"environment must have outcomes in [{low:g}, {high:g}], the support of {type(policy).__name__},"
            f" or means in it and a sigma of at most {(high - low) / 2:g}; got outcomes in [{least:g},"
            f" {most:g}], means from {means.min():g} to {means.max():g}, sigma {environment.sigma:g}."
            f" Set the support of the policy to an interval that fits"
        )


def check_context(environment: Environment, oracle: Oracle) -> None:
    """Raise ``ValueError`` unless the context of an environment is None or fits the arms of the oracle."""
    context = environment.context
    if context is None:
        return
    if not isinstance(context, Context):
        raise ValueError(f"environment.context must be a Context or None, got {shown(context)}")
    context.check(oracle.n_arms, oracle.n_choices)


def check_world(environment: Environment, world: Environment, t: int) -> None:
    """Raise ``ValueError`` unless `world` is a valid environment for round `t`."""
    asked = f"environment.in_round({t}, rng)"
    if not isinstance(world, Environment):
        raise ValueError(f"{asked} must return an Environment, got {shown(world)}")
    if world.n_arms != environment.n_arms:
        raise ValueError(f"{asked} must have {environment.n_arms} base arms, got {world.n_arms}")
    check_declared(world)
    (low, high), (least, most) = environment.support, world.support
    if not low <= least <= most <= high:
        raise ValueError(f"{asked} must have outcomes in {environment.support}, got support {world.support}")
    # A tolerance for rounding, because half the length of a support may be computed in another order.
    if not world.sigma <= environment.sigma * (1.0 + 1e-12):
        raise ValueError(f"{asked} must have a sigma of at most {environment.sigma:g}, got {world.sigma:g}")


def check_answer(method: str, feedback: Any, support: tuple[float, float]) -> None:
    """Raise ``ValueError`` unless `play` or `sample` returned a `Feedback` in the declared support."""
    if not isinstance(feedback, Feedback):
        raise ValueError(
            f"environment.{method} must return a Feedback(arms, outcomes), got {shown(feedback)}"
        )
    check_arrays(feedback)
    check_outcomes(feedback, support, "the support that the environment declares")


def finite_or_nan(name: str, value: Any) -> float:
    """Return `value` as a float; raise ``ValueError`` unless it is finite or ``nan`` (unknown)."""
    # Return early in the usual case, because this function is called in each round.
    if type(value) is float and not math.isinf(value):
        return value
    if isinstance(value, float | np.floating) and math.isnan(value):
        return math.nan
    if np.ndim(value):
        raise ValueError(f"{name} must be a real number, got {shown(value)}")
    return real(name, value)


def real_or_infinite(name: str, value: Any) -> float:
    """Return `value` as a float; raise ``ValueError`` if it is ``nan``."""
    if isinstance(value, float | np.floating) and math.isinf(value):
        return float(value)
    return real(name, value)
