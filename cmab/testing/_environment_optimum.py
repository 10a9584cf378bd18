"""Checks of the optimum of an environment or of one of its rounds."""

from __future__ import annotations

import math

import numpy as np

from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_allowance import check_allowed_optimum
from cmab.testing._environment_subject import Subject

# Maximal number of arms whose sets are all enumerated.
_FEW_ARMS = 8


def check_optimum(subject: Subject) -> Finding | None:
    """Check that no super arm exceeds the optimum, and that an exact oracle attains it."""
    environment, oracle = subject.environment, subject.oracle
    if environment.allowance is not None:
        return Finding(*check_allowed_optimum(subject))
    if not has_optimum("optimum", subject, environment, "all rounds"):
        return Finding("no optimum is declared")
    if not isinstance(oracle, Oracle) or not oracle.is_exact:
        return Finding("not tried whether a super arm attains it: there is no exact oracle")
    return None


def has_optimum(fault: str, subject: Subject, world: Environment, where: str) -> bool:
    """Return whether an optimum is declared; raise ``AssertionError`` if it is wrong for the context."""
    oracle, optimum = getattr(world, "oracle", subject.oracle), float(world.optimum)
    if np.isnan(optimum):
        return False
    available = None if world.context is None else world.context.available
    arms = [arm for arm in subject.super_arms if available is None or available[arm].all()]
    rewards = [float(world.expected_reward(arm)) for arm in arms]
    sign, slack = _sign(oracle, rewards, optimum), 1e-9 * (1 + abs(optimum))
    for super_arm, value in zip(arms, rewards, strict=True):
        better = sign * (value - optimum) > slack
        text = "super arm {} has reward {:.6g} in {}, but the optimum is {:.6g}"
        require(not better, fault, text, super_arm, value, where, optimum)
    left = [sign * reward for reward in rewards]
    is_whole = subject.exhaustive or (available is not None and _is_whole(subject, sign))
    text = "no super arm is available in {}, so that none has the optimum {:.9g}"
    require(left or not subject.exhaustive, fault, text, where, optimum)
    if left and is_whole:
        highest = sign * max(left)
        text = "the best of all available super arms has reward {:.9g} in {}, but the optimum is {:.9g}"
        require(abs(highest - optimum) <= slack, fault, text, highest, where, optimum)
    if not isinstance(oracle, Oracle) or not oracle.is_exact:
        bound = _best_of_all_sets(subject, world, sign)
        text = "no set of arms has a better reward than {:.9g} in {}, but the optimum is {:.9g}"
        good = bound is None or sign * (optimum - bound) <= slack
        require(good, fault, text, bound, where, optimum)
        return True
    means, rng = np.array(world.means), np.random.default_rng(0)
    if world.context is not None:
        means = np.array(world.context.worth(means, oracle.sense))
    try:
        best = oracle.solve(means, rng) if available is None else oracle.solve_within(means, available, rng)
    except TypeError:  # the oracle does not support `solve_within`
        return True
    value = world.expected_reward(best)
    text = "the answer of the oracle for {}, {}, has reward {:.6g}, but the optimum is {:.6g}"
    require(abs(value - optimum) <= slack, fault, text, where, best, value, optimum)
    return True


def _sign(oracle: object, rewards: list[float], optimum: float) -> float:
    """Return -1 if the rewards are costs, otherwise 1.

    Without an oracle, an environment does not declare that its rewards are costs. They then are if no cost is
    below the optimum, and the least cost attains it.
    """
    if hasattr(oracle, "sign"):
        return float(oracle.sign)
    slack = 1e-9 * (1 + abs(optimum))
    return -1.0 if rewards and abs(min(rewards) - optimum) <= slack < max(rewards) - optimum else 1.0


def _is_whole(subject: Subject, sign: float) -> bool:
    """Return whether the super arms are all sets of one size, and the best of them attains the optimum."""
    environment = subject.environment
    sizes = {len(arm) for arm in subject.super_arms}
    sets = {tuple(sorted(arm.tolist())) for arm in subject.super_arms}
    if len(sizes) != 1 or len(sets) != math.comb(environment.n_arms, sizes.pop()):
        return False
    best = max(sign * environment.expected_reward(arm.copy()) for arm in subject.super_arms)
    optimum = float(environment.optimum)
    return abs(sign * best - optimum) <= 1e-9 * (1 + abs(optimum))


def _best_of_all_sets(subject: Subject, world: Environment, sign: float) -> float | None:
    """Return the best expected reward of any set of arms, feasible or not, or None if it is unknown.

    The optimum of every family is at most as good.
    """
    n = world.n_arms
    if n > _FEW_ARMS or world.n_choices not in (None, n) or world.allowance is not None:
        return None
    for seed, super_arm in enumerate(subject.super_arms):
        # The entries are base arms, and their order does not matter.
        shown = world.play(super_arm.copy(), np.random.default_rng(seed))
        value, turned = (world.expected_reward(arm.copy()) for arm in (super_arm, super_arm[::-1]))
        if not np.isin(shown.arms, super_arm).all() or abs(value - turned) > 1e-9 * (1 + abs(value)):
            return None
    try:
        sets = (np.flatnonzero(number >> np.arange(n) & 1) for number in range(1, 2**n))
        rewards = [0.0, *(sign * float(world.expected_reward(arms)) for arms in sets)]
    except Exception:  # the environment rejects infeasible super arms
        return None
    return None if np.isnan(rewards).any() else sign * max(rewards)
