"""Checks of reports: every outcome is credited once, to its arm, in any order, also without a reward."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.saving._digest import content
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_credit import check_parts
from cmab.testing._policy_parts import parting
from cmab.testing._policy_subject import Subject
from cmab.testing._trials import alike

_ROUNDS = 40
_SEEDS = 5
_LONG = 250


@dataclass(frozen=True, eq=False)
class Reported:
    """One round: the state before it, the super arm, and a report of some of its arms in any order."""

    state: Any
    super_arm: IntArray
    feedback: Feedback


def reports(subject: Subject) -> Iterator[Reported]:
    """Yield rounds whose reports are incomplete, unsorted and not binary, and learn each of them."""
    policy, rng = subject.policy, np.random.default_rng((33, subject.rng))
    state = policy.initial_state(rng)
    for number in range(_ROUNDS):
        super_arm = subject.select(policy, state, rng)
        feedback = _some_of(subject, super_arm, number, rng)
        yield Reported(copy.deepcopy(state), super_arm, feedback)
        subject.learn(state, super_arm, feedback, rng)


def _some_of(subject: Subject, super_arm: IntArray, number: int, rng: np.random.Generator) -> Feedback:
    """Return a report of the shown arms, or of some of them, with outcomes inside the support."""
    shown = subject.place.play(super_arm.copy(), rng)
    if not np.isin(shown.arms, super_arm).all():  # a cascade, whose outcomes have a meaning
        return shown
    arms = rng.permutation(shown.arms)
    if number % 3 == 2:
        arms = arms[: max(1, len(arms) // 2)]
    outcomes = rng.choice(subject.levels, len(arms))
    return Feedback(arms, outcomes, reward=float(outcomes.sum()))


def check_conservation(subject: Subject) -> Finding:
    """Check that the statistics contain every reported outcome once: counts, and sums of outcomes."""
    tried, rounds = 0, list(reports(subject))
    known = check_parts(subject, rounds)
    for one in rounds:
        if not isinstance(one.state, ArmStatistics):
            return _check_own_state(subject, rounds, known)
        after = _learned(subject, one.state, one, one.feedback)
        arms, outcomes = one.feedback.arms, one.feedback.outcomes
        if not len(arms) or after.counters.sum() <= one.state.counters.sum():
            continue  # the policy has stopped learning or has discarded statistics on purpose
        counts = one.state.counts.copy()
        counts[arms] += 1
        text = "a report of arms {} changed the counts from {} to {}; each observed arm must count once"
        require(
            np.array_equal(counts, after.counts), "conservation", text, arms, one.state.counts, after.counts
        )
        # A policy may learn the arms of a report one by one.
        later = after.rounds - one.state.rounds
        text = "a report of {} arms added {} rounds; the clock of the policy runs too fast"
        require(later <= max(1, len(arms)), "conservation", text, len(arms), later)
        sums = one.state.counts * one.state.means
        sums[arms] += outcomes
        wrong = np.flatnonzero(np.abs(after.counts * after.means - sums) > 1e-7 * (1 + np.abs(sums)))
        text = (
            "a report of arms {} with outcomes {} changed the sums of the outcomes of arms {} to {}"
            " instead of"
            " {}; add each outcome as it is to the arm in the same place of the report"
        )
        told = (arms, outcomes, wrong, (after.counts * after.means)[wrong], sums[wrong])
        require(not len(wrong), "conservation", text, *told)
        tried += 1
    return Finding(f"{tried} reports, some of them incomplete, with outcomes inside the support")


def _check_own_state(subject: Subject, rounds: list[Reported], known: str) -> Finding:
    """Check that a state of another class depends on the outcomes, also on those between the ends."""
    tried, rounded, ended = 0, 0, 0
    low, high = subject.support
    for one in rounds:
        arms = one.feedback.arms
        if len(arms) < 2 or not np.isin(arms, one.super_arm).all():
            continue
        states = []
        for first in (0.0, 0.2, 0.4, 1.0):
            outcomes = np.full(len(arms), low + 0.62 * (high - low))
            outcomes[0] = low + first * (high - low)
            state = _learned(subject, one.state, one, Feedback(arms, outcomes, reward=0.5))
            if state is None:
                return Finding("not tried: the policy draws random numbers to learn")
            states.append(content(state))
        zero, fifth, two_fifths, best = states
        ended += zero == best  # the policy has stopped learning
        rounded += zero in (fifth, two_fifths) or fifth == two_fifths
        tried += 1
    text = "in {} of {} reports, different outcomes have the same effect on the state; learn each as it is"
    require(ended > 0 or rounded < 0.8 * tried or not tried, "conservation", text, rounded, tried)
    told = f", in which {known}" if known else ""
    return Finding(f"{tried} reports to a state of another class than ArmStatistics{told}")


def check_report_order(subject: Subject) -> Finding:
    """Check that a report has the same effect if its arms are listed in another order."""
    tried, parted = 0, ""
    for one in reports(subject):
        n = len(one.feedback.arms)
        order = np.arange(n)[::-1] if n else np.arange(0)
        turned = Feedback(one.feedback.arms[order], one.feedback.outcomes[order], reward=one.feedback.reward)
        states = [_learned(subject, one.state, one, told) for told in (one.feedback, turned)]
        if any(state is None for state in states):
            continue  # draws random numbers, perhaps one for each arm
        text = (
            "the report of arms {} and outcomes {} has another effect than the same report in"
            " reverse order: {}"
        )
        what = _difference(subject, *states)
        require(not what, "report order", text, one.feedback.arms, one.feedback.outcomes, what)
        parted = parted or parting(states[0], states[1], subject.policy.oracle.n_arms)
        tried += n > 1
    if parted:  # a record of the order is no fault, unless the choices depend on it
        text = (
            "the order of the arms in a report changes `{}` of the state, and in two runs that differ only in"
            " this order, the policy selected {} and {} in round {}"
        )
        rounds = zip(_ordered_game(subject, 1), _ordered_game(subject, -1), strict=False)
        for number, (first, second) in enumerate(rounds):
            same = alike(np.sort(first), np.sort(second))
            require(same, "report order", text, parted, first, second, number)
    return Finding(f"{tried} reports of several arms")


def _ordered_game(subject: Subject, step: int) -> Iterator[IntArray]:
    """Yield the super arms of a run with sorted reports (`step` is 1) or with reversed ones (-1)."""
    policy, rng, coins = subject.policy, np.random.default_rng(subject.rng), np.random.default_rng(38)
    state = policy.initial_state(rng)
    for _ in range(_LONG):
        super_arm = subject.select(policy, state, rng)
        yield super_arm
        shown = subject.place.play(super_arm.copy(), coins)
        order = np.argsort(shown.arms)[::step]
        told = Feedback(shown.arms[order], shown.outcomes[order], reward=shown.reward)
        subject.learn(state, super_arm, told, rng)


def check_missing_reward(subject: Subject) -> Finding:
    """Check that rounds without a reward do not spoil the state."""
    tried = 0
    for one in reports(subject):
        silent = Feedback(one.feedback.arms, one.feedback.outcomes)
        try:
            state = _learned(subject, one.state, one, silent)
        except ValueError as error:
            return Finding(f"the policy needs the reward: {error}")
        if state is None:
            continue
        spoiled = _with_nan(state)
        text = (
            "after a round without a reward (nan), {} of the state contains nan; not every"
            " environment shows rewards"
        )
        require(not spoiled, "missing reward", text, spoiled)
        super_arm = subject.select(subject.policy, state, np.random.default_rng(0))
        require(subject.is_super_arm(super_arm), "missing reward", "{} is not feasible", super_arm)
        tried += 1
    return Finding(f"{tried} rounds")


def _learned(subject: Subject, state: Any, one: Reported, feedback: Feedback) -> Any:
    """Return a copy of the state that learned the feedback, or None if learning drew random numbers."""
    state, rng = copy.deepcopy(state), np.random.default_rng(subject.rng)
    before = rng.bit_generator.state
    subject.learn(state, one.super_arm.copy(), feedback, rng)
    drew = rng.bit_generator.state != before
    return None if drew and not isinstance(state, ArmStatistics) else state


def _difference(subject: Subject, one: Any, other: Any) -> str:
    """Return how two states differ, in their statistics or else in the super arms that follow."""
    if isinstance(one, ArmStatistics):
        for name in ("counters", "means"):
            first, second = getattr(one, name), getattr(other, name)
            if not np.allclose(first, second, rtol=1e-9, atol=1e-12):
                return f"{name} {first} and {second}"
        return ""
    for seed in range(_SEEDS):
        first, second = (
            subject.select(subject.policy, state, np.random.default_rng(seed)) for state in (one, other)
        )
        if not alike(np.sort(first), np.sort(second)):
            return f"super arms {first} and {second} for seed {seed}"
    return ""


def _with_nan(state: Any) -> str:
    """Return the name of a part of the state that contains nan, or ''."""
    known = ("deviations", "memory") if isinstance(state, ArmStatistics) else ()
    for name, part in vars(state).items() if hasattr(state, "__dict__") else ():
        numbers: FloatArray | None = part if isinstance(part, np.ndarray) and part.dtype.kind == "f" else None
        if isinstance(part, float):
            numbers = np.array([part])
        if name not in known and numbers is not None and np.isnan(numbers).any():
            return str(name)
    return ""
