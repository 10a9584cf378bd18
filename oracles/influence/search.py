"""The search of OPIM-C: sample, choose, bound, validate and double; and its options."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.parameters import Declared, checked, described, integer, one_of
from cmab.validation import real as check_real
from cmab.validation import shown
from oracles.influence.certificate import Certificate, Schedule, estimate, lower_bound
from oracles.influence.sampling import in_parts
from oracles.influence.sets import SAMPLERS, ReverseGraph, Room, Sampler, SetCollection

Quality = Literal["fast", "good", "better", "best"]
# The probability that some seeds look better than they are grows with C(n, k) and falls exponentially with
# the number of sets that the seeds cover. Both together determine the quality of the greedy choice. `_HITS`
# covered sets per unit of ln C(n, k) + ln(1 / delta) gave seeds within 3 % of the best known ones, on seven
# networks and for k = 10, 50 and 200 (`tests/benchmarks/influence_quality.py`); 3 `_HITS`: 1 %; 7 `_HITS`:
# 0.5 %.
_HITS = 15.0
_FACTORS = {"fast": 0.0, "good": 1.0, "better": 3.0, "best": 7.0}


def hits_per_unit(quality: Quality | float) -> float:
    """Return how many choosing sets the seeds must cover per unit of ln(C(n, k) / delta)."""
    if isinstance(quality, str):
        if quality not in _FACTORS:
            raise ValueError(f"quality must be one of {get_args(Quality)} or a number, got {shown(quality)}")
        return _HITS * _FACTORS[quality]
    return _HITS * check_real("quality", quality, 0.0)


def _quality(name: str, value: Quality | float) -> Quality | float:
    hits_per_unit(value)
    return value


@dataclass(frozen=True, kw_only=True, repr=False)
class Search(Declared):
    """Options of the search for seeds on reverse-reachable sets.

    They change the time of a call, and how much better the seeds are than the declared ratio. Some oracles do
    not support all options; omit the unsupported ones.

    Parameters
    ----------
    max_rr_sets : int, optional
        The largest number of sets in both samples together. If the search stops there, or if the next sample
        does not fit into the free memory, the answer has its own, lower ratio (`Certificate.ratio`), and the
        declared ``alpha`` is not certified. The first such answer of an oracle gives a ``RuntimeWarning``.
    first_rr_sets : int, optional
        The number of sets in each sample of the first attempt; by default the number of OPIM-C. The number at
        which earlier calls stopped saves the doublings up to there.
    quality : {"fast", "good", "better", "best"} or float, optional
        The quality of the seeds beyond the certificate; `Certificate.ratio` is the ratio that was certified.
        ``"fast"`` draws no more sets than the certificate needs. ``"good"`` draws more: its seeds were within
        3 % of the best known ones on seven networks. ``"better"`` requires three times as many covered sets
        as ``"good"``, for about 1 %, and ``"best"`` seven times as many, for 0.5 %. A number is a multiple of
        the requirement of ``"good"``. The default is ``"better"``, whether or not `epsilon` is given; it is
        ``"fast"`` if `max_rr_sets` or `first_rr_sets` is given.
    sampler : {"auto", "coins", "skips", "pairs", "sentinels"}
        How sets are drawn. ``"auto"`` chooses as `InfluenceMaximization` describes. ``"coins"`` draws one
        random number per edge, ``"skips"`` allows skipping (rule 2 there), ``"pairs"`` omits sets of one node
        (rule 3), and ``"sentinels"`` uses rule 2 with sentinels (rule 4).
    threads : int
        The number of threads that draw sets. The answer does not depend on it.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles.influence import InfluenceMaximization, Search
    >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("dan", "bob")])
    >>> oracle = InfluenceMaximization(friends, k=1, search=Search(quality="best", threads=2))
    >>> oracle.labels(oracle.solve(np.array([0.9, 0.9, 0.9]), np.random.default_rng(0)))
    ['ann']
    """

    max_rr_sets: int | None = field(default=None, metadata=integer(2, optional=True))
    first_rr_sets: int | None = field(default=None, metadata=integer(1, optional=True))
    quality: Quality | float | None = field(default=None, metadata=checked(_quality, optional=True))
    sampler: Sampler = field(default="auto", metadata=one_of(*SAMPLERS))
    threads: int = field(default=1, metadata=integer(1))

    def __repr__(self) -> str:
        return described(self)

    @property
    def used_quality(self) -> Quality | float:
        """The quality, or its default."""
        if self.quality is not None:
            return self.quality
        return "better" if self.max_rr_sets is None and self.first_rr_sets is None else "fast"


#: The default options.
USUAL = Search()
OPTIONS = tuple(option.name for option in fields(Search))

# Samples of at least this size may be tested by a part of the sets.
_WORTH_PARTS = 64

Chooser = Callable[[SetCollection, float], tuple[IntArray, int, float]]


@dataclass(frozen=True, eq=False)
class Found:
    """Components and bounds on their spread.

    With the confidence of the search, their spread is at least `secured`, and the best spread is at most
    `optimum`.
    """

    chosen: IntArray
    ratio: float
    spread: float
    standard_error: float
    rr_sets: int
    edges_examined: int
    secured: float
    optimum: float

    def certificate(self, seeds: IntArray, alpha: float, n_components: int) -> Certificate:
        """Return the certificate for `seeds`, which are nodes of the components; warn below `alpha`."""
        if self.ratio < alpha:
            # Python shows a warning of constant text once.
            warnings.warn(
                "an answer is not certified: max_rr_sets or the free memory ended the search, so its ratio is"
                " below alpha. Raise the limit, or raise epsilon; Certificate.ratio tells of each answer",
                RuntimeWarning,
                stacklevel=3,
            )
        known = (self.spread, self.standard_error, self.rr_sets, self.edges_examined)
        return Certificate(seeds, self.ratio, self.ratio >= alpha, *known, n_components)


@dataclass(frozen=True, eq=False)
class Plan:
    """The goal of a search and its sets.

    Attributes
    ----------
    reverse : ReverseGraph
        The graph from which the sets are sampled.
    schedule : Schedule
        The sizes of the samples.
    ratio : float
        The ratio that is to be certified.
    keys : tuple of int
        The keys of the sets that choose and of the sets that validate.
    max_rr_sets : int, optional
        The largest number of sets in both samples together.
    threads : int
        The number of threads that draw the sets.
    least_hits : float
        The number of choosing sets that the components must cover.
    """

    reverse: ReverseGraph
    schedule: Schedule
    ratio: float
    keys: tuple[int, int]
    max_rr_sets: int | None = None
    threads: int = 1
    least_hits: float = 0.0

    def no_sets(self) -> SetCollection:
        """Return the collection of the choosing sets, without sets."""
        return SetCollection(self.reverse, self.keys[0], threads=self.threads)

    def count_hits(self, chosen: IntArray, first: int, last: int) -> tuple[int, int]:
        """Return how many validating sets of a range contain one of `chosen`, and the examined edges."""
        owners = self.reverse.owners(chosen)
        return count_hits(self.reverse, self.keys[1], first, last, owners, self.threads)

    def secured(self, chosen: IntArray, hits: int, n_sets: int) -> float:
        """Return a lower confidence bound on the spread of `chosen`, given the number of hits."""
        reverse = self.reverse
        drawn = lower_bound(hits, n_sets, reverse.total_weight, self.schedule.log_term)
        return max(float(reverse.masses[chosen].sum()), float(reverse.certain[chosen].sum()) + drawn)

    def tested_sets(self, chosen: IntArray, covered: int, n_sets: int, goal: float) -> int:
        """Return how many sets are to test a choice from `n_sets` sets, or 0 to skip the test.

        The choice's own coverage is optimistic, so the test is skipped if even this coverage does not pass.
        If `quality` requires more sets than the certificate, a quarter of the sets is nearly as informative.
        """
        if covered < self.least_hits:
            return 0
        sizes = (n_sets // 4, n_sets) if self.least_hits > 0.0 and n_sets >= _WORTH_PARTS else (n_sets,)
        passing = (few for few in sizes if self.secured(chosen, covered * few // n_sets, few) >= goal)
        return next(passing, 0)

    def next_size(self, chosen: IntArray, covered: int, n_sets: int, optimum: float) -> int:
        """Return the next number of sets: twice as many, or four times if twice as many could not pass.

        Twice as many could not pass if too few sets would be covered, or if the test would fail although the
        share of covered sets stays the same, and the difference between the bound on the optimum and the
        value of the choice decreases as fast as statistical errors.
        """
        value = self.reverse.total_weight * covered / n_sets + float(self.reverse.certain[chosen].sum())
        bound = value + (optimum - value) / math.sqrt(2.0)
        passes = self.secured(chosen, 2 * covered, 2 * n_sets) >= self.ratio * bound
        factor = 2 if passes and 2 * covered >= self.least_hits else 4
        return min(factor * n_sets, self.max_sets)

    @property
    def max_sets(self) -> int:
        """The largest number of sets in each sample."""
        last = self.schedule.last
        return last if self.max_rr_sets is None else min(last, self.max_rr_sets // 2)


def find(plan: Plan, choose: Chooser, place: Callable[[SetCollection, int], None] | None = None) -> Found:
    """Return components with a certified ratio of at least ``plan.ratio``.

    If ``plan.max_sets`` sets are reached first, or if the next sample does not fit into memory, return the
    components of the largest sample and their lower ratio. Raise ``MemoryError`` if the first sample does not
    fit.

    `choose` returns components that cover many sets, the number of covered sets, and an upper bound on the
    best spread. `place` chooses sentinels for a sample of a given size. Both functions may draw sets.

    The sets of the first key choose the components and bound the optimum. The sets of the second key validate
    the choice: each set ends at its first seed and is not stored. For the next choice, the same sets are
    drawn again.
    """
    sets, schedule = plan.no_sets(), plan.schedule
    n_sets, edges, last = min(schedule.first, plan.max_sets), 0, None
    if place is not None:
        place(sets, n_sets)
    while True:
        is_final = n_sets == plan.max_sets
        try:
            if n_sets == schedule.last and len(sets.sentinels):
                # The proof that this number of sets suffices is for greedy on complete sets.
                sets.complete()
            sets.grow(n_sets)
            last = n_sets, *choose(sets, schedule.log_term)
        except MemoryError:
            if last is None:
                raise
            # The same choice and its test again cost no confidence.
            is_final = True
        n_sets, chosen, covered, optimum = last
        goal = plan.ratio * optimum
        tested = plan.tested_sets(chosen, covered, n_sets, goal) or (n_sets if is_final else 0)
        if tested:
            hits, examined, secured = _tested(plan, chosen, tested, -math.inf if is_final else goal)
            edges += examined
            if is_final or secured >= goal:
                break
        n_sets = plan.next_size(chosen, covered, n_sets, optimum)
    optimum = max(optimum, secured)
    # At the last size, the ratio is certain without a test.
    ratio = max(secured / optimum, plan.ratio if n_sets == schedule.last else 0.0)
    spread, error = estimate(hits, tested, plan.reverse.total_weight)
    spread += float(plan.reverse.certain[chosen].sum())
    edges += sets.edges_examined
    return Found(chosen, ratio, spread, error, n_sets + tested, edges, secured, optimum)


def _tested(plan: Plan, chosen: IntArray, n_sets: int, goal: float) -> tuple[int, int, float]:
    """Return the hits among `n_sets` validating sets, the examined edges, and the secured spread.

    Stop early, with a secured spread of 0, if `goal` is out of reach by two standard errors; this costs no
    confidence. Never stop early because of success, which would bias the estimate of the spread upward.
    """
    hits, edges, done = 0, 0, 0
    # Most failures are clear, so an eighth of the sets often suffices.
    for last in (n_sets // 8, n_sets // 2, n_sets):
        more, examined = plan.count_hits(chosen, done, last)
        hits, edges, done = hits + more, edges + examined, last
        if 0 < done < n_sets:
            share, error = estimate(hits, done, 1.0)
            at_best = min(n_sets, math.ceil((share + 2.0 * error) * n_sets))
            if plan.secured(chosen, at_best, n_sets) < goal:
                return hits, edges, 0.0
    return hits, edges, plan.secured(chosen, hits, n_sets)


def count_hits(
    reverse: ReverseGraph, key: int, first: int, last: int, owners: AnyArray, threads: int = 1
) -> tuple[int, int]:
    """Return the number of sets in ``first..last - 1`` with an owned component, and of examined edges."""
    n = reverse.n_components

    def counted(start: int, stop: int) -> tuple[int, int]:
        room = Room(owners, np.empty(0, np.int64), np.empty(n, np.int32), np.zeros(n, np.int32))
        done, hits, arcs = 0, 0, 0
        while start + done < stop:
            upto = reverse.step_from(start + done, stop, arcs, done)
            drawn, more, examined = reverse.draw(key, start + done, upto, room)
            done, hits, arcs = done + drawn, hits + more, arcs + examined
        return hits, arcs

    parts = in_parts(threads, first, last, counted)
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
