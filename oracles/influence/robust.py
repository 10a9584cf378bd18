"""Seeds that are good whatever the probabilities are, as long as they lie in known intervals."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.validation import shown, vector
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.influence.base import InfluenceOracle
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.search import count_hits, secured_by
from oracles.influence.triggering import TriggeringInfluence

# Two searches and a count, each of which may fail.
_PARTS = 3
_LEAST_SETS = 1024


@dataclass(frozen=True, eq=False)
class RobustCertificate:
    """Seeds, and how good they certainly are wherever in their intervals the probabilities lie.

    Parameters
    ----------
    seeds : IntArray, shape (k,)
        Node numbers in the order of the greedy choice.
    ratio : float
        With probability at least ``1 - delta``, the seeds reach at least `ratio` times the optimum under
        **all** probabilities in the intervals at once: `lowest` over `optimum`.
    lowest : float
        What the seeds' spread is at least, under any of them.
    optimum : float
        What no seeds' spread exceeds, under any of them.
    chosen_at : {"lows", "highs"}
        The probabilities that the seeds are the greedy choice for.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, InfluenceMaximization, robust_seeds
    >>> oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 0, 3], [1, 2, 2]), k=1)
    >>> answer = robust_seeds(oracle, [0.4, 0.4, 0.0], [0.5, 0.5, 1.0], np.random.default_rng(0))
    >>> answer.seeds, 0.8 < answer.ratio < 0.9, answer.chosen_at
    (array([0]), True, 'lows')
    """

    seeds: IntArray
    ratio: float
    lowest: float
    optimum: float
    chosen_at: str


def robust_seeds(
    oracle: InfluenceOracle, lows: ArrayLike, highs: ArrayLike, rng: np.random.Generator
) -> RobustCertificate:
    """Return seeds for probabilities of which only intervals are known, and what is certain of them.

    Spread grows with every probability: the seeds are worth least at the lower ends, and no seeds are worth
    more than the best at the upper ends. LUGreedy takes the greedy choices for both ends, and of the two the
    one that is worth more at the lower. The ratio needs no theory besides: it is a bound on that worth over a
    bound on the optimum at the upper ends, both from samples that had no part in the choice. As intervals
    shrink, it becomes what `InfluenceMaximization` certifies; while they are wide, it tells that more has to
    be observed, which no seeds can make up for.

    Parameters
    ----------
    oracle : InfluenceMaximization
        Graph, k and the rest. Not `TriggeringInfluence`, of which nobody knows whether more is more.
    lows, highs : array_like, shape (n_arms,)
        Ends of each edge's interval, confidence bounds for example, in [0, 1].
    rng : numpy.random.Generator
        Source of all randomness.

    Returns
    -------
    RobustCertificate
        Fails with probability `oracle.delta` at most, besides what the intervals fail with.

    Raises
    ------
    TypeError
        If the oracle is none of these.
    ValueError
        If an end is no probability, or a lower one is above the upper.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence.kl import kl_bounds
    >>> from oracles import DirectedGraph, InfluenceMaximization, robust_seeds
    >>> oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 0, 3], [1, 2, 2]), k=1)
    >>> means, counts = np.array([0.5, 0.4, 0.1]), np.array([200, 200, 200])
    >>> lows, highs = kl_bounds(means, counts, rate=np.log(2 * 3 / 0.05))
    >>> round(robust_seeds(oracle, lows, highs, np.random.default_rng(0)).ratio, 1)
    0.8

    References
    ----------
    W. Chen, T. Lin, Z. Tan, M. Zhao, X. Zhou: Robust Influence Maximization, KDD 2016, Algorithm 1 (LUGreedy)
    and the ratio of the two spreads after it; its samples and bounds are OPIM-C's here.
    """
    if not isinstance(oracle, InfluenceMaximization) or isinstance(oracle, TriggeringInfluence):
        raise TypeError(f"oracle must be an InfluenceMaximization of a known model, got {shown(oracle)}")
    part = copy(oracle)
    part.delta = oracle.delta / _PARTS
    ends = (vector(name, end, oracle.n_arms, 0.0, 1.0) for name, end in (("lows", lows), ("highs", highs)))
    least, most = (part._probabilities(end) for end in ends)
    if (least > most).any():
        arm = int(np.argmax(least > most))
        raise ValueError(f"lows must be at most highs, got {least[arm]} and {most[arm]} for arm {arm}")
    low, at_lows, below = part._found(least, rng)
    high, at_highs, _ = part._found(most, rng)
    n_sets = max(_LEAST_SETS, low.rr_sets)
    spread, secured = _counted(below, at_highs, n_sets, int(rng.integers(0, 2**62)), part)
    if low.spread >= spread:
        seeds, lowest, chosen_at = at_lows, low.secured, "lows"
    else:
        seeds, lowest, chosen_at = at_highs, secured, "highs"
    ratio = min(1.0, lowest / high.optimum) if high.optimum > 0.0 else 1.0
    return RobustCertificate(seeds, ratio, lowest, high.optimum, chosen_at)


def _counted(
    reverse: ReverseGraph, seeds: IntArray, n_sets: int, key: int, oracle: InfluenceMaximization
) -> tuple[float, float]:
    """Return an estimate of the seeds' spread, and what it exceeds with the oracle's confidence."""
    components = np.unique(reverse.component[seeds]).astype(np.int64)
    if len(reverse.world.tails) == 0:
        exactly = float(reverse.masses[components].sum())
        return exactly, exactly
    hits, _ = count_hits(reverse, key, 0, n_sets, reverse.owners(components), oracle.threads)
    spread = reverse.total_weight * hits / n_sets + float(reverse.certain[components].sum())
    return spread, secured_by(reverse, components, hits, n_sets, math.log(1.0 / oracle.delta))
