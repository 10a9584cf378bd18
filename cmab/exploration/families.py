"""Requirements of explorers on the oracle of a family of super arms, checked before the first sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle, require_oracle
from cmab.validation import arm_indices


def check_exact(oracle: Any) -> None:
    """Raise `ValueError` unless `oracle` is an exact `LinearOracle`."""
    require_oracle(oracle)
    if not (oracle.is_linear and oracle.is_exact):
        raise ValueError(f"oracle must be an exact LinearOracle, got {oracle!r}")


def check_takes_any_mean(oracle: LinearOracle) -> None:
    """Raise `ValueError` unless `oracle` accepts means far below and far above [0, 1]."""
    # Checked here because an error after thousands of samples would waste these samples.
    for value in (max(-10.0, oracle.least_mean), max(10.0, oracle.least_mean)):
        try:
            oracle.solve(np.full(oracle.n_arms, value), np.random.default_rng(0))
        except ValueError as error:
            raise ValueError(
                f"oracle must take the revised means, which may be any numbers from its least_mean of"
                f" {oracle.least_mean:g} on, got {oracle!r}, which raised: {error}"
            ) from error


def check_constrains(oracle: LinearOracle) -> None:
    """Raise `TypeError` unless `oracle` can find the best super arm that contains a given arm."""
    rng, means = np.random.default_rng(0), np.full(oracle.n_arms, max(0.5, oracle.least_mean))
    try:
        for arm in oracle.solve(means, rng)[:1]:
            oracle.solve_constrained(means, [int(arm)], [], rng)
    except TypeError as error:
        raise TypeError(
            f"oracle must define solve_constrained for all constraints, got {oracle!r}, which raised: {error}"
        ) from error


def possible(oracle: LinearOracle, means: FloatArray) -> FloatArray:
    """Return `means`, raised to at least the `least_mean` of `oracle`.

    The true means are never below `least_mean`, so the cut intervals contain them whenever the full ones do.
    """
    return np.maximum(means, oracle.least_mean)


def rivals_of(
    oracle: Any, best: IntArray, super_arms: Sequence[Sequence[int]] | None
) -> tuple[FloatArray, int]:
    """Return the rivals of the super arm `best` as a matrix of signs, and the number of possible errors.

    A row of the matrix describes a rival: 1 for arms that only `best` contains, -1 for arms that only the
    rival contains, and 0 for all others. The rivals are all other `super_arms`. If `super_arms` is None, they
    are the exchanges of a matroid.
    """
    if super_arms is not None:
        inside = np.zeros((len(super_arms), oracle.n_arms))
        for row, arms in zip(inside, super_arms, strict=True):
            row[arm_indices("super_arms", arms, oracle.n_arms)] = 1.0
        own = np.zeros(oracle.n_arms)
        own[best] = 1.0
        if not (inside == own).all(axis=1).any():
            raise ValueError(f"super_arms must hold all super arms, but {best.tolist()} is missing")
        signs = np.unique(own - inside, axis=0)
        signs = signs[np.abs(signs).any(axis=1)]
        return signs, len(signs)
    exchange_pairs = getattr(oracle, "exchange_pairs", None)
    if exchange_pairs is None:
        raise ValueError(
            f"oracle must be a matroid with exchange_pairs, got {oracle!r}; for others pass super_arms"
        )
    pairs = exchange_pairs(best)
    signs = np.zeros((len(pairs), oracle.n_arms))
    rows = np.arange(len(pairs))
    signs[rows, pairs[:, 0]], signs[rows, pairs[:, 1]] = 1.0, -1.0
    return signs, len(best) * (oracle.n_arms - len(best))
