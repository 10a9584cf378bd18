"""Ridge regression and logistic models: features, factors, Newton steps, and the states of their learners."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import as_array, integer, real, real_array, shown


def checked_features(
    name: str, features: ArrayLike, n_arms: int, dimension: int | None, norm: float
) -> FloatArray:
    """Return features as an array of shape (n_arms, dimension) with finite rows of norm at most `norm`.

    Parameters
    ----------
    name : str
        Name of the argument in error messages.
    features : array_like, shape (n_arms, d)
        One row for each arm.
    n_arms : int
        Number of arms.
    dimension : int or None
        The required d; None for any d of at least 1.
    norm : float
        Largest Euclidean norm of a row.

    Raises
    ------
    ValueError
        If the shape is wrong, an entry is not finite, or the norm of a row exceeds `norm`.

    Examples
    --------
    >>> from cmab.linear import checked_features
    >>> checked_features("features", [[3, 4]], 1, None, 1.0)
    Traceback (most recent call last):
        ...
    ValueError: features must have norms of at most norm=1, got 5 of arm 0: divide all by it, or set norm=5
    """
    array = real_array(name, features)
    wanted = "d" if dimension is None else dimension
    fits = array.ndim == 2 and array.shape[0] == n_arms and array.shape[1] > 0
    if not fits or (dimension is not None and array.shape[1] != dimension):
        raise ValueError(f"{name} must have shape ({n_arms}, {wanted}), got {array.shape}")
    squares = np.einsum("ij,ij->i", array, array)
    # Tolerate rounding: features that were divided by their own norms have norm 1. The comparison is also
    # false for nan and infinite entries.
    if not squares.max(initial=0.0) <= norm * norm * (1.0 + 1e-9):
        raise _refusal(name, array, squares, norm)
    return array


def _refusal(name: str, array: FloatArray, squares: FloatArray, norm: float) -> ValueError:
    wrong = array[~np.isfinite(array)]
    if len(wrong):
        return ValueError(f"{name} must be finite, got {float(wrong[0])}")
    arm = int(np.argmax(squares))
    size = math.hypot(*array[arm].tolist())
    return ValueError(
        f"{name} must have norms of at most norm={norm:g}, got {size:.6g} of arm {arm}: divide all by it, or"
        f" set norm={size:.6g}"
    )


def checked_groups(group: ArrayLike | None, n_arms: int) -> IntArray | None:
    """Return the group of each arm as consecutive integers from 0, or None if all arms form one group.

    Parameters
    ----------
    group : array_like of int, shape (n_arms,), or None
        Numbers of the groups, from 0.
    n_arms : int
        Number of arms.

    Raises
    ------
    ValueError
        If the shape or type is wrong, or a number between 0 and the largest one is missing.

    Examples
    --------
    >>> from cmab.linear import checked_groups
    >>> checked_groups([0, 1, 0], 3)
    array([0, 1, 0])
    """
    if group is None:
        return None
    array = as_array("groups", group)
    is_right = array.shape == (n_arms,) and array.dtype.kind in "iu"
    if not is_right or not np.array_equal(np.unique(array), np.arange(int(array.max()) + 1)):
        raise ValueError(
            f"groups must be one integer for each of {n_arms} arms, from 0 without gaps, got {shown(group)}"
        )
    numbers = array.astype(np.int64)
    numbers.setflags(write=False)
    return numbers


# From this number of features, or below this number of groups, one LAPACK call for each matrix is faster than
# one batched solve.
_LARGE, _FEW = 8, 25


def cholesky(precision: FloatArray) -> Any:
    """Return the lower Cholesky factors. Increase the ridge if rounding has made a matrix indefinite."""
    room: Any = None
    while True:
        try:
            return np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            if not np.isfinite(precision).all():
                raise
            if room is None:
                traces = np.trace(precision, axis1=1, axis2=2)[:, None, None]
                room = np.finfo(float).eps * traces * np.eye(precision.shape[-1])
            precision, room = precision + room, 4.0 * room


def solve_definite(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return x such that ``matrix @ x = right``, for one matrix and one vector."""
    from scipy.linalg import cho_solve

    factor = cholesky(matrix[None])[0]
    solved: FloatArray = np.asarray(cho_solve((factor, True), right, check_finite=False), np.float64)
    return solved


def inverses(factors: FloatArray) -> FloatArray:
    """Return the inverses of lower triangular matrices, shape (groups, d, d).

    The entries above the diagonal are exactly 0.
    """
    n, d = factors.shape[:2]
    if d < _LARGE and n >= _FEW:
        solved: Any = np.linalg.solve(factors, np.broadcast_to(np.eye(d), factors.shape))
        return np.tril(solved)  # drop rounding errors above the diagonal
    from scipy.linalg.lapack import dtrtri

    # A ninth of the operations of a general solve, because the factors are triangular.
    inverted = np.empty_like(factors)
    for number in range(n):
        inverted[number] = dtrtri(factors[number], lower=1)[0]
    return inverted


_MOST_STEPS = 100


def minimum(
    loss: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
) -> FloatArray:
    """Return the minimiser of a strictly convex function, up to rounding.

    Parameters
    ----------
    loss : callable
        The function of an array of shape (d,).
    derivatives : callable
        Its gradient, shape (d,), and its Hessian, shape (d, d), which must be positive definite.
    start : FloatArray, shape (d,)
        The starting point.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear import minimum
    >>> def derivatives(x):
    ...     return np.sinh(x), np.diag(np.cosh(x))
    >>> minimum(lambda x: float(np.cosh(x[0])), derivatives, np.full(1, 2.0)).round(6) + 0.0
    array([0.])
    """
    theta, now = start, loss(start)
    for _ in range(_MOST_STEPS):
        slope, curvature = derivatives(theta)
        step = solve_definite(curvature, slope)
        gain, length = float(slope @ step), 1.0
        # Far from the minimum the Hessian changes, and a full step may overshoot: shorten the step.
        while (then := loss(theta - length * step)) > now - 0.25 * length * gain and length > 1e-9:
            length /= 2.0
        if not then < now:
            break
        theta, now = theta - length * step, then
        if gain < 1e-14 * (1.0 + abs(now)):
            break
    return theta


def expected(scores: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-score))`` without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear import expected
    >>> expected(np.array([-1e9, 0.0]))
    array([0. , 0.5])
    """
    means: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return means


def posterior_mode(
    precision: FloatArray, centre: FloatArray, rows: FloatArray, outcomes: FloatArray
) -> FloatArray:
    """Return the posterior mode of the coefficients for the prior ``N(centre, precision^-1)``.

    Parameters
    ----------
    precision : FloatArray, shape (d, d)
        Precision of the prior, positive definite.
    centre : FloatArray, shape (d,)
        Mean of the prior.
    rows : FloatArray, shape (n, d)
        Features of the observed arms.
    outcomes : FloatArray, shape (n,)
        Their outcomes, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear import posterior_mode
    >>> posterior_mode(np.eye(1), np.zeros(1), np.ones((3, 1)), np.ones(3)).round(4)
    array([0.8797])
    """

    def loss(theta: FloatArray) -> float:
        # Chapelle and Li (2011), Algorithm 3, with outcomes 0 and 1 instead of -1 and 1.
        away, scores = theta - centre, rows @ theta
        return float(0.5 * away @ precision @ away + (np.logaddexp(0.0, scores) - outcomes * scores).sum())

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        means = expected(rows @ theta)
        slope = precision @ (theta - centre) + rows.T @ (means - outcomes)
        return slope, precision + (rows.T * (means * (1.0 - means))) @ rows

    return minimum(loss, derivatives, centre)


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
    ) -> None:
        """Add the outcomes of one round, in [0, 1], with means ``1 / (1 + exp(-x . theta))``.

        The prior is ``N(V^-1 b, V^-1)``. It is replaced by the Laplace approximation of the posterior: V^-1 b
        becomes the posterior mode, and V becomes the Hessian of minus the log-posterior at the mode.

        Parameters
        ----------
        features, outcomes, group
            As in `update`.
        """
        with _WRITING:
            for number, own in _parts(group):
                rows, prior = features[own], self.precision[number]
                centre = solve_definite(prior, self.moment[number])
                theta = posterior_mode(prior, centre, rows, outcomes[own])
                means = expected(rows @ theta)
                scaled = rows * np.sqrt(means * (1.0 - means))[:, None]
                # Chapelle and Li (2011), Algorithm 3, with the whole Hessian instead of its diagonal.
                prior += scaled.T @ scaled
                self.moment[number] = prior @ theta
            self.rounds += 1

    def posterior(self) -> Posterior:
        """Return the estimates and the roots of the inverse precisions."""
        # The condition number of the factor is the square root of that of V, so half as many digits are lost.
        roots = inverses(cholesky(self.precision))
        theta = np.einsum("gij,gi->gj", roots, np.einsum("gij,gj->gi", roots, self.moment))
        return Posterior(theta, roots)

    def check(self, fresh: Self) -> None:
        """Raise ``ValueError`` unless the arrays have the shapes of the initial state `fresh`."""
        if self.precision.shape != fresh.precision.shape or self.moment.shape != fresh.moment.shape:
            raise ValueError(f"state must be like {fresh!r}, got {self!r}")
