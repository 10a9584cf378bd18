"""How seeds are searched for: by how many reverse-reachable sets, drawn in which way."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from cmab.declared import Declared, checked, integer, one_of, real
from cmab.description import described
from cmab.validation import real as check_real
from cmab.validation import shown
from oracles.diffusion.reverse_sets import SAMPLERS, Sampler

Quality = Literal["fast", "good", "best"]
# The chance that some seeds look better than they are grows with C(n, k), and falls exponentially with the
# number of sets that they meet: both together decide how good greedy's choice is. So many sets for each unit
# of ln C(n, k) + ln(1 / delta) give seeds within 3 % of the best known ones, on seven networks and at k = 10,
# 50 and 200 alike (`tests/benchmarks/influence_quality.py`); seven times as many within 0.5 %.
_HITS = 15.0
_FACTORS = {"fast": 0.0, "good": 1.0, "best": 7.0}


def hits_per_unit(quality: Quality | float) -> float:
    """Return how many of the sets that chose them seeds must meet, for each unit of ln(C(n, k) / delta).

    Raises
    ------
    ValueError
        If `quality` is neither a name nor a number that is not negative.
    """
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

    They change how long a call takes and how good its seeds are beyond the declared ratio. Not every oracle
    has all of them; an option that an oracle does not have must be left out.

    Parameters
    ----------
    max_rr_sets : int, optional
        Largest number of sets in both samples together. A call that stops there has its own, lower ratio
        (`Certificate.ratio`): the declared ``alpha`` is then what was aimed at, and no longer certain.
        The same holds for a call whose next sample does not fit into the free memory. The first such answer
        of an oracle gives a ``RuntimeWarning``.
    first_rr_sets : int, optional
        Sets in each sample of the first attempt; OPIM-C's own if left out. The size at which earlier calls
        stopped saves the steps up to there.
    quality : {"fast", "good", "best"} or float, optional
        How good seeds shall be beyond what is certified: `Certificate.ratio` then tells what was shown of
        them. ``"fast"`` takes no more sets than the certificate does, ``"good"`` so many that seeds were
        within 3 % of the best known on seven networks, ``"best"`` seven times as many, for 0.5 %; a number
        stands for a multiple of those of ``"good"``. Left out it is ``"good"``, or ``"fast"`` where
        `epsilon`, `max_rr_sets` or `first_rr_sets` says how much is wanted.
    time_limit : float, optional
        Seconds that a call may take, about: as many sets as that allows, up to what `quality` asks for where
        it is given. How many that are is up to the clock, so answers are not reproducible; budgets that are
        reproducible are `quality` and `max_rr_sets`. A call that stops early has its own ratio, as there.
        The first call of a process loads or compiles code besides.
    sampler : {"auto", "coins", "skips", "pairs", "sentinels"}
        ``"auto"`` chooses as `InfluenceMaximization` describes; the others force single coins everywhere,
        skipping where (2) says, leaving out sets of one node, or (2) with sentinels.
    threads : int
        Threads to draw sets on. Any number gives the same answer.

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
        """Return the quality; if it is left out, by whether nothing else says how much is wanted."""
        return ("good" if unasked else "fast") if self.quality is None else self.quality


#: The search of an oracle that is given no options.
USUAL = Search()
OPTIONS = tuple(option.name for option in fields(Search))
#: The options were arguments of the oracles before they were fields of `Search`.
FORMERLY = {name: f"search.{name}" for name in OPTIONS}
