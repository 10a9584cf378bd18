"""Checks that a policy learns: it credits what was seen, prefers what was good, and looks at what was not."""

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
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject, World

# Rounds of a first look and of a second one, rounds of credit, and the least share of what can be learned.
_FIRST = 300
_ROUNDS = 3000
_CREDITED = 60
_LEAST = 0.05
_BASELINE = Finding("not tried: the policy says by learns=False that it does not learn")
_CONTEXTUAL = Finding("not tried: the policy needs a context, and made-up worlds have none")


def check_credit(subject: Subject) -> Finding:
    """An outcome counts for the arm that showed it: its count rises, its mean follows, others stay."""
    policy, rng = subject.policy, np.random.default_rng(subject.rng)
    if not isinstance(policy.initial_state(), ArmStatistics):
        return Finding("not tried: the state is no ArmStatistics")
    ignored = -1
    state: ArmStatistics = policy.initial_state(rng)
    for number in range(_CREDITED):
        super_arm = subject.select(policy, state, rng)
        feedback = subject.place.play(super_arm, rng)
        before, other = copy.deepcopy(state), copy.deepcopy(state)
        subject.learn(state, super_arm, feedback, rng)
        if not len(feedback.arms) or state.counters.sum() < before.counters.sum():
            continue  # nothing to credit, or it has forgotten on purpose
        if np.array_equal(state.counters, before.counters):
            ignored = number if ignored < 0 else ignored
            continue
        # A policy may have learned enough for ever; it may not skip a round here and there.
        text = "the feedback of round {} was ignored, that of round {} was not"
        require(ignored < 0, "credit", text, ignored, number)
        expected = before.counts.copy()
        # Triggered arms only: counting those of the super arm that showed nothing is the usual fault.
        expected[feedback.arms] += 1
        text = "after {} were seen, the counts {} became {}"
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
    """Tell the second state the same feedback with one outcome at the other end of the support."""
    (state, other), (low, high) = states, subject.support
    arm, told = int(feedback.arms[position]), float(feedback.outcomes[position])
    # As far from what was told as the support allows.
    instead = low if told > (low + high) / 2 else high
    outcomes = feedback.outcomes.copy()
    outcomes[position] = instead
    changed, rng = replace(feedback, outcomes=outcomes), np.random.default_rng(subject.rng)
    subject.learn(other, super_arm, changed, rng)
    change = other.means - state.means
    follows = change[arm] * (instead - told) > 0
    text = "an outcome {} in place of {} of arm {} moved its mean from {:.6g} to {:.6g}"
    require(follows, "credit", text, instead, told, arm, state.means[arm], other.means[arm])
    change[arm] = 0.0
    text = "the outcome of arm {} moved the means of arms {}"
    require(not change.any(), "credit", text, arm, np.flatnonzero(change))


def check_learning(subject: Subject) -> Finding:
    """In two worlds that ask for different super arms, it comes to play each one's own."""
    if not subject.policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    if subject.worlds is None:
        return Finding("not tried: the oracle has one super arm")
    games = [subject.game(subject.policy, world, subject.rng, rounds=_ROUNDS) for world in subject.worlds]
    played: list[list[IntArray]] = [[], []]
    share = 0.0
    # Some explore for long before they use what they know: they are given more time before they are blamed.
    for rounds, seconds in ((_FIRST, 0.1), (_ROUNDS, 2.0)):
        for arms, game in zip(played, games, strict=True):
            more = islice(game, rounds - len(arms))
            arms.extend(arm for arm, _, _ in subject.timed(more, seconds))
        share = _learned(subject.worlds, played)
        if share > _LEAST:
            return Finding(f"{share:.0%} of the difference between two worlds after {len(played[0])} rounds")
    text = (
        "{} rounds in each of two worlds taught it {:.0%} of their difference, -100 % is the wrong way round;"
        " a policy that is not to learn declares learns=False"
    )
    require(False, "learning", text, len(played[0]), share)
    return Finding()


def _learned(worlds: tuple[World, World], played: list[list[IntArray]]) -> float:
    """Return what each world's own play gained in the later half, as a share of what there was to gain."""
    first, second = worlds
    rounds = min(map(len, played))
    here, there = (arms[rounds // 2 : rounds] for arms in played)
    gained = _worth(first, here) - _worth(first, there) + _worth(second, there) - _worth(second, here)
    return gained / (_difference(first, second) + _difference(second, first))


def _worth(world: World, super_arms: list[IntArray]) -> float:
    return float(np.mean([world.value(arm) for arm in super_arms]))


def _difference(world: World, other: World) -> float:
    """Return what is lost in `world` by the super arm that is best in the other."""
    own, foreign = (
        place.oracle.solve(place.means.copy(), np.random.default_rng(7)) for place in (world, other)
    )
    return world.value(own) - world.value(foreign)


def check_exploration(subject: Subject) -> Finding:
    """Where every outcome is the worst there is, it looks at every arm that the oracle can be led to."""
    policy, oracle = subject.policy, subject.policy.oracle
    if not policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    # About thirty rounds an arm: rules that explore one by one need them.
    if 30 * oracle.n_arms > _ROUNDS:
        return Finding("not tried: too many arms")
    worst, best = (0.0, 1.0) if oracle.sense == "max" else (1.0, 0.0)
    is_alone = np.eye(oracle.n_arms, dtype=bool)
    # Arms that the oracle does not choose even where they alone are good need not be looked at.
    leads = [subject.world(np.where(row, best, worst)).means for row in is_alone]
    answers = [oracle.solve(means, np.random.default_rng(7)) for means in leads]
    missing = {arm for arm, answer in enumerate(answers) if arm in oracle.triggered_arms(answer)}
    bleak, rounds = subject.world(np.full(oracle.n_arms, worst)), 0
    for seed in range(3):  # rules that explore at random may miss an arm once
        game = subject.game(policy, bleak, subject.rng + seed, rounds=_ROUNDS)
        for _, feedback, _ in subject.timed(game, 0.05):
            missing -= set(feedback.arms.tolist())
            rounds += 1
            if not missing:
                return Finding(f"all arms after {rounds} rounds of bad luck")
    text = "arms {} were never seen in {} rounds in which all others had the worst outcomes"
    require(False, "exploration", text, sorted(missing), rounds)
    return Finding()


def check_optimism(subject: Subject) -> Finding:
    """Of two arms with the same mean, one seen twice is not always passed over for one seen often."""
    policy, oracle = subject.policy, subject.policy.oracle
    if not policy.learns:
        return _BASELINE
    if subject.needs_context:
        return _CONTEXTUAL
    state = policy.initial_state()
    if not isinstance(state, ArmStatistics) or subject.worlds is None:
        return Finding("not tried: the state is no ArmStatistics")
    answers = [oracle.solve(world.means.copy(), np.random.default_rng(7)) for world in subject.worlds]
    first, second = (oracle.triggered_arms(answer) for answer in answers)
    only = np.setdiff1d(first, second), np.setdiff1d(second, first)
    if not len(only[0]) or not len(only[1]):
        return Finding("not tried: super arms trigger the same arms")
    shared = np.intersect1d(first, second)
    passed_over = [
        _preference(subject, rare, often, shared, mean) < -0.95
        for rare, often in (only, only[::-1])
        for mean in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    text = "arms seen twice are passed over for arms seen 1000 times, whatever the mean that they share"
    require(not all(passed_over), "optimism", text)
    return Finding("10 pairs of arms seen twice and 1000 times")


def _preference(subject: Subject, rare: IntArray, often: IntArray, shared: IntArray, mean: float) -> float:
    """Return how often the rarely seen arms are chosen rather than the others: 1 always, -1 never."""
    policy, oracle = subject.policy, subject.policy.oracle
    state: Any = policy.initial_state(np.random.default_rng(subject.rng))
    low, high = subject.support
    fractions = np.full(oracle.n_arms, 0.0 if oracle.sense == "max" else 1.0)
    fractions[shared] = 1.0 - fractions[shared]
    fractions[rare] = fractions[often] = mean
    state.means[:] = low + (high - low) * fractions
    state.counters[:] = 1000
    state.counters[rare] = 2
    # Those of outcomes at the ends of the support, as made-up worlds show them.
    state.deviations[:] = state.counters * fractions * (1 - fractions) * (high - low) ** 2
    state.rounds = int(state.counters.sum())
    signs = []
    for draw in range(10):
        arms = oracle.triggered_arms(
            np.array(policy.select(copy.deepcopy(state), np.random.default_rng(draw)))
        )
        signs.append(np.sign(len(np.intersect1d(arms, rare)) - len(np.intersect1d(arms, often))))
    return float(np.mean(signs))
