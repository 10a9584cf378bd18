"""Checks of what `solve` returns, whatever it is worth."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.doors import open_door, solve_rows
from cmab.oracle import LinearOracle, Oracle
from cmab.testing._checks import pickled, require, require_same
from cmab.testing._oracle_process import answers_of_another_process
from cmab.testing._oracle_subject import Subject, key, on_each_means


def check_ties(subject: Subject) -> None:
    """Tied, constant and one-hot means are no reason to fail."""
    for what, means in subject.degenerate_means():
        try:
            subject.solve(means)
        except Exception as error:
            raise AssertionError(
                f"ties: {subject.name}.solve raised {error!r} for {what}, {means}"
            ) from error


@on_each_means
def check_errors(subject: Subject, means: FloatArray) -> None:
    """No means in range are a reason to fail."""
    try:
        subject.solve(means)
    except Exception as error:
        raise AssertionError(f"errors: {subject.name}.solve raised {error!r} for means {means}") from error


@on_each_means
def check_form(subject: Subject, means: FloatArray) -> None:
    """The answer is a 1-D array of distinct integers of the declared range, with a label each."""
    oracle, answer = subject.oracle, subject.solve(means)
    is_array = isinstance(answer, np.ndarray)
    require(is_array, "form", "solve must return an array, got {}", type(answer).__name__)
    require(answer.ndim == 1, "form", "a super arm must be 1-D, got shape {}", answer.shape)
    if answer.size == 0:
        return
    require(answer.dtype.kind in "iu", "form", "a super arm must hold integers, got {}", answer.dtype)
    require(
        len(np.unique(answer)) == len(answer), "form", "entries must not repeat, got {} for {}", answer, means
    )
    inside = answer.min() >= 0 and answer.max() < oracle.n_choices
    require(inside, "form", "entries must lie in range({}), got {} for {}", oracle.n_choices, answer, means)
    labels = oracle.labels(answer)
    require(len(labels) == len(answer), "form", "labels must name every entry of {}, got {}", answer, labels)
    fits = not isinstance(oracle, LinearOracle) or len(answer) <= oracle.max_size
    require(
        fits, "form", "at most max_size={} arms were declared, got {} for {}", oracle.max_size, answer, means
    )


@on_each_means
def check_feasibility(subject: Subject, means: FloatArray) -> None:
    """Every answer belongs to the family."""
    answer = subject.solve(means)
    known = subject.family is None or key(answer) in {key(arm) for arm in subject.family}
    require(known, "feasibility", "{} is not one of the super arms (means {})", answer, means)
    require(subject.oracle.is_feasible(answer), "feasibility", "is_feasible refuses the answer {}", answer)


def check_membership(subject: Subject) -> None:
    """`is_feasible` accepts the listed super arms and, if it is overridden, no others."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    if subject.family is None or type(oracle).is_feasible is Oracle.is_feasible:
        return
    members = {key(arm) for arm in subject.family}
    for arm in subject.family:
        require(oracle.is_feasible(arm), "membership", "is_feasible refuses {}, which is in the family", arm)
    sizes = sorted({len(arm) for arm in members})
    for _ in range(subject.trials):
        arm = np.sort(rng.choice(oracle.n_choices, rng.choice(sizes), replace=False))
        wrong = key(arm) not in members and oracle.is_feasible(arm)
        require(not wrong, "membership", "is_feasible accepts {}, which is not in the family", arm)


@on_each_means
def check_input(subject: Subject, means: FloatArray) -> None:
    """The caller's arrays are left alone."""
    given = means.copy()
    answer = subject.oracle.solve(given, np.random.default_rng(7))
    same = np.array_equal(given, means)
    require(same, "input", "solve must leave means {} unchanged, made it {}", means, given)
    kept = answer.copy()
    subject.oracle.expected_reward(answer, given)
    same = np.array_equal(given, means) and np.array_equal(answer, kept)
    require(
        same,
        "input",
        "expected_reward must leave {} and {} unchanged, made them {} and {}",
        kept,
        means,
        answer,
        given,
    )


def check_global_randomness(subject: Subject) -> None:
    """Randomness comes from the argument: the global generators are neither drawn from nor listened to."""
    kept = _global_state()
    try:
        for means in subject.all_means():
            first, second = (_under_seed(subject, means, seed) for seed in (1, 2))
            if np.array_equal(first, second):
                continue
            # Answers that differ anyway are for the next check.
            again = [_under_seed(subject, means, seed) for seed in (1, 2, 1, 2, 1, 2)]
            same = [np.array_equal(a, b) for a, b in zip(again, (first, second) * 3, strict=True)]
            what = "{} and {} for means {} follow the seeds of the global generators"
            require(not all(same), "global randomness", what, first, second, means)
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        random.setstate(kept[1])


def _under_seed(subject: Subject, means: FloatArray, seed: int) -> IntArray:
    """Return the answer after the global generators were seeded, which it must leave as they are."""
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    before = pickle.dumps(_global_state())
    answer = subject.solve(means).copy()
    drew = before != pickle.dumps(_global_state())
    require(not drew, "global randomness", "solve drew from a global generator instead of rng")
    return answer


def _global_state() -> tuple[Any, Any]:
    return np.random.get_state(), random.getstate()  # noqa: NPY002


@on_each_means
def check_determinism(subject: Subject, means: FloatArray) -> None:
    """The same means and generator state give the same answer, worth the same."""
    first = subject.solve(means).copy()
    require_same(first, subject.solve(means), "determinism", "the same call with means {}", means)
    values = {subject.oracle.expected_reward(first.copy(), means.copy()) for _ in range(2)}
    require(
        len(values) == 1, "determinism", "expected_reward gave {} for {} at {}", sorted(values), first, means
    )


def check_memory(subject: Subject) -> None:
    """The answer does not depend on the calls before it, nor on whether they were given the same array."""
    problems, given = list(subject.all_means()), np.empty(subject.oracle.n_arms)
    answers = [subject.solve(means).copy() for means in problems]
    for position in np.random.default_rng(subject.seed).permutation(len(problems)):
        given[:] = problems[position]
        again = subject.oracle.solve(given, np.random.default_rng(7))
        require_same(answers[position], again, "memory", "a later call with means {}", problems[position])


def check_batch(subject: Subject) -> None:
    """Many problems at once have the answers that they have one after the other."""
    problems = np.array(list(subject.all_means()))
    answers = subject.oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    require(len(answers) == len(problems), "batch", "{} rows have {} answers", len(problems), len(answers))
    rng = np.random.default_rng(7)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.oracle.solve(means, rng), answer, "batch", "solve_batch with the row {}", means)


def check_compiled(subject: Subject) -> None:
    """The compiled form of `solve`, if there is one, gives its answers."""
    kernel = open_door(subject.oracle, "solve")
    if kernel is None:
        return
    problems = np.array(list(subject.all_means()))
    answers = solve_rows(kernel, subject.oracle.n_choices, problems)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.solve(means), answer, "compiled", "the kernel with means {}", means)


def check_pickling(subject: Subject) -> None:
    """A pickled copy, as worker processes get it, gives the same answers."""
    copy: Oracle = pickle.loads(pickled(subject.oracle))
    for means in subject.all_means():
        answer = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(subject.solve(means), answer, "pickling", "a pickled copy with means {}", means)


def check_hashing(subject: Subject) -> None:
    """A process whose strings have other hashes gives the same answers: no order of a set shows."""
    problems = list(subject.all_means())[:40]
    for means, answer in zip(problems, answers_of_another_process(subject.oracle, problems), strict=True):
        require_same(subject.solve(means), answer, "hashing", "another process with means {}", means)


def check_buffer(subject: Subject) -> None:
    """An answer is the caller's own: later calls leave it alone, and writing to it does no harm."""
    copy: Oracle = pickle.loads(pickled(subject.oracle))  # what the check writes to may be the oracle's own
    problems = list(subject.all_means())
    for means, other in pairwise(problems):
        first = copy.solve(means.copy(), np.random.default_rng(7))
        kept = first.copy()
        copy.solve(other.copy(), np.random.default_rng(7))
        same = np.array_equal(first, kept)
        require(same, "buffer", "the answer {} became {} when solve was called again", kept, first)
        if first.flags.writeable:
            first[...] = -1
        again = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(kept, again, "buffer", "solve, after its answer for {} had been written to,", means)
