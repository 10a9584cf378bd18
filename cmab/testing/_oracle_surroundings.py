"""Checks that an oracle's answer depends on the numbers alone: not on how they lie, the clock or a thread."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require, require_same
from cmab.testing._memory import creeps, growth, resident
from cmab.testing._oracle_process import THREADS, in_another_process, share
from cmab.testing._oracle_subject import Subject
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators

# Calls of each thread, and the bytes by which the process may grow over three stages of calls.
_CALLS = 500
_LEAK = 32 * 2**20


def check_layout(subject: Subject) -> Finding:
    """Means that are a view, read-only or in a file give the answer of an array of their own."""
    problems = subject.some(0.02)[:12]
    with tempfile.TemporaryDirectory() as folder:
        for means in problems:
            for what, laid_out in _layouts(means, Path(folder) / "means"):
                try:
                    answer = subject.oracle.solve(laid_out, np.random.default_rng(7))
                except ValueError:  # it refuses them
                    continue
                require_same(subject.answer(means), answer, "layout", "{} means {}", what, means)
            # Else the mapped file could not be written anew, nor removed, on Windows.
            del laid_out
    return Finding(f"{len(problems)} problems as a column, backwards, read-only and in a file")


def _layouts(means: FloatArray, file: Path) -> Iterator[tuple[str, FloatArray]]:
    """Yield the means as they may lie in memory."""
    columns = np.full((len(means), 2), np.nan)
    columns[:, 0] = means
    yield "strided", columns[:, 0]
    yield "reversed", means[::-1].copy()[::-1]
    frozen = means.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    means.tofile(file)
    yield "memory-mapped", np.memmap(file, np.float64, "r", shape=means.shape)


def check_clock(subject: Subject) -> Finding:
    """The answer does not depend on when it is asked for."""
    problems = subject.some()
    for means in problems:
        with later(subject.oracle):
            answer = subject.solve(means)
        require_same(subject.answer(means), answer, "clock", "hours later, the call with means {}", means)
    return Finding(f"{len(problems)} problems")


def check_global_randomness(subject: Subject) -> None:
    """Randomness comes from the argument: the global generators are neither drawn from nor listened to."""
    with kept_generators():
        for means in subject.timed(subject.problems):
            first, second = (_under_seed(subject, means, seed) for seed in (1, 2))
            if np.array_equal(first, second):
                continue
            # Answers that differ anyway are for the next check.
            again = [_under_seed(subject, means, seed) for seed in (1, 2, 1, 2, 1, 2)]
            same = [np.array_equal(a, b) for a, b in zip(again, (first, second) * 3, strict=True)]
            what = "{} and {} for means {} follow the seeds of the global generators"
            require(not all(same), "global randomness", what, first, second, means)


def _under_seed(subject: Subject, means: FloatArray, seed: int) -> IntArray:
    """Return the answer after the global generators were seeded, which it must leave as they are."""
    seed_generators(seed)
    before = pickle.dumps(global_state())
    answer = np.array(subject.solve(means))
    drew = before != pickle.dumps(global_state())
    require(not drew, "global randomness", "solve drew from a global generator instead of rng")
    return answer


def check_threads(subject: Subject) -> Finding:
    """Several threads that share the oracle get the answers that each would get alone, or are refused."""
    problems = subject.some(0.02)
    answers = [subject.answer(means) for means in problems]
    told = (subject.oracle, problems, answers, max(1, _CALLS // len(problems)), 0.1 * subject.seconds)
    # In another process, for what threads do to each other may end it.
    try:
        pickled(subject.oracle)
    except Exception:
        calls, wrong = share(*told)
    else:
        calls, wrong = in_another_process("threads", share, *told)
    require(not wrong, "threads", "with other threads at work, {}", wrong)
    return Finding(f"{calls} calls in {THREADS} threads")


def check_growth(subject: Subject) -> Finding:
    """Calls leave no memory behind: the same few problems, again and again."""
    problems = subject.problems[:3]
    stages = [resident()]
    calls = 0
    for _ in range(4):
        for number in subject.timed(range(500), 0.025):
            subject.solve(problems[number % len(problems)])
            calls += 1
        stages.append(resident())
    # The first stage fills caches and pools; a leak grows in all that follow.
    steps = np.diff(stages)[1:]
    small = steps.min() <= 0 or steps.sum() < _LEAK
    text = "{:.0f} MB more in memory after {} calls, and more after each stage of them"
    require(small, "growth", text, steps.sum() / 2**20, calls)
    if calls < 120:
        return Finding(f"{calls} calls; too slow for a closer look")
    left, leak = growth(lambda number: subject.solve(problems[number % len(problems)]), subject.oracle.n_arms)
    require(not leak, "growth", "each call leaves {:.0f} bytes behind", left)
    rng = np.random.default_rng(7)  # one for all calls: making them takes longer than many oracles do
    creeping = creeps(
        lambda number: subject.oracle.solve(problems[number % len(problems)].copy(), rng),
        subject.oracle.n_arms,
        subject.seconds,
    )
    require(creeping is None, "growth", "each of 20,000 calls leaves {:.0f} bytes behind", creeping or 0.0)
    return Finding(f"{calls} calls")
