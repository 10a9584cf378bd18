"""Checks of linear oracles with means outside the range, and with arms included and excluded."""

from __future__ import annotations

from typing import cast

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._oracle_subject import TOLERANCE, Subject

#: Exceptions that come from slips in the code rather than from a refusal.
_SLIPS = (IndexError, KeyError, TypeError, AttributeError, NameError)
#: Number of problems with negative means whose answers identify an oracle that clips them.
_CLIPPED = 5
_FORCED = "for include={}, exclude={} and means {}"


def check_scale(subject: Subject) -> Finding | None:
    """Check that a LinearOracle solves or rejects very small, very large and negative means."""
    oracle = subject.oracle
    if not oracle.is_linear or oracle.beta < 1 or np.isnan(oracle.alpha):
        return None
    tried = [f"factor {factor:g}" for factor in _factors(subject)]
    for factor in _factors(subject):
        _check_factor(subject, factor)
    # Approximation ratios say nothing about rewards that are negative.
    if subject.low >= 0 and oracle.alpha == 1.0:
        shift = -(subject.low + subject.high) / 2
        least = getattr(oracle, "least_mean", None)
        if least is None or subject.low + shift >= least:
            tried.append(_check_shift(subject, shift))
    return Finding(", ".join(tried))


def _check_factor(subject: Subject, factor: float) -> None:
    """Check answers for means of the range after they were multiplied."""
    for means in subject.timed(subject.problems, 0.05):
        scaled, worths = factor * means, subject.worths(means)
        try:
            answer = subject.solve(scaled)
        except ValueError:  # the oracle rejects such means
            if factor < 1:
                raise
            return
        top = subject.rivals[int(worths.argmax() if subject.oracle.sense == "max" else worths.argmin())]
        told = f"{factor:g} times means in the range", "solve such problems"
        _require_best(subject, scaled, answer, subject.oracle.expected_reward(top, scaled), factor, *told)


def _check_shift(subject: Subject, shift: float) -> str:
    """Check answers for means of the range after they were moved, and return a summary."""
    oracle, clips, clipped, faults = subject.oracle, True, 0, []
    for means in subject.timed(subject.problems, 0.05):
        moved = means + shift
        try:
            answer = subject.solve(moved)
            flat = subject.solve(np.maximum(moved, 0.0))
        except _SLIPS:
            raise
        except Exception as error:  # the oracle rejects such means, with an exception of its own
            return f"negative means are rejected ({type(error).__name__})"
        # An oracle that clips solves all such problems as problems with means of at least 0, which it knows.
        clips = clips and np.array_equal(answer, flat)
        clipped += bool((moved < 0).any())
        worths = np.array([oracle.expected_reward(arm, moved) for arm in subject.rivals])
        best = float(worths.max() if oracle.sense == "max" else worths.min())
        told = f"{shift:+g} on means in the range", "declare their least_mean"
        try:
            _require_best(subject, moved, answer, best, 1.0, *told)
        except AssertionError as error:
            faults.append(error)
        if faults and not clips:
            raise faults[0]
    if faults and clipped >= _CLIPPED:
        return "negative means are clipped at 0 (least_mean = 0 would declare it)"
    if faults:
        raise faults[0]
    return f"shift {shift:g}"


def _require_best(
    subject: Subject, means: FloatArray, answer: IntArray, best: float, size: float, what: str, remedy: str
) -> None:
    """Raise ``AssertionError`` if the answer is worse than `alpha` permits."""
    oracle = subject.oracle
    value = oracle.expected_reward(answer, means)
    slack, limit = TOLERANCE * max(abs(value), size), oracle.alpha * best
    good = value >= limit - slack if oracle.sense == "max" else value <= limit + slack
    text = "for means {} ({}) the answer {} has reward {:.12g}, but another super arm {:.12g};"
    text += " the answer misses alpha={:.6g}; {} or raise ValueError"
    require(good, "scale", text, means, what, answer, value, best, oracle.alpha, remedy)


def _factors(subject: Subject) -> list[float]:
    """Return the factors by which a LinearOracle with the range of the subject must accept scaled means."""
    return [1e-6] * (subject.low <= 0 <= subject.high) + [1e3, 1e6] * (subject.low >= 0)


def check_constraints(subject: Subject) -> Finding | None:
    """Check that `solve_constrained` finds the best super arm with some arms included and some excluded."""
    if not (subject.oracle.is_linear and subject.oracle.can_constrain):
        return None
    oracle, rng = cast(LinearOracle, subject.oracle), np.random.default_rng(subject.rng)
    # Without the family, answers to other means are among the super arms.
    family = [(frozenset(arm.tolist()), arm) for arm in subject.rivals]
    is_whole = subject.family is not None
    # A penalty or bonus instead of a constraint is too small for some means, and too large for others.
    scaled, tried = _factors(subject), 0
    for factor in (1.0, *scaled):
        for means in subject.timed(subject.problems, 0.1 if factor == 1.0 else 0.03):
            sides = rng.choice(3, oracle.n_arms, p=(0.6, 0.2, 0.2))
            try:
                _check_forced(oracle, family, factor * means, sides, factor, is_whole)
            except TypeError:  # the oracle cannot include arms
                continue
            except ValueError:  # the oracle rejects such means
                if factor == 1.0:
                    raise
                break
            tried += 1
    return Finding(f"{tried} problems with the factors 1, {', '.join(f'{factor:g}' for factor in scaled)}")


def _check_forced(
    oracle: LinearOracle,
    family: list[tuple[frozenset[int], IntArray]],
    means: FloatArray,
    sides: IntArray,
    factor: float,
    is_whole: bool,
) -> None:
    """Check one answer: arms with a side of 1 are included, and those with a side of 2 excluded."""
    include, exclude = np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)
    left = {key: arm for key, arm in family if key.issuperset(include) and key.isdisjoint(exclude)}
    told = (include, exclude, means)
    answer = oracle.solve_constrained(means.copy(), include, exclude, np.random.default_rng(7))
    text = "solve_constrained returned {}, but {} super arms remain " + _FORCED
    fits = not left if answer is None else bool(left) or not is_whole
    require(fits, "constraints", text, answer, len(left), *told)
    if answer is None:
        return
    answer = entries(answer)
    text = "the answer {} is not one of the remaining super arms " + _FORCED
    chosen = frozenset(answer.tolist())
    good = chosen.issuperset(include) and chosen.isdisjoint(exclude) and len(chosen) == len(answer)
    good = good and (chosen in left or not is_whole) and oracle.is_feasible(answer)
    require(good, "constraints", text, answer, *told)
    if not left:
        return
    values = [oracle.expected_reward(arm, means) for arm in left.values()]
    best = max(values) if oracle.sense == "max" else min(values)
    value = oracle.expected_reward(answer, means)
    # The ratio says nothing about negative rewards.
    known = oracle.is_exact or (oracle.beta == 1.0 and not np.isnan(oracle.alpha) and best >= 0)
    missed = oracle.sign * (oracle.alpha * best - value)
    good = not known or missed <= TOLERANCE * (factor + abs(best))
    text = "the answer {} has reward {:.12g}, but the optimum is {:.12g} " + _FORCED
    require(good, "constraints", text, answer, value, best, *told)
