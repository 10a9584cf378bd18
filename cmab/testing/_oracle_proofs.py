"""The check of the bounds and ratios that single calls of an oracle prove."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.solver_certificate import metered
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, entries, require
from cmab.testing._oracle_subject import TOLERANCE, Subject, key
from cmab.testing._statistics import binomial_tail

_SHARE = 0.1


def check_proofs(subject: Subject) -> Finding:
    """Check that the bounds and ratios of `solve_certified` and `report_ratio` hold for every super arm."""
    oracle = subject.oracle
    certifies = type(oracle).solve_certified is not Oracle.solve_certified
    if not certifies and not oracle.certifies_calls:
        return Finding("not tried: calls prove nothing beyond alpha")
    failed: list[str] = []
    tried = 0
    for state, means in enumerate(subject.timed(subject.some(), _SHARE)):
        wrong = ""
        if certifies:
            wrong = _certificate(subject, means, state)
        if oracle.certifies_calls and not wrong:
            wrong = _reported(subject, means, state)
        tried += 1
        failed += [wrong] if wrong else []
        allowed = 1 - oracle.beta
        require(not failed or allowed > 0, "proofs", "{}", wrong)
        share = binomial_tail(len(failed), tried, allowed) if failed else 1.0
        text = "{} of {} proofs are wrong, more than beta={:.6g} permits; for example, {}"
        require(share >= LEVEL / 100, "proofs", text, len(failed), tried, oracle.beta, wrong)
    return Finding(f"{tried} problems", LEVEL if oracle.beta < 1 else 0.0)


def _certificate(subject: Subject, means: FloatArray, state: int) -> str:
    """Return the fault of the certificate of one call, or ''."""
    oracle = subject.oracle
    given = means.copy()
    told: Any = oracle.solve_certified(given, np.random.default_rng(state))
    lacks = [name for name in ("super_arm", "ratio", "certified") if not hasattr(told, name)]
    require(not lacks, "proofs", "the result of solve_certified must have the attributes {}", lacks)
    require(np.array_equal(given, means), "proofs", "solve_certified changed means {} to {}", means, given)
    chosen = np.asarray(told.super_arm)
    known = subject.family is None or key(chosen) in subject.members
    text = "the super arm {} of solve_certified for means {} is not feasible"
    require(known and oracle.is_feasible(chosen), "proofs", text, chosen, means)
    value = float(oracle.expected_reward(chosen, means))
    stated = getattr(told, "value", value)
    same = abs(value - stated) <= TOLERANCE * (1 + abs(value))
    text = "solve_certified for means {} states the value {:.9g} for {}, which has reward {:.9g}"
    require(same, "proofs", text, means, stated, chosen, value)
    best, top = _best(subject, means, chosen, value)
    bound = getattr(told, "bound", None)
    if bound is not None and not oracle.sign * (bound - best) >= -_slack(oracle, best):
        text = "solve_certified for means {} gave the bound {:.9g}, but {} has reward {:.9g}"
        return text.format(means, bound, top, best)
    wrong = _ratio(subject, float(told.ratio), value, best)
    if not wrong and told.certified and not math.isnan(oracle.alpha):
        wrong = _ratio(subject, oracle.alpha, value, best)
    text = "solve_certified for means {} proved {} for {} with reward {:.9g}, but {} has reward {:.9g}"
    return text.format(means, wrong, chosen, value, top, best) if wrong else ""


def _reported(subject: Subject, means: FloatArray, state: int) -> str:
    """Return the fault of the ratio that `solve` reports, or ''."""
    oracle = subject.oracle
    with metered(oracle) as meter:
        chosen = entries(oracle.solve(means.copy(), np.random.default_rng(state)))
    ratio = meter.take_ratio()
    value = float(oracle.expected_reward(chosen, means))
    best, top = _best(subject, means, chosen, value)
    wrong = _ratio(subject, ratio, value, best)
    text = "solve for means {} reported {} for {} with reward {:.9g}, but {} has reward {:.9g}"
    return text.format(means, wrong, chosen, value, top, best) if wrong else ""


def _best(subject: Subject, means: FloatArray, chosen: IntArray, value: float) -> tuple[float, IntArray]:
    """Return the best known reward, and a super arm that has it."""
    values = subject.oracle.sign * subject.worths(means)
    number = int(np.argmax(values))
    if subject.oracle.sign * value >= values[number]:
        return value, chosen
    return subject.oracle.sign * float(values[number]), subject.rivals[number]


def _ratio(subject: Subject, ratio: float, value: float, best: float) -> str:
    """Return the ratio in words if it is wrong, or ''. A ratio that is nan proves nothing."""
    oracle = subject.oracle
    if math.isnan(ratio) or (oracle.sense == "min" and math.isinf(ratio)):
        return ""
    side = ratio <= 1 + TOLERANCE if oracle.sense == "max" else ratio >= 1 - TOLERANCE
    require(side, "proofs", "a ratio must be at most 1 for rewards and at least 1 for costs, got {}", ratio)
    good = oracle.sign * (value - ratio * best) >= -_slack(oracle, best)
    return "" if good else f"the ratio {ratio:.9g}"


def _slack(oracle: Oracle, best: float) -> float:
    # Some solvers stop at a gap that they declare.
    gap = getattr(oracle, "gap", 0.0)
    gap = gap if isinstance(gap, float) else 0.0
    return (TOLERANCE + gap) * (1 + abs(best))
