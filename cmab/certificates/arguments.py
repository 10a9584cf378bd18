"""The arguments of certificates: the statistics of a policy, and the interval of its outcomes."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import check_policy_instance
from cmab.statistics import ArmStatistics
from cmab.validation import interval, shown


def statistics_for(policy: Any, state: Any) -> tuple[Oracle, ArmStatistics]:
    """Return the oracle of a policy and the statistics of its state.

    Raises
    ------
    TypeError
        As `regret_bound`.
    ValueError
        If the numbers of arms differ.
    """
    check_policy_instance(policy)
    if isinstance(policy, Explorer):
        raise TypeError(
            f"policy must be a policy that plays rounds to have a bound on its regret, got {shown(policy)}"
        )
    oracle: Oracle = policy.oracle
    if type(state) is not ArmStatistics:
        raise TypeError(
            "state must be an ArmStatistics with all outcomes of all rounds, got"
            f" {type(state).__name__}; policies with another state have no certificate"
        )
    if state.n_arms != oracle.n_arms:
        raise ValueError(f"state must have statistics of {oracle.n_arms} arms, got {state!r}")
    return oracle, state


def support_for(policy: Any, support: tuple[float, float] | None) -> tuple[float, float]:
    """Return the given interval of outcomes, or that of the policy.

    Raises
    ------
    ValueError
        If no bounded interval is known.
    """
    known = support if support is not None else getattr(policy, "support", None)
    is_bounded = known is not None
    with suppress(TypeError, ValueError):  # values that are no numbers raise an error below
        is_bounded = known is not None and not any(math.isinf(end) for end in known)
    if known is None or not is_bounded:
        raise ValueError(
            "support must be a bounded interval (low, high) of the outcomes for a bound on the regret, got"
            f" {shown(known)}; pass support=(low, high) to this function, or to the session or campaign"
        )
    return interval("support", known)
