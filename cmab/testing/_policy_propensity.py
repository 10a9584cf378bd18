"""The check that stated propensities are the frequencies with which a policy selects super arms."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from cmab.feedback import Context
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, entries, require
from cmab.testing._policy_subject import Subject
from cmab.testing._statistics import same_rate

_LEVEL = 1e-10
# Maximal number of entries whose super arms are enumerated.
_FEW_CHOICES = 10
_MANY_DRAWS, _MOST_NAMES = 2000, 100
#: The p-value below which frequencies are drawn for longer.
_SUSPICIOUS = 1e-3
#: The round in which an entry is not available.
_LIMITED = 20


def check_propensity(subject: Subject) -> Finding:
    """Check that `propensity` is the frequency with which `select` chooses a super arm."""
    policy, rng = subject.policy, np.random.default_rng((37, subject.rng))
    state, tests, context = policy.initial_state(rng), 0, subject.place.context
    for number in range(31):
        chosen = subject.select(policy, state, rng)
        if number % 10 == 0:
            if policy.propensity(state, chosen, context) is None:
                return Finding("no propensities are declared")
            tests += _check_frequencies(subject, state, number, context)
            _check_total(subject, state, number, context)
        if number == _LIMITED:
            limited = _limited(subject, state, rng)
            if limited is not None:
                tests += _check_frequencies(subject, state, number, limited)
                _check_total(subject, state, number, limited)
        subject.learn(state, chosen, subject.place.play(chosen.copy(), rng), rng)
    return Finding(f"{tests} comparisons of frequencies", tests * _LEVEL)


def _limited(subject: Subject, state: Any, rng: np.random.Generator) -> Context | None:
    """Return a context without an entry that is often selected, or None if the policy rejects such contexts.

    The propensity may be None, if it is unknown in such a context.
    """
    policy, n = subject.policy, subject.policy.oracle.n_choices
    chosen = subject.select(policy, copy.deepcopy(state), rng)
    available = np.ones(n, bool)
    available[chosen[:1]] = False
    context = replace(subject.place.context or Context(), available=available)
    try:
        arms = entries(policy.select(copy.deepcopy(state), np.random.default_rng(0), context))
        known = policy.propensity(state, arms, context)
    except (ValueError, TypeError, NotImplementedError):
        return None
    # An oracle that cannot exclude entries raises; one that returns others fails the check of availability.
    return context if known is not None and available[arms].all() else None


def _check_total(subject: Subject, state: Any, number: int, context: Context | None) -> None:
    """Check that the propensities of all super arms sum to 1, if they are few sets."""
    policy, oracle = subject.policy, subject.policy.oracle
    if oracle.n_choices > _FEW_CHOICES or not oracle.has_membership:
        return
    total, count = 0.0, 0
    watch = Stopwatch()
    for bits in range(2**oracle.n_choices):
        arm = np.flatnonzero(bits >> np.arange(oracle.n_choices) & 1)
        if not subject.is_super_arm(arm):
            continue
        chance = policy.propensity(state, arm.copy(), context)
        turned = policy.propensity(state, arm[::-1].copy(), context)
        # In ranked lists, every order is a super arm of its own.
        if chance is None or chance != turned or watch.seconds() > 0.05 * subject.seconds:
            return
        total, count = total + float(chance), count + 1
    drawn = {_drawn(subject, state, (number, seed), context) for seed in range(100)}
    if len(drawn) > len({tuple(sorted(arm)) for arm in drawn}):
        return
    text = "in round {}, the propensities of all {} super arms sum to {:.12g} instead of 1"
    require(abs(total - 1.0) <= 1e-9, "propensity", text, number, count, total)


def _drawn(subject: Subject, state: Any, seed: tuple[int, int], context: Context | None) -> tuple[int, ...]:
    rng = np.random.default_rng(seed)
    return tuple(entries(subject.policy.select(copy.deepcopy(state), rng, context)).tolist())


def _check_frequencies(subject: Subject, state: Any, number: int, context: Context | None) -> int:
    """Compare frequencies with propensities. If they look different, draw for longer before the verdict."""
    drawn: list[tuple[int, ...]] = []
    tests = 0
    for share in (0.1, 1.0):
        seeds = subject.timed(range(len(drawn), _MANY_DRAWS), share)
        drawn.extend(_drawn(subject, state, (number, seed), context) for seed in seeds)
        comparisons = list(_comparisons(subject, state, number, drawn, context))
        tests += len(comparisons)
        if not comparisons:
            break
        least = min(comparisons, key=itemgetter(0))
        if least[0] <= _LEVEL and subject.policy.oracle.is_linear:
            # A policy may list the terms of a sum in any order, and state the propensity of their set.
            sets = [tuple(sorted(arm)) for arm in drawn]
            least = min(_comparisons(subject, state, number, sets, context), key=itemgetter(0))
        require(least[0] > _LEVEL, "propensity", least[1], *least[2])
        if least[0] > _SUSPICIOUS:
            break
    return tests


def _comparisons(
    subject: Subject, state: Any, number: int, drawn: list[tuple[int, ...]], context: Context | None
) -> Iterator[tuple[float, str, tuple[Any, ...]]]:
    """Yield the p-value of each frequency, and of that of all super arms of the first half of the draws."""
    n, mass = len(drawn), 0.0
    half, names = n // 2, list(dict.fromkeys(drawn))[:_MOST_NAMES]
    first, known = set(drawn[:half]), set(names)
    for arm in names:
        claimed = subject.policy.propensity(state, np.array(arm, np.int64), context)
        if claimed is None:  # the policy knows the propensities of other super arms only
            known.discard(arm)
            continue
        text = "the propensity of {} in round {} must be a probability, got {!r}"
        require(0.0 < claimed <= 1.0 + 1e-12, "propensity", text, arm, number, claimed)
        chance = min(float(claimed), 1.0)
        mass += chance if arm in first else 0.0
        text = "in round {}, {} was selected in {} of {} draws, but its propensity is {:.6g}"
        times = drawn.count(arm)
        yield same_rate(times, n, chance), text, (number, arm, times, n, chance)
    if known != set(drawn):
        return
    # Super arms of the first half have a total probability, which the second half tests.
    text = (
        "in round {}, the propensities of {} super arms sum to {:.6g}, but {} of {} further draws"
        " were of them"
    )
    again = sum(arm in first for arm in drawn[half:])
    found = (number, len(first), mass, again, n - half)
    yield 0.0 if mass > 1.0 + 1e-9 else same_rate(again, n - half, min(mass, 1.0)), text, found
