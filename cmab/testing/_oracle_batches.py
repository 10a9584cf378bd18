"""Checks of batches of problems, which an oracle may solve together."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._oracle_subject import Subject

_ROWS = 1000
_SINGLE_ROWS, _DISTINCT_ROWS = 8, 60
_KEPT_ROWS = 20


def check_batch(subject: Subject) -> Finding:
    """Check that `solve_batch` gives the same answers as calls of `solve` one after the other."""
    rng, alone, rows = np.random.default_rng(7), [], []
    drawn = islice(subject.random_means(stream=1), _ROWS)
    for means in subject.timed(chain(subject.problems, drawn)):
        alone.append(entries(subject.oracle.solve(means.copy(), rng)))
        rows.append(means)
    problems = np.array(rows)
    answers = subject.oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    require(
        len(answers) == len(problems),
        "batch",
        "solve_batch of {} rows returned {} answers",
        len(problems),
        len(answers),
    )
    for means, one, answer in zip(problems, alone, answers, strict=True):
        require_same(one, answer, "batch", "solve_batch for row {}", means)
    distinct = _of_distinct_rows(subject, problems)
    if type(subject.oracle).solve_batch is not Oracle.solve_batch:
        _of_other_arrays(subject, problems[:_KEPT_ROWS])
        _of_other_sizes(subject, problems[:_KEPT_ROWS])
    single = subject.problems[: len(rows)][:_SINGLE_ROWS]
    for means in single:
        answers = subject.oracle.solve_batch(means[np.newaxis].copy(), np.random.default_rng(7))
        require(len(answers) == 1, "batch", "solve_batch of one row returned {} answers", len(answers))
        require_same(subject.answer(means), answers[0], "batch", "solve_batch of the single row {}", means)
    try:
        answers = subject.oracle.solve_batch(problems[:0].copy(), np.random.default_rng(7))
    except ValueError:  # the oracle may reject an array without rows
        answers = []
    require(len(answers) == 0, "batch", "solve_batch of no rows returned {} answers", len(answers))
    tried = f"{len(problems)} rows together, {distinct} distinct rows, {len(single)} single rows"
    return Finding(f"{tried}, and an array without rows")


def _of_distinct_rows(subject: Subject, problems: FloatArray) -> int:
    """Check a batch of distinct rows in random order, for which a sort of the rows changes their places."""
    rows = np.random.default_rng((subject.rng, 64)).permutation(np.unique(problems, axis=0))[:_DISTINCT_ROWS]
    rng = np.random.default_rng(7)
    alone = [entries(subject.oracle.solve(means.copy(), rng)) for means in rows]
    answers = subject.oracle.solve_batch(rows.copy(), np.random.default_rng(7))
    text = "solve_batch of {} rows returned {} answers"
    require(len(answers) == len(rows), "batch", text, len(rows), len(answers))
    for number, (means, one, answer) in enumerate(zip(rows, alone, answers, strict=True)):
        what = "solve_batch for row {} of distinct rows, with means {},"
        require_same(one, answer, "batch", what, number, means)
    return len(rows)


def _of_other_arrays(subject: Subject, problems: FloatArray) -> None:
    """Check batches in other layouts, the rows given, and answers that are kept or overwritten."""
    oracle = subject.oracle
    usual = [entries(answer) for answer in oracle.solve_batch(problems.copy(), np.random.default_rng(7))]
    frozen = problems.copy()
    frozen.flags.writeable = False
    wide = np.repeat(problems, 2, axis=1)[:, ::2]
    for what, rows in (
        ("column-major", np.asfortranarray(problems)),
        ("read-only", frozen),
        ("strided", wide),
    ):
        try:
            answers = oracle.solve_batch(rows, np.random.default_rng(7))
        except ValueError:  # the oracle rejects such an array
            continue
        for means, one, answer in zip(problems, usual, answers, strict=True):
            require_same(one, answer, "batch", "solve_batch of {} rows for row {}", what, means)
    given = problems.copy()
    answers = oracle.solve_batch(given, np.random.default_rng(7))
    same = np.array_equal(given, problems)
    require(same, "batch", "solve_batch must not modify its means, but changed {} to {}", problems, given)
    oracle.solve_batch(problems[::-1].copy(), np.random.default_rng(7))
    for means, one, answer in zip(problems, usual, answers, strict=True):
        require_same(one, answer, "batch", "after a second batch, the answer for row {}", means)
    for number, answer in enumerate(answers):
        overwritten: Any = answer
        if isinstance(overwritten, np.ndarray) and overwritten.flags.writeable:
            overwritten[...] = -1
        for one, other in islice(zip(usual, answers, strict=True), number + 1, number + 3):
            require_same(one, other, "batch", "after another answer of the batch was overwritten, an answer")
    again = oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    for means, one, answer in zip(problems, usual, again, strict=True):
        require_same(
            one, answer, "batch", "after the answers were overwritten, solve_batch for row {}", means
        )


def _of_other_sizes(subject: Subject, problems: FloatArray) -> None:
    """Check batches of numbers outside the range. A loop and whole arrays may differ there."""
    oracle = subject.oracle
    width = subject.high - subject.low
    for rows in (1e3 * problems, problems + 2.0 * width, problems - 2.0 * width):
        rng = np.random.default_rng(7)
        try:
            alone = [entries(oracle.solve(means.copy(), rng)) for means in rows]
        except Exception:  # the oracle rejects such means
            continue
        answers = oracle.solve_batch(rows.copy(), np.random.default_rng(7))
        for means, one, answer in zip(rows, alone, answers, strict=True):
            require_same(one, answer, "batch", "solve_batch for row {}", means)
