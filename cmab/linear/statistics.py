"""Ridge regression: the state of learners with features."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.linear.choice import choice_mode
from cmab.linear.factors import cholesky, inverses, solve_definite
from cmab.linear.logistic import expected, posterior_mode
from cmab.statistics import count
from cmab.validation import integer, real, shown

# Number of rows per block. A block and its product fit into the processor's cache.
BLOCK = 8192
# 2 GiB. Every round makes some copies of the state.
MOST_NUMBERS = 2**28
# One lock, as in `cmab.statistics`, so that concurrent updates are not lost.
_WRITING = threading.Lock()


class Posterior(NamedTuple):
    """The estimates of a regression: ``theta``, shape (groups, d), and ``roots`` W, shape (groups, d, d).

    The inverse of the precision is ``W^T W``, where W is the inverse of its lower Cholesky factor.
    """

    theta: FloatArray
    roots: FloatArray

    def means(self, features: FloatArray, group: IntArray | None = None) -> FloatArray:
        """Return ``x . theta`` for each row x of `features`, with the theta of its group."""
        if group is not None:
            return _row_sums(features, self.theta[group])
        # In the type of the features: numpy would first copy features of single precision.
        means: FloatArray = (features @ self.theta[0].astype(features.dtype)).astype(np.float64, copy=False)
        return means

    def widths(self, features: FloatArray, group: IntArray | None = None) -> FloatArray:
        """Return ``sqrt(x . V^-1 x)`` for each row x of `features`, with the precision V of its group."""
        if group is not None:
            turned_rows = np.einsum("ij,ikj->ik", features, self.roots[group])
            return np.sqrt(_row_sums(turned_rows, turned_rows))
        # In the type of the features, as in `means`.
        squares, turned = np.empty(len(features), features.dtype), self.roots[0].T.astype(features.dtype)
        # In blocks, because a product of the whole matrix would pass through memory three times.
        for start in range(0, len(features), BLOCK):
            rows = features[start : start + BLOCK] @ turned
            np.einsum("ij,ij->i", rows, rows, out=squares[start : start + BLOCK])
        return np.sqrt(squares, out=squares).astype(np.float64, copy=False)

    def draw(self, scale: float, rng: np.random.Generator) -> FloatArray:
        """Return a draw from ``N(theta, scale^2 V^-1)`` for each group, shape (groups, d).

        The draw uses the Cholesky factor. This factor is unique, unlike eigenvectors, so a seed gives the
        same draw, up to rounding, with every linear algebra library.
        """
        z = rng.standard_normal(self.theta.shape)
        drawn: FloatArray = self.theta + scale * np.einsum("gij,gi->gj", self.roots, z)
        return drawn


def _parts(group: IntArray | None) -> Iterator[tuple[int, Any]]:
    """Yield the number of each group that has rows, and an index of its rows."""
    if group is None:
        yield 0, slice(None)
    else:
        yield from ((number, group == number) for number in np.unique(group).tolist())


def check_size(dimension: object, n_groups: int) -> int:
    """Return `dimension` as an ``int``. Raise ``ValueError`` if the arrays would not fit into memory."""
    d = integer("dimension", dimension, 1)
    if n_groups * d * d > MOST_NUMBERS:
        raise ValueError(
            f"dimension must be at most {math.isqrt(MOST_NUMBERS // n_groups)} with {n_groups} group(s),"
            f" because each has dimension x dimension numbers, got {d}"
        )
    return d


def _row_sums(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the dot product of each row of `one` with the same row of `other`."""
    sums: FloatArray = np.einsum("ij,ij->i", one, other)
    return sums


@dataclass(eq=False, repr=False)
class LinearStatistics:
    """Precision and moment of ridge regressions, one for each group of arms.

    For features x and outcomes y of weight w, the precision is ``V = ridge I + sum of w x x^T``, the moment
    is ``b = sum of w y x``, and the estimate is ``V^-1 b``.

    The ridge shrinks all coefficients towards 0, including that of a column of ones (a bias). After n
    outcomes with mean y, such a column alone estimates ``n y / (n + ridge)``. If outcomes are far from 0,
    subtract their typical size before you report them, or use a column with the constant c > 1. The ridge of
    this column is then effectively divided by ``c^2``.

    A ridge below the rounding error of V (about 1e-16 of its trace) has no effect. If V is then not positive
    definite, posteriors use a ridge of the size of this error.

    Only `update` and its variants change these statistics.

    Attributes
    ----------
    precision : FloatArray, shape (groups, d, d)
        The matrix V of each group, positive definite.
    moment : FloatArray, shape (groups, d)
        The vector b of each group.
    rounds : int
        Number of rounds with feedback.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import LinearStatistics
    >>> stats = LinearStatistics.empty(2, ridge=1.0)
    >>> stats.update(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 0.0]))
    >>> stats.posterior().theta
    array([[ 0.4, -0.2]])
    """

    precision: FloatArray
    moment: FloatArray
    rounds: int = 0

    @classmethod
    def empty(cls, dimension: int, n_groups: int = 1, *, ridge: float = 1.0) -> Self:
        """Return the statistics before the first outcome.

        Raises
        ------
        ValueError
            If a size is less than 1, `ridge` is not positive, or there would be more than 2^28 numbers.
        """
        n = integer("n_groups", n_groups, 1)
        d = check_size(dimension, n)
        identity = np.broadcast_to(np.eye(d), (n, d, d))
        return cls(real("ridge", ridge, 0.0, inside=True) * identity, np.zeros((n, d)))

    def __repr__(self) -> str:
        groups, d = self.moment.shape
        return f"{type(self).__name__}(dimension={d}, groups={groups}, rounds={self.rounds})"

    def update(
        self,
        features: FloatArray,
        outcomes: FloatArray,
        group: IntArray | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        """Add the outcomes of one round.

        Parameters
        ----------
        features : FloatArray, shape (n, d)
            Features of the observed arms.
        outcomes : FloatArray, shape (n,)
            Their outcomes.
        group : IntArray, shape (n,), optional
            The group of each arm. If omitted, all are in group 0.
        weights : FloatArray, shape (n,), optional
            The weight of each outcome, at least 0. If omitted, all weights are 1.
        """
        rows = features if weights is None else features * np.sqrt(weights)[:, None]
        told = outcomes if weights is None else outcomes * np.sqrt(weights)
        with _WRITING:
            for number, own in _parts(group):
                # The product of an array with its own transpose is exactly symmetric.
                self.precision[number] += rows[own].T @ rows[own]
                self.moment[number] += told[own] @ rows[own]
            self.rounds += 1

    def update_logistic(
        self,
        features: FloatArray,
        outcomes: FloatArray,
        group: IntArray | None = None,
        *,
        is_diagonal: bool = False,
    ) -> None:
        """Add the outcomes of one round, in [0, 1], with means ``1 / (1 + exp(-x . theta))``.

        The prior is ``N(V^-1 b, V^-1)``. It is replaced by the Laplace approximation of the posterior: V^-1 b
        becomes the posterior mode, and V becomes the Hessian of minus the log-posterior at the mode.

        Parameters
        ----------
        features, outcomes, group
            As in `update`.
        is_diagonal : bool
            Whether only the diagonal of the Hessian is added to V.
        """
        with _WRITING:
            for number, own in _parts(group):
                rows, prior = features[own], self.precision[number]
                centre = solve_definite(prior, self.moment[number])
                theta = posterior_mode(prior, centre, rows, outcomes[own])
                means = expected(rows @ theta)
                scaled = rows * np.sqrt(means * (1.0 - means))[:, None]
                # Chapelle and Li (2011), Algorithm 3: q_i += sum of x_ij^2 p_j (1 - p_j), the diagonal.
                prior += np.diag((scaled**2).sum(axis=0)) if is_diagonal else scaled.T @ scaled
                self.moment[number] = prior @ theta
            self.rounds += 1

    def update_choice(self, features: FloatArray, chosen: FloatArray) -> None:
        """Add one round in which at most one item was chosen: multinomial logit with utilities ``x . theta``.

        The prior ``N(V^-1 b, V^-1)`` is replaced by the Laplace approximation of the posterior, as in
        `update_logistic`. There must be only one group.

        Parameters
        ----------
        features : FloatArray, shape (n, d)
            Features of the items of the assortment.
        chosen : FloatArray, shape (n,)
            1 for the chosen item, 0 for the others; all 0 if no item was chosen.
        """
        with _WRITING:
            if len(features):
                prior = self.precision[0]
                centre = solve_definite(prior, self.moment[0])
                theta, gained = choice_mode(prior, centre, features, chosen)
                prior += gained
                self.moment[0] = prior @ theta
            self.rounds += 1

    def posterior(self) -> Posterior:
        """Return the estimates and the roots of the inverse precisions."""
        # The condition number of the factor is the square root of that of V, so half as many digits are lost.
        roots = inverses(cholesky(self.precision))
        theta = np.einsum("gij,gi->gj", roots, np.einsum("gij,gj->gi", roots, self.moment))
        return Posterior(theta, roots)

    def check_layout(self, n_groups: int, dimension: int) -> None:
        """Raise unless the arrays have the shapes for these groups and this dimension.

        Raises
        ------
        ValueError
            If an array has a wrong shape or type.
        """
        shapes = {"precision": (n_groups, dimension, dimension), "moment": (n_groups, dimension)}
        for name, shape in shapes.items():
            array: object = getattr(self, name)
            is_right = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
            if not is_right:
                raise ValueError(f"state.{name} must be floats of shape {shape}, got {shown(array)}")

    def check(self, fresh: Self) -> None:
        """Raise if no feedback leads to these statistics, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If a size is wrong, or if a precision is not symmetric or smaller than that of `fresh`.
        """
        self.check_layout(*fresh.moment.shape)
        count("rounds", self.rounds)
        gained = self.precision - fresh.precision
        finite = np.isfinite(self.precision).all() and np.isfinite(self.moment).all()
        if not finite or not np.array_equal(gained, gained.transpose(0, 2, 1)):
            raise ValueError("precision must be symmetric, and all numbers must be finite")
        # Tolerance for the rounding of the sums.
        slack = 1e-9 * (1.0 + np.abs(gained).max())
        if np.linalg.eigvalsh(gained).min() < -slack:
            raise ValueError("precision must be at least the precision before the first outcome")
        if self.rounds == 0 and (gained.any() or not np.array_equal(self.moment, fresh.moment)):
            raise ValueError("rounds must be positive because there are outcomes, got 0")
