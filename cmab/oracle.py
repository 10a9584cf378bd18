"""The base classes of oracles: a family of super arms, their reward, and a solver for given means."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import Kernel
from cmab.feedback import Feedback
from cmab.guarantees import Smoothness
from cmab.parameters import described
from cmab.validation import arm_indices, check_name, check_vector, listed, real_array, shown

Sense = Literal["max", "min"]
# Values that differ by less than this share of their size count as equal; rounding is far below it.
_ROUNDING = 1e-11


class Oracle(ABC):
    """A family of super arms and its reward function; for given means, `solve` returns a good super arm.

    An oracle does not know the true means. A subclass sets `n_arms` and defines `solve` and
    `expected_reward`; everything else has a default. If the reward of a super arm is the sum of its means,
    derive from `LinearOracle`, which needs fewer definitions.

    Some policies pass indices outside the range of the outcomes. An oracle that needs probabilities clips
    them or raises ``ValueError``. Threads may share an oracle, unless its methods raise ``RuntimeError``.

    A constructor raises ``ValueError`` if an argument does not satisfy its description.

    Attributes
    ----------
    n_arms : int
        The number m of base arms.
    n_choices : int
        The entries of a super arm are in ``range(n_choices)``. It is `n_arms` unless overridden.
    alpha : float
        The declared approximation ratio. With probability at least `beta`, the reward of the returned super
        arm is at least ``alpha`` times the optimum. If `sense` is ``"min"``, its cost is at most ``alpha``
        times the optimum, where ``alpha >= 1``. A ratio other than 1 needs an optimum that is not negative.
    beta : float
        The declared probability of this guarantee, in (0, 1].
    sense : {"max", "min"}
        Whether rewards are maximised or costs are minimised. It also determines the direction of optimism.
    max_size : int
        An upper bound L on the number of base arms that a super arm may trigger. It is `n_arms` unless
        overridden.
    is_linear : bool
        Whether super arms are lists of base arms with the sum of their means as reward.
    has_membership : bool
        Whether `is_feasible` checks membership in the family. A class that defines `is_feasible` sets it to
        True.
    triggers_surely : bool
        Whether `triggered_arms` are triggered with certainty, for any means. A class that defines
        `triggering_probabilities` sets it to False.
    can_constrain : bool
        Whether `solve_constrained` is defined. A linear class that defines it sets it to True.
    certifies_calls : bool
        Whether each call of `solve_certified` proves its own bound, as those of oracles with a limit do.
    arm_groups : IntArray or None, shape (n_arms,)
        The group label of each base arm; arms of a group are expected to be similar. The default None means
        that no groups are known. `HierarchicalCTS` learns a prior for each group.
    clusters : IntArray or None, shape (n_arms,)
        The cluster of each base arm, numbered from 0, if all arms of a cluster are always triggered together.
        Only the regret bounds of `cmab.bounds` use clusters: they count each cluster once (Chen et al. 2016,
        section 4.1, "clustered arms"). Policies still keep a counter for each arm.
    is_monotone : bool
        Whether increasing a mean (decreasing it, for costs) never makes a super arm worse; true unless
        overridden.
    has_monotone_optimum : bool
        Whether increasing a mean (decreasing it, for costs) never makes the best super arm worse, which is
        sufficient for optimism; `is_monotone` unless overridden.
    is_undirected : bool
        Whether ``(u, v)`` and ``(v, u)`` are names of the same base arm; false unless overridden. If it is
        true, a `Campaign` accepts both names.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Oracle
    >>> class AnyHit(Oracle):
    ...     '''Two arms, worth the probability that at least one of them succeeds.'''
    ...     n_arms = 4
    ...     def solve(self, means, rng):
    ...         return np.sort(np.argsort(-means, kind="stable")[:2])
    ...     def expected_reward(self, super_arm, means):
    ...         return float(1 - np.prod(1 - means[super_arm]))
    >>> AnyHit().expected_reward(np.array([0, 1]), np.full(4, 0.5))
    0.75

    References
    ----------
    W. Chen, Y. Wang, Y. Yuan, Q. Wang: Combinatorial Multi-Armed Bandit and Its Extension to
    Probabilistically Triggered Arms, JMLR 17 (2016), section 2.
    """

    n_arms: int
    alpha: float = 1.0
    beta: float = 1.0
    sense: Sense = "max"
    is_linear: bool = False
    has_membership: bool = False
    triggers_surely: bool = True
    # Optional attributes; their defaults are None, None, True, `is_monotone`, False and False.
    clusters: IntArray | None
    arm_groups: IntArray | None
    is_monotone: bool
    has_monotone_optimum: bool
    is_undirected: bool
    certifies_calls: bool
    #: The methods that `kernel` replaces. If a subclass overrides one of them, but not `kernel`, it runs.
    _in_kernel: ClassVar[tuple[str, ...]] = ("solve",)
    _names: Sequence[Hashable] | None = None

    # A cached property can be set in the constructor of a subclass.
    @cached_property
    def n_choices(self) -> int:
        """The number of objects from which a super arm chooses."""
        return self.n_arms

    @cached_property
    def max_size(self) -> int:
        """An upper bound on the number of base arms that a super arm may trigger."""
        return self.n_arms

    def __repr__(self) -> str:
        return described(self)

    @abstractmethod
    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm that is good for `means`.

        The answer must depend only on `means` and the state of `rng`, and `means` must not be changed.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The estimated, optimistic or sampled means of the base arms.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.

        Returns
        -------
        IntArray, shape (size,)
            Distinct entries of ``range(n_choices)``; none, if the empty super arm is feasible. Return a new
            array from each call. `Session` and `simulate` validate the answer, and also accept a list, tuple
            or set of integers.
        """

    @abstractmethod
    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return r_means(super_arm), the expected reward if the base arms have these means."""

    def kernel(self) -> Kernel | None:
        """Return a compiled version of `solve` for the compiled loop, or None (the default)."""
        return None

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm that is good for `means` and has only available entries.

        The default works only if all entries are available. A `LinearOracle` uses `solve_constrained`.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        available : BoolArray, shape (n_choices,)
            Whether the super arm may contain each entry.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.

        Returns
        -------
        IntArray, shape (size,)
            A super arm as from `solve` (or a list, tuple or set), with the same guarantee relative to the
            available super arms.

        Raises
        ------
        TypeError
            If an entry is unavailable and the class does not define this method.
        ValueError
            If no super arm is available, or if `available` is not an array of `n_choices` booleans.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> TopK(3, k=1).solve_within(np.array([0.1, 0.9, 0.5]), np.array([True, False, True]), None)
        array([2])
        """
        if self._check_available(available).all():
            return self.solve(means, rng)
        raise TypeError(
            f"{type(self).__name__} must define solve_within(means, available, rng), which returns a good"
            " super arm of available entries, if some entries are unavailable"
        )

    def _none_within(self, available: BoolArray) -> ValueError:
        """Return the error for the case that no super arm is available."""
        left = np.flatnonzero(available).tolist()
        return ValueError(
            f"available must contain a super arm of {self!r}, got only the entries {shown(left)}; do not ask"
            " in such a round, or take a family with smaller super arms, such as Knapsack"
        )

    @property
    def _sign(self) -> float:
        """1 if rewards are maximised, -1 if costs are minimised."""
        return 1.0 if self.sense == "max" else -1.0

    @property
    def is_exact(self) -> bool:
        """Whether the declared guarantee is the optimum with certainty."""
        return self.alpha == 1.0 and self.beta == 1.0

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether `super_arm`, distinct entries of ``range(n_choices)``, belongs to the family.

        The default accepts all sets. Override it so that environments and `check_oracle` reject other sets,
        and set `has_membership` to True.
        """
        return True

    def _uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number and the size of the super arms within `available`, if random means are fair.

        Independent uniform means are fair if they make each of these super arms the answer of `solve_within`
        with the same probability, as for all sets of k arms. `RandomPolicy` then knows its propensities. The
        default returns None.

        Parameters
        ----------
        available : BoolArray, shape (n_choices,)
            Whether each entry is available.
        """
        return None

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the base arms that `super_arm` triggers with positive probability for some means.

        The default returns all base arms, which is always correct but rarely tight.
        """
        return np.arange(self.n_arms)

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:
        """Return whether `arms` are certainly among `triggered_arms`; False if this would need a search."""
        return False

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return the probability that `super_arm` triggers each base arm under these means.

        By default, `triggered_arms` have probability 1 and all other arms 0. Oracles with probabilistic
        triggering override this method. The result None means that the probabilities are unknown.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.
        means : FloatArray, shape (n_arms,)
            The means of the base arms.

        Returns
        -------
        FloatArray, shape (n_arms,), or None
        """
        self._check_means(means)
        chances = np.zeros(self.n_arms)
        chances[self.triggered_arms(super_arm)] = 1.0
        return chances

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the names (networkx nodes or edges) of the entries of `super_arm`."""
        entries = self._check_entries(super_arm).tolist()
        return entries if self._names is None else [self._names[entry] for entry in entries]

    def named(self, names: Iterable[Hashable]) -> Self:
        """Return a copy of this oracle with names for its base arms; a `Campaign` identifies arms by name.

        Use it for families that do not come from a graph; otherwise, their arms have only numbers.

        Parameters
        ----------
        names : iterable of hashable
            One name for each base arm, in order, all different.

        Raises
        ------
        TypeError
            If the oracle already has names, for example from a graph, or if it does not choose base arms.
        ValueError
            If the number of names differs from the number of base arms, if a name is repeated, or if a name
            is not a string, a finite number or a tuple of these.

        Examples
        --------
        >>> from oracles import TopK
        >>> oracle = TopK(3, k=1).named(["tea", "milk", "juice"])
        >>> oracle.labels(oracle.solve([0.1, 0.9, 0.5], rng=0))
        ['milk']
        """
        if self._names or type(self).labels is not Oracle.labels or self.n_choices != self.n_arms:
            raise TypeError(
                f"names must be given only for base arms without names, got {self!r}, which has names"
            )
        given = tuple(listed("names", names, "names, one for each base arm"))
        for name in given:
            check_name(name)
        if not len(set(given)) == len(given) == self.n_arms:
            raise ValueError(
                f"names must be {self.n_arms} different names, one for each base arm, got {shown(names)}"
            )
        other = copy.copy(self)
        # A frozen dataclass refuses assignments.
        object.__setattr__(other, "_names", given)
        return other

    def _arm_labels(self) -> list[Hashable]:
        """Return the names of all base arms, for reports by name (`Campaign`).

        By default, if `n_choices` equals `n_arms`, these are the `labels` of the base arms; otherwise they
        are numbers. Override this method if super arms are not sets of base arms.
        """
        return self.labels(np.arange(self.n_arms)) if self.n_choices == self.n_arms else [*range(self.n_arms)]

    def _check_means(self, means: FloatArray, low: float = -np.inf, high: float = np.inf) -> FloatArray:
        """Return `means` as `n_arms` finite floats within bounds, or raise ``ValueError``."""
        array = real_array("means", means)
        check_vector("means", array, self.n_arms, low, high)
        return array

    def _check_entries(self, super_arm: ArrayLike) -> IntArray:
        """Return `super_arm` as an array of distinct entries, or raise ``ValueError``."""
        return arm_indices("super_arm", super_arm, self.n_choices)

    def _check_available(self, available: ArrayLike) -> BoolArray:
        """Return `available`, or raise ``ValueError`` unless it is an array of `n_choices` booleans."""
        array = np.asarray(available)
        # Do not convert it, because a list of entries would become a mask.
        if array.shape != (self.n_choices,) or array.dtype != np.bool_:
            raise ValueError(
                f"available must be an array of {self.n_choices} booleans, got dtype {array.dtype}, shape"
                f" {array.shape}"
            )
        return array


class LinearOracle(Oracle):
    """An oracle with lists of base arms as super arms and the sum of their means as reward.

    A subclass sets `n_arms` and defines `solve`. It should also define `solve_constrained` if possible, for
    explorers that accept and reject arms, and for gaps, and then set `can_constrain` to True.

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

    is_linear = True
    can_constrain: bool = False

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the sum of the means of the base arms in `super_arm`; infinite beyond the largest float."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        with np.errstate(over="ignore"):
            return float(means[super_arm].sum())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return `super_arm` itself."""
        return self._check_entries(super_arm)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
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
        if self._check_available(available).all():
            return self.solve(means, rng)
        none = np.empty(0, np.int64)
        best = self.solve_constrained(means, none, np.flatnonzero(~available), rng)
        if best is None:
            raise self._none_within(available)
        return best

    @property
    def _can_solve_root(self) -> bool:
        """Whether `solve_root` can be used: `solve_constrained` is defined, exact, and accepts any means."""
        return self.can_constrain and self.is_exact and self.least_mean == -np.inf

    def solve_root(
        self,
        means: FloatArray,
        squares: FloatArray,
        rng: np.random.Generator,
        *,
        available: BoolArray | None = None,
    ) -> IntArray:
        """Return a super arm with a large sum of `means` plus the square root of the sum of `squares`.

        Rewards are maximised with the root added; costs are minimised with the root subtracted. Policies need
        this if they are optimistic about a super arm as a whole, because the errors of its arms partly
        cancel.

        The best super arm for ``means + s * squares`` (minus, for costs) is found at slopes s of tangents to
        the root, in about five calls of the oracle. The best of these answers is returned. The exact problem
        is hard. For two answers of the best tangent, the value of every super arm is below the root over
        their chord, which is at most a quarter of the larger root. So if rewards are not negative, the answer
        has at least 4/5 of the best value. `BruteForce` compares all super arms instead.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        squares : FloatArray, shape (n_arms,)
            The squares of the widths of the base arms, at least 0.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.
        available : BoolArray, shape (n_arms,), optional
            Whether the super arm may contain each arm; by default all arms are available.

        Returns
        -------
        IntArray, shape (size,)
            The super arm.

        Raises
        ------
        TypeError
            If the oracle is not exact, or `solve_constrained` is not defined for means of any sign.
        ValueError
            If a square is negative, if no super arm is available, or if `available` is not an array of
            `n_arms` booleans.

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
        index of ESCB-2). The search is our own, by J. E. Kelley's cuts (1960) in the slope.
        """
        if not self._can_solve_root:
            raise TypeError(
                f"{self!r} must be exact and define solve_constrained, for means of any sign, or define"
                " solve_root(means, squares, rng, *, available), to be used here"
            )
        worth, squares = self._sign * self._check_means(means), real_array("squares", squares)
        check_vector("squares", squares, self.n_arms, 0.0)

        def best(weights: FloatArray) -> tuple[float, float, IntArray]:
            """Return the sums of worth and of squares of the best super arm for some weights, and itself."""
            signed = self._sign * weights
            chosen = (
                self.solve(signed, rng) if available is None else self.solve_within(signed, available, rng)
            )
            return float(worth[chosen].sum()), float(squares[chosen].sum()), chosen

        # The sum of squares of the answer increases with the slope. `low` and `high` are answers for a
        # smaller and for a larger slope than that of the best tangent.
        found = [low := best(worth), high := best(squares)]
        while high[1] > low[1] and high[0] < low[0]:
            # The slope at which both have the same value. At the best tangent, the sum of squares is between
            # theirs, so the derivative of the root, 1 / (2 sqrt(v)), is between their derivatives.
            least, most = 0.5 / math.sqrt(high[1]), 0.5 / math.sqrt(low[1]) if low[1] > 0.0 else np.inf
            slope = min(max((low[0] - high[0]) / (high[1] - low[1]), least), most)
            other = best(worth + slope * squares)
            known = max(low[0] + slope * low[1], high[0] + slope * high[1])
            if other[0] + slope * other[1] <= known + _ROUNDING * (abs(known) + 1.0 / slope):
                break
            found.append(other)
            low, high = (low, other) if math.sqrt(other[1]) > 0.5 / slope else (other, high)
        return max(found, key=lambda answer: answer[0] + math.sqrt(answer[1]))[2]

    @property
    def least_mean(self) -> float:
        """The least mean that `solve` accepts, 0 for most costs; confidence bounds are clipped to it."""
        return -np.inf

    @property
    def _uniform_size(self) -> int | None:
        """The number k if the super arms are all sets of k base arms, otherwise None."""
        return None

    def _uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number and the size of the sets of k available arms, or None for other families."""
        k = self._uniform_size
        return None if k is None else (math.comb(int(self._check_available(available).sum()), k), k)

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
                gaps[arm] = max(0.0, self._sign * float(values[lost].sum() - values[won].sum()))
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


def require_oracle(oracle: object) -> None:
    """Raise ``ValueError`` unless `oracle` is an instance of `Oracle`."""
    if not isinstance(oracle, Oracle):
        raise ValueError(f"oracle must be an Oracle, got {shown(oracle)}")


def check_super_arm(oracle: Oracle, super_arm: ArrayLike, name: str = "super_arm") -> IntArray:
    """Return `super_arm` as an int64 array, or raise ``ValueError`` if it is not in the family of `oracle`.

    Parameters
    ----------
    oracle : Oracle
        The family.
    super_arm : array_like of int
        Entries of the family.
    name : str
        The name of the argument in error messages.

    Examples
    --------
    >>> from cmab.oracle import check_super_arm
    >>> from oracles import TopK
    >>> check_super_arm(TopK(3, k=2), [0, 2])
    array([0, 2])
    """
    chosen = arm_indices(name, super_arm, oracle.n_choices)
    if not oracle.is_feasible(chosen):
        raise ValueError(f"{name} must be feasible for {oracle!r}, got {chosen.tolist()}")
    return chosen


def optimum_bound(oracle: Oracle, means: FloatArray, rng: np.random.Generator) -> float:
    """Return an upper bound on the reward of every super arm (a lower bound on the costs).

    An oracle that proves a bound in each call has a method of this name. For other oracles, it is the reward
    of the answer of `solve` divided by `alpha`, which is the optimum if the oracle is exact.

    Parameters
    ----------
    oracle : Oracle
        The oracle.
    means : FloatArray, shape (n_arms,)
        The means of the base arms.
    rng : numpy.random.Generator
        The source of randomness, for randomised oracles.

    Returns
    -------
    float
        The bound, which holds with probability at least `beta`. It is infinite if the oracle declares no
        approximation ratio, or if the reward of its answer is negative and the ratio is not 1.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.oracle import optimum_bound
    >>> from oracles import TopK
    >>> optimum_bound(TopK(3, k=1), np.array([0.25, 0.75, 0.5]), np.random.default_rng(0))
    0.75
    """
    if (prove := getattr(oracle, "optimum_bound", None)) is not None:
        return float(prove(means, rng))
    value = oracle.expected_reward(oracle.solve(means, rng), np.asarray(means, np.float64))
    if oracle.alpha == 1.0:
        return value
    # Without a ratio (nan), or if rewards may be negative, the ratio gives no bound.
    if not (oracle.alpha > 0.0 and value >= 0.0):
        return oracle._sign * np.inf
    return value / oracle.alpha


def smoothness_of(oracle: Oracle) -> Smoothness | None:
    """Return the bounded-smoothness function of the rewards of an oracle, or None if it is unknown.

    It is the result of the method ``smoothness()`` of the oracle. Without this method, it is the smoothness
    of a sum of at most `max_size` means if the oracle is linear.

    Parameters
    ----------
    oracle : Oracle
        The oracle.

    Examples
    --------
    >>> from cmab.oracle import smoothness_of
    >>> from oracles import TopK
    >>> smoothness_of(TopK(3, k=2))
    Smoothness(gamma=2.0, omega=1.0, modulated=1.0)
    """
    if (own := getattr(oracle, "smoothness", None)) is not None:
        smoothness: Smoothness | None = own()
        return smoothness
    return Smoothness.linear(max(1, oracle.max_size)) if oracle.is_linear else None


def feedback_of(oracle: Oracle, super_arm: IntArray, **report: Any) -> Feedback:
    """Return the feedback for a report in other terms than the outcomes of base arms.

    An oracle that accepts such reports has a method of this name. For example, influence oracles accept the
    joined people and the steps.

    Parameters
    ----------
    oracle : Oracle
        The oracle.
    super_arm : IntArray, shape (size,)
        The super arm that was played.
    **report
        The observations, by name.

    Raises
    ------
    ValueError
        If the report is impossible for this super arm, or if the oracle does not support it.
    """
    if (own := getattr(oracle, "feedback_of", None)) is not None:
        feedback: Feedback = own(super_arm, **report)
        return feedback
    raise ValueError(
        f"a report for {type(oracle).__name__} must be outcomes of base arms, such as {{name: 1.0}}, got"
        f" {', '.join(report)}"
    )


def names_of(oracle: Oracle) -> tuple[list[Hashable], list[Hashable]]:
    """Return the names of the entries of super arms, and those of the base arms."""
    return oracle.labels(np.arange(oracle.n_choices)), oracle._arm_labels()
