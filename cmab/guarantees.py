"""What oracles guarantee: the smoothness of rewards, and certificates that prove a bound on the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cmab import parameters as declared
from cmab.arrays import IntArray
from cmab.validation import integer, real


@dataclass(frozen=True)
class Smoothness(declared.Declared):
    """A bounded-smoothness function ``f(x) = gamma x**omega``, and a constant modulated by triggering.

    If the mean of each arm that a super arm may trigger changes by at most x, the expected reward of the
    super arm changes by at most f(x). The expected reward also changes by at most B times the sum over all
    arms of the probability that the arm is triggered times the change of its mean. The probabilities are
    those under the means before the change.

    Parameters
    ----------
    gamma : float
        The factor, positive.
    omega : float
        The exponent, in (0, 1].
    modulated : float, optional
        The constant B above, positive; None if no constant is known.

    Examples
    --------
    >>> from cmab import Smoothness
    >>> Smoothness.linear(max_size=5).inverse(0.5)
    0.1

    References
    ----------
    Chen et al. (JMLR 2016), Definition 1 and Theorem 2; sections 4.1 to 4.3 for coverage, sums and
    independent cascade. The constants for products, weights and linear thresholds are derived here, by the
    proof of Lemma 6.
    Q. Wang, W. Chen: Improving Regret Bounds for Combinatorial Semi-Bandits with Probabilistically Triggered
    Arms and Its Applications, NIPS 2017, for B (1-norm triggering-probability-modulated smoothness).
    """

    gamma: float = field(metadata=declared.real(0.0, inside=True))
    omega: float = field(default=1.0, metadata=declared.real(0.0, 1.0))
    modulated: float | None = field(default=None, metadata=declared.real(0.0, inside=True, optional=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.omega == 0.0:
            raise ValueError("omega must lie in (0, 1], got 0")

    @classmethod
    def linear(cls, max_size: int, largest_weight: float = 1.0) -> Smoothness:
        """Return the smoothness of weighted sums of at most `max_size` means: ``a_max L x``, and B = a_max.

        The product of at most L probabilities has the same smoothness, with weight 1, because a change of one
        factor by x changes the product by at most x. No smaller constant holds for sums or products.

        Parameters
        ----------
        max_size : int
            L, the largest number of base arms in a super arm.
        largest_weight : float
            a_max, the largest weight of a mean, positive.
        """
        weight = real("largest_weight", largest_weight, 0.0)
        return cls(integer("max_size", max_size, 1) * weight, modulated=weight)

    @classmethod
    def coverage(cls, total_weight: float, largest_weight: float | None = None) -> Smoothness:
        """Return the smoothness of probabilistic maximum coverage: ``W x``, and B is the largest weight.

        The paper has ``|E| x`` for weights of 1. If the probability of an edge changes by x, the covered
        weight changes by at most x times the weight of the edge's end.

        Parameters
        ----------
        total_weight : float
            W, the largest total weight of the ends of all edges of a super arm, where each end counts once
            for each of its edges. No smaller constant holds. A larger number is valid as well, such as the
            total over all edges.
        largest_weight : float, optional
            B, the largest weight of a node. If omitted, `total_weight`.
        """
        total = real("total_weight", total_weight, 0.0)
        largest = total if largest_weight is None else real("largest_weight", largest_weight, 0.0)
        return cls(total, modulated=largest)

    @classmethod
    def influence(cls, n_edges: int, total_weight: float) -> Smoothness:
        """Return the smoothness of influence: ``|E| W x``, or ``|E| |V| x`` (Lemma 6) for nodes of weight 1.

        The bound holds for independent cascades, and for linear thresholds between means that the model
        allows. If the mean of an edge changes by x, the edge changes its liveness with probability at most x,
        and then the total weight of the active nodes changes by at most W. The edges change one by one: first
        the decreasing means, then the increasing means. So no sum of means at a node exceeds both
        of its sums before and after the whole change.

        For independent cascades, B is W as well. Let both worlds use the same uniform number for each edge. A
        node that is active in only one of them is reached there by a path. Before the first edge of the path
        that is live in one world only, all edges are live in both worlds. So the tail of that edge is active
        in both worlds, and this does not depend on the edge's own number.

        Parameters
        ----------
        n_edges : int
            The number of directed edges, which are the base arms.
        total_weight : float
            W, the total weight of all nodes: their number if each has weight 1.
        """
        total = real("total_weight", total_weight, 0.0)
        return cls(integer("n_edges", n_edges, 1) * total, modulated=total)

    def __call__(self, x: float) -> float:
        """Return f(x)."""
        return float(self.gamma * x**self.omega)

    def inverse(self, gap: float) -> float:
        """Return the x for which f(x) equals `gap`."""
        return float((gap / self.gamma) ** (1.0 / self.omega))


@dataclass(frozen=True, eq=False)
class SolverCertificate:
    """A super arm and a proved bound on the optimum.

    Parameters
    ----------
    super_arm : IntArray, shape (size,)
        The base arms, in increasing order.
    value : float
        The reward (for linear oracles, the sum of the means) of the super arm.
    bound : float
        An upper bound on the value of every super arm (a lower bound for costs), proved up to the tolerances
        of the oracle. If the call had no time to prove a better bound, this is the sum of all positive
        (negative) means.
    certified : bool
        Whether the super arm is optimal, up to the oracle's `gap`. For an oracle with another declared
        `alpha`, whether this `alpha` is proved. It is false only if a limit ended the search.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import Knapsack
    >>> oracle = Knapsack(weights=[1, 2, 1], capacity=2)
    >>> answer = oracle.solve_certified(np.array([0.25, 0.75, 0.25]), np.random.default_rng(0))
    >>> answer.super_arm, answer.value, answer.bound, answer.certified, answer.ratio
    (array([1]), 0.75, 0.75, True, 1.0)
    """

    super_arm: IntArray
    value: float
    bound: float
    certified: bool

    @property
    def gap(self) -> float:
        """The largest possible loss of the super arm, ``abs(bound - value)``, in the units of the means."""
        return 0.0 if self.bound == self.value else abs(self.bound - self.value)

    @property
    def ratio(self) -> float:
        """The approximation ratio that this call proved, ``value / bound``.

        The value is at least `ratio` times the optimum (for costs, at most). It is at most 1 for rewards and
        at least 1 for costs. For costs, it is infinite if the bound is not positive. It is ``nan`` if the
        signs allow no ratio: if the value of a reward or the bound and the value of a cost are negative, and
        they differ.
        """
        return proved_ratio(self.value, self.bound)


def proved_ratio(value: float, bound: float) -> float:
    """Return the ratio that `value` and a bound on the optimum prove; see `SolverCertificate.ratio`.

    Parameters
    ----------
    value : float
        The reward or cost of a super arm.
    bound : float
        An upper bound on all rewards, so at least `value`; or a lower bound on all costs, so at most `value`.

    Returns
    -------
    float

    Examples
    --------
    >>> from cmab.guarantees import proved_ratio
    >>> proved_ratio(3.0, 4.0), proved_ratio(5.0, 4.0), proved_ratio(0.0, 0.0), proved_ratio(1.0, 0.0)
    (0.75, 1.25, 1.0, inf)
    """
    if value == bound:
        return 1.0
    if bound > value:
        return value / bound if value >= 0.0 else math.nan
    if bound > 0.0:
        return value / bound
    return math.inf if value > 0.0 else math.nan
