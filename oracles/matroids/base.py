"""The base class of matroid oracles."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import LinearOracle, Sense
from cmab.validation import arm_indices, integer, one_of, shown


class Matroid(LinearOracle):
    """The bases of a matroid, given by an independence test. Exact, by the greedy algorithm.

    A super arm is a *basis*, i.e. an independent set to which no arm can be added. So every super arm has
    `rank` arms, and it includes arms of negative or zero mean if a basis needs them. Ties go to the lower
    index, so with equal means the answer is the lexicographically first basis.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    is_independent : callable
        A function that takes distinct arms as an int64 array, in any order, and returns whether they are
        independent. The empty set and every subset of an independent set must be independent. Of two
        independent sets of different sizes, some arm of the larger must extend the smaller to an independent
        set. The constructor does not check this; `cmab.testing.check_oracle` detects most families that are
        not matroids, because greedy fails on them.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Attributes
    ----------
    rank : int
        The number of arms in each super arm.

    Examples
    --------
    At most one arm of each pair, and at most two in total:

    >>> import numpy as np
    >>> from oracles import Matroid
    >>> oracle = Matroid(6, lambda arms: len(arms) <= 2 and len(set(arms // 2)) == len(arms))
    >>> oracle.rank
    2
    >>> oracle.solve(np.array([0.9, 0.8, 0.1, 0.2, 0.7, 0.3]), np.random.default_rng(0))
    array([0, 4])

    References
    ----------
    J. Edmonds: Matroids and the greedy algorithm, Mathematical Programming 1 (1971).
    """

    can_constrain = True
    has_membership = True
    rank: int

    def __init__(
        self, n_arms: int, is_independent: Callable[[IntArray], bool], *, sense: Sense = "max"
    ) -> None:
        if not callable(is_independent):
            raise ValueError(f"is_independent must be callable, got {shown(is_independent)}")
        if not is_independent(np.empty(0, np.int64)):
            raise ValueError("is_independent must return True for the empty set, got False")
        self._test = is_independent
        self._complete(n_arms, sense)

    # A subclass defines `_greedy` and `_circuits`, and ends its constructor with `_complete`.

    def _complete(self, n_arms: int, sense: Sense) -> None:
        """Set the attributes that all matroids share."""
        self.n_arms = integer("n_arms", n_arms, 1)
        self.sense = one_of("sense", sense, ("max", "min"))
        self.rank = len(self._greedy(np.arange(self.n_arms)))

    def _greedy(self, order: IntArray) -> IntArray:
        """Return, in increasing order, the arms of `order` that extend the arms chosen before them."""
        taken = np.empty(len(order), np.int64)
        size = 0
        for arm in order:
            taken[size] = arm
            size += bool(self._test(taken[: size + 1].copy()))
        return np.sort(taken[:size])

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        """Return a function from an arm that cannot extend `independent` to the arms that it can replace."""

        def circuit(arm: int) -> IntArray:
            swapped = (np.where(independent == out, arm, independent) for out in independent)
            replaceable: IntArray = independent[np.array([self._test(arms) for arms in swapped], bool)]
            return replaceable

        return circuit

    def __repr__(self) -> str:
        return described(self, rank=self.rank)

    @property
    def max_size(self) -> int:
        return self.rank

    def is_independent(self, arms: ArrayLike) -> bool:
        """Return whether the distinct `arms` are independent, i.e. part of a super arm."""
        chosen = arm_indices("arms", arms, self.n_arms)
        return len(self._greedy(chosen)) == len(chosen)

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.rank and self.is_independent(super_arm)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the best basis in increasing order of index."""
        return self._greedy(self._order(self._check_means(means)))

    def exchange_pairs(self, basis: ArrayLike) -> IntArray:
        """Return the pairs of an arm of `basis` and an outside arm that can replace it.

        Parameters
        ----------
        basis : array_like of int
            A super arm.

        Returns
        -------
        IntArray, shape (n_pairs, 2)
            The pairs, in increasing order of the first arm, then of the second.

        Examples
        --------
        >>> from oracles import UniformMatroid
        >>> UniformMatroid(3, k=2).exchange_pairs([0, 2]).tolist()
        [[0, 1], [2, 1]]
        """
        chosen = np.sort(arm_indices("basis", basis, self.n_arms))
        if not self.is_feasible(chosen):
            raise ValueError(f"basis must be a basis of the matroid, got {chosen.tolist()}")
        circuit, outside = self._circuits(chosen), np.setdiff1d(np.arange(self.n_arms), chosen)
        pairs = [(int(out), int(arm)) for arm in outside for out in circuit(int(arm))]
        return np.array(sorted(pairs), np.int64).reshape(-1, 2)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        required, banned = self._check_constraints(include, exclude)
        order = self._order(self._check_means(means))
        free = order[~np.isin(order, np.concatenate((required, banned)))]
        basis = self._greedy(np.concatenate((required, free)))
        return basis if len(basis) == self.rank and np.isin(required, basis).all() else None

    def gaps(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the optimum and the loss of moving each arm to the other side, computed by exchanges."""
        required, banned = self._check_constraints(include, exclude)
        best = self._optimum(means, required, banned, rng)
        values = np.asarray(means, np.float64)
        partners = self.exchanges(values, best, required, banned)
        gaps = np.full(self.n_arms, np.inf)
        movable = partners >= 0
        gaps[movable] = np.abs(values[movable] - values[partners[movable]])
        return best, gaps

    def exchanges(
        self, means: FloatArray, basis: ArrayLike, include: ArrayLike = (), exclude: ArrayLike = ()
    ) -> IntArray:
        """Return the best partner of each arm for an exchange with `basis`.

        If `basis` is optimal, exchanging arm i with its partner gives the best basis with arm i on the other
        side.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        basis : array_like of int, shape (rank,)
            A basis that contains all of `include` and none of `exclude`.
        include, exclude : array_like of int
            Arms that must not be exchanged.

        Returns
        -------
        IntArray, shape (n_arms,)
            For an arm of `basis`, the best arm that can replace it. For any other arm, the worst arm that it
            can replace. -1 if no exchange is possible. Ties keep or add the lower index.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import PartitionMatroid
        >>> oracle = PartitionMatroid(["a", "a", "a", "b"])
        >>> oracle.exchanges(np.array([0.3, 0.9, 0.5, 0.1]), basis=[1, 3])
        array([ 1,  2,  1, -1])
        """
        required, banned = self._check_constraints(include, exclude)
        chosen = self.check_super_arm(basis, "basis")
        if not np.isin(required, chosen).all() or np.isin(banned, chosen).any():
            raise ValueError(f"basis must contain all of include and none of exclude, got {chosen.tolist()}")
        order = self._order(self._check_means(means))
        position = np.empty(self.n_arms, np.int64)
        position[order] = np.arange(self.n_arms)
        fixed = np.zeros(self.n_arms, bool)
        fixed[required] = True
        partners = np.full(self.n_arms, -1, np.int64)
        circuit = self._circuits(chosen)
        # The best basis without an arm is one exchange away: its partner is the first arm that can replace
        # it.
        for arm in order[~np.isin(order, np.concatenate((chosen, banned)))]:  # the best outside arm first
            replaceable = circuit(arm)
            replaceable = replaceable[~fixed[replaceable]]
            if len(replaceable):
                partners[arm] = replaceable[np.argmax(position[replaceable])]
                partners[replaceable[partners[replaceable] < 0]] = arm
        return partners

    def restrict(self, arms: ArrayLike) -> Matroid:
        """Return the matroid of the independent subsets of `arms`.

        Arms keep their numbers; other arms are in no super arm.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import UniformMatroid
        >>> part = UniformMatroid(5, k=2).restrict([3, 4])
        >>> part.solve(np.array([0.9, 0.8, 0.7, 0.1, 0.2]), np.random.default_rng(0))
        array([3, 4])
        """
        return _Minor(self, arm_indices("arms", arms, self.n_arms), np.empty(0, np.int64))

    def contract(self, arms: ArrayLike) -> Matroid:
        """Return the matroid of the sets that are independent together with `arms`.

        If `arms` are dependent, the arms that greedy chooses from them in increasing order are contracted.
        Arms keep their numbers; contracted arms are in no super arm.

        Examples
        --------
        >>> import numpy as np
        >>> from oracles import UniformMatroid
        >>> rest = UniformMatroid(5, k=3).contract([3, 4])
        >>> rest.solve(np.array([0.9, 0.8, 0.7, 0.1, 0.2]), np.random.default_rng(0))
        array([0])
        """
        contracted = np.sort(arm_indices("arms", arms, self.n_arms))
        kept = np.setdiff1d(np.arange(self.n_arms), contracted)
        return _Minor(self, kept, self._greedy(contracted))

    def _order(self, values: FloatArray) -> IntArray:
        """Return the arms from best to worst; ties go to the lower index."""
        return np.argsort(-values if self.sense == "max" else values, kind="stable")


class _Minor(Matroid):
    """A matroid with some arms removed and some independent arms contracted."""

    def __init__(self, whole: Matroid, kept: IntArray, given: IntArray) -> None:
        self._whole = whole
        self._given = given
        self._kept = np.zeros(whole.n_arms, bool)
        self._kept[kept] = True
        self._complete(whole.n_arms, whole.sense)

    def __repr__(self) -> str:
        kept = np.flatnonzero(self._kept).tolist()
        return f"_Minor({self._whole!r}, kept={shown(kept)}, given={shown(self._given.tolist())})"

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        return self._whole.labels(super_arm)

    def _greedy(self, order: IntArray) -> IntArray:
        taken = self._whole._greedy(np.concatenate((self._given, order[self._kept[order]])))
        return taken[self._kept[taken]]

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        circuit = self._whole._circuits(np.union1d(self._given, independent))

        def within(arm: int) -> IntArray:
            arms = circuit(arm) if self._kept[arm] else independent[:0]
            return arms[self._kept[arms]]

        return within
