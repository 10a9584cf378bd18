"""The checks of oracles, and `check_oracle`, which runs them all."""

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
from cmab.testing import _generated as generated
from cmab.testing import _generators as generators
from cmab.testing import _oracle_answers as answers
from cmab.testing import _oracle_batches as batches
from cmab.testing import _oracle_bounds as bounds
from cmab.testing import _oracle_duplicates as duplicates
from cmab.testing import _oracle_guarantees as guarantees
from cmab.testing import _oracle_methods as methods
from cmab.testing import _oracle_outside as outside
from cmab.testing import _oracle_proofs as proofs
from cmab.testing import _oracle_relations as relations
from cmab.testing import _oracle_rewards as rewards
from cmab.testing import _oracle_root as root
from cmab.testing import _oracle_scales as scales
from cmab.testing import _oracle_structure as structure
from cmab.testing import _oracle_surroundings as surroundings
from cmab.testing import _oracle_within as within
from cmab.testing import _process_checks as process
from cmab.testing import _process_copies as copies
from cmab.testing import _process_history as history
from cmab.testing import _process_instances as instances
from cmab.testing import _process_interrupts as interrupts
from cmab.testing import _process_variations as variations
from cmab.testing import _property_rows as rows
from cmab.testing import _untested as untested
from cmab.testing._checks import CheckFunction
from cmab.testing._oracle_subject import Subject, subject_of
from cmab.testing._results import CheckResult, Kind, Level, Report

_THOROUGH = {"seconds": 20.0, "trials": 200}
_CHECKS: tuple[CheckFunction, ...] = (
    process.check_process,
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
    batches.check_batch,
    duplicates.check_duplication,
    answers.check_compiled,
    guarantees.check_guarantee,
    guarantees.check_neighbours,
    generated.check_generated,
    scales.check_scale,
    outside.check_outside,
    answers.check_membership,
    structure.check_structure,
    relations.check_rewards,
    relations.check_zeros,
    relations.check_labels,
    relations.check_constancy,
    relations.check_streams,
    relations.check_triggered,
    rewards.check_monotonicity,
    rewards.check_triggering,
    rewards.check_smoothness,
    scales.check_constraints,
    bounds.check_gaps,
    bounds.check_optimum_bound,
    proofs.check_proofs,
    root.check_root,
    within.check_availability,
    methods.check_methods,
    surroundings.check_growth,
    history.check_history,  # before checks that use the other process
    answers.check_hashing,  # this check and the next may start a process
    surroundings.check_threads,
    process.check_output,
    generators.check_generator,
    variations.check_surroundings,
    interrupts.check_interrupts,
    copies.check_copies,
    copies.check_worker,
    instances.check_instances,
)


@dataclass(frozen=True)
class OracleReport(Report):
    """The results of all checks of an oracle that passed them, and the time and memory of one call.

    Attributes
    ----------
    subject, results, level, untested
        As in `Report`.
    seconds_per_call : float
        Median duration of a call of `solve`, in wall-clock seconds.
    bytes_per_call : int
        Peak memory that Python and numpy allocated during one call of `solve`, in bytes.
    exhaustive : bool
        If True, the answers were compared with the optimum over all super arms.

    Examples
    --------
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(5, k=2)).seconds_per_call < 1
    True
    """

    seconds_per_call: float = 0.0
    bytes_per_call: int = 0
    exhaustive: bool = False


def check_oracle(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    is_feasible: Callable[[IntArray], bool] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    smoothness: Smoothness | None = None,
    others: Iterable[Oracle] | None = None,
    trials: int | None = None,
    level: Level = "quick",
    progress: bool | None = None,
    seconds: float | None = None,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> OracleReport:
    """Run all checks of an oracle on random, tied and degenerate means, and list all faults together.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms. The answers are compared with the optimum over these super arms.
    is_feasible : callable, optional
        Function that returns whether a sorted super arm is feasible. If `super_arms` is omitted and the
        oracle has at most 12 choices, the feasible super arms are enumerated with this function, by default
        with the method `is_feasible` of the oracle if its class overrides it. Otherwise the answers are only
        compared with other answers of the oracle and, if its class overrides `is_feasible`, with feasible
        super arms near them.
    low, high : float
        Range of the means that the oracle accepts.
    smoothness : Smoothness, optional
        Bounded smoothness of the reward. The default is ``oracle.smoothness()``. If both are None, the check
        only searches for jumps of the reward.
    others : iterable of Oracle, optional
        Other instances of the class, with other answers to the same means. They answer in turn with the
        oracle, whose answers must stay the same. By default, instances are made with other arguments if
        the parameters of the constructor have the names of attributes.
    trials : int
        Number of random means with many ties, and of random means with at most a few ties.
    level : {"quick", "thorough"}
        Effort: about a second of work for "quick", at most a minute for "thorough".
    progress : bool, optional
        Whether to show a progress bar. If omitted, thorough checks show one on a terminal and in a notebook.
    seconds : float, optional
        Approximate limit of the total time. Each check takes at most about a tenth of it, and the two checks
        that search for rare faults take a fifth. A slow oracle is tried on fewer problems; the report shows
        their number.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by the title of the check. Such a check must fail; if it
        passes, this is a fault.
    rng : int
        Seed of the random means.

    Returns
    -------
    OracleReport
        How much each check tried, which faults it would have detected, and the time and memory of one call.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults, most of them with the simplest means found. An oracle
        without faults fails with probability below 1e-6.
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.

    Notes
    -----
    A check fails under its title. ``properties("oracle")`` lists the titles in the order of the checks, with
    the property, the reason for it and the confidence of the check.

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
    settings |= {"others": None if others is None else tuple(others)}
    settings |= {"level": level, "progress": progress}
    return cast(OracleReport, ORACLES.check(oracle, super_arms, **settings))


def _report(
    name: str, results: tuple[CheckResult, ...], subject: Subject, level: str, untested: tuple[str, ...]
) -> OracleReport:
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
    return OracleReport(name, results, level, untested, float(np.median(seconds)), peak, exhaustive)


ORACLES = Kind(Oracle, subject_of, _CHECKS, _report, rows.ORACLE, _THOROUGH, untested=untested.ORACLE)
