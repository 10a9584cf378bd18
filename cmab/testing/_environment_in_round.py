"""Checks of an environment's rounds, where it says by `in_round` that they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cmab.arrays import BoolArray, IntArray
from cmab.context import Context
from cmab.environment import Environment, changes
from cmab.oracle import Oracle
from cmab.testing import _environment_rounds as rounds
from cmab.testing._checks import CheckFunction, Finding
from cmab.testing._comparisons import require
from cmab.testing._contents import content
from cmab.testing._environment_subject import Subject

# Early rounds, and some far ahead: whoever counts calls rather than rounds gives other answers there.
_TIMES = (1, 2, 3, 10, 100, 1000)
_IN_ORDER = 50
_PLAYED: tuple[CheckFunction, ...] = (
    rounds.check_determinism,
    rounds.check_coins,
    rounds.check_outcomes,
    rounds.check_triggers,
    rounds.check_rewards,
)
_ALIKE = Finding("not tried: all rounds are alike")


@dataclass(frozen=True, eq=False)
class Round:
    """What an environment is in round `t`."""

    t: int
    world: Environment
    told: bytes

    @property
    def available(self) -> BoolArray | None:
        """Which entries may be chosen, where that is said."""
        return None if self.world.context is None else self.world.context.available


def _rounds(subject: Subject) -> Iterator[Round]:
    for t in _TIMES:
        world = subject.environment.in_round(t, np.random.default_rng((t, subject.seed)))
        told = content((np.array(world.means), float(world.optimum), world.context))
        yield Round(t, world, told)


def check_rounds(subject: Subject) -> Finding:
    """A round is the same whenever it is asked for; asking leaves the environment as it is."""
    environment = subject.environment
    if not changes(environment):
        return _ALIKE
    _ = environment.optimum, environment.means  # which may be worked out when they are asked for first
    # In order with one generator, as a run asks; below, each round with a generator of its own.
    rng = np.random.default_rng((14, subject.seed))
    for t in subject.timed(range(1, _IN_ORDER + 1), 0.05):
        _check_world(subject, t, environment.in_round(t, rng))
    # Caches are filled by now, so that they do not count as changes.
    list(_rounds(subject))
    before, first = content(environment), list(_rounds(subject))
    after = content(environment)
    environment.in_round(1, np.random.default_rng((1, subject.seed)))  # not the one that was asked for last
    same = before == after == content(environment)
    require(same, "rounds", "in_round must leave the environment as it is, and return another one")
    for one, other in zip(first, list(_rounds(subject)), strict=True):
        text = "round {} had another truth or context the second time, for the same generator state"
        require(one.told == other.told, "rounds", text, one.t)
        _check_world(subject, one.t, one.world)
    return Finding(f"{t} rounds in order, {len(first)} three times")


def _check_world(subject: Subject, t: int, world: object) -> None:
    """Raise unless `world` can be played in place of the environment."""
    environment = subject.environment
    require(isinstance(world, Environment), "rounds", "round {} is {!r}, no Environment", t, world)
    assert isinstance(world, Environment)
    text = "round {} has {} base arms, the environment {}"
    require(world.n_arms == environment.n_arms, "rounds", text, t, world.n_arms, environment.n_arms)
    (low, high), (least, most) = environment.support, world.support
    text = "round {} has outcomes in [{}, {}], the environment in [{}, {}]"
    require(low <= least <= most <= high, "rounds", text, t, least, most, low, high)
    text = "round {} has sigma {:.6g}, the environment {:.6g}"
    is_narrow = world.sigma <= environment.sigma * (1.0 + 1e-12)
    require(is_narrow, "rounds", text, t, world.sigma, environment.sigma)
    context, oracle = world.context, getattr(world, "oracle", subject.oracle)
    is_one = context is None or isinstance(context, Context)
    require(is_one, "rounds", "the context of round {} must be a Context or None, is {!r}", t, context)
    if context is None or not isinstance(oracle, Oracle):
        return
    try:
        context.check(oracle.n_arms, oracle.n_choices)
        if context.available is not None:
            oracle.solve_within(np.array(world.means), np.array(context.available), np.random.default_rng(0))
    except TypeError:  # the oracle cannot do without what is not available
        pass
    except ValueError as error:
        require(False, "rounds", "round {}: {}", t, error)


def check_played_rounds(subject: Subject) -> Finding:
    """What is seen in a round has the means and rewards that the environment says it has in that round."""
    if not changes(subject.environment):
        return _ALIKE
    tried, false_alarm = 0, 0.0
    for one in _rounds(subject):
        super_arms = [arm for arm in subject.super_arms if one.available is None or one.available[arm].all()]
        if one.world is subject.environment or not super_arms:
            continue
        draws, seconds = max(200, subject.draws // 10), 0.02 * subject.seconds
        # The checks of environments whose rounds are alike, on the environment of one round.
        there = Subject(one.world, super_arms, draws, subject.seed, seconds)
        for check in _PLAYED:
            try:
                false_alarm += (check(there) or Finding()).false_alarm
            except AssertionError as error:
                raise AssertionError(f"played rounds: round {one.t}: {error}") from error
        tried += 1
    return Finding(f"{tried} rounds, {subject.draws // 10} times with each super arm", false_alarm)


def check_optima(subject: Subject) -> Finding:
    """In each round, nothing that is available is better than its optimum, and the oracle reaches it."""
    if not changes(subject.environment):
        return _ALIKE
    tried = 0
    for one in _rounds(subject):
        oracle = getattr(one.world, "oracle", subject.oracle)
        optimum = float(one.world.optimum)
        if np.isnan(optimum):
            continue
        sign, slack = float(getattr(oracle, "sign", 1.0)), 1e-9 * (1 + abs(optimum))
        for super_arm in subject.super_arms:
            if one.available is not None and not one.available[super_arm].all():
                continue
            value = one.world.expected_reward(super_arm)
            text = "{} is worth {:.6g} in round {}, whose optimum is {:.6g}"
            better = sign * (value - optimum) > slack
            require(not better, "optima", text, super_arm, value, one.t, optimum)
        best = _best(oracle, one)
        if best is not None:
            value = one.world.expected_reward(best)
            text = "the oracle's answer to the means of round {}, {}, is worth {:.6g}, the optimum {:.6g}"
            require(abs(value - optimum) <= slack, "optima", text, one.t, best, value, optimum)
        tried += 1
    return Finding(f"{tried} rounds" if tried else "no round has an optimum")


def _best(oracle: object, one: Round) -> IntArray | None:
    """Return the oracle's answer to the true means of a round, where it is exact and can give one."""
    if not isinstance(oracle, Oracle) or not oracle.is_exact:
        return None
    means, context = np.array(one.world.means), one.world.context
    if context is not None:
        means = np.array(context.worth(means, oracle.sense))
    if one.available is None:
        return oracle.solve(means, np.random.default_rng(0))
    try:
        return oracle.solve_within(means, np.array(one.available), np.random.default_rng(0))
    except TypeError:  # it cannot do without what is not available
        return None
