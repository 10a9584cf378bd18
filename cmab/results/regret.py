"""(alpha, beta)-approximation regret."""

from __future__ import annotations

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.validation import shown


def benchmark(oracle: Oracle, optimum: float) -> float:
    """Return what the oracle's guarantee promises for a round played with the true means.

    ``alpha * beta * optimum`` for rewards. For costs, ``alpha * optimum`` with alpha >= 1; a failure
    probability has no agreed meaning there and is refused.

    Raises
    ------
    ValueError
        If the oracle minimises and declares ``beta < 1`` or ``alpha < 1``.
    """
    # Definition 4: alpha beta opt a round.
    if oracle.sense == "max":
        return oracle.alpha * oracle.beta * optimum
    if oracle.beta != 1.0 or oracle.alpha < 1.0:
        raise ValueError(
            "an oracle for costs must declare alpha >= 1 and beta = 1, got"
            f" alpha={oracle.alpha}, beta={oracle.beta} from {shown(oracle)}"
        )
    return oracle.alpha * optimum


def cumulative_regret(
    earned: FloatArray, rounds: IntArray | FloatArray, *, per_round: float, sense: str
) -> FloatArray:
    """Return the regret after each of `rounds` against `per_round`, never from realised rewards.

    Parameters
    ----------
    earned : FloatArray, shape (..., C)
        Cumulative *expected* rewards (or costs) of the super arms played.
    rounds : IntArray, shape (C,), or FloatArray, shape (..., C)
        Numbers of rounds; where rounds differ, sums of their optima.
    per_round : float
        The benchmark of a round; where rounds differ, the share of their optima.
    sense : {"max", "min"}
        Sense of the oracle.

    References
    ----------
    Chen et al. (JMLR 2016), Definition 4.
    """
    difference = rounds * per_round - earned
    return difference if sense == "max" else -difference
