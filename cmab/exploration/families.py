"""Families of super arms: what exploration asks of their oracles, found out before the first sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle, require_oracle
from cmab.validation import arm_indices


def check_exact(oracle: Any) -> None:
    """Raise unless `oracle` is an exact `LinearOracle`."""
    require_oracle(oracle)
    if not (oracle.is_linear and oracle.is_exact):
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


def rivals_of(
    oracle: Any, best: IntArray, super_arms: Sequence[Sequence[int]] | None
) -> tuple[FloatArray, int]:
    """Return what `best` is compared with, and how many comparisons may be wrong.

    A row of the matrix has 1 for arms that only `best` has, -1 for those that only the rival has. The rivals
    are all other `super_arms`, or the exchanges of a matroid.
    """
    if super_arms is not None:
        inside = np.zeros((len(super_arms), oracle.n_arms))
        for row, arms in zip(inside, super_arms, strict=True):
            row[arm_indices("super_arms", arms, oracle.n_arms)] = 1.0
        own = np.zeros(oracle.n_arms)
        own[best] = 1.0
        if not (inside == own).all(axis=1).any():
            raise ValueError(f"super_arms must hold all super arms, got none that is {best.tolist()}")
        signs = np.unique(own - inside, axis=0)
        signs = signs[np.abs(signs).any(axis=1)]
        return signs, len(signs)
    exchange_pairs = getattr(oracle, "exchange_pairs", None)
    if exchange_pairs is None:
        raise ValueError(
            f"oracle must be a matroid with exchange_pairs, or super_arms be listed, got {oracle!r}"
        )
    pairs = exchange_pairs(best)
    signs = np.zeros((len(pairs), oracle.n_arms))
    rows = np.arange(len(pairs))
    signs[rows, pairs[:, 0]], signs[rows, pairs[:, 1]] = 1.0, -1.0
    return signs, len(best) * (oracle.n_arms - len(best))
