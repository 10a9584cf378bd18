"""Lists and clicks: TopRank for any click model, and PBM-UCB for the position-based model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab import parameters as declared
from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import index_kernel
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle, check_super_arm
from cmab.policy import CompiledIndexPolicy, Policy, refuse_parts
from cmab.validation import arm_indices, integer, per_arm, shown

# TopRank ------------------------------------------------------------------------------------------------

#: The constant c of the paper, from memory. The paper prints 3.43 for 4 sqrt(2 / pi) / erf(sqrt(2)) = 3.34.
_C = 3.43


@dataclass(eq=False)
class Comparisons:
    """Comparisons of each pair of items.

    Attributes
    ----------
    leads : FloatArray, shape (n_items, n_items)
        Clicks on the first item minus clicks on the second, summed over rounds with both items in one block.
    differences : FloatArray, shape (n_items, n_items)
        The sum of the absolute values of these differences. For clicks 0 and 1, it is the number of rounds in
        which exactly one of the two items was clicked.
    better : BoolArray, shape (n_items, n_items)
        Whether the first item is proven to be better than the second.
    since : IntArray, shape (n_items, n_items)
        Number of the first ticket issued after the proof; 0 without a proof.
    rounds : int
        Number of rounds with feedback.
    asked : int
        Number of the next ticket, recorded by `TopRank.reserve`; 0 if feedback is never late.
    """

    leads: FloatArray
    differences: FloatArray
    better: BoolArray
    since: IntArray
    rounds: int = 0
    asked: int = 0


@dataclass(frozen=True, eq=False)
class TopRank(Policy[Comparisons]):
    """Lists that learn from clicks which items are better, without a model of the clicks.

    Use this policy for lists if the model of the clicks is unknown.

    Items are grouped into ordered blocks. In each round, each block is shuffled, and the list consists of the
    first k items of all blocks in order. Two items of one block therefore get the same positions equally
    often, so their clicks can be compared, independently of the effect of a position. For a round, U is the
    click on i minus the click on j, where an item that was not clicked, examined or shown counts as 0. With S
    the sum of U and N the sum of the absolute values of U, i is proven better than j once ``S >= sqrt(2 N
    ln(c sqrt(N) / delta))``, c = 3.43, and is then in an earlier block. The first block has the items that no
    item is proven better than. The next block has the items that only items of the first block are proven
    better than, and so on.

    The assumption is that the best list shows the best items first, and that replacing an item by a better
    one increases the clicks, as in the cascade and position-based models. Then no comparison is wrong with
    probability at least ``1 - delta m**2``. With ``delta = 1 / T`` the regret in T rounds is logarithmic, and
    of the order of ``sqrt(k**3 m T ln T)`` for any gaps. Policies for a specific click model learn faster if
    this model is correct.

    Outcomes are clicks in [0, 1]; other outcomes are clipped. For costs, the click is 1 minus the outcome. If
    a context has `available`, the items are those with all arms available. They form separate blocks, so
    available items are shuffled and compared with each other. Delayed feedback is compared within the blocks
    from which its list was drawn, without later proofs.

    Parameters
    ----------
    oracle : Oracle
        The family of lists, such as `oracles.RankedTopK`. Its super arms are in the order of the list.
    delta : float
        Probability of an error in one comparison, in (0, 1). The paper uses one over the number of rounds.
    lists : array_like of int, shape (n_items, k), optional
        Base arm of each item at each position, if base arms are such pairs (as in
        `instances.position_based_model`). By default each base arm is an item, and k is the largest size of a
        super arm.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import TopRank, simulate
    >>> from instances import position_based_model
    >>> page = position_based_model([0.1, 0.9, 0.5, 0.1], examination=[1.0, 0.4])
    >>> policy = TopRank(page.oracle, 1e-3, lists=np.arange(8).reshape(4, 2))
    >>> run = simulate(policy, page, 1000, rng=0)
    >>> page.oracle.labels(policy.select(run.states[0], np.random.default_rng(0)))
    [(1, 'position 1'), (2, 'position 2')]

    References
    ----------
    T. Lattimore, B. Kveton, S. Li, C. Szepesvari: TopRank: A Practical Algorithm for Online Stochastic
    Ranking, NeurIPS 2018, Algorithm 1 and Theorems 1 and 2; from memory.
    """

    oracle: Oracle
    delta: float = field(metadata=declared.real(0.0, 1.0, inside=True))
    _: KW_ONLY
    lists: ArrayLike | None = None
    _table: IntArray = field(init=False, repr=False)
    _items: IntArray = field(init=False, repr=False)
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        m = self.oracle.n_arms
        if self.oracle.n_choices != m:
            raise ValueError(f"oracle must have base arms as the entries of its lists, got {self.oracle!r}")
        if self.lists is None:
            table = np.repeat(np.arange(m)[:, None], self.oracle.max_size, axis=1)
        else:
            try:
                given = np.asarray(self.lists)
            except ValueError:  # rows of different lengths
                given = np.empty(0)
            if given.ndim != 2 or not given.size:
                raise ValueError(f"lists must have a row of arms for each item, got {shown(self.lists)}")
            table = arm_indices("lists", given.reshape(-1), m, distinct=False).reshape(given.shape)
        n, k = table.shape
        integer("number of positions in lists", k, 1, n)
        items = np.full(m, -1)
        items[table] = np.arange(n)[:, None]
        if (items[table] != np.arange(n)[:, None]).any():
            raise ValueError(f"lists must not give an arm to several items, got {shown(self.lists)}")
        check_super_arm(self.oracle, table[np.arange(k), np.arange(k)], "the first list of lists")
        check_super_arm(self.oracle, table[np.arange(n - k, n), np.arange(k)], "the last list of lists")
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "_items", items)

    def initial_state(self, rng: np.random.Generator | None = None) -> Comparisons:
        shape = (len(self._table), len(self._table))
        return Comparisons(
            np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
        )

    def blocks(self, state: Comparisons, context: Context | None = None) -> list[IntArray]:
        """Return the items block by block. The first block has the items that no item is proven better than.

        Parameters
        ----------
        state : Comparisons
            The comparisons so far.
        context : Context, optional
            Information on the round. Unavailable items are in no block.

        Raises
        ------
        ValueError
            If fewer items are available than a list has.
        """
        return self._ordered(state.better, context)

    def _ordered(self, better: BoolArray, context: Context | None) -> list[IntArray]:
        left, found = self._present(context), []
        while len(left):
            beaten = better[np.ix_(left, left)].any(axis=0)
            # If the proofs form a cycle, one of them is wrong. The remaining items then form one block.
            first = left if beaten.all() else left[~beaten]
            found.append(first)
            left = np.setdiff1d(left, first)
        return found

    def _present(self, context: Context | None) -> IntArray:
        items, k = np.arange(len(self._table)), self._table.shape[1]
        if context is None or context.available is None:
            return items
        items = items[context.available[self._table].all(axis=1)]
        if len(items) < k:
            raise ValueError(f"context.available must leave {k} items for a list, got {len(items)}")
        return items

    def select(
        self, state: Comparisons, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return a list of available items, each block in a uniformly random order."""
        refuse_parts(self, context, ("available",))
        shuffled = [rng.permutation(block) for block in self._ordered(state.better, context)]
        k = self._table.shape[1]
        chosen: IntArray = self._table[np.concatenate(shuffled)[:k], np.arange(k)]
        return chosen

    def update(
        self,
        state: Comparisons,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the clicks on a list. Arms without an outcome were not clicked.

        The list of a ticket was drawn from the blocks at the time at which the ticket was issued.
        """
        if feedback.pulls is not None:
            raise ValueError(f"feedback.pulls must be None (one list per round), got {shown(feedback.pulls)}")
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        items = self._items[arms]
        if (items < 0).any():
            raise ValueError(f"feedback.arms must be arms of lists, got {shown(arms[items < 0].tolist())}")
        known = state.better if ticket is None else state.better & (state.since <= ticket.number)
        blocks = self._ordered(known, None if ticket is None else ticket.context)
        clicks, told = np.zeros(len(self._table)), np.clip(feedback.outcomes, 0.0, 1.0)
        np.maximum.at(clicks, items, told if self.oracle.sense == "max" else 1.0 - told)
        state.rounds += 1
        for block in blocks:
            pairs = np.ix_(block, block)
            lead = clicks[block][:, None] - clicks[block]
            state.leads[pairs] += lead
            state.differences[pairs] += np.abs(lead)
        # Lattimore et al. (2018), Algorithm 1, line 12. A proof needs differences of at least 1.
        n, confidence = np.maximum(state.differences, 1.0), math.log(_C) - math.log(self.delta)
        proven = state.leads >= np.sqrt(2.0 * n * (0.5 * np.log(n) + confidence))
        state.since[proven & ~state.better] = state.asked
        state.better |= proven

    def reserve(self, state: Comparisons, ticket: Ticket) -> None:
        """Record the ticket number, so that later proofs are not applied to the list of this ticket."""
        state.asked = max(state.asked, ticket.number + 1)

    def propensity(self, state: Comparisons, super_arm: IntArray, context: Context | None) -> float:
        """Return the probability of a list: the product over its blocks of the probability of their order."""
        chance, place = 1.0, 0
        arms = np.asarray(super_arm)
        k = self._table.shape[1]
        if arms.shape != (k,) or (self._table[self._items[arms], np.arange(k)] != arms).any():
            return 0.0
        for block in self._ordered(state.better, context):
            shown_of = self._items[arms[place : place + len(block)]]
            if not np.isin(shown_of, block).all():
                return 0.0
            place += len(shown_of)
            for before in range(len(shown_of)):
                chance /= len(block) - before
        return chance


# PBM-UCB ------------------------------------------------------------------------------------------------


@index_kernel
def position_based_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write the bound on the attraction of each item times the examination probability of the position."""
    factor, sign, m = reals[0], reals[1], counts.shape[0]
    # Examination probabilities, the arms sorted by item, and the item of each of these arms.
    examined, ordered, items = reals[2:], reals[2 + m :], reals[2 + 2 * m :]
    delta = factor * math.log(t)
    first = 0
    while first < m:
        end, displays, clicks, looks = first, 0.0, 0.0, 0.0
        while end < m and items[end] == items[first]:
            arm = int(ordered[end])
            displays += counts[arm]
            clicks += counts[arm] * means[arm]
            looks += counts[arm] * examined[arm]
            end += 1
        bound = 0.5 + 0.5 * sign
        if displays > 0.0:
            # Lagree, Vernade and Cappe (2016), section 4: S/N' + sqrt(N/N') sqrt(delta / 2 N').
            width = math.sqrt(displays * delta / 2.0) / looks
            bound = min(max(clicks / looks + sign * width, 0.0), 1.0)
        for place in range(first, end):
            arm = int(ordered[place])
            out[arm] = examined[arm] * bound
        first = end


@dataclass(frozen=True, eq=False)
class PBMUCB(CompiledIndexPolicy):
    """Optimism in the position-based model: a click needs an examined position and an attractive item.

    Use this policy for lists if the probabilities that positions are examined are known.

    Base arms are pairs of an item and a position, with mean ``examination * attraction``. The examination
    probabilities of positions are known. The attraction of an item is learned from all positions together.
    For an item with N displays, S clicks and the sum N' of the examination probabilities of its displays, the
    bound is ``min(S/N' + sqrt(N/N') sqrt(radius_factor ln t / 2 N'), 1)``, and 1 without a display. The
    oracle receives the bound times the examination probability of the pair's position. If the examination
    probabilities are unknown, use `CUCB`, which learns each pair separately.

    Parameters
    ----------
    oracle : Oracle
        The family of lists as sets of pairs, such as that of `instances.position_based_model`.
    examination : float or array_like of shape (n_arms,)
        Probability that the position of each pair is examined, in (0, 1].
    items : array_like of int, shape (n_arms,), optional
        Item of each pair, numbered from 0. By default each pair is a separate item.
    radius_factor : float
        The factor ``1 + epsilon`` of the paper. The regret bound requires more than 1.

    Examples
    --------
    >>> from cmab import PBMUCB, simulate
    >>> from instances import position_based_model
    >>> attraction, examination = [0.2, 0.3, 0.6, 0.4], [0.9, 0.3]
    >>> page = position_based_model(attraction, examination)
    >>> policy = PBMUCB(page.oracle, examination * 4, items=[0, 0, 1, 1, 2, 2, 3, 3])
    >>> run = simulate(policy, page, 3000, rng=0)
    >>> page.oracle.labels(policy.select(run.states[0], np.random.default_rng(0)))
    [(2, 'position 1'), (3, 'position 2')]

    References
    ----------
    P. Lagree, C. Vernade, O. Cappe: Multiple-Play Bandits in the Position-Based Model, NIPS 2016, section 4;
    from memory.
    """

    examination: ArrayLike = 1.0
    items: ArrayLike | None = None
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=declared.real(0.0))

    def rule(self) -> Any:
        return position_based_indices

    def parameters(self) -> FloatArray:
        m = self.oracle.n_arms
        examined = per_arm("examination", self.examination, m, float(np.finfo(float).tiny), 1.0)
        items = np.arange(m) if self.items is None else self.items
        numbers = arm_indices("items", items, m, distinct=False)
        if len(numbers) != m:
            raise ValueError(f"items must have one number for each of {m} arms, got {len(numbers)}")
        ordered = np.argsort(numbers, kind="stable")
        scalars = [self.radius_factor, self.oracle._sign]
        return np.concatenate([scalars, examined, ordered, numbers[ordered]])
