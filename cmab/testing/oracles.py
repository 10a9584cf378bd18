"""Checks of oracles."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.oracle import Oracle
from cmab.testing import _oracle_answers as answers
from cmab.testing import _oracle_guarantees as guarantees
from cmab.testing import _oracle_rewards as rewards
from cmab.testing._checks import Check, named_checks
from cmab.testing._oracle_subject import Subject, make_subject
from cmab.theory import Smoothness

_CHECKS: tuple[Callable[[Subject], None], ...] = (
    answers.check_ties,
    answers.check_errors,
    answers.check_form,
    answers.check_feasibility,
    answers.check_input,
    answers.check_global_randomness,
    answers.check_determinism,
    answers.check_memory,
    answers.check_batch,
    answers.check_compiled,
    answers.check_pickling,
    answers.check_buffer,
    guarantees.check_guarantee,
    guarantees.check_scale,
    answers.check_membership,
    rewards.check_monotonicity,
    rewards.check_triggering,
    rewards.check_smoothness,
    guarantees.check_constraints,
    answers.check_hashing,  # last, for it may start a process
)


@dataclass(frozen=True)
class OracleReport:
    """What the checks saw of an oracle's cost.

    Attributes
    ----------
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
    rng: int = 0,
) -> OracleReport:
    """Check that `oracle` keeps its promises on random, tied and degenerate means.

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
    rng : int
        Seed.

    Returns
    -------
    OracleReport
        Time and memory of a call.

    Raises
    ------
    AssertionError
        At the first fault. Its text begins with the fault's name: ``ties``, ``errors``, ``form``,
        ``feasibility``, ``input``, ``global randomness``, ``determinism``, ``memory``, ``batch``,
        ``compiled`` (`kernel` and `solve` differ), ``pickling``, ``hashing`` (another process has another
        order of sets), ``buffer`` (answers share memory), ``sense``, ``guarantee``, ``scale`` (means beyond
        `high`), ``membership`` (`is_feasible` and the family differ), ``monotonicity``, ``smoothness``,
        ``triggering`` or ``constraints``; it goes on with the simplest means found. An oracle that keeps
        its promise fails with probability below 1e-6.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(n_arms=5, k=2), super_arms=combinations(range(5), 2)).exhaustive
    True
    """
    subject = make_subject(oracle, super_arms, is_feasible, low, high, trials, rng, smoothness)
    for check in _CHECKS:
        check(subject)
    return _report(subject)


def oracle_checks(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    smoothness: Smoothness | None = None,
    trials: int = 50,
    name: str | None = None,
) -> list[Check]:
    """Return the checks of `check_oracle` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    oracle, super_arms, low, high, smoothness, trials
        As for `check_oracle`.
    name : str, optional
        Begins the name of each check; the class's name if left out.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab.testing import oracle_checks
    >>> from oracles import TopK
    >>> oracle_checks(TopK(5, k=2))[0].name
    'TopK-ties'
    """
    subject = make_subject(oracle, super_arms, None, low, high, trials, 0, smoothness)
    return named_checks(name or subject.name, subject, _CHECKS)


def _report(subject: Subject) -> OracleReport:
    seconds = []
    for means in subject.random_means():
        started = time.perf_counter()
        subject.solve(means)
        seconds.append(time.perf_counter() - started)
    tracemalloc.start()
    subject.solve(means)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return OracleReport(float(np.median(seconds)), peak, subject.family is not None)
