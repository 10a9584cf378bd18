"""Validation of the arguments of oracle methods: one table for all classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.description import is_own
from cmab.guards import Takes, generator
from cmab.validation import arm_indices, check_vector, real_array


def _as_floats(means: FloatArray) -> FloatArray:
    return means if type(means) is np.ndarray and means.dtype == np.float64 else real_array("means", means)


def finite_means(oracle: Any, means: FloatArray, low: float = -np.inf, high: float = np.inf) -> FloatArray:
    """Return `means` as `n_arms` finite floats within bounds, or raise ``ValueError``."""
    array = _as_floats(means)
    check_vector("means", array, oracle.n_arms, low, high)
    return array


def _super_arm(oracle: Any, super_arm: ArrayLike, _: object) -> IntArray:
    return arm_indices("super_arm", super_arm, oracle.n_choices)


def _means(oracle: Any, means: FloatArray, _: object) -> FloatArray:
    return finite_means(oracle, means)


def _squares(oracle: Any, squares: FloatArray, _: object) -> FloatArray:
    array = real_array("squares", squares)
    check_vector("squares", array, oracle.n_arms, 0.0)
    return array


def entries_available(oracle: Any, available: ArrayLike, _: object = None) -> BoolArray:
    """Return `available`, or raise ``ValueError`` unless it is an array of `n_choices` booleans."""
    array = np.asarray(available)
    # Do not convert it, because a list of entries would become a mask.
    if array.shape != (oracle.n_choices,) or array.dtype != np.bool_:
        raise ValueError(
            f"available must be an array of {oracle.n_choices} booleans, got dtype {array.dtype}, shape"
            f" {array.shape}"
        )
    return array


# The arguments of each method, in order. In this package, `solve` checks the means, because it knows their
# range.
_TAKES: Takes = {
    "solve": (None, generator),
    "solve_batch": (None, generator),
    "solve_certified": (None, generator),
    "optimum_bound": (None, generator),
    "solve_within": (None, entries_available, generator),
    "solve_constrained": (None, None, None, generator),
    "solve_root": (_means, _squares, generator),
    "gaps": (None, None, None, generator),
    "expected_reward": (_super_arm, _means),
    "spread": (_super_arm, _means),
    "triggering_probabilities": (_super_arm, _means),
    "triggered_arms": (_super_arm,),
    "uniform_family": (entries_available,),
    "is_feasible": (_super_arm,),
    "labels": (_super_arm,),
    "feedback_of": (_super_arm,),
}


def _numbers(oracle: Any, means: FloatArray, _: object) -> FloatArray:
    """Return `means`, which may be infinite: a class may exclude arms by such means in its own calls."""
    array = _as_floats(means)
    if array.shape != (oracle.n_arms,) or np.isnan(array).any():
        check_vector("means", array, oracle.n_arms)
    return array


_OF_USERS: Takes = {
    "solve": (_numbers, generator),
    "solve_certified": (_numbers, generator),
    "optimum_bound": (_numbers, generator),
    "solve_within": (_numbers, entries_available, generator),
    "solve_constrained": (_numbers, None, None, generator),
    "gaps": (_numbers, None, None, generator),
}


def takes_of(cls: type) -> Takes:
    """Return the checks of the arguments of each method of a class of oracles."""
    return _TAKES if is_own(cls) else {**_TAKES, **_OF_USERS}


#: The methods whose calls and seconds are counted.
METERED = ("solve", "solve_within", "solve_root")
#: The methods that return a super arm. A set becomes an array.
ANSWERS = (*METERED, "solve_constrained")
