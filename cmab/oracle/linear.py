"""The base class of oracles with the sum of the means as reward."""

from __future__ import annotations

import math
import warnings

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guards import answered, unguarded
from cmab.oracle._root_of_sets import SetSearch
from cmab.oracle._root_search import RootSearch
from cmab.oracle.base import Oracle
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, integer, real, shown


class LinearOracle(Oracle):
    """An oracle with lists of base arms as super arms and the sum of their means as reward.

    A subclass sets `n_arms` and defines `solve`. It should also define `solve_constrained` if possible, for
    explorers that accept and reject arms, and for gaps.

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

    #: The number of linear problems after which `solve_root` stops; None for no limit.
    root_limit: int | None = 1_000

    @property
    def can_constrain(self) -> bool:
        """Whether `solve_constrained` is defined; true for classes that define it."""
        return False

    @property
    def is_linear(self) -> bool:
        """Whether the reward of a super arm is the sum of its means: always true."""
        return True

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the sum of the means of the base arms in `super_arm`; infinite beyond the largest float."""
        with np.errstate(over="ignore"):
            return float(means[super_arm].sum())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return `super_arm` itself."""
        return super_arm

    def smoothness(self) -> Smoothness | None:
        """Return the smoothness of a sum of at most `max_size` means."""
        return Smoothness.linear(max(1, self.max_size))

    def solve_constrained(
        self,
        means: FloatArray,  # noqa: ARG002
        include: ArrayLike,  # noqa: ARG002
        exclude: ArrayLike,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        """Return the best super arm with all of `include` and none of `exclude`, or None.

        There is no default implementation, because penalties instead of constraints lose precision and cannot
        work for means of any size.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        include, exclude : array_like of int
            Distinct base arms; the two lists must not share an arm.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.

        Returns
        -------
        IntArray or None
            A super arm in the form of `solve`, with the same guarantee relative to the super arms that
            satisfy the constraints. None if no super arm satisfies them.

        Raises
        ------
        TypeError
            If the class does not define this method.
        """
        raise TypeError(
            f"{type(self).__name__} must define solve_constrained(means, include, exclude, rng), which"
            " returns the best super arm with all of include and none of exclude, to be used here"
        )

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the best super arm of available arms, by `solve_constrained`.

        Raises
        ------
        TypeError
            If an arm is unavailable and the class does not define `solve_constrained`.
        ValueError
            If no super arm is available.
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
        """Whether `solve_root` can be used: `solve_constrained` is defined, exact, and accepts any means."""
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
        """Return the super arm with the best sum of `means` plus the square root of the sum of `squares`.

        Rewards are maximised with the root added; costs are minimised with the root subtracted. Policies need
        this if they are optimistic about a super arm as a whole, because the errors of its arms partly
        cancel.

        The default is exact. It calls `solve_constrained` for the best super arm of ``means + s * squares``
        (minus, for costs) at slopes s of tangents to the root. Each tangent gives a bound for all super arms.
        If no tangent touches the root at the best super arm, the search splits the family by an arm. For up
        to twenty arms, dozens of calls are usual, or a few with a positive `tolerance`. If the family is all
        sets of k arms (`uniform_size`), a dynamic programme replaces the splitting; it is faster if many
        numbers are equal.

        The problem is hard in general, and the number of calls may be exponential in the number of arms. The
        search therefore stops after `root_limit` linear problems, or 1,000 times as many choices of the
        dynamic programme. It then returns the best super arm found and warns with an upper bound on the loss.
        Set ``oracle.root_limit = None`` to search until the answer is proved optimal.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        squares : FloatArray, shape (n_arms,)
            The squares of the widths of the base arms, at least 0.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.
        tolerance : float
            The largest acceptable loss. With 0, the loss is at most the rounding error, 1e-11 of the size of
            the value.
        available : BoolArray, shape (n_arms,), optional
            Whether the super arm may contain each arm; by default all arms are available.

        Returns
        -------
        IntArray, shape (size,)
            The super arm.

        Raises
        ------
        TypeError
            If `can_solve_root` is false.
        ValueError
            If a square or `tolerance` is negative, if no super arm is available, or if `available` is not an
            array of `n_arms` booleans.

        Warns
        -----
        RuntimeWarning
            If the search stopped at `root_limit`, with an upper bound on the loss.

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
        R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015 (the
        index of ESCB-2). T. Cuvelier, R. Combes, E. Gourdin: Statistically Efficient, Polynomial-Time
        Algorithms for Combinatorial Semi-Bandits, SIGMETRICS 2021 (a discretised search). This search is our
        own, by J. E. Kelley's cuts (1960) in the slope.
        """
        if not self.can_solve_root:
            raise TypeError(
                f"{self!r} must be exact and define solve_constrained, for means of any sign, or define"
                " solve_root(means, squares, rng, *, tolerance, available), to be used here"
            )
        gone: list[int] = []
        if available is not None:
            gone = np.flatnonzero(~self._check_available(available)).tolist()
        sign = self.sign
        # Dozens of calls follow, with arguments that are already validated.
        solve, solve_constrained = unguarded(self.solve), unguarded(self.solve_constrained)

        def best(weights: FloatArray, include: IntArray, exclude: IntArray) -> IntArray | None:
            if len(include) == len(exclude) == 0:  # most calls; `solve` is faster
                found: IntArray | None = answered(solve(sign * weights, rng))
            else:
                found = answered(solve_constrained(sign * weights, include, exclude, rng))
            return found

        limit = None if self.root_limit is None else integer("root_limit", self.root_limit, 1)
        kind = RootSearch if self.uniform_size is None else SetSearch
        margin = real("tolerance", tolerance, 0.0)
        search = kind(best, sign * means, squares, margin, tuple(gone), limit)
        found = search.run()
        if found is None:
            assert available is not None, "a family has a super arm"
            raise self._none_within(available)
        if search.shortfall > 0.0:
            # Round up to a power of ten, because Python shows equal warnings only once.
            loss = 10.0 ** math.ceil(math.log10(search.shortfall))
            warnings.warn(
                f"solve_root of {shown(self)} ended after root_limit = {limit:,} linear problems. The value"
                f" of its super arm is at most {loss:.0e} below the best, which adds at most as much to the"
                " regret of the round. Set `root_limit` of the oracle to None to continue the search, which"
                " may take exponential time, or use ESCB with a tolerance, which allows such a loss",
                RuntimeWarning,
                stacklevel=3,
            )
        return found

    @property
    def least_mean(self) -> float:
        """The least mean that `solve` accepts, 0 for most costs; confidence bounds are clipped to it."""
        return -np.inf

    @property
    def uniform_size(self) -> int | None:
        """The number k if the super arms are all sets of k base arms, otherwise None."""
        return None

    def uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number and the size of the sets of k available arms, or None for other families."""
        k = self.uniform_size
        return None if k is None else (math.comb(int(available.sum()), k), k)

    def gaps(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the optimum and the gap of each arm: the loss if the arm is moved to the other side.

        This method needs `solve_constrained`, and calls it once per undecided arm unless a subclass has a
        faster method. If the oracle is not exact, the gaps compare its own answers, so they may be too large,
        or 0.

        Parameters
        ----------
        means, include, exclude, rng
            As in `solve_constrained`.

        Returns
        -------
        IntArray, shape (size,)
            The best super arm that satisfies the constraints.
        FloatArray, shape (n_arms,)
            The gaps, at least 0. If the optimum contains arm i, entry i is the loss of the best super arm
            without arm i; otherwise it is the loss of the best super arm with arm i. Both must satisfy the
            constraints. The entry is infinite if there is no such super arm, in particular for the arms of
            `include` and `exclude`.

        Raises
        ------
        TypeError
            If the class does not define `solve_constrained`, or if `include` is not empty and the class does
            not support required arms.
        ValueError
            If no super arm satisfies the constraints.

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
        # Scaling by a power of two is exact, and prevents infinite sums of means.
        exponent = np.frexp(np.abs(values).max(initial=0.0))[1]
        scaled = np.ldexp(values, -exponent)
        gaps = np.full(self.n_arms, np.inf)
        for arm in np.setdiff1d(np.arange(self.n_arms), np.concatenate((required, banned))):
            with_arm, without_arm = (
                (required, np.append(banned, arm)) if arm in best else (np.append(required, arm), banned)
            )
            other = self.solve_constrained(values, with_arm, without_arm, rng)
            if other is not None:
                # Chen et al. (NIPS 2014), equation 1 (from memory): w(M*) minus the best weight with arm e on
                # the other side. The common arms cancel. Negative gaps are due to rounding and become 0.
                lost, won = np.setdiff1d(best, other), np.setdiff1d(other, best)
                gap = max(0.0, self.sign * (scaled[lost].sum() - scaled[won].sum()))
                with np.errstate(over="ignore"):
                    gaps[arm] = min(np.ldexp(gap, exponent), np.finfo(np.float64).max)
        return best, gaps

    def _optimum(
        self, means: FloatArray, include: IntArray, exclude: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return `solve_constrained`, or raise ``ValueError`` if no super arm satisfies the constraints."""
        best = self.solve_constrained(means, include, exclude, rng)
        if best is None:
            raise ValueError(
                f"include and exclude must allow a super arm of {self!r}, got {shown(include.tolist())} and "
                f"{shown(exclude.tolist())}"
            )
        return best

    def _check_constraints(self, include: ArrayLike, exclude: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return both as int64 arrays of base arms; raise ``ValueError`` if they share an arm."""
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
