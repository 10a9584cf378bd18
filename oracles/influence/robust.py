"""Seed selection that is robust to all edge probabilities in given intervals."""

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

# Two searches and one count can fail.
_PARTS = 3
_LEAST_SETS = 1024


@dataclass(frozen=True, eq=False)
class RobustCertificate:
    """Seeds and their guarantee for all edge probabilities in given intervals.

    Parameters
    ----------
    seeds : IntArray, shape (k,)
        The seeds as node numbers, in the order of the greedy choice.
    ratio : float
        The certified ratio, `lowest` over `optimum`. With probability at least ``1 - delta``, the spread of
        the seeds is at least `ratio` times the optimum under **all** probabilities in the intervals at once.
    lowest : float
        A lower bound on the spread of the seeds, under all of these probabilities.
    optimum : float
        An upper bound on the spread of any seeds, under all of these probabilities.
    chosen_at : {"lows", "highs"}
        The interval ends for which the seeds are the greedy choice.

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
    """Return seeds with a ratio that is certified for all edge probabilities in given intervals.

    The spread increases with each probability. So the spread of given seeds is lowest at the lower ends, and
    the optimum is highest at the upper ends. LUGreedy computes the greedy choices for both ends and returns
    the choice with the larger spread at the lower ends. The ratio is a lower bound on this spread over an
    upper bound on the optimum at the upper ends. Both bounds come from samples that are independent of the
    choice. As the intervals shrink, the ratio approaches that of `InfluenceMaximization`. If the ratio is low
    because the intervals are wide, no choice of seeds can help; more observations are needed.

    Parameters
    ----------
    oracle : InfluenceMaximization
        The oracle that gives the graph, `k` and the other options. `TriggeringInfluence` is rejected, because
        its spread may not increase with the means.
    lows, highs : array_like, shape (n_arms,)
        The ends of the interval of each edge, for example confidence bounds, in [0, 1].
    rng : numpy.random.Generator
        The source of all randomness.

    Returns
    -------
    RobustCertificate
        The certificate. Given that the intervals hold, it fails with probability at most `oracle.delta`.

    Raises
    ------
    TypeError
        If the oracle is not an `InfluenceMaximization` of a known diffusion model.
    ValueError
        If an end is not a probability, or if a lower end exceeds the upper end.

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
    """Return an estimate of the seeds' spread, and a lower bound with the oracle's confidence."""
    components = np.unique(reverse.component[seeds]).astype(np.int64)
    if len(reverse.world.tails) == 0:
        exactly = float(reverse.masses[components].sum())
        return exactly, exactly
    hits, _ = count_hits(reverse, key, 0, n_sets, reverse.owners(components), oracle.threads)
    spread = reverse.total_weight * hits / n_sets + float(reverse.certain[components].sum())
    return spread, secured_by(reverse, components, hits, n_sets, math.log(1.0 / oracle.delta))
