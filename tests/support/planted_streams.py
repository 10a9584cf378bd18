"""Policies and explorers that draw from generators of their own, in wrong and in right ways."""

from dataclasses import dataclass

import numpy as np
from planted_explorers import Sound
from planted_oracles import Fault
from planted_policies import UCB, N

from cmab import ArmStatistics


class SeededByRound(UCB):
    """Breaks ties by a generator whose seed is the number of the round."""

    def indices(self, stats, rng):
        return super().indices(stats, rng) + 0.3 * np.random.default_rng(stats.rounds).random(N)


class AlwaysTheSame(UCB):
    """Explores with a new generator in each round, which draws the same arms each time."""

    def indices(self, stats, rng):
        noise = np.random.default_rng(12345).random(N)
        return super().indices(stats, rng) + noise * (stats.rounds % 2)


class SeededByData(UCB):
    """Thompson sampling from a generator whose seed are the counts."""

    def indices(self, stats, rng):
        own = np.random.default_rng(stats.counts.tolist())
        return own.normal(stats.means, 1.0 / np.sqrt(stats.counts + 1.0))


class UnseededStart(UCB):
    """Draws its first memory at random, although no generator is given."""

    def memory(self):
        return np.random.default_rng().random(N)


class RequestsBySeed(Sound):
    """Requests a random arm of the number of the request, not of the generator."""

    def select(self, state, rng, context=None):
        return np.random.default_rng([7, state.rounds]).permutation(4)


# Sound ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Projected(UCB):
    """Sound: has a random projection, whose seed is a parameter."""

    seed: int = 31

    def indices(self, stats, rng):
        return super().indices(stats, rng) + 1e-8 * np.random.default_rng(self.seed).random(N)


@dataclass
class Keyed(ArmStatistics):
    """Statistics with a key, from which the rounds derive their generators."""

    key: int = 0


class Derived(UCB):
    """Sound: derives a generator for each round from a number that the run draws."""

    def initial_state(self, rng=None):
        empty = ArmStatistics.empty(N)
        key = 0 if rng is None else int(rng.integers(2**40))
        return Keyed(empty.counters, empty.means, empty.deviations, key=key)

    def indices(self, stats, rng):
        own = np.random.default_rng([stats.key, stats.rounds])
        return super().indices(stats, rng) + 0.1 * own.random(N)


class UnusedGenerator(UCB):
    """Sound: passes a generator to an oracle that does not need one."""

    def select(self, state, rng, context=None):
        return self.oracle.solve(self.indices(state, rng), np.random.default_rng(0))


FAULTS = [
    Fault(SeededByRound, "global randomness"),
    Fault(AlwaysTheSame, "global randomness"),
    Fault(SeededByData, "global randomness"),
    Fault(UnseededStart, "determinism"),
]
OF_EXPLORERS = [Fault(RequestsBySeed, "global randomness")]
SOUND = [Projected, Derived, UnusedGenerator]
