"""Checks of environments with rounds that differ, which define `in_round`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cmab.arrays import BoolArray
from cmab.environment import Environment, changes
from cmab.oracle import Oracle
from cmab.run import loops as referee
from cmab.saving._digest import content
from cmab.testing import _environment_relations as relations
from cmab.testing import _environment_rewards as rewards
from cmab.testing import _environment_rounds as rounds
from cmab.testing._checks import CheckFunction, Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_optimum import has_optimum
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, require_mean

# Early and late rounds. An environment that counts calls instead of rounds is wrong in the late ones.
# Some are odd and even multiples of round numbers, because seasons take turns.
_TIMES = (1, 2, 3, 10, 57, 100, 350, 1000)
# Rounds after which an environment may end.
_LATE = (3000, 20_000)
_IN_ORDER, _REPLICATED = 50, 20
# Super arms that are played in each of the first rounds.
_PLAYS = 8
# Rounds of all super arms in one round, and of each of them at least and at most.
_TOTAL, _LEAST, _MOST = 1200, 60, 400
_PLAYED: tuple[CheckFunction, ...] = (
    rounds.check_determinism,
    rounds.check_outcomes,
    rounds.check_triggers,
    rewards.check_rewards,
)
# Checks that compare single rounds, in some of the environments only.
_ALIKE_IN_ROUND: tuple[CheckFunction, ...] = (
    rounds.check_coins,
    relations.check_order,
    relations.check_stream,
)
_COMPARED = (3, 100, 3000)
_ALIKE = Finding("not tried: all rounds are alike")


@dataclass(frozen=True, eq=False)
class Round:
    """The environment of round `t`, and its means, optimum and context as bytes."""

    t: int
    world: Environment
    told: bytes

    @property
    def available(self) -> BoolArray | None:
        """Whether each entry is available, or None if all are."""
        return None if self.world.context is None else self.world.context.available


def _rounds(subject: Subject) -> Iterator[Round]:
    for t in (*_TIMES, *_LATE):
        try:
            world = subject.environment.in_round(t, np.random.default_rng((t, subject.rng)))
        except Exception:
            if t in _LATE:  # the environment has fewer rounds
                return
            raise
        told = content((np.array(world.means), float(world.optimum), world.context))
        yield Round(t, world, told)


def check_rounds(subject: Subject) -> Finding:
    """Check that `in_round` does not change its environment, and that replications do not share rounds."""
    environment = subject.environment
    if not changes(environment):
        return _ALIKE
    _ = subject.trial  # keeps a copy from before the first round
    _ = environment.optimum, environment.means  # some environments compute these at the first access
    # First in order with one generator, as in a run. Below, each round has its own generator.
    rng = np.random.default_rng((14, subject.rng))
    for t in subject.timed(range(1, _IN_ORDER + 1), 0.05):
        _check_world(subject, t, environment.in_round(t, rng))
    # These calls fill caches, so that caches do not count as changes.
    list(_rounds(subject))
    before, first = content(environment), list(_rounds(subject))
    after = content(environment)
    environment.in_round(1, np.random.default_rng((1, subject.rng)))  # another round than the last one
    same = before == after == content(environment)
    require(same, "rounds", "in_round must return another object and must not change the environment")
    for one, other in zip(first, list(_rounds(subject)), strict=True):
        text = "round {} has other means, optimum or context in a second call with the same generator state"
        require(one.told == other.told, "rounds", text, one.t)
        _check_world(subject, one.t, one.world)
    _check_replications(subject)
    return Finding(f"{t} rounds in order, and {len(first)} rounds three times")


def _check_replications(subject: Subject) -> None:
    """Raise ``AssertionError`` if the rounds of a replication depend on an earlier one with another seed."""
    alone, second = subject.trial.copy(), subject.trial.copy()
    if alone is None or second is None:
        return
    expected = _replication(alone, 5)
    played = subject.trial.copy()
    text = "round {} of a replication has other means, optimum or context if the rounds before it are played"
    for t, (one, other) in enumerate(zip(expected, _replication(played, 5, subject), strict=True), 1):
        require(one == other, "rounds", text, t)
    _replication(second, 4)
    text = (
        "round {} of a replication has other means, optimum or context after a replication with another seed;"
        " in_round must not keep rounds in the object"
    )
    for t, (one, other) in enumerate(zip(expected, _replication(second, 5), strict=True), 1):
        require(one == other, "rounds", text, t)


def _replication(environment: Environment, seed: int, subject: Subject | None = None) -> list[bytes]:
    """Return the truth of the first rounds, requested in order with one generator, as in a run.

    If a subject is given, its super arms are played in these rounds.
    """
    rng, told = np.random.default_rng((20, seed)), []
    for t in range(1, _REPLICATED + 1):
        world = environment.in_round(t, rng)
        told.append(content((np.array(world.means), float(world.optimum), world.context)))
        if subject is not None:
            one = Round(t, world, b"")
            arms = [arm for arm in subject.super_arms if one.available is None or one.available[arm].all()]
            for super_arm in arms[t % 3 :][:2]:
                world.play(super_arm.copy(), np.random.default_rng(t))
    return told


def _check_world(subject: Subject, t: int, world: Environment) -> None:
    """Raise ``AssertionError`` unless `world` can be played in place of the environment."""
    oracle, means = getattr(world, "oracle", subject.oracle), np.array(world.means, np.float64)
    low, high = subject.environment.support
    slack = 1e-9 * (1 + float(np.abs(means).max(initial=0.0)))
    inside = bool(((means >= low - slack) & (means <= high + slack)).all())
    text = "round {}: the means must lie in the support {}, got {}"
    require(inside, "rounds", text, t, (low, high), means)
    try:
        if not isinstance(oracle, Oracle):
            return
        referee.check_world(subject.environment, world, oracle, t)
        if world.context is not None and world.context.available is not None:
            available = np.array(world.context.available)
            oracle.solve_within(np.array(world.means), available, np.random.default_rng(0))
    except TypeError:  # the oracle does not support `solve_within`
        pass
    except ValueError as error:
        require(False, "rounds", "round {}: {}", t, error)


def check_played_rounds(subject: Subject) -> Finding:
    """Check that the feedback of a round agrees with the means and rewards of that round."""
    if not changes(subject.environment):
        return _ALIKE
    tried, false_alarm = 0, 0.0
    apart: dict[int, list[float]] = {}
    paid: dict[tuple[int, ...], list[float]] = {}
    draws = _draws(subject)
    for one in _rounds(subject):
        super_arms = [arm for arm in subject.super_arms if one.available is None or one.available[arm].all()]
        if one.world is subject.environment or not super_arms:
            continue
        # Run the checks for environments whose rounds are alike on the environment of one round.
        there = Subject(one.world, super_arms, draws, 0.02 * subject.seconds, subject.rng)
        for check in (*_PLAYED, *(_ALIKE_IN_ROUND if one.t in _COMPARED else ())):
            try:
                false_alarm += (check(there) or Finding()).false_alarm
            except AssertionError as error:
                raise AssertionError(f"played rounds: round {one.t}: {error}") from error
        for super_arm, shown in zip(super_arms, there.rounds, strict=True):
            worth = float(one.world.expected_reward(super_arm.copy()))
            paid.setdefault(tuple(super_arm.tolist()), []).extend(each.reward - worth for each in shown)
        means = np.array(one.world.means)
        for feedback in (each for rounds_of_one in there.rounds for each in rounds_of_one):
            for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
                apart.setdefault(arm, []).append(outcome - float(means[arm]))
        tried += 1
    low, high = subject.environment.support
    for arm, deviation in _in_order(subject):
        apart.setdefault(arm, []).append(deviation)
    for arm, deviations in apart.items():
        # All rounds together show an error that is too small to be seen in one round.
        what = f"deviations of outcomes of arm {arm} from the means of their rounds"
        spread = high - low if np.isfinite(high - low) else 0.0
        require_mean("played rounds", what, np.array(deviations), 0.0, spread)
    for members, differences in paid.items():
        what = f"differences of rewards of {list(members)} from the expected rewards of their rounds"
        if not np.isnan(differences).any():
            sample = np.array(differences)
            # A sample may lack rare rewards, whose differences are as large as the rewards.
            require_mean("played rounds", what, sample, 0.0, 2 * float(np.abs(sample).max(initial=0.0)))
    text = f"{_IN_ORDER} rounds in order, and {tried} rounds, each {draws} times with each super arm"
    return Finding(text, false_alarm + (len(apart) + len(paid)) * MEAN_LEVEL)


def _in_order(subject: Subject) -> Iterator[tuple[int, float]]:
    """Play the first rounds, among which are holidays and weekends. Yield deviations from the means.

    Raises
    ------
    AssertionError
        If an outcome is outside the support.
    """
    (low, high), rng = subject.environment.support, np.random.default_rng((21, subject.rng))
    for t in range(1, _IN_ORDER + 1):
        one = Round(t, subject.environment.in_round(t, rng), b"")
        means = np.array(one.world.means)
        arms = [arm for arm in subject.super_arms if one.available is None or one.available[arm].all()]
        for number in range(_PLAYS if arms else 0):
            super_arm = arms[(t + number) % len(arms)]
            told = one.world.play(super_arm.copy(), np.random.default_rng((22, subject.rng, t, number)))
            inside = bool(((told.outcomes >= low) & (told.outcomes <= high)).all())
            text = "round {}: outcomes must lie in the support {}, got {}"
            require(inside, "played rounds", text, t, (low, high), told.outcomes)
            yield from zip(told.arms.tolist(), (told.outcomes - means[told.arms]).tolist(), strict=True)


def _draws(subject: Subject) -> int:
    """Return how often each super arm is played in each round."""
    if subject.draws is not None:
        return max(200, subject.draws // 10)
    return min(max(_TOTAL // len(subject.super_arms), _LEAST), _MOST)


def check_optima(subject: Subject) -> Finding:
    """Check that no available super arm exceeds the optimum of its round, and that the oracle attains it."""
    if not changes(subject.environment):
        return _ALIKE
    worlds = [(one.world, f"round {one.t}") for one in _rounds(subject)]
    tried = sum(has_optimum("optima", subject, world, where) for world, where in worlds)
    return Finding(f"{tried} rounds" if tried else "no round has an optimum")
