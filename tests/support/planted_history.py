"""Objects that keep values outside themselves, so that the first run of a process decides for later ones."""

from functools import lru_cache

import numpy as np
import planted_environments
import planted_explorers
import planted_oracles
import planted_policies
from planted_oracles import Fault

from instances import BernoulliArms

_FIRST = {}


class SharedDays(planted_environments.Links):
    """Keeps the random means of each round in a table of the class."""

    _days = {}  # noqa: RUF012

    def in_round(self, t, rng):
        if t not in self._days:
            place = planted_environments.Links()
            place.arms = BernoulliArms(rng.beta(2, 2, self.n_arms))
            place.means = place.arms.means.copy()
            place.optimum = float(np.sort(place.means)[-2:].sum())
            self._days[t] = place
        return self._days[t]


class FirstArmsOfAll(planted_oracles.Best):
    """Keeps its answers in a variable of the module, by a rounded sum of the means."""

    def solve(self, means, rng):
        key = round(float(means.sum()), 9)
        if key not in _FIRST:
            _FIRST[key] = super().solve(means, rng)
        return _FIRST[key].copy()


_SETTINGS = {"k": 0}


@lru_cache
def size_for(n_arms):
    """Return the size of the instance that asks first, because the size is no part of the key."""
    return _SETTINGS["k"]


class CachedSize(planted_oracles.Best):
    """Keeps the parameter of the first instance in a cache, which later instances use as well."""

    def __init__(self, k=2):
        self.k = k

    def solve(self, means, rng):
        _SETTINGS["k"] = self.k
        best = np.argsort(-means, kind="stable")[: size_for(self.n_arms)]
        return np.sort(best)


def _first_session(start):
    def changed(self, state, rng, kept=[]):  # noqa: B006
        if len(kept) < 8:
            kept.append(rng.permutation(len(state.counts)))
        order = kept[state.rounds % 8]
        return np.sort(order[:2]) if state.rounds < 8 else start(self, state, rng)

    return changed


class FirstOrder(planted_policies.UCB):
    """Keeps the random order in which it tries arms at first in a default argument."""

    select = _first_session(planted_policies.UCB.select)


def _with_memory():
    known = {}

    class FirstSamples(planted_explorers.Sound):
        """Keeps a random order of the arms in a variable around its methods."""

        def select(self, state, rng, context=None):
            return known.setdefault(len(state.counts), super().select(state, rng)).copy()

    return FirstSamples


FirstSamples = _with_memory()

FAULTS = {
    "oracle": [Fault(FirstArmsOfAll, "history"), Fault(CachedSize, "history")],
    "policy": [Fault(FirstOrder, "history")],
    "environment": [Fault(SharedDays, "history")],
    "explorer": [Fault(FirstSamples, "history")],
}
