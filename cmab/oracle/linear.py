"""Oracles whose super arms are worth the sum of their means."""

from __future__ import annotations

import math
import warnings

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guards import unguarded
from cmab.oracle._root_of_sets import SetSearch
from cmab.oracle._root_search import RootSearch
from cmab.oracle.base import Oracle
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, integer, real, shown


class LinearOracle(Oracle):
    """An oracle whose super arms list base arms and are worth the sum of their means.

    A subclass sets `n_arms` and defines `solve`; `solve_constrained` as well where it can, for exploration
    by accepting and rejecting arms, and for gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import LinearOracle
    >>> class BestPair(LinearOracle):
    ...     '''Two neighbouring arms.'''
    ...     def __init__(self, n_arms):
    ...         self.n_arms = n_arms
    ...     def solve(self, means, rng):
    ...         first = int(np.argmax(means[:-1] + means[1:]))
    ...         return np.array([first, first + 1])
    >>> BestPair(4).solve(np.array([0.1, 0.8, 0.3, 0.9]), np.random.default_rng(0))
    array([2, 3])
    """

    #: The number of linear problems after which `solve_root` ends; None for no limit.
    root_limit: int | None = 1_000

    @property
    def can_constrain(self) -> bool:
        """Whether `solve_constrained` is there; true of classes that define it."""
        return False

    @property
    def is_linear(self) -> bool:
        """Whether super arms are worth the sum of their means: true."""
        return True

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the sum of the means of the base arms in `super_arm`."""
        return float(means[super_arm].sum())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return `super_arm` itself."""
        return super_arm

    def smoothness(self) -> Smoothness | None:
        """Return that of a sum of at most `max_size` means."""
        return Smoothness.linear(max(1, self.max_size))

    def solve_constrained(
        self,
        means: FloatArray,  # noqa: ARG002
        include: ArrayLike,  # noqa: ARG002
        exclude: ArrayLike,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        """Return the best super arm with all of `include` and none of `exclude`; None if there is none.

        There is no default: penalties in place of constraints lose digits, and fail for means of any size.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        include, exclude : array_like of int
            Distinct base arms; none in both.
        rng : numpy.random.Generator
            Source of randomness, for oracles that need one.

        Returns
        -------
        IntArray or None
            As `solve` returns it, and as good among the super arms that meet the constraints.

        Raises
        ------
        TypeError
            If the class does not define it.
        """
        raise TypeError(
            f"{type(self).__name__} must define solve_constrained(means, include, exclude, rng), the best "
            "super arm with all of include and none of exclude, to be used here"
        )

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the best super arm of available arms alone, by `solve_constrained`.

        Raises
        ------
        TypeError
            If something is not available, and the class does not define `solve_constrained`.
        ValueError
            If no super arm is left.
        """
        if available.all():
            return self.solve(means, rng)
        none = np.empty(0, np.int64)
        best = self.solve_constrained(means, none, np.flatnonzero(~available), rng)
        if best is None:
            raise self._none_within(available)
        return best

    @property
    def can_solve_root(self) -> bool:
        """Whether `solve_root` is there: where `solve_constrained` is, exact and for means of any sign."""
        return self.can_constrain and self.is_exact and self.least_mean == -np.inf

    def solve_root(
        self,
        means: FloatArray,
        squares: FloatArray,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
        available: BoolArray | None = None,
    ) -> IntArray:
        """Return the super arm with the best sum of `means`, and root of the sum of `squares`, together.

        Rewards are maximised with the root added, costs minimised with the root taken off: what rules need
        that are optimistic for a super arm as a whole, for the errors of its arms partly cancel.

        The default is exact. It asks `solve_constrained` for the best super arm of ``means + s * squares``
        (minus, for costs) at slopes s of tangents to the root, each of which bounds all super arms, and
        splits the family by an arm where no tangent touches the best of them. Dozens of calls are usual for
        up to twenty arms, and a handful with a `tolerance`. Of all sets of k arms (`uniform_size`) a dynamic
        programme does the rest instead, which equal numbers make shorter.

        The problem is hard in general, and the number of calls may be exponential in the number of arms. The
        search therefore ends after `root_limit` linear problems, or 1,000 times as many choices of the
        dynamic programme. It then returns the best super arm that it met, and warns by how much this may be
        worth less than the best one. Set ``oracle.root_limit = None`` to search until the answer is proven.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        squares : FloatArray, shape (n_arms,)
            Squares of their widths, at least 0.
        rng : numpy.random.Generator
            Source of randomness, for oracles that need one.
        tolerance : float
            How much worse than the best the answer may be; with 0, its rounding only, 1e-11 of its size.
        available : BoolArray, shape (n_arms,), optional
            Which arms the super arm may have; all if left out.

        Returns
        -------
        IntArray, shape (size,)
            A super arm.

        Raises
        ------
        TypeError
            If `can_solve_root` is false.
        ValueError
            If a square is negative, or `tolerance`; if no super arm is left of what is available, or
            `available` is not an array of `n_arms` booleans.

        Warns
        -----
        RuntimeWarning
            If `root_limit` ended the search, with an upper bound on the loss.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> oracle, rng = TopK(4, k=2), np.random.default_rng(0)
        >>> means, squares = np.array([0.5, 0.6, 0.7, 0.0]), np.array([0.1, 0.1, 0.1, 4.0])
        >>> oracle.solve_root(means, squares, rng)
        array([2, 3])
        >>> oracle.solve_root(means, squares, rng, available=np.array([True, True, False, True]))
        array([1, 3])

        References
        ----------
        R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015, the
        index of ESCB-2. T. Cuvelier, R. Combes, E. Gourdin: Statistically Efficient, Polynomial-Time
        Algorithms for Combinatorial Semi-Bandits, SIGMETRICS 2021, who discretise it instead. The search is
        our own: J. E. Kelley's cuts (1960) in the slope.
        """
        if not self.can_solve_root:
            raise TypeError(
                f"{self!r} must be exact and have solve_constrained, for means of any sign, or define"
                " solve_root(means, squares, rng, *, tolerance, available), to be used here"
            )
        gone: list[int] = []
        if available is not None:
            gone = np.flatnonzero(~self._check_available(available)).tolist()
        sign = self.sign
        # Dozens of calls with arguments that are right.
        solve, solve_constrained = unguarded(self.solve), unguarded(self.solve_constrained)

        def best(weights: FloatArray, include: IntArray, exclude: IntArray) -> IntArray | None:
            if len(include) == len(exclude) == 0:  # most calls, and `solve` is faster
                return solve(sign * weights, rng)
            return solve_constrained(sign * weights, include, exclude, rng)

        limit = None if self.root_limit is None else integer("root_limit", self.root_limit, 1)
        kind = RootSearch if self.uniform_size is None else SetSearch
        margin = real("tolerance", tolerance, 0.0)
        search = kind(best, sign * means, squares, margin, tuple(gone), limit)
        found = search.run()
        if found is None:
            assert available is not None, "a family has a super arm"
            raise self._none_within(available)
        if search.shortfall > 0.0:
            # Rounded up to a power of ten, because Python shows equal warnings once.
            loss = 10.0 ** math.ceil(math.log10(search.shortfall))
            warnings.warn(
                f"solve_root of {shown(self)} ended after root_limit = {limit:,} linear problems. Its super"
                f" arm is worth at most {loss:.0e} less than the best one, which adds at most as much to the"
                " regret of the round. Set `root_limit` of the oracle to None to search on, which may take"
                " exponential time, or play ESCB with a tolerance, which allows such a loss by its design",
                RuntimeWarning,
                stacklevel=3,
            )
        return found

    @property
    def least_mean(self) -> float:
        """The least mean that `solve` takes, 0 for most costs; confidence bounds are cut there."""
        return -np.inf

    @property
    def uniform_size(self) -> int | None:
        """The k whose sets of k base arms are the super arms, if so: some rules exploit it."""
        return None

    def gaps(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the optimum, and what is lost when one arm is moved to its other side.

        Needs `solve_constrained`, and calls it once per undecided arm unless a subclass knows better. Of an
        oracle that is not exact, what is returned is told of its own answers, and so may be too large or 0.

        Parameters
        ----------
        means, include, exclude, rng
            As for `solve_constrained`.

        Returns
        -------
        IntArray, shape (size,)
            The best super arm that meets the constraints.
        FloatArray, shape (n_arms,)
            Entry i is at least 0: how much worse the best super arm is that meets the constraints and has
            arm i if the optimum has not, lacks it if the optimum has it. Infinite where there is none,
            so for all of `include` and `exclude`.

        Raises
        ------
        TypeError
            If the class does not define `solve_constrained`, or `include` is not empty where it cannot have
            arms forced in.
        ValueError
            If no super arm meets the constraints.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> TopK(4, k=2).gaps(np.array([5.0, 4.0, 2.0, 1.0]), [], [], np.random.default_rng(0))
        (array([0, 1]), array([3., 2., 2., 3.]))

        References
        ----------
        S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
        NIPS 2014, equation 1 (from memory).
        """
        required, banned = self._check_constraints(include, exclude)
        best = self._optimum(means, required, banned, rng)
        values = np.asarray(means, np.float64)
        # A power of two makes no sum of means infinite, and rounds nothing of theirs.
        exponent = np.frexp(np.abs(values).max(initial=0.0))[1]
        scaled = np.ldexp(values, -exponent)
        gaps = np.full(self.n_arms, np.inf)
        for arm in np.setdiff1d(np.arange(self.n_arms), np.concatenate((required, banned))):
            with_arm, without_arm = (
                (required, np.append(banned, arm)) if arm in best else (np.append(required, arm), banned)
            )
            other = self.solve_constrained(values, with_arm, without_arm, rng)
            if other is not None:
                # Chen et al. (NIPS 2014), equation 1 (from memory): w(M*) less the best with e on its other
                # side. What both have in common cancels; what is left of rounding is no gap below 0.
                lost, won = np.setdiff1d(best, other), np.setdiff1d(other, best)
                gap = max(0.0, self.sign * (scaled[lost].sum() - scaled[won].sum()))
                with np.errstate(over="ignore"):
                    gaps[arm] = min(np.ldexp(gap, exponent), np.finfo(np.float64).max)
        return best, gaps

    def _optimum(
        self, means: FloatArray, include: IntArray, exclude: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return `solve_constrained`, or raise ``ValueError`` if no super arm meets the constraints."""
        best = self.solve_constrained(means, include, exclude, rng)
        if best is None:
            raise ValueError(
                f"include and exclude must leave a super arm of {self!r}, got {shown(include.tolist())} and "
                f"{shown(exclude.tolist())}"
            )
        return best

    def _check_constraints(self, include: ArrayLike, exclude: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return both as int64 arrays of base arms, refused if they share one."""
        required = arm_indices("include", include, self.n_arms)
        banned = arm_indices("exclude", exclude, self.n_arms)
        is_required = np.zeros(self.n_arms, bool)
        is_required[required] = True
        if is_required[banned].any():
            shared = np.intersect1d(required, banned)
            raise ValueError(
                f"include and exclude must not share an arm, got {shown(shared.tolist())} in both"
            )
        return required, banned
