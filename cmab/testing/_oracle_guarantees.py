"""Checks of the rewards of the answers of an oracle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, entries, require
from cmab.testing._oracle_subject import TOLERANCE, Subject, best_end, key
from cmab.testing._statistics import binomial_tail, log_evidence, refused_rate, seen_rate

# Factor by which many failures prolong the count, maximal number of new problems, and the size of a block.
_LONGER = 20
_MANY = 50_000
_CHUNK = 256
# The hardest problems of an oracle that may fail, and the number of answers after which one is believed.
_HARDEST, _FEW = 3, 20


def check_guarantee(subject: Subject) -> Finding:
    """Check that rewards are at least (costs: at most) alpha times the optimum with probability beta."""
    oracle, problems = subject.oracle, subject.some()
    if np.isnan(oracle.alpha):
        return Finding("not tried: alpha is nan")
    if oracle.beta < 1:
        return _check_probability(subject, problems)
    # Each problem has its own seed, because an oracle may fail for some generator states only.
    tried = enumerate(subject.timed(problems))
    shortfalls = [_shortfall(subject, means, state) for state, means in tried]
    failed = [state for state, shortfall in enumerate(shortfalls) if shortfall > TOLERANCE]
    if failed:
        fails = problems[failed[0]]
        # Use the seed for which the answer failed, so that simpler means are tried with the same draws.
        means = subject.shrink(fails, lambda means: _shortfall(subject, means, failed[0]) > TOLERANCE)
        share = f"{len(failed)} of {len(shortfalls)}"
        _accuse(subject, means, share, len(failed) > 0.75 * len(shortfalls), failed[0])
    # Random means seldom reveal that an approximate oracle misses its ratio, so that a search follows.
    if oracle.alpha != 1:
        hunted = _hunt(subject, [problems[i] for i in np.argsort(shortfalls, kind="stable")[-3:]])
        if hunted:
            _accuse(subject, hunted[0], "some", False)
    calls = len(shortfalls) + _check_many(subject)
    known = "the optimum over all super arms" if subject.family is not None else "the other answers"
    rate = f"one wrong answer in {1 / seen_rate(calls):.0f} would be detected with probability .99"
    return Finding(f"{calls} answers, compared with {known}; {rate}")


def _check_probability(subject: Subject, problems: list[FloatArray]) -> Finding:
    """Count failures, with another seed for each answer. If failures are many, count longer."""
    failed: list[FloatArray] = []
    allowed, count = 1 - subject.oracle.beta, 0
    tally = np.zeros((len(problems), 2))
    for length in (len(problems), _LONGER * len(problems)):
        for state in subject.timed(range(count, length)):
            means = problems[state % len(problems)]
            if _shortfall(subject, means, state) > TOLERANCE:
                failed.append(means)
                tally[state % len(problems), 0] += 1
            tally[state % len(problems), 1] += 1
            count += 1
        # Each of the two tests has half the level.
        if binomial_tail(len(failed), count, allowed) < LEVEL / 2:
            # The means are not shrunk, because a single failure may be chance.
            _accuse(subject, failed[0], f"{len(failed)} of {count}", len(failed) > 0.75 * count)
        if len(failed) <= allowed * count:
            break
    # The guarantee holds for each problem, and some are harder than the average.
    rates = (tally[:, 0] + 0.5 * allowed) / (tally[:, 1] + 1.0)
    for number in np.argsort(-rates, kind="stable")[:_HARDEST]:
        _check_one(subject, problems[int(number)], allowed)
    rate = refused_rate(count, allowed, LEVEL / 2)
    text = (
        f"{len(failed)} of {count} answers failed; the permitted rate is {allowed:.3g}, and a rate of"
        f" {rate:.2g} would be rejected with probability .99"
    )
    return Finding(text, 2 * LEVEL)


def _check_one(subject: Subject, means: FloatArray, allowed: float) -> None:
    """Count failures for one problem with new seeds, until the evidence decides or the time is over."""
    failures = 0
    for trials, state in enumerate(subject.timed(range(10**6, 10**6 + _MANY), 0.1), 1):
        failures += _shortfall(subject, means, state) > TOLERANCE
        evidence = log_evidence(failures, trials, allowed)
        if evidence >= np.log(_HARDEST / LEVEL):
            _accuse(subject, means, f"{failures} of {trials}", failures > 0.75 * trials)
        if trials >= _FEW and evidence < 0:
            return


def _accuse(subject: Subject, means: FloatArray, share: str, mostly: bool, state: int = 7) -> None:
    """Raise ``AssertionError`` with the likely fault."""
    oracle, rivals = subject.oracle, subject.rivals
    answer = subject.solve(means, state)
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    best, worst = (max(values), min(values)) if oracle.sense == "max" else (min(values), max(values))
    value = oracle.expected_reward(answer, means)
    text = (
        f"{share} answers miss alpha={oracle.alpha:.6g} (beta={oracle.beta:.6g},"
        f" sense={oracle.sense!r}); for means {means} the answer {answer} has reward {value:.12g},"
        f" but {rivals[values.index(best)]} has reward {best:.12g}"
    )
    # The likeliest faults first: a constant answer, then the best answer for the opposite sense.
    if len({key(subject.answer(other)) for other in subject.timed(subject.problems)}) == 1:
        raise AssertionError(
            f"guarantee: {text}; solve seems to ignore its means, because all answers are equal"
        )
    if abs(value - worst) <= TOLERANCE < abs(best - worst) and mostly:
        raise AssertionError(f"sense: {text}; solve seems to optimise in the opposite direction")
    raise AssertionError(f"guarantee: {text}")


def _missed(oracle: Oracle, value: float, best: float) -> float:
    """Return by how much `value` misses alpha times `best`, relative to ``1 + abs(value)``."""
    missed = oracle.alpha * best - value if oracle.sense == "max" else value - oracle.alpha * best
    return float(missed / (1.0 + abs(value)))


def _best(oracle: Oracle, values: AnyArray) -> AnyArray:
    """Return the best value along the last axis, according to the sense of the oracle."""
    best: AnyArray = values.max(axis=-1) if oracle.sense == "max" else values.min(axis=-1)
    return best


def _shortfall(subject: Subject, means: FloatArray, state: int = 7) -> float:
    """Return by how much the answer misses alpha times the reward of the best rival, as `_missed` does."""
    oracle = subject.oracle
    value = oracle.expected_reward(subject.solve(means, state), means)
    return _missed(oracle, value, float(_best(oracle, subject.worths(means))))


def _hunt(subject: Subject, starts: list[FloatArray]) -> list[FloatArray]:
    """Search for means that miss the guarantee: change the worst ones entry by entry. Return at most one."""
    rng, middle = np.random.default_rng(subject.rng), (subject.low + subject.high) / 2
    moves = (
        (start, arm)
        for start in range(len(starts))
        for arm in np.tile(rng.permutation(len(starts[0])), 3)[:40]
    )
    worst = [_shortfall(subject, means) for means in starts]
    for start, arm in subject.timed(moves):
        means = starts[start]
        nudge = 0.01 * (subject.high - subject.low)
        # Values just above and below other means, where approximation algorithms change their choice.
        near = np.add.outer(rng.choice(means, 2), (-nudge, nudge)).ravel()
        for value in (subject.low, subject.high, middle, *np.clip(near, subject.low, subject.high)):
            moved = np.where(np.arange(len(means)) == arm, value, means)
            shortfall = _shortfall(subject, moved)
            if shortfall > TOLERANCE:
                return [moved]
            if shortfall > worst[start]:
                starts[start], worst[start] = moved, shortfall
    return []


def _check_many(subject: Subject) -> int:
    """Check the answers to many new problems with one generator, and return the number of answers."""
    oracle, rng, calls = subject.oracle, np.random.default_rng((subject.rng, 1)), 0
    for means, best in subject.timed(islice(_new_problems(subject), _MANY), 0.2):
        answer = entries(oracle.solve(means.copy(), rng))
        value = oracle.expected_reward(answer, means)
        calls += 1
        if _missed(oracle, value, best) > TOLERANCE:
            if _shortfall(subject, means) > TOLERANCE:  # also for the seed that `shrink` uses
                means = subject.shrink(means, lambda tried: _shortfall(subject, tried) > TOLERANCE)
                _accuse(subject, means, f"1 of the first {calls} new", False)
            text = (
                "answer {} of a long run misses alpha={:.6g} (beta={:.6g}, sense={!r}); for means {} the"
                " answer {} has reward {:.12g}, but another super arm {:.12g}; another call with these means"
                " was correct, so that the fault depends on rng or on earlier calls"
            )
            promise = (oracle.alpha, oracle.beta, oracle.sense)
            require(False, "guarantee", text, calls, *promise, means, answer, value, best)
        known = subject.family is None or key(answer) in subject.members
        require(
            known, "guarantee", "answer {} of a long run, {}, is not one of the super arms", calls, answer
        )
    return calls


def _new_problems(subject: Subject) -> Iterator[tuple[FloatArray, float]]:
    """Yield random means with the reward of the best rival; for linear oracles, compute many at once."""
    oracle, rivals = subject.oracle, subject.rivals
    drawn = subject.random_means(stream=2)
    if not oracle.is_linear:
        for means in drawn:
            yield (
                means,
                float(_best(oracle, np.array([oracle.expected_reward(arm, means) for arm in rivals]))),
            )
        return
    membership = membership_of(oracle.n_arms, rivals)
    while True:
        rows = np.array(list(islice(drawn, _CHUNK)))
        # The sum of the means of a super arm is a product with its row of zeros and ones.
        yield from zip(rows, _best(oracle, rows @ membership.T).tolist(), strict=True)


def check_neighbours(subject: Subject) -> Finding | None:
    """Check that no feasible set near an answer, and no random feasible set, is better than alpha permits.

    A set near an answer differs from it in one or two entries.
    """
    oracle = subject.oracle
    if subject.family is not None or oracle.beta < 1 or np.isnan(oracle.alpha):
        return None
    if not oracle.has_membership:
        return Finding("not tried: feasible sets are unknown; pass super_arms or override is_feasible")
    rng, tried = np.random.default_rng(subject.rng), 0
    for means, arms in subject.timed(_tempting(subject, rng)):
        answer = subject.answer(means)
        value = oracle.expected_reward(answer, means)
        for other in _neighbours(oracle, answer, arms, rng):
            if not oracle.is_feasible(other):
                continue
            tried += 1
            worth = oracle.expected_reward(other, means)
            text = (
                "for means {} the answer {} has reward {:.12g}, but the feasible super arm {} has {:.12g};"
                " the answer misses alpha={:g}"
            )
            good = _missed(oracle, value, worth) <= TOLERANCE
            require(good, "neighbours", text, means, answer, value, other, worth, oracle.alpha)
    return Finding(f"{tried} feasible super arms near the answers")


def _tempting(subject: Subject, rng: np.random.Generator) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield means, and entries that should perhaps be in the answer: the best ones, or a raised one."""
    n_arms, n_choices = subject.oracle.n_arms, subject.oracle.n_choices
    drawn = subject.problems[1::2]
    if n_arms == n_choices:
        middle = (subject.low + subject.high) / 2
        for number, arm in enumerate(rng.permutation(n_arms)):
            others = (drawn[number % len(drawn)] + middle) / 2  # strictly inside the range, without ties
            raised = np.where(np.arange(n_arms) == arm, best_end(subject), others)
            # The answer lacks the best arm, so that sets with this arm are tried first.
            if arm not in subject.answer(raised):
                yield raised, np.array([arm])
    for means in drawn:
        by_worth = np.argsort(np.abs(means - best_end(subject))) if n_arms == n_choices else None
        yield means, (rng.permutation(n_choices) if by_worth is None else by_worth)[:10]


def _neighbours(
    oracle: Oracle, answer: IntArray, arms: IntArray, rng: np.random.Generator
) -> Iterator[IntArray]:
    for arm in np.setdiff1d(arms, answer):
        yield np.sort(np.append(answer, arm))
        for position in rng.permutation(len(answer))[:5]:
            yield np.sort(np.append(np.delete(answer, position), arm))
    for position in range(min(len(answer), 5)):
        yield np.sort(np.delete(answer, position))
    yield np.sort(rng.choice(oracle.n_choices, len(answer), replace=False))


def membership_of(n_arms: int, super_arms: list[IntArray]) -> FloatArray:
    """Return a matrix with one row of zeros and ones for each super arm."""
    membership = np.zeros((len(super_arms), n_arms))
    for row, arm in zip(membership, super_arms, strict=True):
        row[arm] = 1.0
    return membership
