"""Oracles: the families of super arms, and how to choose a good one for given means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Literal

import numpy as np

from cmab._metering import meter_solve
from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel, compiled_form, solve_rows
from cmab.guards import generator, guard, unguarded
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, check_vector, real_array, shown

Sense = Literal["max", "min"]


class Oracle(ABC):
    """A family of super arms and its reward function; given means, it returns a good super arm.

    An oracle never knows the true means. A subclass sets `n_arms` and defines `solve` and
    `expected_reward`; everything else has a default. `LinearOracle` is the shorter way when the reward of
    a super arm is the sum of its means.

    Methods that take a super arm get it as an int64 array of distinct entries of ``range(n_choices)``, and
    those that take means besides get `n_arms` finite floats, whatever the caller handed over: anything else
    is refused with a ``ValueError`` before they run. Whether the super arm belongs to the family
    (`is_feasible`) is not asked.

    Attributes
    ----------
    n_arms : int
        Number m of base arms.
    n_choices : int
        Entries of a super arm lie in ``range(n_choices)``; `n_arms` unless overridden.
    alpha : float
        Declared approximation ratio: with probability at least `beta` the returned super arm is worth at
        least ``alpha`` times the optimum (costs at most ``alpha >= 1`` times, when `sense` is ``"min"``).
    beta : float
        Declared probability, in (0, 1], with which `alpha` holds.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised. Optimism follows it.
    max_size : int
        Upper bound L on the number of base arms in a super arm; `n_choices` unless overridden.
    clusters : IntArray or None, shape (n_arms,)
        Cluster of each base arm, numbered from 0, where all arms of a cluster are always triggered
        together: they share one counter (Chen et al. 2016, section 4.1, "clustered arms").

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
    clusters: IntArray | None = None

    def __init_subclass__(cls, **named: object) -> None:
        """Guard the public methods of every subclass against arguments that are none, and meter `solve`."""
        super().__init_subclass__(**named)
        guard(cls, _TAKES)
        meter_solve(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_arms={self.n_arms})"

    @abstractmethod
    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm that is good for `means`.

        The answer depends on `means` and the state of `rng` only, and `means` is left unchanged.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The (estimated, optimistic or sampled) means of the base arms.
        rng : numpy.random.Generator
            Source of randomness, for oracles that need one. A caller may hand over a seed instead, an
            integer or None: every method of an oracle that takes `rng` gets the generator of that seed.

        Returns
        -------
        IntArray, shape (size,)
            Distinct entries of ``range(n_choices)``.
        """

    @abstractmethod
    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return r_means(super_arm), the expected reward if the base arms had these means."""

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `solve` for the compiled loop; none unless overridden."""
        return None

    def solve_batch(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        """Return a super arm for every row of `means`: what `solve` gives for them, one after the other.

        Override it where many rows at once are cheaper than each by itself.

        Parameters
        ----------
        means : FloatArray, shape (R, n_arms)
            R problems, for instance one of each replication.
        rng : numpy.random.Generator
            Source of randomness, for oracles that need one.

        Returns
        -------
        list of IntArray
            R super arms.

        Raises
        ------
        ValueError
            If `means` has another shape, or a row is one that `solve` refuses.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> TopK(3, k=1).solve_batch(np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]]), np.random.default_rng(0))
        [array([1]), array([0])]
        """
        return [self.solve(row, rng) for row in self._check_rows(means)]

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm that is good for `means` among those of available entries alone.

        The default can do it where all are available. A `LinearOracle` does it by `solve_constrained`.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        available : BoolArray, shape (n_choices,)
            Which entries the super arm may have.
        rng : numpy.random.Generator
            Source of randomness, for oracles that need one.

        Returns
        -------
        IntArray, shape (size,)
            As `solve` returns it, with its guarantee among the super arms that are left.

        Raises
        ------
        TypeError
            If something is not available, and the class does not define how to do without it.
        ValueError
            If no super arm is left, or `available` is not an array of `n_choices` booleans.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> TopK(3, k=1).solve_within(np.array([0.1, 0.9, 0.5]), np.array([True, False, True]), 0)
        array([2])
        """
        if available.all():
            return self.solve(means, rng)
        raise TypeError(
            f"{type(self).__name__} must define solve_within(means, available, rng), a good super arm of"
            " available entries alone, to be used where some are not"
        )

    def _none_within(self, available: BoolArray) -> ValueError:
        """Return the error that tells that no super arm is left."""
        left = np.flatnonzero(available).tolist()
        return ValueError(f"available must leave a super arm of {self!r}, got the entries {shown(left)}")

    @property
    def n_choices(self) -> int:
        """Number of things that a super arm chooses from."""
        return self.n_arms

    @property
    def max_size(self) -> int:
        """Upper bound on the number of base arms in a super arm."""
        return self.n_choices

    @property
    def is_exact(self) -> bool:
        """Whether the declared guarantee is the optimum itself, always."""
        return self.alpha == 1.0 and self.beta == 1.0

    def is_feasible(self, super_arm: IntArray) -> bool:  # noqa: ARG002
        """Return whether `super_arm`, distinct entries of ``range(n_choices)``, belongs to the family.

        The default accepts all of them; override it to let environments and `check_oracle` refuse others.
        """
        return True

    def triggered_arms(self, super_arm: IntArray) -> IntArray:  # noqa: ARG002
        """Return the base arms that `super_arm` triggers with positive probability (for some means).

        The default, all of them, is always true and rarely tight.
        """
        return np.arange(self.n_arms)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return the probability with which `super_arm` triggers each base arm if these are the means.

        The default: `triggered_arms` with certainty, others never. Oracles of rewards that spread override
        it; None says that the probabilities are unknown.

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
        chances = np.zeros(self.n_arms)
        chances[self.triggered_arms(super_arm)] = 1.0
        return chances

    def smoothness(self) -> Smoothness | None:
        """Return the bounded-smoothness function of the rewards; None, the default, where none is known."""
        return None

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the user's names (networkx nodes or edges) of the entries of `super_arm`."""
        return [int(entry) for entry in super_arm]

    def check_super_arm(self, super_arm: ArrayLike, name: str = "super_arm") -> IntArray:
        """Return `super_arm` as an int64 array, or raise ``ValueError`` if it is not in the family."""
        chosen = arm_indices(name, super_arm, self.n_choices)
        if not unguarded(self.is_feasible)(chosen):
            raise ValueError(f"{name} must be feasible for {self!r}, got {chosen.tolist()}")
        return chosen

    def _check_means(self, means: FloatArray, low: float = -np.inf, high: float = np.inf) -> FloatArray:
        """Return `means` as a float array, refused unless finite, of length `n_arms`, within bounds."""
        array = real_array("means", means)
        check_vector("means", array, self.n_arms, low, high)
        return array

    def _solve_compiled(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        """Return `solve_batch` by the compiled rule if any, for oracles that take all finite means."""
        compiled = compiled_form(self, "solve")
        if compiled is None:
            return Oracle.solve_batch(self, means, rng)
        rows = self._check_rows(means)
        check_vector("means", rows.reshape(-1))
        return solve_rows(compiled, self.n_choices, rows)

    def _check_rows(self, means: FloatArray) -> FloatArray:
        """Return `means` as a float array of rows of length `n_arms`, refused if it has another shape."""
        rows = real_array("means", means)
        if rows.ndim != 2 or rows.shape[1] != self.n_arms:
            raise ValueError(f"means must have shape (R, {self.n_arms}), got {rows.shape}")
        return rows


def _super_arm(oracle: Oracle, super_arm: ArrayLike, _: object) -> IntArray:
    return arm_indices("super_arm", super_arm, oracle.n_choices)


def _means(oracle: Oracle, means: FloatArray, _: object) -> FloatArray:
    return Oracle._check_means(oracle, means)


def _available(oracle: Oracle, available: ArrayLike, _: object) -> BoolArray:
    array = np.asarray(available)
    if array.shape != (oracle.n_choices,) or array.dtype != np.bool_:
        raise ValueError(
            f"available must be an array of {oracle.n_choices} booleans, got dtype {array.dtype}, shape"
            f" {array.shape}"
        )
    return array


# What methods take, in order. `solve` checks the means itself, for it knows their range.
_TAKES = {
    "solve": (None, generator),
    "solve_batch": (None, generator),
    "solve_certified": (None, generator),
    "solve_within": (None, _available, generator),
    "solve_constrained": (None, None, None, generator),
    "gaps": (None, None, None, generator),
    "expected_reward": (_super_arm, _means),
    "spread": (_super_arm, _means),
    "triggering_probabilities": (_super_arm, _means),
    "triggered_arms": (_super_arm,),
    "is_feasible": (_super_arm,),
    "labels": (_super_arm,),
}
guard(Oracle, _TAKES)


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

        Needs `solve_constrained`, and calls it once per undecided arm unless a subclass knows better.

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
            If the class does not define `solve_constrained`.
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
        NIPS 2014, equation 1.
        """
        required, banned = self._check_constraints(include, exclude)
        best = self._optimum(means, required, banned, rng)
        values = np.asarray(means, np.float64)
        sign = 1.0 if self.sense == "max" else -1.0
        value = values[best].sum()
        gaps = np.full(self.n_arms, np.inf)
        for arm in np.setdiff1d(np.arange(self.n_arms), np.concatenate((required, banned))):
            with_arm, without_arm = (
                (required, np.append(banned, arm)) if arm in best else (np.append(required, arm), banned)
            )
            other = self.solve_constrained(values, with_arm, without_arm, rng)
            if other is not None:
                gaps[arm] = max(0.0, sign * (value - values[other].sum()))
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
        shared = np.intersect1d(required, banned)
        if len(shared):
            raise ValueError(
                f"include and exclude must not share an arm, got {shown(shared.tolist())} in both"
            )
        return required, banned
