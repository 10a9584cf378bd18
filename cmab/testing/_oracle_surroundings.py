"""Checks that an answer depends on the numbers alone, not on their memory layout, the clock or threads."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._memory import creeps, growth, resident
from cmab.testing._oracle_process import THREADS, in_another_process, share
from cmab.testing._oracle_subject import Subject
from cmab.testing._process_copies import needs_another_process
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators

# Number of calls of each thread, and the bytes by which the process may grow over three stages of calls.
_CALLS = 500
_LEAK = 32 * 2**20
_STAGES = 12


def check_layout(subject: Subject) -> Finding:
    """Check that means that are a view, read-only or memory-mapped give the same answer."""
    problems = subject.some(0.02)[:12]
    with tempfile.TemporaryDirectory() as folder:
        for means in problems:
            for what, laid_out in _layouts(means, Path(folder) / "means"):
                try:
                    answer = subject.oracle.solve(laid_out, np.random.default_rng(7))
                except ValueError:  # the oracle rejects such an array
                    continue
                require_same(subject.answer(means), answer, "layout", "{} means {}", what, means)
            # Otherwise the mapped file could not be overwritten or removed on Windows.
            del laid_out
    return Finding(f"{len(problems)} problems, with strided, reversed, read-only and memory-mapped means")


def _layouts(means: FloatArray, file: Path) -> Iterator[tuple[str, FloatArray]]:
    """Yield the means in several memory layouts."""
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
    """Check that the answer does not depend on the time of the call."""
    problems = subject.some()
    for means in problems:
        with later(subject.oracle):
            answer = subject.solve(means)
        require_same(
            subject.answer(means), answer, "clock", "half a year later, the call with means {}", means
        )
    return Finding(f"{len(problems)} problems")


def check_global_randomness(subject: Subject) -> None:
    """Check that randomness comes from `rng`, and that the global generators have no effect."""
    with kept_generators():
        for means in subject.timed(subject.problems):
            first, second = (_under_seed(subject, means, seed) for seed in (1, 2))
            if np.array_equal(first, second):
                continue
            # If the answers differ for equal seeds too, the next check reports the fault.
            again = [_under_seed(subject, means, seed) for seed in (1, 2, 1, 2, 1, 2)]
            same = [np.array_equal(a, b) for a, b in zip(again, (first, second) * 3, strict=True)]
            what = "the answers {} and {} for means {} depend on the seeds of the global generators"
            require(not all(same), "global randomness", what, first, second, means)


def _under_seed(subject: Subject, means: FloatArray, seed: int) -> IntArray:
    """Seed the global generators, return the answer, and check that `solve` does not change their states."""
    seed_generators(seed)
    before = pickle.dumps(global_state())
    answer = entries(subject.solve(means))
    drew = before != pickle.dumps(global_state())
    require(not drew, "global randomness", "solve used or seeded a global generator instead of rng")
    return answer


def check_threads(subject: Subject) -> Finding:
    """Check that threads that share the oracle get the same answers as one thread, or a ``RuntimeError``."""
    problems = subject.some(0.02)
    answers = [subject.answer(means) for means in problems]
    told = (subject.oracle, problems, answers, max(1, _CALLS // len(problems)), 0.1 * subject.seconds)
    # Conflicts between threads may end the process, so that they run in another one.
    try:
        pickled(subject.oracle)
    except Exception:
        calls, wrong = share(*told)
    else:
        is_safe = not needs_another_process(subject)
        calls, wrong = share(*told) if is_safe else in_another_process("threads", share, *told)
    require(not wrong, "threads", "while other threads used the oracle, {}", wrong)
    return Finding(f"{calls} calls in {THREADS} threads")


def check_growth(subject: Subject) -> Finding:
    """Check that repeated calls with a few problems do not leave memory behind."""
    problems = subject.problems[:3]
    stages = [resident()]
    calls = 0
    for stage in range(_STAGES):
        for number in subject.timed(range(500), 0.05):
            subject.solve(problems[number % len(problems)])
            calls += 1
        stages.append(resident())
        # The first stage fills caches and pools. A leak grows in all later stages. If the memory grows, but
        # not yet by the amount of a leak, more calls decide.
        steps = np.diff(stages)[1:]
        if stage >= 3 and (steps.min() <= 0 or steps.sum() >= _LEAK):
            break
    small = steps.min() <= 0 or steps.sum() < _LEAK
    text = "the memory of the process grew by {:.0f} MB in {} calls, and in each stage of them"
    require(small, "growth", text, steps.sum() / 2**20, calls)
    if calls < 120:
        return Finding(f"{calls} calls; too slow to trace the memory of each call")
    left, leak = growth(lambda number: subject.solve(problems[number % len(problems)]), subject.oracle.n_arms)
    require(not leak, "growth", "each call leaves {:.0f} bytes in memory", left)
    # One generator for all calls, because making one takes longer than many calls.
    rng = np.random.default_rng(7)
    creeping = creeps(
        lambda number: subject.oracle.solve(problems[number % len(problems)].copy(), rng),
        subject.oracle.n_arms,
        2.0 * subject.seconds,
    )
    require(creeping is None, "growth", "each of 20,000 calls leaves {:.0f} bytes in memory", creeping or 0.0)
    return Finding(f"{calls} calls")
