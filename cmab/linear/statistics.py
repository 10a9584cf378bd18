"""Ridge regression: the state of learners whose means are linear in known features."""

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

# Rows at once: so many fit into the processor's cache beside what is made of them.
BLOCK = 1024
# A state of 2 GiB, of which every round makes some copies.
MOST_NUMBERS = 2**28
# As in `cmab.statistics`: what threads share must not be learned half.
_WRITING = threading.Lock()


class Posterior(NamedTuple):
    """What a regression says: ``theta``, shape (groups, d), and ``roots`` W, shape (groups, d, d).

    The inverse of the precision is ``W^T W``, W being the inverse of its lower Cholesky factor.
    """

    theta: FloatArray
    roots: FloatArray

    def means(self, features: FloatArray, group: IntArray | None = None) -> FloatArray:
        """Return ``x . theta`` of each row of `features`, theta being that of its group."""
        one = group is None
        means: FloatArray = features @ self.theta[0] if one else _row_sums(features, self.theta[group])
        return means

    def widths(self, features: FloatArray, group: IntArray | None = None) -> FloatArray:
        """Return ``sqrt(x . V^-1 x)`` of each row of `features`, V being the precision of its group."""
        if group is not None:
            turned_rows = np.einsum("ij,ikj->ik", features, self.roots[group])
            return np.sqrt(_row_sums(turned_rows, turned_rows))
        squares, turned = np.empty(len(features)), self.roots[0].T
        # Block by block: a whole matrix would go through memory three times.
        for start in range(0, len(features), BLOCK):
            rows = features[start : start + BLOCK] @ turned
            np.einsum("ij,ij->i", rows, rows, out=squares[start : start + BLOCK])
        return np.sqrt(squares, out=squares)

    def draw(self, scale: float, rng: np.random.Generator) -> FloatArray:
        """Return a draw of ``N(theta, scale^2 V^-1)`` for each group, shape (groups, d).

        By the Cholesky factor: it is unique, unlike eigenvectors, so that a seed gives the same draw (up to
        rounding) whichever library numpy calls.
        """
        z = rng.standard_normal(self.theta.shape)
        drawn: FloatArray = self.theta + scale * np.einsum("gij,gi->gj", self.roots, z)
        return drawn


def _parts(group: IntArray | None) -> Iterator[tuple[int, Any]]:
    """Yield the number of each group that has rows, and which these are."""
    if group is None:
        yield 0, slice(None)
    else:
        yield from ((number, group == number) for number in np.unique(group).tolist())


def check_size(dimension: object, n_groups: int) -> int:
    """Return `dimension` as an ``int``, refused where memory would not suffice for as many groups."""
    d = integer("dimension", dimension, 1)
    if n_groups * d * d > MOST_NUMBERS:
        raise ValueError(
            f"dimension must be at most {math.isqrt(MOST_NUMBERS // n_groups)} with {n_groups} group(s), for"
            f" each has dimension x dimension numbers, got {d}"
        )
    return d


def _row_sums(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the sum of products of each row."""
    sums: FloatArray = np.einsum("ij,ij->i", one, other)
    return sums


@dataclass(eq=False, repr=False)
class LinearStatistics:
    """Precision and moment of ridge regressions, one for each group of arms.

    With features x and outcomes y of weight w, the precision is ``V = ridge I + sum of w x x^T`` and the
    moment ``b = sum of w y x``; the estimate is ``V^-1 b``. The ridge pulls all coefficients towards 0, that
    of a column of ones (a bias) too: after n outcomes of mean y such a column alone estimates ``n y / (n +
    ridge)``. Where outcomes lie far from 0 take their usual size off before they are told, or let the column
    hold a larger number than 1: with c, the ridge counts ``1 / c^2`` times for it. A ridge below the rounding
    of V, some 1e-16 of its trace, is lost: where V is not positive definite without, posteriors are those of
    a ridge of that size.

    Only `update` changes it.

    Attributes
    ----------
    precision : FloatArray, shape (groups, d, d)
        The V of each group, positive definite.
    moment : FloatArray, shape (groups, d)
        The b of each group.
    rounds : int
        Rounds whose feedback has come in.

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
            If a size is below 1, `ridge` is not positive, or there would be more than 2^28 numbers.
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
        """Take in one round of outcomes.

        Parameters
        ----------
        features : FloatArray, shape (n, d)
            Features of the arms that were observed.
        outcomes : FloatArray, shape (n,)
            Their outcomes.
        group : IntArray, shape (n,), optional
            The group of each; 0 if left out.
        weights : FloatArray, shape (n,), optional
            Weight of each, at least 0; 1 if left out.
        """
        rows = features if weights is None else features * np.sqrt(weights)[:, None]
        told = outcomes if weights is None else outcomes * np.sqrt(weights)
        with _WRITING:
            for number, own in _parts(group):
                # Of one array with itself the product is symmetric to the last bit.
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
        """Take in one round of outcomes in [0, 1] whose means are ``1 / (1 + exp(-x . theta))``.

        ``N(V^-1 b, V^-1)`` is the prior, and becomes Laplace's approximation of the posterior: V^-1 b its
        mode, V the curvature there.

        Parameters
        ----------
        features, outcomes, group
            As for `update`.
        is_diagonal : bool
            Whether V gains its diagonal alone.
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
        """Take in one round in which one of several was chosen, or none: multinomial logit of ``x . theta``.

        As in `update_logistic` the prior ``N(V^-1 b, V^-1)`` becomes Laplace's approximation of the
        posterior. There must be one group.

        Parameters
        ----------
        features : FloatArray, shape (n, d)
            Features of what could be chosen.
        chosen : FloatArray, shape (n,)
            1 for what was chosen, 0 for the others; all 0 if nothing was.
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
        """Return the estimates, and the roots of the inverse precisions."""
        # By the factor, not by V: its condition is the square root of V's, so half as many digits are lost.
        factors = cholesky(self.precision)
        roots = inverses(factors)
        roots = np.tril(roots)  # what rounding left above the diagonal
        theta = np.einsum("gij,gi->gj", roots, np.einsum("gij,gj->gi", roots, self.moment))
        return Posterior(theta, roots)

    def check_layout(self, n_groups: int, dimension: int) -> None:
        """Refuse statistics of other groups or another dimension.

        Raises
        ------
        ValueError
            If an array has another shape or type.
        """
        shapes = {"precision": (n_groups, dimension, dimension), "moment": (n_groups, dimension)}
        for name, shape in shapes.items():
            array: object = getattr(self, name)
            is_right = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
            if not is_right:
                raise ValueError(f"state.{name} must be floats of shape {shape}, got {shown(array)}")

    def check(self, fresh: Self) -> None:
        """Refuse statistics that no feedback could have led to, as a damaged file may hold them.

        Raises
        ------
        ValueError
            If a size is wrong, or a precision is not symmetric and at least the fresh one.
        """
        self.check_layout(*fresh.moment.shape)
        count("rounds", self.rounds)
        gained = self.precision - fresh.precision
        finite = np.isfinite(self.precision).all() and np.isfinite(self.moment).all()
        if not finite or not np.array_equal(gained, gained.transpose(0, 2, 1)):
            raise ValueError("precision must be symmetric, and all numbers finite")
        # Room for the rounding of as many sums.
        slack = 1e-9 * (1.0 + np.abs(gained).max())
        if np.linalg.eigvalsh(gained).min() < -slack:
            raise ValueError("precision must be at least that of no outcomes")
        if self.rounds == 0 and (gained.any() or not np.array_equal(self.moment, fresh.moment)):
            raise ValueError("there must be a round where there are outcomes, got rounds = 0")
