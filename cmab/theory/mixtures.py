"""The best mixture of super arms within budgets, by linear programming."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.validation import check_vector, real_array, shown, vector

#: Least gain (reward minus price) of a super arm that is added, relative to the value.
_GAIN = 1e-9


class Mixture(NamedTuple):
    """The best mixture of super arms within an allowance.

    Attributes
    ----------
    value : float
        Expected reward per round.
    super_arms : tuple of IntArray
        The super arms of the mixture, at most one more than there are resources.
    shares : FloatArray, shape (number of super arms,)
        Share of the rounds in which each super arm is played. In the other rounds, nothing is played.
    prices : FloatArray, shape (n_resources,)
        Increase of the value per additional unit of each resource per round (Lagrange multipliers).

    Examples
    --------
    >>> from cmab.theory import best_mixture
    >>> from oracles import TopK
    >>> best_mixture(TopK(2, k=1), [0.9, 0.3], [[1.0, 0.1]], [0.5]).prices.round(3)
    array([0.667])
    """

    value: float
    super_arms: tuple[IntArray, ...]
    shares: FloatArray
    prices: FloatArray


def best_mixture(oracle: LinearOracle, means: ArrayLike, costs: ArrayLike, allowance: ArrayLike) -> Mixture:
    """Return the best mixture of super arms with a mean consumption of each resource within its allowance.

    It is the benchmark of bandits with knapsacks: with budgets of T times the allowance, the expected reward
    of any policy in T rounds is at most T times the value. The linear program has a column for each super
    arm. Columns are generated one by one, as long as the oracle finds a super arm with a reward above its
    price.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. The oracle must be exact and maximise.
    means : array_like, shape (n_arms,)
        Mean rewards of the base arms.
    costs : array_like, shape (n_resources, n_arms)
        Mean consumption of each resource by each base arm.
    allowance : array_like, shape (n_resources,)
        Allowed mean consumption of each resource per round.

    Returns
    -------
    Mixture

    Raises
    ------
    ValueError
        If the oracle is not linear, is not exact or minimises, or if the shape of an array is wrong.

    Examples
    --------
    >>> from cmab.theory import best_mixture
    >>> from oracles import TopK
    >>> best = best_mixture(TopK(2, k=1), [0.9, 0.3], [[1.0, 0.1]], [0.5])
    >>> round(best.value, 3), [arm.tolist() for arm in best.super_arms], best.shares.round(3)
    (0.567, [[0], [1]], array([0.444, 0.556]))

    References
    ----------
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013, section 2 (the linear
    program and its dual).
    """
    from scipy.optimize import linprog

    if not (oracle.is_linear and oracle.is_exact and oracle.sense == "max"):
        raise ValueError(f"oracle must be linear, exact and maximise rewards, got {shown(oracle)}")
    worth, limits = vector("means", means, oracle.n_arms), vector("allowance", allowance, None, 0.0)
    uses = real_array("costs", costs)
    if not len(limits) or uses.shape != (len(limits), oracle.n_arms):
        raise ValueError(f"costs must have shape {(len(limits), oracle.n_arms)}, got {uses.shape}")
    check_vector("costs", uses.ravel(), None, 0.0)
    # At the start nothing is played, and all prices are 0.
    found: list[IntArray] = []
    value, prices, threshold = 0.0, np.zeros(len(limits)), 0.0
    shares = np.empty(0)
    while True:
        best = oracle.solve(worth - prices @ uses, np.random.default_rng(0))
        gain = float((worth - prices @ uses)[best].sum()) - threshold
        if gain <= _GAIN * (1.0 + abs(value)) or any(np.array_equal(best, other) for other in found):
            break
        found.append(np.sort(best))
        # max sum_S x_S mu(S), subject to sum_S x_S c_r(S) <= B_r / T for each r, and sum_S x_S <= 1.
        rows = np.array([[use[each].sum() for each in found] for use in uses] + [[1.0] * len(found)])
        master = linprog(
            [-float(worth[each].sum()) for each in found], A_ub=rows, b_ub=[*limits, 1.0], method="highs"
        )
        assert master.fun is not None  # the program is feasible, because all shares may be 0
        assert master.x is not None
        value, shares = -float(master.fun), master.x
        prices, threshold = -master.ineqlin.marginals[:-1], -float(master.ineqlin.marginals[-1])
    mixed = np.flatnonzero(shares > 0.0)
    return Mixture(value, tuple(found[i] for i in mixed), shares[mixed], prices)
