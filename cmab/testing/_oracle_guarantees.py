"""Checks of what the answers of an oracle are worth."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray
from cmab.oracle import LinearOracle
from cmab.testing._checks import binomial_tail, require
from cmab.testing._oracle_subject import LEVEL, TOLERANCE, Subject, key

_LONGER = 20
_FORCED = "with {} forced in, {} forced out and means {}"


def check_guarantee(subject: Subject) -> None:
    """Answers are worth alpha times the optimum with probability beta (sense included)."""
    oracle, problems = subject.oracle, list(subject.all_means())
    if oracle.beta < 1:
        _check_probability(subject, problems)
        return
    shortfalls = [_shortfall(subject, means) for means in problems]
    failed = [means for means, shortfall in zip(problems, shortfalls, strict=True) if shortfall > TOLERANCE]
    if not failed and oracle.alpha != 1:
        failed = _hunt(subject, [problems[i] for i in np.argsort(shortfalls, kind="stable")[-3:]])
    if failed:
        means = subject.shrink(failed[0], lambda tried: _shortfall(subject, tried) > TOLERANCE)
        _accuse(subject, means, f"{len(failed)} of {len(problems)}", len(failed) > 0.75 * len(problems))


def _check_probability(subject: Subject, problems: list[FloatArray]) -> None:
    """Count failures, each answer with a generator state of its own; if there are many, count longer."""
    failed: list[FloatArray] = []
    allowed, count = 1 - subject.oracle.beta, 0
    for length in (len(problems), _LONGER * len(problems)):
        for state in range(count, length):
            means = problems[state % len(problems)]
            if _shortfall(subject, means, state) > TOLERANCE:
                failed.append(means)
        count = length
        if binomial_tail(len(failed), count, allowed) < LEVEL / 2:
            # A shortfall may be chance, and shrinking would chase it.
            _accuse(subject, failed[0], f"{len(failed)} of {count}", len(failed) > 0.75 * count)
        if len(failed) <= allowed * count:
            return


def _accuse(subject: Subject, means: FloatArray, share: str, mostly: bool) -> None:
    """Raise, naming the likely fault."""
    oracle, rivals = subject.oracle, subject.rivals
    answer = subject.solve(means)
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    best, worst = (max(values), min(values)) if oracle.sense == "max" else (min(values), max(values))
    value = oracle.expected_reward(answer, means)
    text = (
        f"{share} answers miss alpha={oracle.alpha:.6g} (beta={oracle.beta:.6g},"
        f" sense={oracle.sense!r}); for means {means} the answer {answer} is worth {value:.6g},"
        f" {rivals[values.index(best)]} is worth {best:.6g}"
    )
    if len({key(subject.solve(other)) for other in subject.all_means()}) == 1:
        raise AssertionError(f"guarantee: {text}; it ignores its means")
    if abs(value - worst) <= TOLERANCE < abs(best - worst) and mostly:
        raise AssertionError(f"sense: {text}; it seems to optimise the other way")
    raise AssertionError(f"guarantee: {text}")


def _shortfall(subject: Subject, means: FloatArray, state: int = 7) -> float:
    """Return by how much the answer misses alpha times the best rival, in units of its worth."""
    oracle = subject.oracle
    values = [oracle.expected_reward(arm, means) for arm in subject.rivals]
    value = oracle.expected_reward(subject.solve(means, state), means)
    missed = (
        oracle.alpha * max(values) - value if oracle.sense == "max" else value - oracle.alpha * min(values)
    )
    return float(missed / (1.0 + abs(value)))


def _hunt(subject: Subject, starts: list[FloatArray]) -> list[FloatArray]:
    """Return means that miss the guarantee, if moving the worst ones entry by entry leads to some."""
    rng, middle = np.random.default_rng(subject.seed), (subject.low + subject.high) / 2
    for means in starts:
        worst = _shortfall(subject, means)
        for arm in np.tile(rng.permutation(len(means)), 3)[:40]:
            nudge = 0.01 * (subject.high - subject.low)
            near = np.add.outer(rng.choice(means, 2), (-nudge, nudge)).ravel()
            for value in (subject.low, subject.high, middle, *np.clip(near, subject.low, subject.high)):
                moved = np.where(np.arange(len(means)) == arm, value, means)
                shortfall = _shortfall(subject, moved)
                if shortfall > TOLERANCE:
                    return [moved]
                if shortfall > worst:
                    means, worst = moved, shortfall
    return []


def check_scale(subject: Subject) -> None:
    """A LinearOracle takes a thousand times the means too, or refuses them: indices may exceed the range."""
    oracle = subject.oracle
    if not isinstance(oracle, LinearOracle) or subject.low < 0 or oracle.beta < 1:
        return
    for means in subject.all_means():
        large = 1000.0 * means
        try:
            answer = subject.solve(large)
        except ValueError:  # the oracle says that it takes no such means
            return
        values = [oracle.expected_reward(arm, large) for arm in subject.rivals]
        value = oracle.expected_reward(answer, large)
        slack = TOLERANCE * (1 + abs(value))
        good = (
            value >= oracle.alpha * max(values) - slack
            if oracle.sense == "max"
            else value <= oracle.alpha * min(values) + slack
        )
        require(
            good,
            "scale",
            "for means {}, beyond {:g}, {} is worth {:.6g} and misses alpha={:.6g}; take them or refuse them"
            " by a ValueError",
            large,
            subject.high,
            answer,
            value,
            oracle.alpha,
        )


def check_constraints(subject: Subject) -> None:
    """A LinearOracle that solves with arms forced in or out finds the best of what is left."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    if (
        subject.family is None
        or not isinstance(oracle, LinearOracle)
        or type(oracle).solve_constrained is LinearOracle.solve_constrained
    ):
        return
    family = [(frozenset(arm.tolist()), arm) for arm in subject.family]
    for means in subject.all_means():
        sides = rng.choice(3, oracle.n_arms, p=(0.6, 0.2, 0.2))
        include, exclude = np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)
        left = {key: arm for key, arm in family if key.issuperset(include) and key.isdisjoint(exclude)}
        told = (include, exclude, means)
        try:
            answer = oracle.solve_constrained(means.copy(), include, exclude, np.random.default_rng(7))
        except TypeError:  # the oracle says that it cannot force arms in
            continue
        same = (answer is None) == (not left)
        require(same, "constraints", "got {}, {} are left " + _FORCED, answer, len(left), *told)
        if answer is None:
            continue
        fits = frozenset(answer.tolist()) in left
        require(fits, "constraints", "{} breaks them or is none " + _FORCED, answer, *told)
        values = [oracle.expected_reward(arm, means) for arm in left.values()]
        best = max(values) if oracle.sense == "max" else min(values)
        value = oracle.expected_reward(answer, means)
        good = not oracle.is_exact or abs(value - best) <= TOLERANCE * (1 + abs(best))
        text = "{} is worth {:.6g}, the optimum {:.6g} " + _FORCED
        require(good, "constraints", text, answer, value, best, *told)
