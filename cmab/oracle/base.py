"""The base class of oracles: a family of super arms, their reward, and a solver for given means."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, Literal, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel, compiled_form, settle_forms, solve_rows
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import guard, unguarded
from cmab.oracle._arguments import ANSWERS, METERED, entries_available, finite_means, takes_of
from cmab.oracle.certificate import Certified, declared_certificate
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, check_name, check_vector, listed, real_array, shown

Sense = Literal["max", "min"]

# The methods that have compiled versions.
_FORMS = {"kernel": ("solve",), "solve_batch": ("solve",)}
# The capabilities that a class declares by defining a method, unless its body declares otherwise.
_DECLARED_BY = {
    "is_feasible": ("has_membership", True),
    "triggering_probabilities": ("triggers_surely", False),
    "solve_constrained": ("can_constrain", True),
}


class Oracle(ABC):
    """A family of super arms and its reward function; for given means, `solve` returns a good super arm.

    An oracle does not know the true means. A subclass sets `n_arms` and defines `solve` and
    `expected_reward`; everything else has a default. If the reward of a super arm is the sum of its means,
    derive from `LinearOracle`, which needs fewer definitions.

    All methods validate their arguments. A method that takes a super arm receives it as an int64 array of
    distinct entries of ``range(n_choices)``. A method that takes means receives an array of `n_arms` finite
    floats. Your own code may also pass infinite means to `solve` and similar methods of your class. Any other
    value raises ``ValueError`` before the method runs. The methods do not check whether the super arm belongs
    to the family (`is_feasible`). They leave the settings of the process as they are: global generators,
    filters of warnings, NumPy's error state, the environment and the working directory.

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
    clusters : IntArray or None, shape (n_arms,)
        The cluster of each base arm, numbered from 0, if all arms of a cluster are always triggered together.
        Only the regret bounds of `cmab.theory` use clusters: they count each cluster once (Chen et al. 2016,
        section 4.1, "clustered arms"). Policies still keep a counter for each arm.
    is_monotone : bool
        Whether increasing a mean (decreasing it, for costs) never makes a super arm worse; true unless
        overridden. If it is false, increasing a mean must not make the best super arm worse, which is
        sufficient for optimism.
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
    clusters: IntArray | None = None
    is_monotone: bool = True
    is_undirected: bool = False
    _given_names: tuple[Hashable, ...] | None = None

    def __init_subclass__(cls, **named: object) -> None:
        """Validate the arguments of the public methods of every subclass, and meter `solve`.

        A class that defines an optional method thereby declares the capability, unless its body declares
        otherwise. For example, a wrapper passes on the declaration of the wrapped oracle.
        """
        super().__init_subclass__(**named)
        guard(cls, takes_of(cls), metered=METERED, answers=ANSWERS)
        settle_forms(cls, _FORMS)
        for method, (capability, value) in _DECLARED_BY.items():
            # Check the class that defines the method, so that a subclass inherits the declaration and may
            # change it.
            if method in vars(cls) and capability not in vars(cls):
                setattr(cls, capability, value)

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
            The source of randomness, for randomised oracles. A caller may pass a seed (an integer or None)
            instead. Every method of an oracle that takes `rng` then receives the generator of this seed.

        Returns
        -------
        IntArray, shape (size,)
            Distinct entries of ``range(n_choices)``; none, if the empty super arm is feasible. Return a new
            array from each call. The callers in this package validate the answer, and convert a list, tuple
            or set of integers to an array.
        """

    @abstractmethod
    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return r_means(super_arm), the expected reward if the base arms have these means."""

    def kernel(self) -> Kernel | None:
        """Return a compiled version of `solve` for the compiled loop, or None (the default)."""
        return None

    def solve_batch(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        """Return a super arm for each row of `means`, as `solve` does for the rows in order.

        Override this method if solving many rows at once is faster than solving each row.

        Parameters
        ----------
        means : FloatArray, shape (R, n_arms)
            The means of R problems, for example one row for each replication.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.

        Returns
        -------
        list of IntArray
            The R super arms.

        Raises
        ------
        ValueError
            If `means` has another shape, or if `solve` rejects a row.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> TopK(3, k=1).solve_batch(np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]]), np.random.default_rng(0))
        [array([1]), array([0])]
        """
        return [self.solve(row, rng) for row in self._check_rows(means)]

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certified:
        """Return the super arm of `solve` with the approximation ratio that this call proved.

        By default, the ratio is the declared `alpha`, and the bound follows from it. Oracles that prove a
        bound in each call override this method.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        rng : numpy.random.Generator
            The source of randomness, for randomised oracles.

        Returns
        -------
        SolverCertificate
            Or another certificate with the attributes `super_arm`, `ratio` and `certified`.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import TopK
        >>> answer = TopK(3, k=1).solve_certified(np.array([0.25, 0.75, 0.5]), np.random.default_rng(0))
        >>> answer.super_arm, answer.ratio, answer.certified
        (array([1]), 1.0, True)
        """
        chosen = self.solve(means, rng)
        value = float(self.expected_reward(chosen, means))
        return declared_certificate(chosen, value, self.alpha if self.beta == 1.0 else math.nan, self.sign)

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
        >>> TopK(3, k=1).solve_within(np.array([0.1, 0.9, 0.5]), np.array([True, False, True]), 0)
        array([2])
        """
        if available.all():
            return self.solve(means, rng)
        raise TypeError(
            f"{type(self).__name__} must define solve_within(means, available, rng), which returns a good"
            " super arm of available entries, if some entries are unavailable"
        )

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return an upper bound on the reward of every super arm (a lower bound on the costs).

        By default, it is the reward of the answer of `solve` divided by `alpha`, which is the optimum if the
        oracle is exact. Override this method if a call proves a better bound. `regret_bound` uses it.

        Parameters
        ----------
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
        >>> from oracles import TopK
        >>> TopK(3, k=1).optimum_bound(np.array([0.25, 0.75, 0.5]), np.random.default_rng(0))
        0.75
        """
        value = self.expected_reward(self.solve(means, rng), np.asarray(means, np.float64))
        if self.alpha == 1.0:
            return value
        # Without a ratio (nan), or if rewards may be negative, the ratio gives no bound.
        if not (self.alpha > 0.0 and value >= 0.0):
            return np.inf if self.sense == "max" else -np.inf
        return value / self.alpha

    def _none_within(self, available: BoolArray) -> ValueError:
        """Return the error for the case that no super arm is available."""
        left = np.flatnonzero(available).tolist()
        return ValueError(
            f"available must contain a super arm of {self!r}, got only the entries {shown(left)}"
        )

    @property
    def n_choices(self) -> int:
        """The number of objects from which a super arm chooses."""
        return self.n_arms

    @property
    def max_size(self) -> int:
        """An upper bound on the number of base arms that a super arm may trigger."""
        return self.n_arms

    @property
    def arm_groups(self) -> IntArray | None:
        """The group label of each base arm, shape (n_arms,); arms of a group are expected to be similar.

        The default None means that no groups are known. `HierarchicalCTS` learns a prior for each group.
        """
        return None

    @property
    def network(self) -> Any:
        """The graph as (tails, heads, number of nodes) if arm i is its arc i in cascades; None by default.

        A session needs it to learn from reports of who joined a cascade.
        """
        return None

    @property
    def sign(self) -> float:
        """1 if rewards are maximised, -1 if costs are minimised."""
        return 1.0 if self.sense == "max" else -1.0

    @property
    def is_exact(self) -> bool:
        """Whether the declared guarantee is the optimum with certainty."""
        return self.alpha == 1.0 and self.beta == 1.0

    @property
    def is_linear(self) -> bool:
        """Whether super arms are lists of base arms with the sum of their means as reward."""
        return False

    @property
    def has_membership(self) -> bool:
        """Whether `is_feasible` checks membership in the family; true for classes that define it."""
        return False

    @property
    def triggers_surely(self) -> bool:
        """Whether `triggered_arms` are triggered with certainty, for any means.

        It is true for classes that do not define `triggering_probabilities`.
        """
        return True

    @property
    def can_constrain(self) -> bool:
        """Whether `solve_constrained` is defined; true for linear classes that define it."""
        return False

    @property
    def can_solve_root(self) -> bool:
        """Whether `solve_root` can be used; see `LinearOracle`."""
        return False

    @property
    def certifies_calls(self) -> bool:
        """Whether each call of `solve` reports its own approximation ratio (`report_ratio`).

        It is true for oracles with a limit, whose calls prove different ratios. `simulate` records them.
        """
        return False

    def is_feasible(self, super_arm: IntArray) -> bool:  # noqa: ARG002
        """Return whether `super_arm`, distinct entries of ``range(n_choices)``, belongs to the family.

        The default accepts all sets. Override it so that environments and `check_oracle` reject other sets.
        """
        return True

    def uniform_family(self, available: BoolArray) -> tuple[int, int] | None:  # noqa: ARG002
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

    def triggered_arms(self, super_arm: IntArray) -> IntArray:  # noqa: ARG002
        """Return the base arms that `super_arm` triggers with positive probability for some means.

        The default returns all base arms, which is always correct but rarely tight.
        """
        return np.arange(self.n_arms)

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:  # noqa: ARG002
        """Return whether `arms` are certainly among `triggered_arms`; False if this would need a search."""
        return False

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
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
        chances = np.zeros(self.n_arms)
        chances[self.triggered_arms(super_arm)] = 1.0
        return chances

    def smoothness(self) -> Smoothness | None:
        """Return the bounded-smoothness function of the rewards, or None (the default) if it is unknown."""
        return None

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the names (networkx nodes or edges) of the entries of `super_arm`."""
        names = self._given_names
        return [int(entry) if names is None else names[entry] for entry in super_arm]

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
        if type(self).labels is not Oracle.labels or self.n_choices != self.n_arms:
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
        object.__setattr__(other, "_given_names", given)
        return other

    def arm_labels(self) -> list[Hashable]:
        """Return the names of all base arms, for reports by name (`Campaign`).

        By default, if `n_choices` equals `n_arms`, these are the `labels` of the base arms; otherwise they
        are numbers. Override this method if super arms are not sets of base arms.
        """
        return self.labels(np.arange(self.n_arms)) if self.n_choices == self.n_arms else [*range(self.n_arms)]

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:  # noqa: ARG002
        """Return the feedback for a report in other terms than the outcomes of base arms.

        The default accepts no reports. For example, influence oracles accept the joined people and the steps.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            The super arm that was played.
        **report
            The observations, by name.

        Raises
        ------
        ValueError
            If the report is impossible for this super arm, or if the oracle does not support it.
        """
        raise ValueError(
            f"a report for {type(self).__name__} must be outcomes of base arms, such as {{name: 1.0}}, got"
            f" {', '.join(report)}"
        )

    def check_super_arm(self, super_arm: ArrayLike, name: str = "super_arm") -> IntArray:
        """Return `super_arm` as an int64 array, or raise ``ValueError`` if it is not in the family."""
        chosen = arm_indices(name, super_arm, self.n_choices)
        if not unguarded(self.is_feasible)(chosen):
            raise ValueError(f"{name} must be feasible for {self!r}, got {chosen.tolist()}")
        return chosen

    _check_means = finite_means
    _check_available = entries_available

    def _solve_compiled(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        """Return `solve_batch` by the compiled rule, if any, for oracles that accept all finite means."""
        compiled = compiled_form(self)
        if compiled is None:
            return Oracle.solve_batch(self, means, rng)
        # The compiled rule does not check the numbers and would accept nan as a mean.
        rows = self._check_rows(means)
        check_vector("means", rows.reshape(-1))
        return solve_rows(compiled, self.n_choices, rows)

    def _check_rows(self, means: FloatArray) -> FloatArray:
        """Return `means` as a float array of shape (R, n_arms); raise ``ValueError`` for other shapes."""
        rows = real_array("means", means)
        if rows.ndim != 2 or rows.shape[1] != self.n_arms:
            raise ValueError(f"means must have shape (R, {self.n_arms}), got {rows.shape}")
        return rows


guard(Oracle, takes_of(Oracle), metered=METERED, answers=ANSWERS)
settle_forms(Oracle, _FORMS)


def require_oracle(oracle: object) -> None:
    """Raise ``ValueError`` unless `oracle` is an instance of `Oracle`."""
    if not isinstance(oracle, Oracle):
        raise ValueError(f"oracle must be an Oracle, got {shown(oracle)}")
