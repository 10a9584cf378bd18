"""Validation of the answers of policies and of the feedback that they receive."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.campaign.posterior import BetaPrior
from cmab.explorer import Explorer
from cmab.feedback import LARGEST, MOST_ARMS, Context, Feedback, Ticket, are_plain, check_outcomes, check_told
from cmab.oracle import Oracle
from cmab.policy import Policy, State, refuse_parts
from cmab.validation import arm_indices, shown

# The share of all base arms up to which a report is checked by itself.
_SHORT = 0.02


def choose(
    policy: Policy[State], state: State, rng: np.random.Generator, context: Context | None = None
) -> tuple[IntArray, int]:
    """Return the validated super arm that a policy chooses, and the number of pulls of each entry."""
    super_arm = policy.select(state, rng, context)
    if isinstance(policy, Explorer):
        n_choices, source, pulls = policy.n_arms, "super_arm", policy.pulls(state)
    else:
        source, pulls = f"the super arm of {type(policy.oracle).__name__}.solve", 1
        n_choices = policy.oracle.n_choices
    chosen = arm_indices(source, super_arm, n_choices)
    if context is not None and context.available is not None and not context.available[chosen].all():
        gone = chosen[~context.available[chosen]]
        raise ValueError(f"{source} must have available entries only, got also {shown(gone.tolist())}")
    return chosen, pulls


def check_context(context: Context, policy: Policy[Any]) -> None:
    """Raise an error if `context` is not a context for the base arms of the policy."""
    if not isinstance(context, Context):
        raise TypeError(f"context must be a Context(available, features, values), got {shown(context)}")
    if isinstance(policy, Explorer):
        refuse_parts(policy, context)
    n_arms = policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_arms
    context.check(n_arms, range_of_choices(policy))


def only(context: Context | None, available: Any, n_choices: int) -> Context:
    """Return the context with the flags of the entries that are available by number."""
    if context is not None and context.available is not None:
        raise ValueError("available must be given once, by number or in the context, got both")
    if isinstance(available, str) or not isinstance(available, Collection | np.ndarray):
        raise ValueError(f"available must be a list of numbers, got {shown(available)}")
    flags = np.zeros(n_choices, np.bool_)
    flags[arm_indices("available", list(available), n_choices)] = True
    rest = {} if context is None else {name: getattr(context, name) for name in context.parts}
    return Context(available=flags, **rest)


def check_budgets(policy: Policy[Any], state: Any) -> None:
    """Raise ``ValueError`` if a budget is overspent.

    This can happen if a campaign continues with smaller budgets.
    """
    left_of = getattr(policy, "budgets_left", None)
    if left_of is None:
        return
    left = left_of(state)
    if (left < -1e-6).any():  # tolerance for the rounding of sums of costs
        raise ValueError(
            "budgets must cover the amounts already spent and the possible use by pending tickets, got"
            f" budgets that leave {shown(left.tolist())}"
        )


def range_of_choices(policy: Policy[Any]) -> int:
    """Return the number of entries that `select` chooses from."""
    return policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_choices


def names_of(oracle: Oracle) -> tuple[list[Hashable], list[Hashable]]:
    """Return the names of the entries of super arms, and those of the base arms."""
    return oracle.labels(np.arange(oracle.n_choices)), oracle._arm_labels()


def in_form(names: list[Hashable], known: list[Hashable]) -> list[Hashable]:
    """Return names of undirected edges in the orientation in which they are known, if they are known."""
    numbers = set(known)

    def form(name: Hashable) -> Hashable:
        if name in numbers or not isinstance(name, tuple) or len(name) < 2:
            return name
        turned: Hashable = (name[1], name[0], *name[2:])
        return turned if turned in numbers else name

    return [form(name) for name in names]


class StrangeArms(ValueError):
    """An error about base arms that a ticket cannot trigger; its second argument is their list."""

    def __str__(self) -> str:
        return str(self.args[0])


def check_feedback(
    feedback: Feedback, ticket: Ticket, policy: Policy[Any], support: tuple[float, float] | None
) -> None:
    """Raise ``ValueError`` if the ticket cannot have led to this feedback."""
    if feedback.is_hidden:
        check_hidden(feedback, policy)
    low, high = support or (-LARGEST, LARGEST)
    low, high = max(low, -LARGEST), min(high, LARGEST)
    # Nearly all feedback passes this fast check, and its arrays need no further validation.
    is_plain = (
        (feedback.pulls is None and feedback.squares is None)
        and (feedback.costs is None and feedback.used is None)
        and are_plain(feedback.arms, feedback.outcomes, MOST_ARMS + 1, low, high)
    )
    if not is_plain:
        check_told(feedback)
    if isinstance(policy, Explorer):
        _check_samples(feedback, ticket)
    else:
        # A wrong arm would go unnoticed, and an increased count cannot be undone.
        strange = _strange_arms(feedback.arms, ticket.super_arm, policy.oracle)
        if strange:
            raise StrangeArms(
                f"feedback.arms must be arms that ticket {ticket.number} can trigger, got also"
                f" {shown(strange)}",
                strange,
            )
    if support is not None and not is_plain:
        check_outcomes(feedback, support)


def _strange_arms(arms: IntArray, super_arm: IntArray, oracle: Oracle) -> list[int]:
    """Return the base arms of a report that the super arm cannot trigger."""
    # Finding all arms that can be triggered takes a pass over the graph, so short reports explain themselves.
    is_short = len(arms) < _SHORT * oracle.n_arms and int(arms.max(initial=-1)) < oracle.n_arms
    if is_short and oracle._explains(super_arm, arms):
        return []
    possible = oracle.triggered_arms(super_arm)
    if len(possible) <= 100:  # sets are faster for few entries
        return sorted(set(arms.tolist()) - set(possible.tolist()))
    strange: list[int] = arms[np.isin(arms, possible, invert=True)].tolist()
    return strange


def check_hidden(feedback: Any, policy: Policy[Any]) -> None:
    """Raise ``ValueError`` unless a policy can learn from feedback with hidden outcomes."""
    if not feedback.has_all and prior_of(policy) is None:
        raise ValueError(
            "joined must be given with carried, or with the step of every person and without known, for"
            f" {type(policy).__name__}, which counts observed outcomes, got hidden outcomes. To learn from a"
            " list of people, use a learner that draws from Beta posteriors on the support (0, 1):"
            " AdaptiveCTS (the default), HierarchicalCTS or CTS"
        )


def prior_of(policy: Policy[Any]) -> BetaPrior | None:
    """Return the Beta prior of a policy that draws from a posterior, otherwise None."""
    find = getattr(policy, "beta_prior", None)
    found: BetaPrior | None = None if find is None else find()
    return found


def _check_samples(feedback: Feedback, ticket: Ticket) -> None:
    """Raise ``ValueError`` unless the feedback has the arms and pulls of the explorer's ticket."""
    pulls = feedback.pulls if feedback.pulls is not None else np.ones(len(feedback.arms), np.int64)
    if not np.array_equal(np.sort(feedback.arms), np.sort(ticket.super_arm)) or (pulls != ticket.pulls).any():
        raise ValueError(
            f"feedback must hold the {len(ticket)} arms of ticket {ticket.number} with {ticket.pulls} pulls"
            f" of each, got arms {shown(feedback.arms.tolist())} with pulls {shown(pulls.tolist())}"
        )


def support_of(policy: Policy[Any], declared: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the interval of valid outcomes: `declared`, or else the support of a policy that learns."""
    own = interval_of(policy.support) if policy.learns else None
    support = own if declared is None else declared
    if isinstance(policy, Explorer):
        _check_narrower(support, policy.support)
    return support


def _check_narrower(support: tuple[float, float] | None, widest: tuple[float, float] | None) -> None:
    """Raise ``ValueError`` unless `support` is within the interval for which the certificate is valid."""
    if (
        support is not None
        and widest is not None
        and not (widest[0] <= support[0] <= support[1] <= widest[1])
    ):
        raise ValueError(f"support must lie in the support of the explorer, {widest}, got {support}")


def interval_of(support: Any) -> tuple[float, float] | None:
    """Return `support` as a pair of increasing numbers, which may be infinite, or None."""
    if support is None:
        return None
    is_list = isinstance(support, Sequence | np.ndarray) and not isinstance(support, str | bytes)
    try:
        low, high = (float(end) for end in support) if is_list else (math.nan, math.nan)
    except (TypeError, ValueError, OverflowError):
        low, high = math.nan, math.nan
    if not low < high:
        raise ValueError(f"support must be a pair of increasing numbers (low, high), got {shown(support)}")
    return low, high
