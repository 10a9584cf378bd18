"""Propensities: the probabilities with which a policy chooses super arms, exact or by simulation."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.feedback import Context
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, check_policy_instance
from cmab.seeding import Seed, root
from cmab.validation import arm_indices, integer


@dataclass(frozen=True, eq=False)
class Propensity:
    """The probability with which a policy chooses a super arm in a given state and context.

    If the number of draws n is positive, h of n further calls of `select` chose this super arm, and `chance`
    is ``(h + 1) / (n + 1)``, which counts the super arm itself. For a chosen super arm of probability p, the
    expectation of ``1 / chance`` is ``(1 - (1 - p)**(n + 1)) / p``. An average of rewards weighted by
    ``1 / chance`` therefore misses a fraction ``(1 - p)**(n + 1)`` of the contribution of this super arm, and
    has no other bias.

    Attributes
    ----------
    chance : float
        The probability, exact or estimated.
    error : float
        The standard error of `chance`; 0 if it is exact.
    by_position : FloatArray, shape (size,)
        The probability with which each entry is chosen for its position in the super arm.
    draws : int
        The number of calls of `select`; 0 if the policy chooses this super arm with certainty.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab import estimate_propensity
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(3, k=1))
    >>> found = estimate_propensity(policy, policy.initial_state(), [0], rng=0)
    >>> found.chance, found.error, found.draws
    (1.0, 0.0, 0)

    References
    ----------
    Ours, by summation of the binomial series of ``(n + 1) / (h + 1)``.
    """

    chance: float
    error: float
    by_position: FloatArray
    draws: int


def estimate_propensity(
    policy: AnyPolicy,
    state: Any,
    super_arm: IntArray,
    context: Context | None = None,
    *,
    draws: int = 200,
    rng: Seed = None,
) -> Propensity:
    """Return the probability with which a policy chooses a super arm.

    The probability is exact if `select` draws no random numbers, or if the policy defines
    `Policy.propensity` for this round. Otherwise it is estimated from `draws` calls of `select` with other
    random numbers. Neither the state nor the generator of a session changes.

    Parameters
    ----------
    policy : Policy
        The policy.
    state : object
        Its state before the feedback of the round.
    super_arm : array_like of int
        The super arm that the policy chose in this state.
    context : Context, optional
        The context of the round.
    draws : int
        The number of calls of `select`, at least 1.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed of these calls. It must not be the generator that chose the super arm.

    Raises
    ------
    TypeError
        If `policy` is not a policy.
    ValueError
        If `draws` is less than 1, or `select` rejects the state or the context.

    Examples
    --------
    >>> from cmab import CTS, Session, estimate_propensity
    >>> from oracles import TopK
    >>> session = Session(CTS(TopK(3, k=1)), rng=0)
    >>> ticket = session.ask()
    >>> found = estimate_propensity(session.policy, session.state, ticket.super_arm, draws=1000, rng=1)
    >>> abs(found.chance - 1 / 3) < 4 * found.error
    True
    """
    check_policy_instance(policy)
    n = integer("draws", draws, 1)
    given = arm_indices("super_arm", super_arm, policy.oracle.n_choices)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
    before = pickle.dumps(generator)
    first = np.asarray(policy.select(state, generator, context))
    if pickle.dumps(generator) == before:
        # Without random numbers, every call returns this super arm.
        here, is_same = _compared(given, first)
        return Propensity(float(is_same), 0.0, here.astype(np.float64), 0)
    hits, at, drawn = 0, np.ones(len(given)), first
    for number in range(n):
        if number:
            drawn = np.asarray(policy.select(state, generator, context))
        here, is_same = _compared(given, drawn)
        hits, at = hits + is_same, at + here
    exact = policy.propensity(state, given, context)
    if exact is not None:
        return Propensity(float(exact), 0.0, at / (n + 1), n)
    chance = (hits + 1) / (n + 1)
    return Propensity(chance, math.sqrt(chance * (1.0 - chance) / n), at / (n + 1), n)


def _compared(given: IntArray, drawn: IntArray) -> tuple[BoolArray, bool]:
    """Return whether each entry of `given` is at its place in `drawn`, and whether they agree."""
    at = np.zeros(len(given), np.bool_)
    shared = min(len(given), len(drawn))
    at[:shared] = given[:shared] == drawn[:shared]
    return at, len(given) == len(drawn) and bool(at.all())


def uniform_chance(oracle: Oracle, super_arm: IntArray, context: Context | None) -> float | None:
    """Return the probability of a super arm if the oracle receives independent uniform means, or None.

    It is known if the oracle states that these super arms are equally probable, as for all sets of k arms.
    """
    if context is not None and (context.values is not None or context.costs is not None):
        return None
    free = available_in(oracle, context)
    family = oracle._uniform_family(free)
    if family is None:
        return None
    count, size = family
    if len(super_arm) != size or not free[super_arm].all() or not oracle.is_feasible(super_arm):
        return 0.0
    return 1.0 / count


def available_in(oracle: Oracle, context: Context | None) -> BoolArray:
    """Return whether each entry is available in a context."""
    if context is None or context.available is None:
        return np.ones(oracle.n_choices, np.bool_)
    return context.available


def chance_within(values: FloatArray, size: int, super_arm: IntArray, free: BoolArray, sign: float) -> float:
    """Return the probability of a set of the `size` best values if ties are broken uniformly at random.

    Parameters
    ----------
    values : FloatArray, shape (n_arms,)
        The values.
    size : int
        The number of arms of a super arm.
    super_arm : IntArray, shape (size,)
        The set.
    free : BoolArray, shape (n_arms,)
        Whether each arm is available.
    sign : float
        1 if large values are best, -1 if small ones are.
    """
    if len(super_arm) != size or not free[super_arm].all():
        return 0.0
    ranked = np.sort(sign * values[free])[::-1]
    last = ranked[size - 1]
    chosen = sign * values[super_arm]
    above, tied = int((ranked > last).sum()), int((ranked == last).sum())
    if int((chosen > last).sum()) != above or (chosen < last).any():
        return 0.0
    return 1.0 / math.comb(tied, size - above)
