"""Families of super arms: what exploration asks of their oracles, found out before the first sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.oracle import LinearOracle


def check_exact(oracle: Any) -> None:
    """Raise unless `oracle` is an exact `LinearOracle`."""
    if not (getattr(oracle, "is_linear", False) and oracle.is_exact):
        raise ValueError(f"oracle must be an exact LinearOracle, got {oracle!r}")


def check_takes_any_mean(oracle: LinearOracle) -> None:
    """Raise unless `oracle` answers for means far below and above those of [0, 1]."""
    # Asked now: a refusal after thousands of samples would waste them.
    for value in (max(-10.0, oracle.least_mean), max(10.0, oracle.least_mean)):
        try:
            oracle.solve(np.full(oracle.n_arms, value), np.random.default_rng(0))
        except ValueError as error:
            raise ValueError(
                f"oracle must take the revised means, of any size above its least_mean of"
                f" {oracle.least_mean:g}, got {oracle!r} which says: {error}"
            ) from error


def check_constrains(oracle: LinearOracle) -> None:
    """Raise unless `oracle` can be asked for the best super arm with an arm that is forced in."""
    rng, means = np.random.default_rng(0), np.full(oracle.n_arms, max(0.5, oracle.least_mean))
    try:
        for arm in oracle.solve(means, rng)[:1]:
            oracle.solve_constrained(means, [int(arm)], [], rng)
    except TypeError as error:
        raise TypeError(
            f"oracle must define solve_constrained for all constraints, got {oracle!r} which says: {error}"
        ) from error


def possible(oracle: LinearOracle, means: FloatArray) -> FloatArray:
    """Return `means`, cut at the least that `oracle` takes.

    Intervals cut at what the true means cannot be below hold whenever the whole ones do.
    """
    return np.maximum(means, oracle.least_mean)
