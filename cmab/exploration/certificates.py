"""Certificates of the states of explorers."""

from __future__ import annotations

from cmab.arrays import FloatArray, IntArray
from cmab.certificates.certificate import Certificate
from cmab.exploration.phases import Phases
from cmab.explorer import AnyExplorer
from cmab.goals import ExploreM
from cmab.statistics import ArmStatistics


def certificate(
    explorer: AnyExplorer, state: object, *, arms: IntArray | None = None, counts: IntArray | None = None
) -> Certificate:
    """Return the certificate of `explorer` at `state`.

    If `arms` is None, the certificate is for the recommended arms. If `counts` is None, the counts are those
    of `state`, if it has counts of the whole run.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import HoeffdingRace
    >>> from cmab.exploration.certificates import certificate
    >>> explorer = HoeffdingRace(3, k=1, delta=0.1, max_pulls=1000)
    >>> certificate(explorer, explorer.initial_state(), arms=np.array([0]))
    Certificate(HoeffdingRace: [0] not certified, ExploreM(k=1, epsilon=0.0), delta 0.1, 0 samples)
    """
    named = explorer.recommend(state) if arms is None else arms
    stats = _statistics(state)
    ends: tuple[FloatArray, FloatArray] | None = None
    witness = None
    if stats is not None and stats.counts.any():
        ends = explorer.intervals(state)
        # Only an answer of k out of n arms has a hardest pair of an arm inside and an arm outside.
        if isinstance(explorer.goal, ExploreM) and 0 < len(named) < explorer.n_arms:
            witness = explorer.witness(state, named)
    if counts is None and stats is not None and not getattr(explorer, "fresh_means", False):
        counts = stats.counts.copy()
    return Certificate(
        explorer=type(explorer).__name__,
        goal=explorer.goal,
        delta=getattr(explorer, "delta", None),
        is_certified=explorer.is_certified(state),
        arms=named,
        counts=counts,
        means=None if stats is None else stats.means.copy(),
        lower=None if ends is None else ends[0],
        upper=None if ends is None else ends[1],
        witness=witness,
    )


def _statistics(state: object) -> ArmStatistics | None:
    if isinstance(state, Phases):
        return state.stats
    return state if isinstance(state, ArmStatistics) else None
