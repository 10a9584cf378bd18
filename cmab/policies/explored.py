"""Forced exploration in front of any rule."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import one_of, real
from cmab.policies._wrapped import WrappedPolicy
from cmab.renamed import find as __getattr__  # noqa: F401


@dataclass(frozen=True, eq=False)
class ForcedExploration(WrappedPolicy[Any]):
    """Another rule, with exploration in round t with probability ``min(1, c t^(-1/3))``.

    Rules with an informed prior, and rules that exploit, learn fast and have no frequentist guarantee: what
    looks bad they may never look at again. This one gives them one. If, while all confidence intervals hold,
    each index is within ``b sqrt(log(m t) / N) + w / (N + w)`` of its mean (posterior means and fixed
    quantiles of any prior of weight w are), and an exploring round shows each arm with probability p0 at
    least, the regret is ``O(T^(2/3))`` up to logarithms, with constants that grow with ``1 / (p0 c)``, for
    any approximate oracle (theorem B in the docs, ours). It plays the rule itself in all other rounds.

    How a round explores is `form`: ``"oracle"`` plays the oracle's answer to random means, as
    `RandomPolicy` does, and p0 is the least probability that an arm is in it: k / m for the k best of m
    arms. ``"last"`` plays the rule's own super arm with its last entry replaced by any other that leaves it
    feasible, each as likely (where there is none, the entry before it), and p0 is one over their number.
    That is cheap where rewards are monotone and submodular and oracles answer in the order of the greedy
    choice, as those of influence do: the last of k seeds is worth a k-th at most, so that `c` may be k times
    as large at the same price. If the oracle is linear, and its super arms are not all sets of k arms, a
    random entry is replaced instead of the last one, because the order of the entries means nothing. One
    linear problem finds the exchange. For the bases of a matroid, such as trees, p0 is at least one over the
    size of a super arm times the number of the other arms. If no single entry fits, as for paths and
    matchings, the linear problem finds the super arm without the entry that keeps most of the others. In
    general p0 is then unknown, an arm may never be shown, and ``"oracle"`` is the form with a guarantee.
    Where choosing nothing is best whatever the means are, as for matchings of least cost that may be empty,
    nothing is ever shown, and no form helps.

    Parameters
    ----------
    policy : Policy
        The rule. Its state has the number of `rounds`, as arm statistics do, and is that of this policy.
    c : float
        The constant above, positive; larger ones explore more.
    form : {"oracle", "last"}
        How to explore.

    Notes
    -----
    An exploring round of ``"last"`` calls a linear oracle at most once for each entry of the super arm,
    usually once. Of another oracle, and of all sets of k arms, it asks `is_feasible` at most once for each
    choice of the oracle; where none of these exchanges is feasible the rule's super arm is played.

    Raises
    ------
    TypeError
        If `policy` is no policy, or an explorer without an oracle.
    ValueError
        If a parameter is out of its range, or the policy's state does not count rounds.

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
        """Return the rule's super arm, or one that explores, of what is available.

        Raises
        ------
        TypeError
            If the oracle cannot do without what is not available.
        ValueError
            If the rule does not understand the context.
        """
        # Theorem B: exploring rounds have probability min(1, c t^(-1/3)).
        explores = rng.random() < self.c * (state.rounds + 1.0) ** (-1 / 3)
        available = None if context is None else context.available
        if explores and self.form == "oracle":
            if context is not None:  # refused by the rule in any round or in none
                super().select(copy.deepcopy(state), copy.deepcopy(rng), context)
            low, high = self.support or (0.0, 1.0)
            means = low + (high - low) * rng.random(self.oracle.n_arms)
            if available is None:
                return self.oracle.solve(means, rng)
            return self.oracle.solve_within(means, available, rng)
        chosen = super().select(state, rng, context)
        return self._exchanged(chosen, available, rng) if explores else chosen

    def _exchanged(self, chosen: IntArray, available: BoolArray | None, rng: np.random.Generator) -> IntArray:
        """Return a super arm with another last entry, or, if the oracle is linear, random entry."""
        others = np.ones(self.oracle.n_choices, bool) if available is None else available.copy()
        is_simple = not self.oracle.is_linear or getattr(self.oracle, "uniform_size", None) is not None
        if is_simple:
            return self._by_trial(chosen, others, rng)
        # The order of a linear oracle's answer means nothing, and losing the same entry in each round would
        # leave out the arms that can take the place of others only.
        for place in rng.permutation(len(chosen)):
            without = others.copy()
            without[chosen[place]] = False
            try:
                return self.oracle.solve_within(self._nearness(chosen, rng), without, rng)
            except ValueError:  # every super arm has this entry
                continue
            except TypeError:  # the oracle cannot do without an arm
                return self._by_trial(chosen, others, rng)
        return chosen

    def _nearness(self, chosen: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return means for which the best super arm is the one nearest to `chosen`, at random among equals.

        Another arm is worth more than half of a kept one, and less than three quarters: one exchange beats
        two, and two beat a loss.
        """
        is_max = self.oracle.sense == "max"
        means = rng.uniform(0.5, 0.75, self.oracle.n_arms)
        means[chosen] = 1.0 if is_max else 0.0
        return means

    def _by_trial(self, chosen: IntArray, others: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return `chosen` with one entry exchanged, by at most one check of feasibility for each choice."""
        others[chosen] = False
        left = self.oracle.n_choices
        for place in reversed(range(len(chosen))):
            kept = np.delete(chosen, place)
            for entry in rng.permutation(np.flatnonzero(others))[:left]:
                left -= 1
                if self.oracle.is_feasible(np.sort(np.append(kept, entry))):
                    return np.append(kept, entry)
        return chosen
