"""Checks of oracles."""

from __future__ import annotations

import pickle
import random
import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.oracle import Oracle
from cmab.testing._checks import Check, named_checks, pickled, require, require_same
from cmab.testing._oracle_guarantees import check_constraints, check_guarantee
from cmab.testing._oracle_rewards import check_monotonicity, check_smoothness, check_triggering
from cmab.testing._oracle_subject import Subject, key, make_subject
from cmab.theory import Smoothness


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
    trials: int = 50,
    smoothness: Smoothness | None = None,
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
    trials : int
        Number of random means; each is used with ties and without.
    smoothness : Smoothness, optional
        The bounded smoothness that the theory is to be used with; a `LinearOracle` has its own. The reward is
        searched for means that move it by more.
    rng : int
        Seed.

    Returns
    -------
    OracleReport
        Time and memory of a call.

    Raises
    ------
    AssertionError
        At the first fault. Its text begins with the fault's name: ``form``, ``feasibility``, ``input``,
        ``global randomness``, ``determinism``, ``memory``, ``batch``, ``pickling``, ``ties``, ``sense``,
        ``guarantee``, ``monotonicity``, ``smoothness``, ``triggering`` or ``constraints``. An oracle that
        keeps its promise fails with probability below 1e-6.

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
    trials: int = 50,
    smoothness: Smoothness | None = None,
    name: str | None = None,
) -> list[Check]:
    """Return the checks of `check_oracle` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    oracle, super_arms, low, high, trials, smoothness
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


def _check_form(subject: Subject) -> None:
    """The answer is a 1-D array of distinct integers of the declared range, with a label each."""
    n_choices = subject.oracle.n_choices
    for means in subject.all_means():
        answer = subject.solve(means)
        require(
            isinstance(answer, np.ndarray), "form", f"solve must return an array, got {type(answer).__name__}"
        )
        require(answer.ndim == 1, "form", f"a super arm must be 1-D, got shape {answer.shape}")
        if answer.size == 0:
            continue
        require(answer.dtype.kind in "iu", "form", f"a super arm must hold integers, got {answer.dtype}")
        require(len(np.unique(answer)) == len(answer), "form", f"entries must not repeat, got {answer}")
        inside = answer.min() >= 0 and answer.max() < n_choices
        require(inside, "form", f"entries must lie in range({n_choices}), got {answer}")
        labels = subject.oracle.labels(answer)
        require(len(labels) == len(answer), "form", f"labels must name every entry of {answer}, got {labels}")


def _check_ties(subject: Subject) -> None:
    """Tied, constant and one-hot means are no reason to fail."""
    for what, means in subject.degenerate_means():
        try:
            subject.solve(means)
        except Exception as error:
            raise AssertionError(
                f"ties: {subject.name}.solve raised {error!r} for {what}, {means}"
            ) from error


def _check_feasibility(subject: Subject) -> None:
    """Every answer belongs to the family."""
    members = None if subject.family is None else {key(arm) for arm in subject.family}
    for means in subject.all_means():
        answer = subject.solve(means)
        known = members is None or key(answer) in members
        require(known, "feasibility", f"{answer} is not one of the super arms (means {means})")
        require(subject.oracle.is_feasible(answer), "feasibility", f"is_feasible refuses the answer {answer}")


def _check_input(subject: Subject) -> None:
    """The caller's means are left alone."""
    for means in subject.all_means():
        given = means.copy()
        subject.oracle.solve(given, np.random.default_rng(7))
        require(
            np.array_equal(given, means),
            "input",
            f"solve must leave means {means} unchanged, made it {given}",
        )


def _check_global_randomness(subject: Subject) -> None:
    """Randomness comes from the argument, not from the global generators."""
    for means in subject.all_means():
        before = (pickle.dumps(np.random.get_state()), random.getstate())  # noqa: NPY002
        subject.solve(means)
        after = (pickle.dumps(np.random.get_state()), random.getstate())  # noqa: NPY002
        require(before == after, "global randomness", "solve drew from a global generator instead of rng")


def _check_determinism(subject: Subject) -> None:
    """The same means and generator state give the same answer."""
    for means in subject.all_means():
        require_same(subject.solve(means), subject.solve(means), "determinism", "the same call")


def _check_memory(subject: Subject) -> None:
    """The answer does not depend on the calls before it."""
    problems = list(subject.all_means())
    answers = [subject.solve(means) for means in problems]
    for position in np.random.default_rng(subject.seed).permutation(len(problems)):
        again = subject.solve(problems[position])
        require_same(answers[position], again, "memory", f"a later call with means {problems[position]}")


def _check_batch(subject: Subject) -> None:
    """Many problems at once have the answers that they have one after the other."""
    problems = np.array(list(subject.all_means()))
    answers = subject.oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    require(len(answers) == len(problems), "batch", f"{len(problems)} rows have {len(answers)} answers")
    rng = np.random.default_rng(7)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.oracle.solve(means, rng), answer, "batch", f"solve_batch with the row {means}")


def _check_pickling(subject: Subject) -> None:
    """A pickled copy, as worker processes get it, gives the same answers."""
    copy: Oracle = pickle.loads(pickled(subject.oracle))
    for means in subject.all_means():
        answer = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(subject.solve(means), answer, "pickling", f"a pickled copy with means {means}")


_CHECKS: tuple[Callable[[Subject], None], ...] = (
    _check_ties,
    _check_form,
    _check_feasibility,
    _check_input,
    _check_global_randomness,
    _check_determinism,
    _check_memory,
    _check_batch,
    _check_pickling,
    check_guarantee,
    check_monotonicity,
    check_triggering,
    check_smoothness,
    check_constraints,
)


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
