"""The number of reverse-reachable sets that a call can draw within its time limit.

A warning, once per oracle, that an answer is not certified.

Options of the search for seeds: the number of reverse-reachable sets and how they are drawn.

The search of OPIM-C: sample, choose, bound, validate and double.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.parameters import Declared, checked, described, integer, one_of, real
from cmab.validation import real as check_real
from cmab.validation import shown
from oracles.influence.certificate import Certificate, Schedule, estimate, lower_bound, secures
from oracles.influence.sampling import in_parts
from oracles.influence.sets import SAMPLERS, ReverseGraph, Sampler, SetCollection

# The number of sets in the first trial. A trial is conclusive if it takes this share of the remaining time.
_FEW, _TELLING = 256, 0.05
# The time grows slightly faster than the number of sets, because caches overflow.
_CAREFUL = 0.8


def sets_until(deadline: float, most: int, search_with: Callable[[int], object]) -> int:
    """Return the number of sets per sample, at most `most`, that `search_with` can process until `deadline`.

    The number is estimated from trials. The first trial only loads or compiles code, and its time is ignored.
    """
    search_with(_FEW)
    n_sets = _FEW
    while True:
        started = time.perf_counter()
        search_with(n_sets)
        now = time.perf_counter()
        took, left = now - started, deadline - now
        if took >= _TELLING * left:
            return min(most, max(_FEW, int(_CAREFUL * n_sets * left / took)))
        if n_sets >= most:
            return most
        n_sets *= 4


class UncertifiedOnce:
    """Warn about the first uncertified answer of an oracle; copies of the oracle share this object."""

    has_warned = False

    def __getstate__(self) -> dict[str, object]:
        # Another process gives its own warning, and a saved session does not depend on earlier warnings.
        return {}

    def see(self, answer: Certificate, alpha: float, name: str) -> Certificate:
        """Return `answer`; give a ``RuntimeWarning`` if it is the first uncertified answer."""
        if not answer.certified and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"{name}: an answer is not certified. Its ratio is {answer.ratio:.3g}, below alpha ="
                f" {alpha:.3g}, because max_rr_sets, time_limit or the free memory ended the search after"
                f" {answer.rr_sets} reverse-reachable sets. Raise the limit, or raise epsilon. This oracle"
                " gives no further warning; Certificate.certified tells of each answer",
                RuntimeWarning,
                stacklevel=3,
            )
        return answer


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
    time_limit : float, optional
        The approximate time limit of a call in seconds. The search draws as many sets as the limit allows; if
        `quality` is given, no more than it requires. The number of sets depends on the clock, so answers are
        not reproducible; `quality` and `max_rr_sets` are reproducible limits. A call that stops early has its
        own ratio, as with `max_rr_sets`. The first call of a process also needs time to load or compile code.
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
    time_limit: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    sampler: Sampler = field(default="auto", metadata=one_of(*SAMPLERS))
    threads: int = field(default=1, metadata=integer(1))

    def __repr__(self) -> str:
        return described(self)

    def quality_if(self, unasked: bool) -> Quality | float:
        """Return the quality. If it is omitted, return "better" if `unasked` is true, otherwise "fast"."""
        return ("better" if unasked else "fast") if self.quality is None else self.quality


#: The default options.
USUAL = Search()
OPTIONS = tuple(option.name for option in fields(Search))


# Samples of at least this size may be validated by a part of the sets.
_WORTH_PARTS = 64
# The largest factor between successive sample sizes. The bound on the number of sets in
# docs/explanation/influence-search.md contains this factor. The additional steps together take a
# third of the time of the last choice.
_MOST_FACTOR = 4

Chooser = Callable[[SetCollection, float, bool], tuple[IntArray, int, float]]


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
        """Return the certificate for `seeds`, which are nodes of the components."""
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
    first_ratio : float, optional
        A higher ratio, which is required below `patient_sets` sets.
    least_hits : float
        The number of choosing sets that the components must cover.
    """

    reverse: ReverseGraph
    schedule: Schedule
    ratio: float
    keys: tuple[int, int]
    max_rr_sets: int | None = None
    threads: int = 1
    first_ratio: float | None = None
    patient_sets: int = 0
    least_hits: float = 0.0

    def no_sets(self) -> SetCollection:
        """Return the collection of the choosing sets, without sets."""
        return SetCollection(self.reverse, self.keys[0], threads=self.threads)

    def counter(self, chosen: IntArray) -> Callable[[int, int], tuple[int, int]]:
        """Return a function that counts the validating sets of a range that contain one of `chosen`.

        It also returns the number of edges examined for these sets.
        """
        owners = self.reverse.owners(chosen)
        return lambda first, last: count_hits(self.reverse, self.keys[1], first, last, owners, self.threads)

    @property
    def max_sets(self) -> int:
        """The largest number of sets in each sample."""
        last = self.schedule.last
        return last if self.max_rr_sets is None else min(last, self.max_rr_sets // 2)

    @property
    def first_sets(self) -> int:
        """The number of sets in each sample of the first attempt."""
        return min(self.schedule.first, self.max_sets)

    def of_size(self, n_sets: int, *, keys: tuple[int, int] | None = None) -> Plan:
        """Return this plan with exactly `n_sets` sets in each sample."""
        schedule = replace(self.schedule, first=min(n_sets, self.schedule.last))
        return replace(self, schedule=schedule, keys=keys or self.keys, max_rr_sets=2 * n_sets)

    def validating_sets(
        self, chosen: IntArray, covered: int, n_sets: int, goal: float, *, is_final: bool
    ) -> int:
        """Return how many sets are to validate a choice from `n_sets` sets, or 0 to skip the validation.

        The choice's own coverage is optimistic, so the validation is skipped if even this coverage does not
        pass. If `quality` requires more sets than the certificate, a quarter of the sets is nearly as
        informative.
        """
        shares = (4, 2, 1) if self.least_hits > 0.0 and n_sets >= _WORTH_PARTS else (1,)
        for share in shares:
            few = n_sets // share
            if _is_shown(self.reverse, chosen, covered // share, few, self.schedule.log_term, goal):
                return few
        return n_sets // shares[0] if is_final else 0

    def found(
        self,
        chosen: IntArray,
        secured: float,
        optimum: float,
        hits: int,
        n_sets: int,
        edges: int,
        *,
        validating: int | None = None,
    ) -> Found:
        """Return the components with their ratio; at the last size the ratio is certain without a test.

        `hits` are among `validating` sets, or among `n_sets` if `validating` is omitted.
        """
        tested = n_sets if validating is None else validating
        ratio = min(1.0, secured / max(optimum, secured))
        if n_sets == self.schedule.last:
            ratio = max(ratio, self.ratio)
        spread, error = estimate(hits, tested, self.reverse.total_weight)
        spread += float(self.reverse.certain[chosen].sum())
        return Found(chosen, ratio, spread, error, n_sets + tested, edges, secured, max(optimum, secured))


def find(plan: Plan, choose: Chooser, place: Callable[[SetCollection, int], None] | None = None) -> Found:
    """Return components with a certified ratio of at least ``plan.ratio``.

    If ``plan.max_sets`` sets are reached first, or if the next sample does not fit into memory, return the
    components of the largest sample and their lower ratio. Raise ``MemoryError`` only if a single set does
    not fit.

    `choose` returns components that cover many sets, the number of covered sets, and an upper bound on the
    best spread. If `is_last` is true, no validation follows, so `choose` verifies that the selection is
    greedy. `place` chooses sentinels for a sample of a given size. Both functions may draw sets.

    The sets of the first key choose the components and bound the optimum. The sets of the second key validate
    the choice: each set ends at its first seed and is not stored. For the next choice, the same sets are
    drawn again.
    """
    sample = _Sample(plan, choose, place)
    n_sets, edges = plan.first_sets, 0
    while True:
        chosen, covered, optimum = sample.choice(n_sets)
        # A sample smaller than requested means that memory ended the search.
        is_final = sample.n_sets == plan.max_sets or sample.n_sets != n_sets
        n_sets = sample.n_sets
        wanted = plan.ratio if plan.first_ratio is None or n_sets >= plan.patient_sets else plan.first_ratio
        goal = wanted * optimum
        enough = is_final or covered >= plan.least_hits
        validating = plan.validating_sets(chosen, covered, n_sets, goal, is_final=is_final) if enough else 0
        if validating:
            try:
                seen = _validated(plan, chosen, validating, goal, is_final=is_final)
            except MemoryError:
                # The stored sets left no room. They are no longer needed, because this test is the last.
                sample.release()
                is_final = True
                seen = _validated(plan, chosen, validating, goal, is_final=True)
            edges += seen.edges_examined
            if is_final or seen.secured >= goal:
                break
        n_sets = _next_size(plan, chosen, covered, optimum, n_sets)
    edges += sample.edges_examined
    return plan.found(chosen, seen.secured, optimum, seen.hits, n_sets, edges, validating=validating)


class _Sample:
    """The choosing sets and the choice from them, within the available memory."""

    def __init__(
        self, plan: Plan, choose: Chooser, place: Callable[[SetCollection, int], None] | None
    ) -> None:
        self._plan, self._choose, self._place = plan, choose, place
        self._sets = self._no_sets()
        self._last: tuple[IntArray, int, float] | None = None
        self._halvings = 0
        self.n_sets = 0

    @property
    def edges_examined(self) -> int:
        return self._sets.edges_examined

    def release(self) -> None:
        """Free the memory of the stored sets. No further choice is possible."""
        examined = self.edges_examined
        self._sets = self._no_sets()
        self._sets.edges_examined = examined

    def choice(self, n_sets: int) -> tuple[IntArray, int, float]:
        """Return the choice from `n_sets` sets, or the previous choice if these sets do not fit into memory.

        The previous choice has been tested or its test was skipped, and it is not tested a second time, so
        the confidence is unchanged. If the sets of the first choice do not fit, their number is halved until
        they do. The size that is used then depends on the sets. So the bounds on the optimum share one more
        failure probability of a size: one halving gets half of it, two halvings a quarter, and so on.
        """
        while True:
            try:
                self._last = self._drawn(n_sets)
            except MemoryError:
                if self._last is not None:
                    return self._last
                if n_sets == 1:
                    raise
                # Drop the sentinels, which would be chosen from too few sets.
                self._sets, self._place, n_sets = self._no_sets(), None, n_sets // 2
                self._halvings += 1
            else:
                self.n_sets = n_sets
                return self._last

    def _drawn(self, n_sets: int) -> tuple[IntArray, int, float]:
        schedule = self._plan.schedule
        if self._place is not None and self._last is None:
            self._place(self._sets, n_sets)
        if n_sets == schedule.last and len(self._sets.sentinels):
            # The proof that this number of sets suffices is for greedy on complete sets.
            self._sets.complete()
        self._sets.grow(n_sets)
        is_last = n_sets == schedule.last
        assert not (is_last and len(self._sets.sentinels)), "the last sets must be complete"
        return self._choose(self._sets, schedule.log_term + self._halvings * math.log(2.0), is_last)

    def _no_sets(self) -> SetCollection:
        return self._plan.no_sets()


def _next_size(plan: Plan, chosen: IntArray, covered: int, optimum: float, n_sets: int) -> int:
    """Return the next number of sets: twice as many, or four times if a test of twice as many could not pass.

    Skipping a test costs no confidence. A test is skipped if too few sets would be covered, or if it would
    fail under two assumptions: the share of covered sets stays the same, and the difference between the bound
    on the optimum and the value of the choice decreases as fast as statistical errors.
    """
    reverse, log_term = plan.reverse, plan.schedule.log_term
    value = reverse.total_weight * covered / n_sets + float(reverse.certain[chosen].sum())
    factor = 2
    while factor < _MOST_FACTOR and factor * n_sets < plan.max_sets:
        # Errors are proportional to one over the square root of the number of sets.
        bound = value + (optimum - value) / math.sqrt(factor)
        if factor * covered >= plan.least_hits and _is_shown(
            reverse, chosen, factor * covered, factor * n_sets, log_term, plan.ratio * bound
        ):
            break
        factor *= 2
    return min(factor * n_sets, plan.max_sets)


def _is_shown(
    reverse: ReverseGraph, chosen: IntArray, hits: int, n_sets: int, log_term: float, spread: float
) -> bool:
    """Return whether this number of hits would certify `spread`."""
    drawn = spread - float(reverse.certain[chosen].sum())
    return float(reverse.masses[chosen].sum()) >= spread or secures(
        hits, n_sets, drawn / reverse.total_weight, log_term
    )


class _Validation(NamedTuple):
    hits: int
    edges_examined: int
    secured: float


def secured_by(reverse: ReverseGraph, chosen: IntArray, hits: int, n_sets: int, log_term: float) -> float:
    """Return a lower confidence bound on the spread of `chosen`, given the number of hits."""
    drawn = lower_bound(hits, n_sets, reverse.total_weight, log_term)
    return max(float(reverse.masses[chosen].sum()), float(reverse.certain[chosen].sum()) + drawn)


def _validated(
    plan: Plan, chosen: IntArray, n_sets: int, goal: float, *, is_final: bool = False
) -> _Validation:
    """Return how many of the first `n_sets` sets of the second key contain a node of `chosen`.

    Also return the lower bound on the spread that this certifies. Unless `is_final`, stop early if `goal` is
    out of reach by two standard errors; this costs no confidence. Never stop early because of success,
    because this would bias the estimate of the spread upward.
    """
    reverse, log_term = plan.reverse, plan.schedule.log_term
    count = plan.counter(chosen)
    hits, arcs, done = 0, 0, 0
    # Most failures are clear, so an eighth of the sets often suffices.
    for last in (n_sets // 8, n_sets // 4, n_sets // 2, n_sets):
        more, examined = count(done, last)
        hits, arcs, done = hits + more, arcs + examined, last
        if done and not is_final:
            share, error = estimate(hits, done, 1.0)
            at_best = min(n_sets, math.ceil((share + 2.0 * error) * n_sets))
            if not _is_shown(reverse, chosen, at_best, n_sets, log_term, goal):
                return _Validation(hits, arcs, 0.0)
    return _Validation(hits, arcs, secured_by(reverse, chosen, hits, n_sets, log_term))


def count_hits(
    reverse: ReverseGraph, key: int, first: int, last: int, owners: AnyArray, threads: int = 1
) -> tuple[int, int]:
    """Return the number of sets in ``first..last - 1`` with an owned component, and of examined edges."""
    n, no_ends = reverse.n_components, np.empty(0, np.int64)

    def counted(start: int, stop: int) -> tuple[int, int]:
        pool, stamps = np.empty(n, np.int32), np.zeros(n, np.int32)
        done, hits, arcs = 0, 0, 0
        while start + done < stop:
            upto = reverse.step_from(start + done, stop, arcs, done)
            drawn, more, examined = reverse.draw(key, start + done, upto, owners, no_ends, pool, stamps)
            done, hits, arcs = done + drawn, hits + more, arcs + examined
        return hits, arcs

    parts = in_parts(threads, first, last, counted)
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
