"""Checks of relations between answers of an oracle, its declarations and its generator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._oracle_subject import TOLERANCE, Subject

_TRIED = 40
_LABELS = 2000


def check_rewards(subject: Subject) -> Finding:
    """Check that rewards are finite, no negative zeros, and the same for every order of the entries."""
    oracle, tried = subject.oracle, 0
    for answer, means in subject.super_arms(2 * _TRIED):
        value: Any = oracle.expected_reward(answer.copy(), means.copy())
        is_number = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
        text = "expected_reward must return a finite number, got {!r} for {} and means {}"
        require(is_number and math.isfinite(value), "rewards", text, value, answer, means)
        is_negative_zero = value == 0 and math.copysign(1.0, value) < 0 and not np.signbit(means).any()
        text = "expected_reward of {} for means {} is -0.0, which prints and sorts unlike 0.0; add 0.0"
        require(not is_negative_zero, "rewards", text, answer, means)
        turned = answer[::-1].copy()
        other = float(oracle.expected_reward(turned, means.copy()))
        is_same = abs(value - other) <= TOLERANCE * (1 + abs(value))
        text = "the reward of {} is {:.9g}, but that of {} is {:.9g}, for means {}"
        is_set = oracle.is_linear or subject.are_sets
        require(is_same or not is_set, "rewards", text, answer, value, turned, other, means)
        tried += 1
    return Finding(f"{tried} rewards")


def check_zeros(subject: Subject) -> Finding:
    """Check that means of -0.0 and of 0.0, which are equal numbers, have the same answer."""
    tried, rng = 0, np.random.default_rng(subject.rng)
    for means in subject.timed(subject.problems[: 2 * _TRIED]):
        if not (means == 0.0).any():
            continue
        turned = np.where((means == 0.0) & (rng.random(len(means)) < 0.5), -0.0, means)
        what = "means {} with -0.0 in place of some 0.0"
        require_same(subject.answer(means), entries(subject.solve(turned)), "zeros", what, means)
        tried += 1
    return Finding(f"{tried} problems")


def check_labels(subject: Subject) -> Finding:
    """Check that different entries have different labels, which are hashable and always the same."""
    oracle = subject.oracle
    entries = np.arange(min(oracle.n_choices, _LABELS))
    labels = list(oracle.labels(entries.copy()))
    text = "labels must return one label for each of {} entries, got {}"
    require(len(labels) == len(entries), "labels", text, len(entries), len(labels))
    try:
        first: dict[Any, int] = {}
        for entry, label in enumerate(labels):
            same = first.setdefault(label, entry)
            text = "labels of different entries must differ, but {} and {} have the label {!r}"
            require(same == entry, "labels", text, same, entry, label)
    except TypeError as error:
        raise AssertionError(f"labels: labels must be hashable: {error}") from error
    order = np.random.default_rng(subject.rng).permutation(entries)[:_TRIED]
    again = list(oracle.labels(order.copy()))
    text = "labels of {} are {}, but the labels of all entries are {} there"
    require(
        again == [labels[entry] for entry in order], "labels", text, order, again, [labels[e] for e in order]
    )
    arms = list(oracle.arm_labels())
    distinct = len(set(arms)) == len(arms) == oracle.n_arms
    require(distinct, "labels", "arm_labels must be {} different names, got {}", oracle.n_arms, arms[:20])
    return Finding(f"{len(labels)} labels")


def check_constancy(subject: Subject) -> Finding:
    """Check that the declarations of an oracle are the same after many calls, and in a copy."""
    oracle, names = subject.oracle, ("n_arms", "n_choices", "max_size", "alpha", "beta", "sense", "is_linear")
    before = {name: repr(getattr(oracle, name)) for name in names}
    calls = 0
    for means in subject.timed(subject.problems, 0.02):
        subject.solve(means)
        calls += 1
    for what, thing in ((f"{calls} calls", oracle), ("pickling", subject.trial.copy())):
        for name in names if thing is not None else ():
            now = repr(getattr(thing, name))
            require(
                now == before[name],
                "constancy",
                "after {}, {} is {} instead of {}",
                what,
                name,
                now,
                before[name],
            )
    return Finding(f"{calls} calls")


def check_streams(subject: Subject) -> Finding:
    """Check that answers that use no random numbers are the same for all kinds of generators."""
    oracle = subject.oracle
    if subject.draws:
        return Finding("not tried: the oracle draws")
    for means in subject.some(0.02)[:_TRIED]:
        for kind in (np.random.MT19937, np.random.Philox, np.random.SFC64):
            answer = oracle.solve(means.copy(), np.random.Generator(kind(7)))
            what = f"another kind of generator ({kind.__name__}) with means {{}}"
            require_same(subject.answer(means), answer, "streams", what, means)
    return Finding("4 kinds of generators")


def check_triggered(subject: Subject) -> Finding:
    """Check that triggered arms are distinct base arms, and agree with the triggering probabilities."""
    oracle, tried = subject.oracle, 0
    for answer, means in subject.super_arms(2 * _TRIED):
        arms = np.asarray(oracle.triggered_arms(answer.copy()))
        distinct = len(np.unique(arms)) == len(arms) and (
            not len(arms) or 0 <= arms.min() <= arms.max() < oracle.n_arms
        )
        require(
            distinct,
            "triggered",
            "triggered_arms of {} must be distinct arms below {}, got {}",
            answer,
            oracle.n_arms,
            arms,
        )
        chances = oracle.triggering_probabilities(answer.copy(), means.copy())
        if chances is not None:
            chances = np.asarray(chances)
            good = chances.shape == (oracle.n_arms,) and bool(
                ((chances >= 0) & (chances <= 1 + TOLERANCE)).all()
            )
            require(
                good,
                "triggered",
                "triggering probabilities must be {} numbers in [0, 1], got {}",
                oracle.n_arms,
                chances,
            )
            stray = np.setdiff1d(np.flatnonzero(chances > 0), arms)
            text = "arms {} have positive triggering probabilities for {}, but are not in triggered_arms {}"
            require(not len(stray), "triggered", text, stray, answer, arms)
        tried += 1
    return Finding(f"{tried} super arms")
