"""The rounds of one run: all alike, or each as the environment says by `in_round`."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from cmab._metering import metered
from cmab.arrays import IntArray
from cmab.context import Context
from cmab.environment import Environment, changes
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.running._declared import check_declared, check_support, finite_or_nan
from cmab.running._truth import Truth
from cmab.validation import shown


def truth_of(environment: Environment, policy: AnyPolicy, rng: np.random.Generator) -> Truth:
    """Return the truth of a run: one for all rounds, unless the environment says that they differ."""
    return Rounds(environment, policy, rng) if changes(environment) else Truth(environment)


def check_context(environment: Environment, oracle: Oracle) -> None:
    """Raise ``ValueError`` unless an environment's context is one of the oracle's arms, or None."""
    context = environment.context
    if context is None:
        return
    if not isinstance(context, Context):
        raise ValueError(f"environment.context must be a Context or None, got {shown(context)}")
    context.check(oracle.n_arms, oracle.n_choices)


def check_optimum(world: Environment, oracle: Oracle, name: str) -> None:
    """Raise ``ValueError`` if an optimum counts what the context says is not available.

    Regret against it would be false. That is seen where an exact oracle reaches it with all arms, and less
    with those that are available; where it does not reach it at all, its reward is another one.
    """
    context, optimum = world.context, world.optimum
    oracle = own if isinstance(own := getattr(world, "oracle", None), Oracle) else oracle
    if context is None or context.available is None or math.isnan(optimum) or not oracle.is_exact:
        return
    # By what arms are worth: for rewards that are no sums there are neither values nor costs.
    means = np.array(context.worth(np.array(world.means, np.float64), oracle.sense))
    awake = np.array(context.available)
    best = oracle.solve(means, np.random.default_rng(0))
    if awake[best].all() or not math.isclose(world.expected_reward(best), optimum, rel_tol=1e-9):
        return
    try:
        reached = oracle.solve_within(means, awake, np.random.default_rng(0))
    except TypeError:  # it cannot leave any out
        return
    if not math.isclose(value := world.expected_reward(reached), optimum, rel_tol=1e-9, abs_tol=1e-12):
        raise ValueError(
            f"{name} must be that of what is available, {value:g} of super arm {reached.tolist()}, got"
            f" {optimum:g} of {best.tolist()}: let `optimum` be the best that the context allows"
        )


class Rounds(Truth):
    """What an environment is in each round of one run, and what the best super arms were worth.

    The environment itself must stay as it is: that is looked at as `Truth` does, and by asking for the first
    round again at the end.

    Parameters
    ----------
    environment : Environment
        Which is asked for its rounds.
    policy : Policy
        Whose arms and support they must have.
    rng : numpy.random.Generator
        The stream of the rounds.

    Attributes
    ----------
    best : float
        Sum of the optima of the rounds so far.
    """

    def __init__(self, environment: Environment, policy: AnyPolicy, rng: np.random.Generator) -> None:
        super().__init__(environment)
        self._policy, self._rng, self._world = policy, rng, environment
        self._context = environment.context
        self._first: tuple[np.random.Generator, list[Any]] | None = None
        self.best: float = 0.0

    def at(self, t: int) -> Environment:
        """Return the environment as it is in round `t`."""
        # The stream before round 1, by which `check_end` asks for that round again.
        before = copy.deepcopy(self._rng) if self._first is None else None
        with metered(None):  # what the environment asks of an oracle of the policy's is not the policy's
            world = self.environment.in_round(t, self._rng)
            if world is not self._world:
                self._check_world(world, t)
            elif world.context is not self._context:  # one object for all rounds, told anew
                check_context(world, self._policy.oracle)
            self.best += finite_or_nan(f"the optimum of round {t}", world.optimum)
        if before is not None:
            self._first = (before, _told(world))
        # In rounds 2, 4, 8, ...: a logarithmic number of looks is cheap, and finds what moves.
        if t == self._look:
            self.check(t)
            with metered(None):
                check_optimum(world, self._policy.oracle, f"the optimum of round {t}")
            self._look *= 2
        self._world, self._context = world, world.context
        return world

    def expected_reward(self, super_arm: IntArray, t: int) -> float:
        """Return the expected reward in the round that was asked for last."""
        answer = self._world.expected_reward(super_arm)
        return finite_or_nan(f"the expected reward in round {t}", answer)

    def check_end(self, t: int) -> None:
        """Raise ``ValueError`` if the environment has changed, or its first round has."""
        self.check(t)
        if self._first is None:
            return
        rng, told = self._first
        now = _told(self.environment.in_round(1, rng))
        for name, one, other in zip(("means", "optimum", "context"), told, now, strict=True):
            if not _same(one, other):
                raise ValueError(
                    "environment.in_round must return the same for the same round and generator, and leave"
                    f" the environment as it is, but after round {t} the {name} of round 1 became"
                    f" {shown(other)} and were {shown(one)}"
                )

    def _check_world(self, world: Environment, t: int) -> None:
        base, asked = self.environment, f"environment.in_round({t}, rng)"
        if not isinstance(world, Environment):
            raise ValueError(f"{asked} must return an Environment, got {shown(world)}")
        if world.n_arms != base.n_arms:
            raise ValueError(f"{asked} must have {base.n_arms} base arms, got {world.n_arms}")
        check_declared(world)
        (low, high), (least, most) = base.support, world.support
        if not low <= least <= most <= high:
            raise ValueError(f"{asked} must have outcomes in {base.support}, got support {world.support}")
        # Room for rounding: half a support's length may have been computed in another order.
        if not world.sigma <= base.sigma * (1.0 + 1e-12):
            raise ValueError(f"{asked} must have a sigma of at most {base.sigma:g}, got {world.sigma:g}")
        check_support(self._policy, world)
        check_context(world, self._policy.oracle)


def _told(world: Environment) -> list[Any]:
    parts = None if world.context is None else {n: getattr(world.context, n) for n in world.context.parts}
    return [np.array(world.means), float(world.optimum), parts]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
