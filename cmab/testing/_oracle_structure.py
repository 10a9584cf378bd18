"""The check that the declarations of an oracle fit its super arms: sizes, clusters, groups and arcs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from cmab.arrays import IntArray
from cmab.oracle import LinearOracle, Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._oracle_calls import defines
from cmab.testing._oracle_subject import Subject
from cmab.testing._statistics import same_rate

_MOST, _SETS = 400, 100
# Share of the available entries, number of problems with unavailable entries, largest number of super arms,
# draws for each of them, and the false-alarm probability of each comparison. A super arm that is as probable
# as the others is missed by all draws with probability exp(-40).
_ENTRIES, _MASKS, _FEW, _DRAWS, _LEVEL = 0.75, 4, 60, 40, 1e-11


def check_structure(subject: Subject) -> Finding:
    """Check that `max_size`, `clusters`, `uniform_size` and `uniform_family` fit the super arms."""
    oracle, rng = subject.oracle, np.random.default_rng((71, subject.rng))
    _check_labels_of_arms(oracle)
    tried = 0
    for arm in subject.timed(_some(subject, rng)):
        triggered = np.asarray(oracle.triggered_arms(arm.copy()))
        if oracle.is_linear or type(oracle).triggered_arms is not Oracle.triggered_arms:
            text = "the super arm {} triggers {} base arms, more than max_size={}"
            fits = len(triggered) <= oracle.max_size
            require(fits, "structure", text, arm, len(triggered), oracle.max_size)
        if oracle.clusters is not None:
            clusters = np.asarray(oracle.clusters)
            touched = np.isin(clusters, clusters[triggered])
            text = "the super arm {} triggers {}, but not all arms of their clusters; clusters are {}"
            require(touched.sum() == len(triggered), "structure", text, arm, triggered, clusters)
        tried += 1
    told = [f"{tried} super arms"]
    if isinstance(oracle, LinearOracle) and oracle.uniform_size is not None:
        _check_uniform_size(subject, oracle, oracle.uniform_size, rng)
        told.append("uniform_size")
    tests = 0
    if defines(oracle, "uniform_family"):
        tests = _check_uniform_family(subject, rng)
        told.append("uniform_family")
    return Finding(", ".join(told), tests * _LEVEL)


def _some(subject: Subject, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield super arms: of the family or the answers, in random order."""
    for number in rng.permutation(len(subject.rivals))[:_MOST]:
        yield subject.rivals[number]


def _check_labels_of_arms(oracle: Oracle) -> None:
    """Check the arrays with an entry for each base arm."""
    n = oracle.n_arms
    for name in ("clusters", "arm_groups"):
        told = getattr(oracle, name)
        if told is None:
            continue
        labels = np.asarray(told)
        good = labels.shape == (n,) and labels.dtype.kind in "iu" and labels.min() >= 0
        require(good, "structure", "{} must be {} integers of at least 0, got {}", name, n, told)
    if oracle.clusters is not None:
        used = np.unique(oracle.clusters)
        text = "clusters must be numbered from 0 without gaps, got {}"
        require(np.array_equal(used, np.arange(len(used))), "structure", text, oracle.clusters)
    if oracle.network is not None:
        tails, heads, size = oracle.network
        ends = np.concatenate((np.asarray(tails), np.asarray(heads)))
        good = len(tails) == len(heads) == n and 0 <= ends.min() <= ends.max() < size
        require(good, "structure", "network must have {} arcs between {} nodes, got {}", n, size, ends)


def _check_uniform_size(subject: Subject, oracle: LinearOracle, size: int, rng: np.random.Generator) -> None:
    text = "uniform_size is {}, but {} is {} of the family"
    for arm in subject.rivals:
        require(len(arm) == size, "structure", text, size, arm, "a super arm")
    whole = subject.family is None or len(subject.members) == math.comb(oracle.n_arms, size)
    count = "uniform_size is {}, but the family has {} of the {} sets of this size"
    members = len(subject.members)
    require(whole, "structure", count, size, members, math.comb(oracle.n_arms, size))
    for _ in range(_SETS):
        arm = np.sort(rng.choice(oracle.n_arms, size, replace=False))
        require(oracle.is_feasible(arm.copy()), "structure", text, size, arm, "no super arm")


def _check_uniform_family(subject: Subject, rng: np.random.Generator) -> int:
    """Compare `uniform_family` with the answers to uniform means, and return the number of tests."""
    oracle, tests = subject.oracle, 0
    masks = [np.ones(oracle.n_choices, np.bool_)]
    masks += [rng.random(oracle.n_choices) < _ENTRIES for _ in range(_MASKS)]
    for available in masks:
        given = oracle.uniform_family(available.copy())
        if given is None:
            continue
        number, size = given
        seen: Counter[tuple[int, ...]] = Counter()
        draws = _DRAWS * min(max(number, 1), _FEW)
        for _ in subject.timed(range(draws), 0.05):
            means = rng.uniform(subject.low, subject.high, oracle.n_arms)
            try:
                answer = entries(oracle.solve_within(means, available.copy(), rng))
            except (TypeError, ValueError):  # the oracle supports no constraints, or no super arm is left
                break
            seen[tuple(answer.tolist())] += 1
        text = "uniform_family is {} when {} are not available, but the answer {} has another size"
        gone = np.flatnonzero(~available)
        for arm in seen:
            require(len(arm) == size, "structure", text, given, gone, arm)
        text = "uniform_family is {} when {} are not available, but {} is an answer"
        require(number > 0 or not seen, "structure", text, given, gone, next(iter(seen), None))
        if seen.total() < draws or number > _FEW:
            continue
        sets: Counter[tuple[int, ...]] = Counter()
        for arm, count in seen.items():
            sets[tuple(sorted(arm))] += count
        # The answers may be lists.
        fair = [part for part in (sets, seen) if len(part) == number]
        text = "uniform_family is {} when {} are not available, but {} uniform means had {} answers"
        require(fair, "structure", text, given, gone, draws, len(sets))
        for arm, count in fair[-1].items():
            chance = same_rate(count, draws, 1.0 / number)
            text = (
                "uniform_family is {} when {} are not available, but {} of {} answers to uniform means are {}"
            )
            require(chance >= _LEVEL, "structure", text, given, gone, count, draws, arm)
        tests += number
    return tests
