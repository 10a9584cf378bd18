"""Policies with one planted fault each in the use of a context, and sound ones in odd styles."""

import math
from dataclasses import dataclass

import numpy as np
from planted_oracles import Fault
from planted_policies import UCB, K, N

from cmab import Context
from cmab.policy import best_within, refuse_parts


class CostsAreGains(UCB):
    """Adds the costs of a round to the indices, as if they were rewards."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("costs",))
        index = self.indices(state, rng)
        if context is not None and context.costs is not None:
            index = index + context.costs
        return self.oracle.solve(index, rng)


class DividesByValues(UCB):
    """Divides by the values instead of multiplying with them."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("values",))
        index = self.indices(state, rng)
        if context is not None and context.values is not None:
            index = index / np.maximum(context.values, 1e-9)
        return self.oracle.solve(index, rng)


class ValuesOfRanks(UCB):
    """Gives the first value to the arm with the best index, the second one to the next arm, and so on."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("values",))
        index = self.indices(state, rng)
        if context is not None and context.values is not None:
            index[np.argsort(-index)] *= context.values
        return self.oracle.solve(index, rng)


class FirstAvailable(UCB):
    """Takes the first available arms if one of the best ones is not available."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available",))
        best = self.oracle.solve(self.indices(state, rng), rng)
        if context is None or context.available is None or context.available[best].all():
            return best
        return np.flatnonzero(context.available)[:K]


class RandomSubstitutes(UCB):
    """Replaces unavailable arms by random ones, not by the next best ones."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available",))
        best = self.oracle.solve(self.indices(state, rng), rng)
        if context is None or context.available is None:
            return best
        left = best[context.available[best]]
        others = np.setdiff1d(np.flatnonzero(context.available), left)
        return np.concatenate([left, rng.permutation(others)[: K - len(left)]])


class OldAnswer(UCB):
    """Ignores the values in all rounds whose number is not a multiple of 50."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("values",))
        if context is None or context.values is None or (context.values[0] > 0 and state.rounds % 50):
            return self.oracle.solve(self.indices(state, rng), rng)
        return self.oracle.solve(self.indices(state, rng) * context.values, rng)


class ForgetsTheContext(UCB):
    """Its propensities are those of rounds in which everything is available."""

    epsilon = 0.5

    def greedy(self, state, context):
        return best_within(self.oracle, self.indices(state, None), context, np.random.default_rng(0))

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available",))
        if rng.random() < self.epsilon:
            return best_within(self.oracle, rng.random(N), context, rng)
        return self.greedy(state, context)

    def left(self, context):
        return N

    def propensity(self, state, super_arm, context):
        known = context is None or context.available is None or context.available[super_arm].all()
        chance = self.epsilon / math.comb(self.left(context), K) if known else 0.0
        return chance + (1 - self.epsilon) * (set(self.greedy(state, context)) == set(super_arm))


# Sound ------------------------------------------------------------------------------------------------------


class Prices(UCB):
    """Sound: computes the worth itself, and has the shop closed for unavailable arms."""

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available", "values", "costs"))
        context = context or Context()
        prices = np.ones(N) if context.values is None else context.values
        fees = np.zeros(N) if context.costs is None else context.costs
        worth = self.indices(state, rng) * prices - fees
        if context.available is not None:
            if context.available.sum() < K:
                raise ValueError("context must leave enough arms")
            worth = np.where(context.available, worth, -1e9)
        return self.oracle.solve(worth, rng)


class KnowsTheContext(ForgetsTheContext):
    """Sound: counts the super arms that are available."""

    def left(self, context):
        return N if context is None or context.available is None else int(context.available.sum())


@dataclass(frozen=True, eq=False)
class RandomOnce(UCB):
    """Sound: plays at random in one of eight rounds, also in a context."""

    share: float = 0.125

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("available", "values"))
        if rng.random() < self.share:
            return best_within(self.oracle, rng.random(N), context, rng)
        return best_within(self.oracle, self.indices(state, rng), context, rng)


FAULTS = [
    Fault(CostsAreGains, "worth"),
    Fault(DividesByValues, "worth"),
    Fault(ValuesOfRanks, "worth"),
    Fault(FirstAvailable, "worth"),
    Fault(RandomSubstitutes, "worth"),
    Fault(OldAnswer, "worth"),
    Fault(ForgetsTheContext, "propensity"),
]

SOUND = [Prices, KnowsTheContext, RandomOnce]
