"""Checks that a policy learns: it credits outcomes to arms, comes to prefer good arms, and explores."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Feedback
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._policy_subject import Subject, World
from cmab.testing._policy_written import can_write, written

# Numbers of rounds of three attempts and of the check of credit, and the minimal share gained.
_SOON = 180
_FIRST = 300
_ROUNDS = 3000
_CREDITED = 60
_LEAST = 0.05
# Share gained by a policy that clearly learns.
_CLEARLY = 0.2
_BASELINE = Finding("not tried: the policy declares learns=False")
_CONTEXTUAL = Finding("not tried: the policy needs a context, which artificial worlds do not have")


def check_credit(subject: Subject) -> Finding:
    """Check that an outcome changes the count and the mean of its base arm, and of no other."""
    policy, rng = subject.policy, np.random.default_rng(subject.rng)
    if not isinstance(policy.initial_state(), ArmStatistics):
        return Finding("not tried: the state is not an ArmStatistics")
    ignored = -1
    state: ArmStatistics = policy.initial_state(rng)
    for number in range(_CREDITED):
        super_arm = subject.select(policy, state, rng)
        feedback = subject.place.play(super_arm, rng)
        before, other = copy.deepcopy(state), copy.deepcopy(state)
        subject.learn(state, super_arm, feedback, rng)
        if not len(feedback.arms) or state.counters.sum() < before.counters.sum():
            continue  # nothing to credit, or the policy has discarded statistics on purpose
        if np.array_equal(state.counters, before.counters):
            ignored = number if ignored < 0 else ignored
            continue
        # A policy may stop learning for good, but it must not ignore single rounds.
        text = "the feedback of round {} was ignored, but not that of round {}"
        require(ignored < 0, "credit", text, ignored, number)
        expected = before.counts.copy()
        # Only observed arms count. A usual fault is to count all arms of the super arm.
        expected[feedback.arms] += 1
        text = (
            "feedback of arms {} changed the counts from {} to {}, but must add 1 to each of these arms only"
        )
        counted = np.array_equal(state.counts, expected)
        require(counted, "credit", text, feedback.arms, before.counts, state.counts)
        _check_mean(subject, (state, other), super_arm, feedback, int(rng.integers(len(feedback.arms))))
    return Finding(f"{_CREDITED} rounds")


def _check_mean(
    subject: Subject,
    states: tuple[ArmStatistics, ArmStatistics],
    super_arm: IntArray,
    feedback: Feedback,
    position: int,
) -> None:
    """Update the second state with the same feedback, except for one outcome, and compare the means."""
    (state, other), (low, high) = states, subject.support
    arm, told = int(feedback.arms[position]), float(feedback.outcomes[position])
    # As far from the outcome as the support allows.
    instead = low if told > (low + high) / 2 else high
    outcomes = feedback.outcomes.copy()
    outcomes[position] = instead
    changed, rng = replace(feedback, outcomes=outcomes), np.random.default_rng(subject.rng)
    subject.learn(other, super_arm, changed, rng)
    change = other.means - state.means
    follows = change[arm] * (instead - told) > 0
    text = (
        "an outcome {} instead of {} of arm {} changed its mean from {:.6g} to {:.6g}, but the mean must move"
        " in the direction of the outcome"
    )
    require(follows, "credit", text, instead, told, arm, state.means[arm], other.means[arm])
    change[arm] = 0.0
    text = "the outcome of arm {} changed the means of arms {}"
    require(not change.any(), "credit", text, arm, np.flatnonzero(change))


def check_learning(subject: Subject) -> Finding:
    """Check that the policy comes to select, in each of two worlds, super arms that are better there."""
    if not subject.policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    if subject.worlds is None:
        return Finding("not tried: one super arm is best in all worlds")
    share, rounds = _gain(subject, subject.worlds)
    if share <= _LEAST and _rests(subject, rounds):
        return Finding(f"not tried: the policy rests after {rounds} rounds")
    if share > _LEAST:
        return Finding(f"gain of {share:.0%} of the difference between two worlds after {rounds} rounds")
    text = (
        "after {} rounds in each of two worlds, the policy gains {:.0%} of the difference between their best"
        " super arms (-100 %: it selects that of the other world); declare learns=False if it does not learn"
    )
    require(False, "learning", text, rounds, share)
    return Finding()


def loss_of_learning(subject: Subject, feedback: Feedback, after: int) -> str:
    """Return how much less the policy learns if it gets `feedback` after `after` rounds, or ''.

    Only a policy that no longer learns at all counts, as one feedback may delay the others.
    """
    if not subject.policy.learns or subject.needs_context or subject.worlds is None:
        return ""
    share, rounds = _gain(subject, subject.worlds, feedback, after)
    if share > _LEAST or _rests(subject, rounds):
        return ""
    without, _ = _gain(subject, subject.worlds)
    if without <= _CLEARLY:
        return ""
    return f"gains {share:.0%} instead of {without:.0%} in {rounds} rounds in each of two worlds"


def _gain(
    subject: Subject, worlds: tuple[World, World], feedback: Feedback | None = None, after: int = 0
) -> tuple[float, int]:
    """Return the gain of the policy in two worlds and the number of rounds, if it also learns `feedback`."""
    policy, states = subject.policy, [subject.policy.initial_state(np.random.default_rng(0)) for _ in worlds]
    if feedback is not None:
        for state, world in zip(states, worlds, strict=True):
            rng = np.random.default_rng(subject.rng)
            list(subject.game(policy, world, subject.rng, state, after))
            subject.learn(state, subject.select(policy, state, rng), feedback, rng)
    games = [
        subject.game(policy, world, subject.rng, None if feedback is None else state, _ROUNDS)
        for world, state in zip(worlds, states, strict=True)
    ]
    played: list[list[IntArray]] = [[], []]
    share = 0.0
    # Some policies explore for long before they use their statistics, so that there are longer attempts.
    for rounds, seconds, enough in ((_SOON, 0.1, _CLEARLY), (_FIRST, 0.1, _LEAST), (_ROUNDS, 2.0, _LEAST)):
        for arms, game in zip(played, games, strict=True):
            more = islice(game, rounds - len(arms))
            arms.extend(arm for arm, _, _ in subject.timed(more, seconds))
        chosen = [_before_rest(arms) for arms in played]
        share = _learned(worlds, chosen) if all(chosen) else 0.0
        if share > enough:
            break
    return share, min(map(len, chosen))


def _rests(subject: Subject, rounds: int) -> bool:
    """Return whether a policy that may rest played too few rounds to learn."""
    return subject.policy.may_rest and rounds < _FIRST


def _before_rest(super_arms: list[IntArray]) -> list[IntArray]:
    """Return the super arms without the empty ones at the end, of a policy that rests."""
    last = next((i for i in range(len(super_arms), 0, -1) if len(super_arms[i - 1])), 0)
    return super_arms[:last]


def _learned(worlds: tuple[World, World], played: list[list[IntArray]]) -> float:
    """Return the gain of the own super arms of each world over those of the other, as a share of the maximum.

    Only the second half of the rounds counts.
    """
    first, second = worlds
    rounds = min(map(len, played))
    here, there = (arms[rounds // 2 : rounds] for arms in played)
    gained = _worth(first, here) - _worth(first, there) + _worth(second, there) - _worth(second, here)
    return gained / (_difference(first, second) + _difference(second, first))


def _worth(world: World, super_arms: list[IntArray]) -> float:
    return float(np.mean([world.value(arm) for arm in super_arms]))


def _difference(world: World, other: World) -> float:
    """Return the loss in `world` of the super arm that is best in the other world."""
    own, foreign = (
        np.array(place.oracle.solve(place.means.copy(), np.random.default_rng(7))) for place in (world, other)
    )
    return world.value(own) - world.value(foreign)


def check_exploration(subject: Subject) -> Finding:
    """Check that the policy observes every arm that the oracle can select if all outcomes are the worst."""
    policy, oracle = subject.policy, subject.policy.oracle
    if not policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    # Policies that explore one arm after the other need about thirty rounds per arm.
    if 30 * oracle.n_arms > _ROUNDS:
        return Finding("not tried: too many arms")
    worst, best = (0.0, 1.0) if oracle.sense == "max" else (1.0, 0.0)
    is_alone = np.eye(oracle.n_arms, dtype=bool)
    # Arms that the oracle does not select even if they alone are good need not be observed.
    leads = [subject.world(np.where(row, best, worst)).means for row in is_alone]
    answers = [np.array(oracle.solve(means, np.random.default_rng(7))) for means in leads]
    missing = {arm for arm, answer in enumerate(answers) if arm in oracle.triggered_arms(answer)}
    bleak, rounds = subject.world(np.full(oracle.n_arms, worst)), 0
    for seed in range(3):  # a policy that explores at random may miss an arm once
        game = subject.game(policy, bleak, subject.rng + seed, rounds=_ROUNDS)
        for _, feedback, _ in subject.timed(game, 0.05):
            missing -= set(feedback.arms.tolist())
            rounds += 1
            if not missing:
                return Finding(f"all arms observed after {rounds} rounds with the worst outcomes")
    text = "arms {} were never observed in {} rounds in which all outcomes were the worst"
    require(False, "exploration", text, sorted(missing), rounds)
    return Finding()


def check_optimism(subject: Subject) -> Finding:
    """Check that arms with many observations are not always preferred to arms with few and the same mean."""
    policy, oracle = subject.policy, subject.policy.oracle
    if not policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    is_known = isinstance(policy.initial_state(), ArmStatistics) or can_write(subject)
    if not is_known or subject.worlds is None:
        return Finding("not tried: the state is not known, or one super arm is best in all worlds")
    answers = [
        np.array(oracle.solve(world.means.copy(), np.random.default_rng(7))) for world in subject.worlds
    ]
    first, second = (oracle.triggered_arms(answer) for answer in answers)
    only = np.setdiff1d(first, second), np.setdiff1d(second, first)
    if not len(only[0]) or not len(only[1]):
        return Finding("not tried: all arms of one super arm are triggered by the other too")
    shared = np.intersect1d(first, second)
    try:
        passed_over = [
            _preference(subject, rare, often, shared, mean) < -0.95
            for rare, often in (only, only[::-1])
            for mean in (0.1, 0.3, 0.5, 0.7, 0.9)
        ]
    except OverflowError:
        return Finding("not tried: the state has small integers")
    text = "arms with 1000 observations are always preferred to arms with 2 observations and the same mean"
    require(not all(passed_over), "optimism", text)
    return Finding("10 comparisons of arms with 2 and with 1000 observations")


def _preference(subject: Subject, rare: IntArray, often: IntArray, shared: IntArray, mean: float) -> float:
    """Return how often the arms with few observations are preferred, from 1 (always) to -1 (never)."""
    policy, oracle = subject.policy, subject.policy.oracle
    state: Any = policy.initial_state(np.random.default_rng(subject.rng))
    low, high = subject.support
    fractions = np.full(oracle.n_arms, 0.0 if oracle.sense == "max" else 1.0)
    fractions[shared] = 1.0 - fractions[shared]
    fractions[rare] = fractions[often] = mean
    counts = np.full(oracle.n_arms, 1000)
    counts[rare] = 2
    if not isinstance(state, ArmStatistics):
        return _mean_sign(subject, written(subject, counts, fractions), rare, often)
    state.means[:] = low + (high - low) * fractions
    state.counters[:] = counts
    # The sums of squares that outcomes at the two ends of the support have.
    state.deviations[:] = state.counters * fractions * (1 - fractions) * (high - low) ** 2
    state.rounds = int(state.counters.sum())
    return _mean_sign(subject, state, rare, often)


def _mean_sign(subject: Subject, state: Any, rare: IntArray, often: IntArray) -> float:
    policy, oracle, signs = subject.policy, subject.policy.oracle, []
    for draw in range(10):
        arms = oracle.triggered_arms(
            entries(policy.select(copy.deepcopy(state), np.random.default_rng(draw)))
        )
        signs.append(np.sign(len(np.intersect1d(arms, rare)) - len(np.intersect1d(arms, often))))
    return float(np.mean(signs))
