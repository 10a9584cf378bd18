"""Forced exploration added to another policy."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import one_of, real
from cmab.policies._wrapped import WrappedPolicy


@dataclass(frozen=True, eq=False)
class ForcedExploration(WrappedPolicy[Any]):
    """Another policy, plus an exploring round with probability ``min(1, c t^(-1/3))`` in round t.

    Use this wrapper if a policy that explores little needs a guarantee for fixed means. `Safeguarded` gives a
    stronger bound, but calls the oracle more often.

    In all other rounds, it plays the wrapped policy. Policies with an informative prior and policies that
    only exploit learn fast, but they may never again play an arm that looked bad, so their regret has no
    bound that holds for every vector of means. The exploring rounds add such a bound.

    The regret is ``O(T^(2/3))`` up to logarithms for any approximate oracle (theorem B in the docs, ours).
    The constants grow with ``1 / (p0 c)``. The bound has two conditions:

    1. In an exploring round, each arm is observed with probability at least p0.
    2. While all confidence intervals hold, the index of an arm differs from the mean of this arm by at most
       ``b sqrt(log(m t) / N) + w / (N + w)``. Here m is the number of arms, N the number of observations of
       the arm, w the weight of the prior, and b a constant. Posterior means and fixed quantiles of the
       posterior satisfy this condition.

    The parameter `form` selects the super arm of an exploring round and so determines p0:

    - ``"oracle"`` plays the oracle's answer to random means, as `RandomPolicy` does. Then p0 is the least
      probability, over all arms, that the answer contains the arm. For the k best of m arms, it is k / m.
    - ``"last"`` plays the policy's super arm with its last entry replaced by a random other entry that keeps
      the super arm feasible. If no such entry exists, the entry before the last one is replaced, and so on.
      Then p0 is one over the number of such entries.

    The form ``"last"`` loses little if rewards are monotone and submodular, and the oracle returns entries in
    the order of the greedy choice, as the oracles of influence do. The last of k seeds then contributes at
    most a k-th of the reward, so `c` can be k times as large for the same loss.

    If the oracle is linear and its super arms are not all sets of k arms, ``"last"`` replaces a random entry,
    because the order of the entries has no meaning. The oracle finds the replacement by solving one linear
    problem. For the bases of a matroid, such as spanning trees, p0 is at least ``1 / (k (m - k))`` for m arms
    and super arms of size k. If no single replacement is feasible, as with paths and matchings, the
    oracle finds the super arm without the entry that keeps most of the others. Then p0 is unknown in general,
    and some arms may never be observed; only ``"oracle"`` has a guarantee. If the empty super arm is optimal
    for all means, as with matchings of least cost that may be empty, both forms observe nothing.

    Parameters
    ----------
    policy : Policy
        The wrapped policy. Its state must have an attribute `rounds`, as arm statistics do. The wrapper uses
        the same state.
    c : float
        The constant above, positive. Larger values explore more.
    form : {"oracle", "last"}
        The super arm of an exploring round.

    Notes
    -----
    An exploring round of ``"last"`` calls a linear oracle at most once for each entry of the super arm, and
    usually once. With other oracles, and with families of all sets of k arms, it calls `is_feasible` at most
    once for each choice of the oracle. If no replacement is feasible, it plays the policy's super arm.

    Raises
    ------
    TypeError
        If `policy` is not a policy, or is an explorer without an oracle.
    ValueError
        If a parameter is out of its range, or the state of the policy does not count rounds.

    Examples
    --------
    >>> from cmab import ForcedExploration, Greedy, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8]), oracle)
    >>> policy = ForcedExploration(Greedy(oracle, prior_mean=0.05, prior_weight=10.0), c=1.0, form="last")
    >>> simulate(policy, environment, horizon=1000, rng=0).states[0].counts > 20
    array([ True,  True,  True,  True])
    """

    c: float = field(default=0.3, metadata=real(0.0, inside=True))
    _: KW_ONLY
    form: Literal["oracle", "last"] = field(default="oracle", metadata=one_of("oracle", "last"))

    def __post_init__(self) -> None:
        super().__post_init__()
        rounds = getattr(self.policy.initial_state(), "rounds", None)
        if not isinstance(rounds, int):
            raise ValueError(f"policy must have a state that counts its `rounds`, got {self.policy!r}")

    def select(self, state: Any, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the policy's super arm or an exploring super arm, among those available.

        Raises
        ------
        TypeError
            If the oracle cannot exclude unavailable entries.
        ValueError
            If the wrapped policy cannot use a part of the context.
        """
        # Theorem B: exploring rounds have probability min(1, c t^(-1/3)).
        explores = rng.random() < self.c * (state.rounds + 1.0) ** (-1 / 3)
        available = None if context is None else context.available
        if explores and self.form == "oracle":
            if context is not None:  # so that the policy rejects a context in any round, or in none
                super().select(copy.deepcopy(state), copy.deepcopy(rng), context)
            low, high = self.support or (0.0, 1.0)
            means = low + (high - low) * rng.random(self.oracle.n_arms)
            if available is None:
                return self.oracle.solve(means, rng)
            return self.oracle.solve_within(means, available, rng)
        chosen = super().select(state, rng, context)
        return self._exchanged(chosen, available, rng) if explores else chosen

    def _exchanged(self, chosen: IntArray, available: BoolArray | None, rng: np.random.Generator) -> IntArray:
        """Return a super arm with another last entry or, for linear oracles, another random entry."""
        others = np.ones(self.oracle.n_choices, bool) if available is None else available.copy()
        is_simple = not self.oracle.is_linear or getattr(self.oracle, "uniform_size", None) is not None
        if is_simple:
            return self._by_trial(chosen, others, rng)
        # The order of a linear oracle's answer has no meaning. If the same entry were dropped in each round,
        # arms that can only replace other entries would never be explored.
        for place in rng.permutation(len(chosen)):
            without = others.copy()
            without[chosen[place]] = False
            try:
                return self.oracle.solve_within(self._nearness(chosen, rng), without, rng)
            except ValueError:  # every super arm contains this entry
                continue
            except TypeError:  # the oracle cannot exclude an arm
                return self._by_trial(chosen, others, rng)
        return chosen

    def _nearness(self, chosen: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return means with the best super arm nearest to `chosen`, at random among equally near ones.

        Another arm has more than half of the value of a kept arm, and less than three quarters. One exchange
        is therefore better than two, and two exchanges are better than the loss of an entry.
        """
        is_max = self.oracle.sense == "max"
        means = rng.uniform(0.5, 0.75, self.oracle.n_arms)
        means[chosen] = 1.0 if is_max else 0.0
        return means

    def _by_trial(self, chosen: IntArray, others: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return `chosen` with one entry replaced, with at most one feasibility check per choice."""
        others[chosen] = False
        left = self.oracle.n_choices
        for place in reversed(range(len(chosen))):
            kept = np.delete(chosen, place)
            for entry in rng.permutation(np.flatnonzero(others))[:left]:
                left -= 1
                if self.oracle.is_feasible(np.sort(np.append(kept, entry))):
                    return np.append(kept, entry)
        return chosen
