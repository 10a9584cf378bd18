"""Caches chosen from a log of queries: Figure 3a of Liu et al. (2025)."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles import TopK

_QUERIES, _KEPT, _POWER = 100, 40, 0.9
#: The cost of a query: a fixed number for each query, or 0 or 1 at random each time it is processed.
CACHES = ("queries, costs 0 or 1", "queries, costs are coins")


def world(kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the queries among arrivals, in random order, and their expected costs."""
    shares = rng.permutation(np.arange(1.0, _QUERIES + 1.0) ** -_POWER)
    costs = (rng.random(_QUERIES) < 0.5).astype(np.float64)
    return shares / shares.sum(), costs if kind == CACHES[0] else np.full(_QUERIES, 0.5)


def scores(arrivals: IntArray, spent: FloatArray, n: int, delta: float) -> dict[str, FloatArray]:
    """Return the values of which each rule keeps the largest, from a log with empty caches.

    Parameters
    ----------
    arrivals, spent : arrays, shape (n_queries,)
        The number of arrivals of each query, and the total cost of its answers.
    n : int
        Number of queries in the log.
    delta : float
        Error probability.
    """
    often = np.maximum(arrivals, 1)
    shares, costs = arrivals / n, spent / often
    # Algorithm 2: means for shares, but upper bounds for costs, because queries that are not kept must be
    # paid.
    upper = costs + np.sqrt(2.0 * math.log(4.0 * len(arrivals) * n / delta) / often)
    return {"LFU": shares, "LEC": shares * costs, "CLCB": shares * upper}


def cache_losses(kind: str, n: int, delta: float, rng: np.random.Generator) -> dict[str, float]:
    """Return the expected cost of a query with the cache of each rule, relative to the cost without one."""
    shares, costs = world(kind, rng)
    arrivals = rng.multinomial(n, shares)
    spent = rng.binomial(arrivals, costs).astype(np.float64)
    worths, oracle = shares * costs, TopK(_QUERIES, _KEPT)
    told = scores(arrivals, spent, n, delta) | {"best cache": worths}
    kept = {name: oracle.solve(values, rng) for name, values in told.items()}
    return {name: float(1.0 - worths[chosen].sum() / worths.sum()) for name, chosen in kept.items()}
