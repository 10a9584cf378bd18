"""The base class of explorers of super arms, and its requirements on the oracle, checked before sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.exploration.parameters import grown
from cmab.exploration.sampling import SamplingExplorer
from cmab.goals import BestSuperArm, Goal
from cmab.oracle import LinearOracle, check_super_arm, require_oracle
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices, listed


class SuperArmExplorer(SamplingExplorer):
    """Base class of explorers of the super arms of an exact linear oracle."""

    oracle: LinearOracle
    growth: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exact(self.oracle)
        check_takes_any_mean(self.oracle)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def goal(self) -> Goal:
        """The goal: a super arm within `epsilon` of the best."""
        return BestSuperArm(self.oracle, self.epsilon)

    def pulls(self, state: ArmStatistics) -> int:
        return grown(state, self.growth)


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


def copied_family(oracle: LinearOracle, super_arms: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return a copy of a list of super arms, each checked: a later change of the list would spoil a proof."""
    family = listed("super_arms", super_arms, "super arms")
    each = (arm_indices("super_arms", arms, oracle.n_arms).tolist() for arms in family)
    copied = tuple(tuple(arms) for arms in each)
    for arms in copied:
        check_super_arm(oracle, arms, "super_arms")
    return copied


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
    pairs = _exchanges(oracle, best)
    signs = np.zeros((len(pairs), oracle.n_arms))
    rows = np.arange(len(pairs))
    signs[rows, pairs[:, 0]], signs[rows, pairs[:, 1]] = 1.0, -1.0
    return signs, len(best) * (oracle.n_arms - len(best))


def has_exchanges(oracle: LinearOracle) -> bool:
    """Return whether the super arms are known to be the bases of a matroid. All sets of k arms are."""
    return hasattr(oracle, "exchange_pairs") or oracle._uniform_size is not None


def _exchanges(oracle: Any, best: IntArray) -> IntArray:
    """Return the pairs of an arm of the basis `best` and an outside arm that can replace it."""
    if not has_exchanges(oracle):
        raise ValueError(
            f"oracle must be a matroid with exchange_pairs, got {oracle!r}; for others pass super_arms"
        )
    if hasattr(oracle, "exchange_pairs"):
        return np.asarray(oracle.exchange_pairs(best))
    outside = np.setdiff1d(np.arange(oracle.n_arms), best)
    return np.stack((np.repeat(best, len(outside)), np.tile(outside, len(best))), axis=1)
