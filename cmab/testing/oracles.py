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
    answers.check_hashing,  # the last two may start a process
    surroundings.check_threads,
)


@dataclass(frozen=True)
class OracleReport(Report):
    """What the checks tried, and what they saw of an oracle's cost.

    Attributes
    ----------
    subject, results
        As in `Report`.
    seconds_per_call : float
        Median wall-clock seconds of `solve`.
    bytes_per_call : int
        Largest amount of memory that Python and numpy held during one call.
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
    """Check that `oracle` keeps its promises on random, tied and degenerate means.

    All checks run, and one error lists all faults.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms, for an exhaustive check of ``alpha`` and ``beta``.
    is_feasible : callable, optional
        Says whether a sorted super arm is feasible; with at most 12 choices the family is enumerated with
        it. Without either argument the oracle's own `is_feasible` serves if it is overridden, and a larger
        family is checked against all super arms that the oracle itself returned.
    low, high : float
        Range of the means that the oracle accepts.
    smoothness : Smoothness, optional
        Bounded smoothness that the reward is said to have; ``oracle.smoothness()`` if left out. Without
        either, the check looks for jumps only.
    trials : int
        Number of random means; each is used with ties and without.
    seconds : float
        Longest time of all checks together, roughly. Each takes a tenth of it at most, the two that look for
        rare faults a fifth, and tries fewer problems on a slow oracle: the report says how many.
    expected_failures : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. One that passes is a fault.
    rng : int
        Seed.

    Returns
    -------
    OracleReport
        Of each check, what it tried and would have noticed; time and memory of a call.

    Raises
    ------
    ConformanceError
        With all faults, the first one's name first: ``declaration``, ``ties``, ``errors``, ``form``,
        ``feasibility``, ``input``, ``global randomness``, ``determinism``, ``memory``, ``layout`` (strided,
        read-only or mapped means), ``clock``, ``pickling``, ``buffer`` (answers share memory), ``batch``,
        ``compiled`` (`kernel` and `solve` differ), ``guarantee`` (or ``sense``), ``neighbours`` (a feasible
        set near the answer is better), ``scale`` (tiny and huge means), ``membership`` (`is_feasible` and the
        family differ), ``monotonicity``, ``triggering``, ``smoothness``, ``constraints``, ``root``
        (`solve_root`), ``availability`` (`solve_within`), ``growth`` (of memory), ``hashing`` (another
        process has another order of sets) or ``threads`` (which share it). Each goes on with the simplest
        means found. An oracle that keeps its promise fails with probability below 1e-6.
    ValueError
        If `expected_failures` names no check, or gives no reason.

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
    # Time and memory apart: tracing memory makes calls slow.
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
