"""The check of an oracle with batches that contain problems twice."""

from __future__ import annotations

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require, require_same
from cmab.testing._oracle_subject import Subject

_PROBLEMS = 20


def check_duplication(subject: Subject) -> Finding:
    """Check that problems that occur twice in a batch have the same answers as alone."""
    if subject.draws:
        return Finding("not tried: the oracle draws")
    problems = subject.some(0.01)[:_PROBLEMS]
    order = np.random.default_rng((subject.rng, 61)).permutation(np.repeat(np.arange(len(problems)), 2))
    batch = np.array([problems[number] for number in order])
    answers = subject.oracle.solve_batch(batch, np.random.default_rng(7))
    require(len(answers) == len(order), "duplication", "{} rows had {} answers", len(order), len(answers))
    for place, (number, answer) in enumerate(zip(order, answers, strict=True)):
        what = "row {} of a batch in which each problem occurs twice, with means {},"
        require_same(subject.answer(problems[number]), answer, "duplication", what, place, problems[number])
    return Finding(f"a batch of {len(problems)} problems, each of them twice")
