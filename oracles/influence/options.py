"""Options of the search for seeds: the number of reverse-reachable sets and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from cmab.declared import Declared, checked, integer, one_of, real
from cmab.description import described
from cmab.validation import real as check_real
from cmab.validation import shown
from oracles.diffusion.reverse_sets import SAMPLERS, Sampler

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


def _quality(name: str, value: Quality | float) -> Quality | float:  # noqa: ARG001
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
