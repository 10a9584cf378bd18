"""Clicks on lists: PBM-UCB for the position-based model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab import parameters as declared
from cmab.arrays import ArrayLike, FloatArray
from cmab.compiled import index_kernel
from cmab.policy import CompiledIndexPolicy
from cmab.validation import arm_indices, per_arm


@index_kernel
def position_based_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write the bound on the attraction of each item times the examination probability of the position."""
    factor, sign, m = reals[0], reals[1], counts.shape[0]
    # Examination probabilities, the arms sorted by item, and the item of each of these arms.
    examined, ordered, items = reals[2:], reals[2 + m :], reals[2 + 2 * m :]
    delta = factor * math.log(t)
    first = 0
    while first < m:
        end, displays, clicks, looks = first, 0.0, 0.0, 0.0
        while end < m and items[end] == items[first]:
            arm = int(ordered[end])
            displays += counts[arm]
            clicks += counts[arm] * means[arm]
            looks += counts[arm] * examined[arm]
            end += 1
        bound = 0.5 + 0.5 * sign
        if displays > 0.0:
            # Lagree, Vernade and Cappe (2016), section 4: S/N' + sqrt(N/N') sqrt(delta / 2 N').
            width = math.sqrt(displays * delta / 2.0) / looks
            bound = min(max(clicks / looks + sign * width, 0.0), 1.0)
        for place in range(first, end):
            arm = int(ordered[place])
            out[arm] = examined[arm] * bound
        first = end


@dataclass(frozen=True, eq=False)
class PBMUCB(CompiledIndexPolicy):
    """Optimism in the position-based model: a click needs an examined position and an attractive item.

    Use this policy for lists if the probabilities that positions are examined are known.

    Base arms are pairs of an item and a position, with mean ``examination * attraction``. The examination
    probabilities of positions are known. The attraction of an item is learned from all positions together.
    For an item with N displays, S clicks and the sum N' of the examination probabilities of its displays, the
    bound is ``min(S/N' + sqrt(N/N') sqrt(radius_factor ln t / 2 N'), 1)``, and 1 without a display. The
    oracle receives the bound times the examination probability of the pair's position. If the examination
    probabilities are unknown, use `CUCB`, which learns each pair separately.

    Parameters
    ----------
    oracle : Oracle
        The family of lists as sets of pairs, such as that of `instances.position_based_model`.
    examination : float or array_like of shape (n_arms,)
        Probability that the position of each pair is examined, in (0, 1].
    items : array_like of int, shape (n_arms,), optional
        Item of each pair, numbered from 0. By default each pair is a separate item.
    radius_factor : float
        The factor ``1 + epsilon`` of the paper. The regret bound requires more than 1.

    Examples
    --------
    >>> from cmab import PBMUCB, simulate
    >>> from instances import position_based_model
    >>> attraction, examination = [0.2, 0.3, 0.6, 0.4], [0.9, 0.3]
    >>> page = position_based_model(attraction, examination)
    >>> policy = PBMUCB(page.oracle, examination * 4, items=[0, 0, 1, 1, 2, 2, 3, 3])
    >>> run = simulate(policy, page, 3000, rng=0)
    >>> page.oracle.labels(policy.select(run.states[0], np.random.default_rng(0)))
    [(2, 'position 1'), (3, 'position 2')]

    References
    ----------
    P. Lagree, C. Vernade, O. Cappe: Multiple-Play Bandits in the Position-Based Model, NIPS 2016, section 4;
    from memory.
    """

    examination: ArrayLike = 1.0
    items: ArrayLike | None = None
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=declared.real(0.0))

    def rule(self) -> Any:
        return position_based_indices

    def parameters(self) -> FloatArray:
        m = self.oracle.n_arms
        examined = per_arm("examination", self.examination, m, float(np.finfo(float).tiny), 1.0)
        items = np.arange(m) if self.items is None else self.items
        numbers = arm_indices("items", items, m, distinct=False)
        if len(numbers) != m:
            raise ValueError(f"items must have one number for each of {m} arms, got {len(numbers)}")
        ordered = np.argsort(numbers, kind="stable")
        scalars = [self.radius_factor, self.oracle._sign]
        return np.concatenate([scalars, examined, ordered, numbers[ordered]])
