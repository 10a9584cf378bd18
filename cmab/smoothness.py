"""How much rewards move with their means."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab import declared
from cmab.validation import integer, real


@dataclass(frozen=True)
class Smoothness(declared.Declared):
    """A bounded-smoothness function ``f(x) = gamma x**omega``, and the constant modulated by triggering.

    If no mean of an arm that a super arm may trigger moves by more than x, the expected reward of the super
    arm moves by at most f(x). It also moves by at most B times the sum, over all arms, of the probability
    that the arm is triggered times what its mean moves by. The probabilities are those under the means
    before the move.

    Parameters
    ----------
    gamma : float
        Factor, positive.
    omega : float
        Exponent, in (0, 1].
    modulated : float, optional
        The B above, positive; None where none is known.

    Examples
    --------
    >>> from cmab.theory import Smoothness
    >>> Smoothness.linear(max_size=5).inverse(0.5)
    0.1

    References
    ----------
    Chen et al. (JMLR 2016), Definition 1 and Theorem 2; sections 4.1 to 4.3 for coverage, sums and
    independent cascades. Products, weights and linear thresholds are ours, by the proof of Lemma 6.
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
        """Return that of a weighted sum of at most `max_size` means: ``a_max L x``, and B = a_max.

        A product of at most L probabilities has it too, with weight 1: one factor that moves by x moves the
        product by x at most. No smaller constant holds for either.

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
        """Return that of probabilistic maximum coverage: ``W x``, the paper's ``|E| x`` where weights are 1.

        An edge whose probability moves by x moves what is covered by the weight of its end times x at most,
        so that B is the largest weight.

        Parameters
        ----------
        total_weight : float
            W, the largest weight at the ends of all edges of a super arm, each end counted as often as it has
            edges; no smaller constant holds. Any larger number does, such as the weight at all edges.
        largest_weight : float, optional
            B, the largest weight of a node; `total_weight` if left out.
        """
        total = real("total_weight", total_weight, 0.0)
        largest = total if largest_weight is None else real("largest_weight", largest_weight, 0.0)
        return cls(total, modulated=largest)

    @classmethod
    def influence(cls, n_edges: int, total_weight: float) -> Smoothness:
        """Return that of influence: ``|E| W x``, the ``|E| |V| x`` of Lemma 6 where nodes are worth 1.

        For independent cascades, and for linear thresholds among means that the model allows. An edge whose
        mean moves by x is live in other worlds with probability x at most, and in each of these worlds other
        nodes are active, worth W at most. Edges change one by one: first those whose mean falls, then those
        whose mean rises, so that no sum of thresholds exceeds both of those between which the means move.

        For independent cascades B is W, too. Let both worlds share a uniform number for each edge. A node
        that is active in one of them only is reached there over a path; before the first edge of it that is
        live in one world only, all edges are live in both. So the tail of that edge is active in both, which
        does not depend on the edge's own number.

        Parameters
        ----------
        n_edges : int
            Number of directed edges, the base arms.
        total_weight : float
            W, what all nodes are worth together: their number where each is worth 1.
        """
        total = real("total_weight", total_weight, 0.0)
        return cls(integer("n_edges", n_edges, 1) * total, modulated=total)

    def __call__(self, x: float) -> float:
        """Return f(x)."""
        return float(self.gamma * x**self.omega)

    def inverse(self, gap: float) -> float:
        """Return the x with f(x) = `gap`."""
        return float((gap / self.gamma) ** (1.0 / self.omega))
