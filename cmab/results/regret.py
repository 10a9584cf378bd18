"""(alpha, beta)-approximation regret."""

from __future__ import annotations

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.validation import shown


def benchmark(oracle: Oracle, optimum: float) -> float:
    """Return the benchmark of the (alpha, beta)-approximation regret for a round.

    It is ``alpha * beta * optimum`` for rewards. For costs it is ``alpha * optimum`` with alpha >= 1; because
    a failure probability has no agreed meaning for costs, beta must be 1.

    Raises
    ------
    ValueError
        If the oracle minimises and declares ``beta < 1`` or ``alpha < 1``.
    """
    # Definition 4: alpha * beta * opt per round.
    if oracle.sense == "max":
        return oracle.alpha * oracle.beta * optimum
    if oracle.beta != 1.0 or oracle.alpha < 1.0:
        raise ValueError(
            "an oracle that minimises must declare alpha >= 1 and beta = 1, got"
            f" alpha={oracle.alpha}, beta={oracle.beta} from {shown(oracle)}"
        )
    return oracle.alpha * optimum


def cumulative_regret(
    earned: FloatArray, rounds: IntArray | FloatArray, *, per_round: float, sense: str
) -> FloatArray:
    """Return the regret after each of `rounds`, from expected (not realised) rewards.

    Parameters
    ----------
    earned : FloatArray, shape (..., C)
        Cumulative expected rewards (or costs) of the super arms played.
    rounds : IntArray, shape (C,), or FloatArray, shape (..., C)
        Numbers of rounds. If rounds differ, the cumulative sums of their optima.
    per_round : float
        The benchmark per round. If rounds differ, the share of the optimum that is the benchmark.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised.

    References
    ----------
    Chen et al. (JMLR 2016), Definition 4.
    """
    difference = rounds * per_round - earned
    return difference if sense == "max" else -difference
