"""Checks of oracles."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.oracle import Oracle
from cmab.smoothness import Smoothness
from cmab.testing import _oracle_answers as answers
from cmab.testing import _oracle_guarantees as guarantees
from cmab.testing import _oracle_rewards as rewards
from cmab.testing import _oracle_surroundings as surroundings
from cmab.testing import _oracle_within as within
from cmab.testing._checks import CheckFunction
from cmab.testing._oracle_subject import Subject, subject_of
from cmab.testing._results import CheckResult, Kind, Report

_CHECKS: tuple[CheckFunction, ...] = (
    answers.check_declaration,
    answers.check_ties,
    answers.check_errors,
    answers.check_form,
    answers.check_feasibility,
    answers.check_input,
    surroundings.check_global_randomness,
    answers.check_determinism,
    answers.check_memory,
    surroundings.check_layout,
    surroundings.check_clock,
    answers.check_pickling,
    answers.check_buffer,
    answers.check_batch,
    answers.check_compiled,
    guarantees.check_guarantee,
    guarantees.check_neighbours,
    guarantees.check_scale,
    answers.check_membership,
    rewards.check_monotonicity,
    rewards.check_triggering,
    rewards.check_smoothness,
    guarantees.check_constraints,
    guarantees.check_root,
    within.check_availability,
    surroundings.check_growth,
    answers.check_hashing,  # this check and the next one may start a process
    surroundings.check_threads,
)


@dataclass(frozen=True)
class OracleReport(Report):
    """A report on the checks of an oracle, with the time and memory of its calls.

    Attributes
    ----------
    subject, results
        As in `Report`.
    seconds_per_call : float
        The median wall-clock time of `solve` in seconds.
    bytes_per_call : int
        The largest amount of memory in bytes that Python and NumPy allocated during one call.
    exhaustive : bool
        Whether the guarantee was compared with the optimum over all super arms.

    Examples
    --------
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(5, k=2)).seconds_per_call < 1
    True
    """

    seconds_per_call: float
    bytes_per_call: int
    exhaustive: bool


def check_oracle(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    is_feasible: Callable[[IntArray], bool] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    smoothness: Smoothness | None = None,
    trials: int = 50,
    seconds: float = 2.0,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> OracleReport:
    """Check that an oracle keeps its guarantees on random, tied and degenerate means.

    All checks run, and one error lists all faults.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms. The checks then compare ``alpha`` and ``beta`` with the exact optimum.
    is_feasible : callable, optional
        A function that returns whether a sorted super arm is feasible. With at most 12 choices, it serves to
        enumerate the family of super arms. If neither `super_arms` nor `is_feasible` is given, the oracle's
        own `is_feasible` is used if the oracle overrides it. Answers for larger families are compared with
        all super arms that the oracle itself returned.
    low, high : float
        The range of the means that the oracle accepts.
    smoothness : Smoothness, optional
        The bounded smoothness of the reward. By default, ``oracle.smoothness()``. If there is neither, the
        check only searches for jumps of the reward.
    trials : int
        The number of random means. Each is used with ties and without ties.
    seconds : float
        The approximate time limit of all checks together. Each check takes at most a tenth of it; the two
        checks that search for rare faults take at most a fifth. With a slow oracle, the checks try fewer
        problems, and the report has their number.
    expected_failures : mapping of str to str, optional
        The names of checks that are known to fail, with a reason for each. Such a check must not pass.
    rng : int
        The seed.

    Returns
    -------
    OracleReport
        A report that describes the trials of each check and the faults that they would detect, and the time
        and memory of a call.

    Raises
    ------
    ConformanceError
        If a check fails. The error lists all faults and starts with the name of the first one. The possible
        faults are ``declaration``, ``ties``, ``errors``, ``form``, ``feasibility``, ``input``,
        ``global randomness``, ``determinism``, ``memory``, ``layout`` (strided, read-only or memory-mapped
        means), ``clock``, ``pickling``, ``buffer`` (answers share memory), ``batch``, ``compiled`` (`kernel`
        and `solve` differ), ``guarantee`` (or ``sense``), ``neighbours`` (a feasible set near the answer is
        better), ``scale`` (tiny and huge means), ``membership`` (`is_feasible` and the family differ),
        ``monotonicity``, ``triggering``, ``smoothness``, ``constraints``, ``root`` (`solve_root`),
        ``availability`` (`solve_within`), ``growth`` (of memory), ``hashing`` (a process with another order
        of sets gives different answers) or ``threads`` (which share the oracle). The message of each fault
        has the simplest means that show it. An oracle that keeps its guarantees fails with probability below
        1e-6.
    ValueError
        If `expected_failures` has a name that is not a check, or an empty reason.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(n_arms=5, k=2), super_arms=combinations(range(5), 2)).exhaustive
    True
    """
    settings: dict[str, Any] = {}
    settings |= {"is_feasible": is_feasible, "smoothness": smoothness, "low": low, "high": high}
    settings |= {"trials": trials, "seconds": seconds, "expected_failures": expected_failures, "rng": rng}
    return cast(OracleReport, ORACLES.check(oracle, super_arms, **settings))


def _report(name: str, results: tuple[CheckResult, ...], subject: Subject) -> OracleReport:
    seconds = []
    # Time and memory are measured separately, because tracing memory makes calls slow.
    for means in subject.timed(subject.problems, 0.05):
        started = time.perf_counter()
        subject.solve(means)
        seconds.append(time.perf_counter() - started)
    tracemalloc.start()
    subject.solve(means)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exhaustive = subject.family is not None
    return OracleReport(name, results, float(np.median(seconds)), peak, exhaustive)


ORACLES = Kind(Oracle, subject_of, _CHECKS, _report)
