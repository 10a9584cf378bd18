"""How much rewards move with their means."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cmab.validation import integer, real


@dataclass(frozen=True)
class Smoothness:
    """A bounded-smoothness function ``f(x) = gamma x**omega``.

    If no mean of an arm that a super arm may trigger moves by more than x, the expected reward of the super
    arm moves by at most f(x).

    Parameters
    ----------
    gamma : float
        Factor, positive.
    omega : float
        Exponent, in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from cmab.theory import Smoothness
    >>> Smoothness.linear(max_size=5).inverse(0.5)
    0.1

    References
    ----------
    Chen et al. (JMLR 2016), Definition 1 and Theorem 2; sections 4.1 to 4.3 for coverage, sums and
    independent cascades. Products, weights and linear thresholds are ours, by the proof of Lemma 6.
    """

    gamma: float
    omega: float = 1.0

    def __post_init__(self) -> None:
        real("gamma", self.gamma, 0.0, math.inf, inside=True)
        if real("omega", self.omega, 0.0, 1.0) == 0.0:
            raise ValueError("omega must lie in (0, 1], got 0")

    @classmethod
    def linear(cls, max_size: int, largest_weight: float = 1.0) -> Smoothness:
        """Return that of a weighted sum of at most `max_size` means: ``a_max L x``.

        A product of at most L probabilities has it too, with weight 1: one factor that moves by x moves the
        product by x at most. No smaller constant holds for either.

        Parameters
        ----------
        max_size : int
            L, the largest number of base arms in a super arm.
        largest_weight : float
            a_max, the largest weight of a mean, positive.
        """
        return cls(integer("max_size", max_size, 1) * real("largest_weight", largest_weight, 0.0))

    @classmethod
    def coverage(cls, total_weight: float) -> Smoothness:
        """Return that of probabilistic maximum coverage: ``W x``, the paper's ``|E| x`` where weights are 1.

        An edge whose probability moves by x moves what is covered by the weight of its end times x at most.

        Parameters
        ----------
        total_weight : float
            W, the largest weight at the ends of all edges of a super arm, each end counted as often as it has
            edges; no smaller constant holds. Any larger number does, such as the weight at all edges.
        """
        return cls(real("total_weight", total_weight, 0.0))

    @classmethod
    def influence(cls, n_edges: int, total_weight: float) -> Smoothness:
        """Return that of influence: ``|E| W x``, the ``|E| |V| x`` of Lemma 6 where nodes are worth 1.

        For independent cascades, and for linear thresholds among means that the model allows. An edge whose
        mean moves by x is live in other worlds with probability x at most, and in each of these worlds other
        nodes are active, worth W at most. Edges change one by one: first those whose mean falls, then those
        whose mean rises, so that no sum of thresholds exceeds both of those between which the means move.

        Parameters
        ----------
        n_edges : int
            Number of directed edges, the base arms.
        total_weight : float
            W, what all nodes are worth together: their number where each is worth 1.
        """
        return cls(integer("n_edges", n_edges, 1) * real("total_weight", total_weight, 0.0))

    def __call__(self, x: float) -> float:
        """Return f(x)."""
        return float(self.gamma * x**self.omega)

    def inverse(self, gap: float) -> float:
        """Return the x with f(x) = `gap`."""
        return float((gap / self.gamma) ** (1.0 / self.omega))
