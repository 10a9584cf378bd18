"""TopRank: lists from proven comparisons of items, for any click model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from cmab import declared
from cmab.arrays import ArrayLike, BoolArray, IntArray
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.guards import Takes
from cmab.oracle import Oracle
from cmab.policies._comparisons import Comparisons
from cmab.policy import Policy, fits, refuse_parts
from cmab.ticket import Ticket
from cmab.validation import arm_indices, integer, shown

#: The constant c of the paper, from memory. The paper prints 3.43 for 4 sqrt(2 / pi) / erf(sqrt(2)) = 3.34.
_C = 3.43


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

    Raises
    ------
    ValueError
        If a parameter is out of its range, an arm belongs to several items, or the first or last k items in
        order are not a super arm.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import TopRank, simulate
    >>> from instances import position_based_model
    >>> page = position_based_model([0.1, 0.9, 0.5, 0.1], examination=[1.0, 0.4])
    >>> policy = TopRank(page.oracle, 1e-3, lists=np.arange(8).reshape(4, 2))
    >>> run = simulate(policy, page, 1000, rng=0)
    >>> page.oracle.labels(policy.select(run.states[0], rng=0))
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
    _takes: ClassVar[Takes] = {"blocks": (fits,)}
    support = (0.0, 1.0)

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
        self.oracle.check_super_arm(table[np.arange(k), np.arange(k)], "the first list of lists")
        self.oracle.check_super_arm(table[np.arange(n - k, n), np.arange(k)], "the last list of lists")
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "_items", items)

    def initial_state(self) -> Comparisons:
        shape = (len(self._table), len(self._table))
        return Comparisons(
            np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
        )

    def _check_state(self, state: Comparisons) -> None:
        if len(state.better) != len(self._table):
            raise ValueError(f"state must have {len(self._table)} items, got {len(state.better)}")

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
        if len(context.available) != self.oracle.n_arms:
            raise ValueError(
                f"context.available must be {self.oracle.n_arms} booleans, got {len(context.available)}"
            )
        items = items[context.available[self._table].all(axis=1)]
        if len(items) < k:
            raise ValueError(f"context.available must leave {k} items for a list, got {len(items)}")
        return items

    def select(
        self, state: Comparisons, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return a list of available items, each block in a uniformly random order.

        Raises
        ------
        ValueError
            If a context has parts other than `available`, or has too few available items.
        """
        refuse_parts(self, context, ("available",))
        shuffled = [rng.permutation(block) for block in self._ordered(state.better, context)]
        k = self._table.shape[1]
        chosen: IntArray = self._table[np.concatenate(shuffled)[:k], np.arange(k)]
        return chosen

    def update(self, state: Comparisons, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Update `state` with the clicks on a list. Arms without an outcome were not clicked.

        The list of a ticket was drawn from the blocks at the time at which the ticket was issued.

        Raises
        ------
        ValueError
            If the feedback has sums of several outcomes of an arm, or has an arm that is not in `lists`.
        """
        if ticket is None:
            self._take(state, feedback, self._ordered(state.better, None))
        else:
            known = state.better & (state.since <= ticket.number)
            self._take(state, feedback, self._ordered(known, ticket.context))

    def reserve(self, state: Comparisons, ticket: Ticket) -> None:
        """Record the ticket number, so that later proofs are not applied to the list of this ticket."""
        state.asked = max(state.asked, ticket.number + 1)

    def _take(self, state: Comparisons, feedback: Feedback, blocks: list[IntArray]) -> None:
        if feedback.pulls is not None:
            raise ValueError(f"feedback.pulls must be None (one list per round), got {shown(feedback.pulls)}")
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        items = self._items[arms]
        if (items < 0).any():
            raise ValueError(f"feedback.arms must be arms of lists, got {shown(arms[items < 0].tolist())}")
        clicks, told = np.zeros(len(self._table)), np.clip(feedback.outcomes, 0.0, 1.0)
        np.maximum.at(clicks, items, told if self.oracle.sense == "max" else 1.0 - told)
        state.rounds += 1
        for block in blocks:
            pairs = np.ix_(block, block)
            lead = clicks[block][:, None] - clicks[block]
            state.leads[pairs] += lead
            state.differences[pairs] += np.abs(lead)
        self._prove(state)

    def _prove(self, state: Comparisons) -> None:
        # Lattimore et al. (2018), Algorithm 1, line 12. A proof needs differences of at least 1.
        n, confidence = np.maximum(state.differences, 1.0), math.log(_C) - math.log(self.delta)
        proven = state.leads >= np.sqrt(2.0 * n * (0.5 * np.log(n) + confidence))
        state.since[proven & ~state.better] = state.asked
        state.better |= proven

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
