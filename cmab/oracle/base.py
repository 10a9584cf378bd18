"""What every oracle is: a family of super arms, their reward, and a good one for given means."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, Literal, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel, compiled_form, settle_forms, solve_rows
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import guard, unguarded
from cmab.oracle._arguments import METERED, TAKES, entries_available, finite_means
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, check_name, check_vector, listed, real_array, shown

Sense = Literal["max", "min"]

# Rules that compiled forms stand for.
_FORMS = {"kernel": ("solve",), "solve_batch": ("solve",)}
# What a class declares by a method of its own, unless its body says otherwise.
_DECLARED_BY = {
    "is_feasible": ("has_membership", True),
    "triggering_probabilities": ("triggers_surely", False),
    "solve_constrained": ("can_constrain", True),
}


class Oracle(ABC):
    """A family of super arms and its reward function; given means, it returns a good super arm.

    An oracle never knows the true means. A subclass sets `n_arms` and defines `solve` and
    `expected_reward`; everything else has a default. `LinearOracle` is the shorter way when the reward of
    a super arm is the sum of its means.

    Methods that take a super arm get it as an int64 array of distinct entries of ``range(n_choices)``, and
    those that take means besides get `n_arms` finite floats, whatever the caller handed over: anything else
    is refused with a ``ValueError`` before they run. Whether the super arm belongs to the family
    (`is_feasible`) is not asked.

    A constructor raises ``ValueError`` for an argument that is not what its description asks for.

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
        Cluster of each base arm, numbered from 0, if all arms of a cluster are always triggered together.
        Only the regret bounds of `cmab.theory` use it: they count a cluster once (Chen et al. 2016, section
        4.1, "clustered arms"). Learners have a counter for each arm.
    is_monotone : bool
        Whether no mean that rises (falls, for costs) makes a super arm worse; true unless overridden. Where
        it is false, the best super arm gets no worse: that is what optimism needs to find it.
    is_undirected : bool
        Whether ``(u, v)`` and ``(v, u)`` are names of one base arm; false unless overridden. A `Campaign`
        then takes both.

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
        """Guard the public methods of every subclass against arguments that are none, and meter `solve`.

        A class that defines a method which tells more than the default declares by it that it does, unless
        it says otherwise: a wrapper passes on what the oracle behind it declares.
        """
        super().__init_subclass__(**named)
        guard(cls, TAKES, metered=METERED)
        settle_forms(cls, _FORMS)
        for method, (capability, value) in _DECLARED_BY.items():
            # By the class that defines the method, so that a subclass need not say
            # it again, and may say otherwise.
            if method in vars(cls) and capability not in vars(cls):
                setattr(cls, capability, value)

    def __repr__(self) -> str:
        return described(self)

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
    def arm_groups(self) -> IntArray | None:
        """Label of the group of each base arm, in which arms are likely to be alike, shape (n_arms,).

        None, the default, where nothing is known of that. `HierarchicalCTS` learns a prior for each group.
        """
        return None

    @property
    def sign(self) -> float:
        """1 where rewards are maximised, -1 where costs are minimised."""
        return 1.0 if self.sense == "max" else -1.0

    @property
    def is_exact(self) -> bool:
        """Whether the declared guarantee is the optimum itself, always."""
        return self.alpha == 1.0 and self.beta == 1.0

    @property
    def is_linear(self) -> bool:
        """Whether super arms list base arms and are worth the sum of their means, as a `LinearOracle`'s."""
        return False

    @property
    def has_membership(self) -> bool:
        """Whether `is_feasible` tells the family from other sets; true of classes that define it."""
        return False

    @property
    def triggers_surely(self) -> bool:
        """Whether `triggered_arms` are triggered with certainty, for any means.

        True of classes that do not define `triggering_probabilities`.
        """
        return True

    @property
    def can_constrain(self) -> bool:
        """Whether `solve_constrained` is there; true of linear classes that define it."""
        return False

    @property
    def can_solve_root(self) -> bool:
        """Whether `solve_root` is there; a `LinearOracle` says when."""
        return False

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

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:  # noqa: ARG002
        """Return whether `arms` are certainly among `triggered_arms`; False if only a search can tell."""
        return False

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
        names = self._given_names
        return [int(entry) if names is None else names[entry] for entry in super_arm]

    def named(self, names: Iterable[Hashable]) -> Self:
        """Return a copy of this oracle whose base arms have names: what a `Campaign` matches them by.

        For families that are no part of a graph, whose arms have numbers otherwise.

        Parameters
        ----------
        names : iterable of hashable
            One name for each base arm, in their order, all different.

        Raises
        ------
        TypeError
            If the oracle has names of its own, those of a graph, or chooses other things than base arms.
        ValueError
            If the names are not as many as base arms, one comes twice, or one is no text, finite number or
            tuple of these.

        Examples
        --------
        >>> from oracles import TopK
        >>> oracle = TopK(3, k=1).named(["tea", "milk", "juice"])
        >>> oracle.labels(oracle.solve([0.1, 0.9, 0.5], rng=0))
        ['milk']
        """
        if type(self).labels is not Oracle.labels or self.n_choices != self.n_arms:
            raise TypeError(f"names must be for base arms that have none, got {self!r}, which has its own")
        given = tuple(listed("names", names, "names, one for each base arm"))
        for name in given:
            check_name(name)
        if not len(set(given)) == len(given) == self.n_arms:
            raise ValueError(
                f"names must be {self.n_arms} different ones, one for each base arm, got {shown(names)}"
            )
        other = copy.copy(self)
        other._given_names = given
        return other

    def arm_labels(self) -> list[Hashable]:
        """Return the user's names of all base arms, for reports by name (`Campaign`).

        The default: `labels` of them where a super arm has as many entries to choose from as there are base
        arms, numbers elsewhere. Override it where super arms are no sets of base arms.
        """
        return self.labels(np.arange(self.n_arms)) if self.n_choices == self.n_arms else [*range(self.n_arms)]

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:  # noqa: ARG002
        """Return the feedback that a report in other words than outcomes of base arms stands for.

        The default knows no other words. Oracles of influence take who joined, and when.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            What was played.
        **report
            What was seen, by name.

        Raises
        ------
        ValueError
            If the report cannot be of this super arm, or the oracle does not understand it.
        """
        raise ValueError(
            f"a report must be outcomes by the names of base arms for {type(self).__name__}, got"
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
        """Return `solve_batch` by the compiled rule if any, for oracles that take all finite means."""
        compiled = compiled_form(self)
        if compiled is None:
            return Oracle.solve_batch(self, means, rng)
        # The compiled form looks at no number: nan would pass for a mean.
        rows = self._check_rows(means)
        check_vector("means", rows.reshape(-1))
        return solve_rows(compiled, self.n_choices, rows)

    def _check_rows(self, means: FloatArray) -> FloatArray:
        """Return `means` as a float array of rows of length `n_arms`, refused if it has another shape."""
        rows = real_array("means", means)
        if rows.ndim != 2 or rows.shape[1] != self.n_arms:
            raise ValueError(f"means must have shape (R, {self.n_arms}), got {rows.shape}")
        return rows


guard(Oracle, TAKES, metered=METERED)
settle_forms(Oracle, _FORMS)


def require_oracle(oracle: object) -> None:
    """Raise unless `oracle` is one: a class, a graph or None may have come in its place."""
    if not isinstance(oracle, Oracle):
        raise ValueError(f"oracle must be an Oracle, got {shown(oracle)}")
