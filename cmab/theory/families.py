"""Lists of all super arms of small oracles."""

from __future__ import annotations

from inspect import unwrap
from itertools import combinations
from math import comb

import numpy as np

from cmab.arrays import IntArray
from cmab.oracle import Oracle

_MOST_SETS = 20_000


def listed_family(oracle: Oracle) -> list[IntArray] | None:
    """Return all super arms, or None if there are too many candidate sets or no membership test.

    All sets of an allowed size are tested, so there must be at most 20,000 of them.
    """
    n = oracle.n_choices
    # If the oracle is not linear, `max_size` counts base arms, not the entries of a super arm.
    sizes = range((oracle.max_size if oracle.is_linear else n) + 1)
    if not oracle.has_membership or sum([comb(n, size) for size in sizes]) > _MOST_SETS:
        return None
    # The undecorated method, because these arguments need no validation.
    is_feasible = unwrap(type(oracle).is_feasible)
    sets = (np.array(chosen, np.int64) for size in sizes for chosen in combinations(range(n), size))
    return [super_arm for super_arm in sets if is_feasible(oracle, super_arm)]
