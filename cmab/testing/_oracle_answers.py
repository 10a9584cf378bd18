"""Checks of the form, feasibility and repeatability of the answers of an oracle."""

from __future__ import annotations

import pickle
from itertools import chain, cycle, islice, pairwise

import numpy as np

from cmab.arrays import FloatArray
from cmab.compiled.forms import compiled_form, solve_rows
from cmab.oracle import Oracle
from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require, require_same
from cmab.testing._oracle_process import in_another_process, solve_all
from cmab.testing._oracle_subject import Subject, key, on_each_means

# The number of calls after which an oracle that fills a buffer or counts its calls has failed, and the share
# of the time limit.
_LONG_RUN = 20_000
_LONG_SHARE = 0.2
_ROWS = 1000
_SINGLE_ROWS = 8


def check_declaration(subject: Subject) -> None:
    """Check the declared numbers of arms, `sense`, `alpha` and `beta`."""
    oracle = subject.oracle
    for name in ("n_arms", "n_choices", "max_size"):
        value = getattr(oracle, name)
        is_count = isinstance(value, int | np.integer) and value >= (0 if name == "max_size" else 1)
        require(is_count, "declaration", "{} must be a positive integer, got {!r}", name, value)
    senses = ("max", "min")
    require(oracle.sense in senses, "declaration", "sense must be one of {}, got {!r}", senses, oracle.sense)
    require(0 < oracle.beta <= 1, "declaration", "beta must lie in (0, 1], got {!r}", oracle.beta)
    # alpha is the ratio of the worst value to the best: at most 1 for rewards, at least 1 for costs.
    if oracle.alpha != oracle.alpha:  # nan: the oracle guarantees no ratio
        return
    if oracle.sense == "max":
        text = "an oracle for rewards (sense='max') must declare alpha in (0, 1], got {!r}"
        require(0 < oracle.alpha <= 1, "declaration", text, oracle.alpha)
    else:
        text = "an oracle for costs (sense='min') must declare alpha >= 1 (cost over optimum), got {!r}"
        require(oracle.alpha >= 1, "declaration", text, oracle.alpha)


def check_ties(subject: Subject) -> None:
    """Check that tied, constant and one-hot means raise no error."""
    for what, means in subject.timed(subject.degenerate_means()):
        try:
            subject.answer(means)
        except Exception as error:
            raise AssertionError(
                f"ties: {type(subject.oracle).__name__}.solve raised {error!r} for {what}, {means}"
            ) from error


@on_each_means
def check_errors(subject: Subject, means: FloatArray) -> None:
    """Check that no means in range raise an error."""
    try:
        subject.answer(means)
    except Exception as error:
        raise AssertionError(
            f"errors: {type(subject.oracle).__name__}.solve raised {error!r} for means {means}"
        ) from error


@on_each_means
def check_form(subject: Subject, means: FloatArray) -> None:
    """Check that the answer is a 1-D array of distinct integers in range, each with a label."""
    oracle, answer = subject.oracle, subject.solve(means)
    require(
        isinstance(answer, np.ndarray), "form", "solve must return an array, got {}", type(answer).__name__
    )
    require(answer.ndim == 1, "form", "a super arm must be 1-D, got shape {}", answer.shape)
    if answer.size == 0:
        return
    require(
        answer.dtype.kind == "i",
        "form",
        "a super arm must have signed integers, preferably np.int64, got {}",
        answer.dtype,
    )
    require(
        len(np.unique(answer)) == len(answer), "form", "entries must not repeat, got {} for {}", answer, means
    )
    inside = answer.min() >= 0 and answer.max() < oracle.n_choices
    require(inside, "form", "entries must lie in range({}), got {} for {}", oracle.n_choices, answer, means)
    labels = oracle.labels(answer)
    require(len(labels) == len(answer), "form", "labels must name every entry of {}, got {}", answer, labels)
    fits = not oracle.is_linear or len(answer) <= oracle.max_size
    require(
        fits,
        "form",
        "super arms have at most max_size={} arms, got {} for {}",
        oracle.max_size,
        answer,
        means,
    )


@on_each_means
def check_feasibility(subject: Subject, means: FloatArray) -> None:
    """Check that every answer belongs to the family of super arms."""
    answer = subject.answer(means)
    known = subject.family is None or key(answer) in subject.members
    require(known, "feasibility", "{} is not one of the super arms (means {})", answer, means)
    require(subject.oracle.is_feasible(answer), "feasibility", "is_feasible rejects the answer {}", answer)


def check_membership(subject: Subject) -> None:
    """Check that `is_feasible` accepts the listed super arms and, if it is overridden, no others."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.rng)
    if subject.family is None or not oracle.has_membership:
        return
    members = subject.members
    for arm in subject.timed(subject.family):
        require(oracle.is_feasible(arm), "membership", "is_feasible rejects {}, which is in the family", arm)
    known = {len(arm) for arm in members}
    # Sets of a similar size, because other sets are rejected for their size alone.
    sizes = [size for size in range(oracle.n_choices + 1) if {size - 1, size, size + 1} & known]
    for _ in range(subject.trials):
        arm = np.sort(rng.choice(oracle.n_choices, rng.choice(sizes), replace=False))
        wrong = key(arm) not in members and oracle.is_feasible(arm)
        require(not wrong, "membership", "is_feasible accepts {}, which is not in the family", arm)


@on_each_means
def check_input(subject: Subject, means: FloatArray) -> None:
    """Check that the methods do not change the caller's arrays."""
    given = means.copy()
    answer = subject.oracle.solve(given, np.random.default_rng(7))
    same = np.array_equal(given, means)
    require(same, "input", "solve must leave means {} unchanged, but changed them to {}", means, given)
    kept = answer.copy()
    subject.oracle.expected_reward(answer, given)
    same = np.array_equal(given, means) and np.array_equal(answer, kept)
    require(
        same,
        "input",
        "expected_reward must leave {} and {} unchanged, but changed them to {} and {}",
        kept,
        means,
        answer,
        given,
    )


@on_each_means
def check_determinism(subject: Subject, means: FloatArray) -> None:
    """Check that the same means and generator state give the same answer with the same reward."""
    first = subject.solve(means).copy()
    require_same(first, subject.solve(means), "determinism", "the same call with means {}", means)
    values = {subject.oracle.expected_reward(first.copy(), means.copy()) for _ in range(2)}
    require(
        len(values) == 1, "determinism", "expected_reward gave {} for {} at {}", sorted(values), first, means
    )


def check_memory(subject: Subject) -> Finding:
    """Check that the answer depends neither on earlier calls nor on the identity of the given array."""
    problems, given = subject.some(), np.empty(subject.oracle.n_arms)
    answers = [subject.answer(means) for means in problems]
    order = np.random.default_rng(subject.rng).permutation(len(problems))
    rng, calls = np.random.default_rng(7), 0
    # Repeat until the time is over, because some oracles change after thousands of calls.
    for position in subject.timed(islice(cycle(order), max(_LONG_RUN, len(problems))), _LONG_SHARE):
        given[:] = problems[position]
        # An oracle that draws nothing can use one generator for all calls, because making a generator takes
        # longer than a call.
        if subject.draws:
            rng = np.random.default_rng(7)
        again = subject.oracle.solve(given, rng)
        calls += 1
        if not np.array_equal(answers[position], again):
            what = "a later call (after {} others) with means {}"
            require_same(answers[position], again, "memory", what, calls, problems[position])
    return Finding(f"{calls} calls over {len(problems)} problems")


def check_batch(subject: Subject) -> Finding:
    """Check that `solve_batch` gives the answers of `solve`."""
    rng, alone, rows = np.random.default_rng(7), [], []
    drawn = islice(subject.random_means(stream=1), _ROWS)
    for means in subject.timed(chain(subject.problems, drawn)):
        alone.append(np.array(subject.oracle.solve(means.copy(), rng)))
        rows.append(means)
    problems = np.array(rows)
    answers = subject.oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    require(len(answers) == len(problems), "batch", "{} rows have {} answers", len(problems), len(answers))
    for means, one, answer in zip(problems, alone, answers, strict=True):
        require_same(one, answer, "batch", "solve_batch with the row {}", means)
    single = subject.problems[: len(rows)][:_SINGLE_ROWS]
    for means in single:
        answers = subject.oracle.solve_batch(means[np.newaxis].copy(), np.random.default_rng(7))
        require(len(answers) == 1, "batch", "one row has {} answers", len(answers))
        require_same(subject.answer(means), answers[0], "batch", "solve_batch with one row, {},", means)
    try:
        answers = subject.oracle.solve_batch(problems[:0].copy(), np.random.default_rng(7))
    except ValueError:  # the oracle rejects an empty batch
        answers = []
    require(len(answers) == 0, "batch", "no rows have {} answers", len(answers))
    return Finding(f"{len(problems)} rows in one batch, {len(single)} batches of one row, and an empty batch")


def check_compiled(subject: Subject) -> None:
    """Check that the compiled form of `solve`, if there is one, gives the same answers."""
    kernel = compiled_form(subject.oracle)
    if kernel is None:
        return
    problems = np.array(subject.some())
    answers = solve_rows(kernel, subject.oracle.n_choices, problems)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.answer(means), answer, "compiled", "the kernel with means {}", means)


def check_pickling(subject: Subject) -> None:
    """Check that a pickled copy, as worker processes receive it, gives the same answers."""
    try:
        copy: Oracle = pickle.loads(pickled(subject.oracle))
    except Exception as error:
        text = (
            "{} must be picklable for worker processes, but raised {!r}; define __getstate__ without the"
            " parts that cannot be pickled"
        )
        require(False, "pickling", text, subject.oracle, error)
    for means in subject.timed(subject.problems):
        answer = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(subject.answer(means), answer, "pickling", "a pickled copy with means {}", means)


def check_hashing(subject: Subject) -> Finding:
    """Check that a process with other string hashes, so other orders of sets, gives the same answers."""
    if copied(subject) is None:
        return Finding("not tried, because the oracle cannot be pickled")
    problems = subject.some()[:40]
    answers = in_another_process("hashing", solve_all, subject.oracle, problems)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.answer(means), answer, "hashing", "another process with means {}", means)
    return Finding(f"{len(problems)} problems")


def copied(subject: Subject) -> Oracle | None:
    """Return a copy that a check may damage, or None if the oracle cannot be pickled."""
    try:
        copy: Oracle = pickle.loads(pickled(subject.oracle))
    except Exception:
        return None
    return copy


def check_buffer(subject: Subject) -> Finding:
    """Check that an answer does not share memory with later answers or with the oracle."""
    copy = copied(subject)  # the answer may be an array of the oracle, which this check overwrites
    if copy is None:
        return Finding("not tried, because the oracle cannot be pickled")
    problems = subject.some(0.02)
    for means, other in subject.timed(pairwise(problems)):
        first = copy.solve(means.copy(), np.random.default_rng(7))
        kept = first.copy()
        copy.solve(other.copy(), np.random.default_rng(7))
        same = np.array_equal(first, kept)
        require(same, "buffer", "the answer {} changed to {} when solve was called again", kept, first)
        if first.flags.writeable:
            # Overwrite the answer with values that no super arm has.
            first[...] = -1 if first.dtype.kind != "u" else np.iinfo(first.dtype).max
        again = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(kept, again, "buffer", "solve, after its answer for {} was overwritten,", means)
    return Finding(f"{len(problems)} answers kept and overwritten")
