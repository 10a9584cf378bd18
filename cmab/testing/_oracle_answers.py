"""Checks of the form and consistency of the answers of `solve`, apart from their rewards."""

from __future__ import annotations

import pickle
from itertools import cycle, islice, pairwise
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.compiled import compiled_form
from cmab.oracle import Oracle
from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._oracle_process import in_another_process, solve_all
from cmab.testing._oracle_subject import Subject, key, on_each_means
from cmab.testing._process_copies import SAME_ELSEWHERE, needs_another_process

# Number of calls after which an oracle that fills a buffer or counts calls is detected, and their share of
# the time.
_LONG_RUN = 20_000
_LONG_SHARE = 0.2
# Number of problems that are moved out of the range.
_OUTSIDE = 40
# Number of sets of any size that are not in the family.
_ANY_SIZE = 20


def check_declaration(subject: Subject) -> None:
    """Check that the declared numbers of arms, sense, alpha and beta are valid."""
    oracle = subject.oracle
    for name in ("n_arms", "n_choices", "max_size"):
        value = getattr(oracle, name)
        is_count = isinstance(value, int | np.integer) and value >= (0 if name == "max_size" else 1)
        require(is_count, "declaration", "{} must be a positive integer, got {!r}", name, value)
    senses = ("max", "min")
    require(oracle.sense in senses, "declaration", "sense must be one of {}, got {!r}", senses, oracle.sense)
    require(0 < oracle.beta <= 1, "declaration", "beta must lie in (0, 1], got {!r}", oracle.beta)
    # alpha is the worst permitted value divided by the best: at most 1 for rewards, at least 1 for costs.
    if oracle.alpha != oracle.alpha:  # nan: the oracle has no guarantee
        return
    if oracle.sense == "max":
        text = "alpha must lie in (0, 1] for rewards (sense='max'), got {!r}"
        require(0 < oracle.alpha <= 1, "declaration", text, oracle.alpha)
    else:
        text = "alpha must be at least 1 for costs (sense='min'), got {!r}"
        require(oracle.alpha >= 1, "declaration", text, oracle.alpha)


def check_ties(subject: Subject) -> None:
    """Check that `solve` raises no exception for constant means, or for all but one arm equal."""
    for what, means in subject.timed(subject.degenerate_means()):
        try:
            subject.answer(means)
        except Exception as error:
            raise AssertionError(
                f"ties: {type(subject.oracle).__name__}.solve raised {error!r} for {what}: {means}"
            ) from error


@on_each_means
def check_errors(subject: Subject, means: FloatArray) -> None:
    """Check that `solve` raises no exception for means in the range."""
    try:
        subject.answer(means)
    except Exception as error:
        raise AssertionError(
            f"errors: {type(subject.oracle).__name__}.solve raised {error!r} for means {means}"
        ) from error


@on_each_means
def check_form(subject: Subject, means: FloatArray) -> None:
    """Check that the answer is an array or list of distinct integers in the declared range, with labels."""
    oracle, given = subject.oracle, subject.oracle.solve(means.copy(), np.random.default_rng(7))
    text = "solve must return an integer array, or a list, tuple or set of integers, got {}"
    require(isinstance(given, np.ndarray | list | tuple), "form", text, type(given).__name__)
    answer = np.asarray(given)
    require(answer.ndim == 1, "form", "a super arm must be 1-D, got shape {}", answer.shape)
    if answer.size == 0:
        return
    require(
        answer.dtype.kind == "i",
        "form",
        "a super arm must have a signed integer dtype, preferably np.int64, got {}",
        answer.dtype,
    )
    require(
        len(np.unique(answer)) == len(answer), "form", "entries must not repeat, got {} for {}", answer, means
    )
    inside = answer.min() >= 0 and answer.max() < oracle.n_choices
    require(inside, "form", "entries must lie in range({}), got {} for {}", oracle.n_choices, answer, means)
    labels = oracle.labels(answer)
    require(
        len(labels) == len(answer),
        "form",
        "labels must return one label for each entry of {}, got {}",
        answer,
        labels,
    )
    fits = not oracle.is_linear or len(answer) <= oracle.max_size
    require(
        fits,
        "form",
        "a super arm must have at most max_size={} entries, got {} for {}",
        oracle.max_size,
        answer,
        means,
    )


@on_each_means
def check_feasibility(subject: Subject, means: FloatArray) -> None:
    """Check that every answer is a feasible super arm."""
    answer = subject.answer(means)
    known = subject.family is None or key(answer) in subject.members
    require(known, "feasibility", "the answer {} to means {} is not one of the super arms", answer, means)
    require(subject.oracle.is_feasible(answer), "feasibility", "is_feasible rejects the answer {}", answer)


def check_membership(subject: Subject) -> None:
    """Check that `is_feasible`, if it is overridden, accepts the super arms of the family and no others."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.rng)
    if subject.family is None or not oracle.has_membership:
        return
    members = subject.members
    for arm in subject.timed(subject.family):
        require(oracle.is_feasible(arm), "membership", "is_feasible rejects the super arm {}", arm)
        if subject.are_sets:  # callers may pass a set in any order
            turned = rng.permutation(arm)
            text = "is_feasible accepts the super arm {}, but rejects it in the order {}"
            require(oracle.is_feasible(turned.copy()), "membership", text, arm, turned)
    known = {len(arm) for arm in members}
    # Random sets of about the size of super arms: other sizes are too easy to reject.
    sizes = [size for size in range(oracle.n_choices + 1) if {size - 1, size, size + 1} & known]
    drawn = [int(rng.choice(sizes)) for _ in range(subject.trials)]
    # A few sets of any size, with the empty and the largest one.
    drawn += [0, oracle.n_choices, *rng.integers(oracle.n_choices + 1, size=_ANY_SIZE).tolist()]
    for size in drawn:
        arm = np.sort(rng.choice(oracle.n_choices, size, replace=False))
        wrong = key(arm) not in members
        try:
            wrong = wrong and oracle.is_feasible(arm)
        except Exception:
            if size in sizes:
                raise
            continue  # the method is meant for sets of about the size of super arms
        require(not wrong, "membership", "is_feasible accepts {}, which is not a super arm", arm)


@on_each_means
def check_input(subject: Subject, means: FloatArray) -> None:
    """Check that `solve` and `expected_reward` do not modify their arguments."""
    given = means.copy()
    answer = entries(subject.oracle.solve(given, np.random.default_rng(7)))
    same = np.array_equal(given, means)
    require(same, "input", "solve must not modify its means, but changed {} to {}", means, given)
    kept = answer.copy()
    subject.oracle.expected_reward(answer, given)
    same = np.array_equal(given, means) and np.array_equal(answer, kept)
    require(
        same,
        "input",
        "expected_reward must not modify its arguments, but changed {} and {} to {} and {}",
        kept,
        means,
        answer,
        given,
    )


@on_each_means
def check_determinism(subject: Subject, means: FloatArray) -> None:
    """Check that the same means and generator state give the same answer and the same reward."""
    first = subject.solve(means).copy()
    require_same(first, subject.solve(means), "determinism", "a second call with means {}", means)
    values = {subject.oracle.expected_reward(first.copy(), means.copy()) for _ in range(2)}
    require(
        len(values) == 1,
        "determinism",
        "expected_reward must return the same value twice, got {} for super arm {} and means {}",
        sorted(values),
        first,
        means,
    )


def check_memory(subject: Subject) -> Finding:
    """Check that answers do not depend on earlier calls, even if all calls get the same array object."""
    problems, given = subject.some(), np.empty(subject.oracle.n_arms)
    answers = [subject.answer(means) for means in problems]
    order = np.random.default_rng(subject.rng).permutation(len(problems))
    rng, calls = np.random.default_rng(7), 0
    # Repeat the problems until the time is over: some faults only appear after thousands of calls.
    for position in subject.timed(islice(cycle(order), max(_LONG_RUN, len(problems))), _LONG_SHARE):
        given[:] = problems[position]
        # An oracle that draws nothing can use one generator for all calls. Making one takes longer than many
        # calls of `solve`.
        if subject.draws:
            rng = np.random.default_rng(7)
        again = subject.oracle.solve(given, rng)
        calls += 1
        if not np.array_equal(answers[position], again):
            what = "repeated call {} with means {}"
            require_same(answers[position], again, "memory", what, calls, problems[position])
    return Finding(f"{calls} calls over {len(problems)} problems")


def check_compiled(subject: Subject) -> Finding:
    """Check that the compiled form of `solve`, if it exists, gives the same answers as `solve`."""
    kernel = compiled_form(subject.oracle)
    if kernel is None:
        return Finding("not tried: the oracle has no compiled form")
    problems = np.array(subject.some())
    answers = [kernel.function(row, *kernel[1:3], np.empty(0)) for row in problems]
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.answer(means), answer, "compiled", "the kernel with means {}", means)
    tried, width = len(problems), subject.high - subject.low
    few = problems[:_OUTSIDE]
    # Indices leave the range of the means, and the first of them may be all negative.
    for rows in (1e3 * few, 1e-3 * few, few + 2.0 * width, few - 2.0 * width):
        try:
            expected = [entries(subject.solve(means)) for means in rows]
        except Exception:  # the oracle rejects such means
            continue
        answers = [kernel.function(row, *kernel[1:3], np.empty(0)) for row in rows]
        for means, one, answer in zip(rows, expected, answers, strict=True):
            require_same(one, answer, "compiled", "the kernel with means {}", means)
        tried += len(rows)
    return Finding(f"{tried} problems")


def check_pickling(subject: Subject) -> None:
    """Check that a pickled copy, which worker processes receive, gives the same answers."""
    try:
        copy: Oracle = pickle.loads(pickled(subject.oracle))
    except Exception as error:
        text = (
            "{} must be picklable for worker processes, but pickling raised {!r}; define a __getstate__"
            " that omits the attributes that cannot be pickled"
        )
        require(False, "pickling", text, subject.oracle, error)
    for means in subject.timed(subject.problems):
        answer = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(subject.answer(means), answer, "pickling", "a pickled copy with means {}", means)


def check_hashing(subject: Subject) -> Finding:
    """Check that a process with other string hashes, where sets have other orders, gives the same answers."""
    if copied(subject) is None:
        return Finding("not tried: the oracle cannot be pickled")
    if not needs_another_process(subject):
        return Finding(f"not tried: {SAME_ELSEWHERE}")
    problems = subject.some()[:40]
    answers = in_another_process("hashing", solve_all, subject.oracle, problems)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.answer(means), answer, "hashing", "another process, for means {},", means)
    return Finding(f"{len(problems)} problems")


def copied(subject: Subject) -> Oracle | None:
    """Return a copy that a check may modify, or None if the oracle cannot be pickled."""
    try:
        copy: Oracle = pickle.loads(pickled(subject.oracle))
    except Exception:
        return None
    return copy


def check_buffer(subject: Subject) -> Finding:
    """Check that later calls do not modify an answer, and that overwriting it has no effect on them."""
    copy = copied(subject)  # the check may overwrite arrays of the oracle
    if copy is None:
        return Finding("not tried: the oracle cannot be pickled")
    problems = subject.some(0.02)
    for means, other in subject.timed(pairwise(problems)):
        given: Any = copy.solve(means.copy(), np.random.default_rng(7))
        kept = np.array(given)
        copy.solve(other.copy(), np.random.default_rng(7))
        same = np.array_equal(given, kept)
        require(same, "buffer", "a later call of solve changed the answer {} to {}", kept, given)
        # Overwrite the answer with a value that is in no super arm.
        if isinstance(given, list):
            given[:] = [-1] * len(given)
        elif isinstance(given, np.ndarray) and given.flags.writeable:
            given[...] = -1 if given.dtype.kind != "u" else np.iinfo(given.dtype).max
        again = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(
            kept, again, "buffer", "solve for means {}, after its first answer was overwritten,", means
        )
    return Finding(f"{len(problems)} answers kept and overwritten")
