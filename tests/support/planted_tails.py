"""Environments whose outcomes have heavier tails than the declared scale permits."""

import numpy as np
from planted_environments import MEANS, Links
from planted_oracles import Fault

from instances import BernoulliArms


class Noisy(Links):
    """Sound: normal outcomes, or other noise of a subclass with this standard deviation."""

    support = (-np.inf, np.inf)
    sigma = 0.5

    def play(self, super_arm, rng):
        noise = np.random.default_rng(int(rng.random() * 2**53))
        return self.shown(super_arm, (MEANS + self.rare(noise, len(MEANS)))[super_arm], rng)

    def pull(self, arms, rng):
        return MEANS[arms] + self.noise(rng, len(arms))

    def noise(self, rng, size):
        return rng.normal(0.0, 0.5, size)

    def rare(self, rng, size):
        """Return the noise of rounds."""
        return self.noise(rng, size)


class Exponential(Noisy):
    """Has an exponential upper tail, and declares the standard deviation as its scale."""

    def noise(self, rng, size):
        return 0.5 * (rng.exponential(size=size) - 1.0)


class SkewedCoins(Links):
    """Declares the standard deviation of rare successes, whose sub-Gaussian scale is larger."""

    sigma = 0.3

    def __init__(self):
        super().__init__()
        self.arms = BernoulliArms(np.full(len(MEANS), 0.1))
        self.means = self.arms.means.copy()
        self.optimum = 0.2


class CommonError(Noisy):
    """All pulls of a call share a small part of their noise."""

    def noise(self, rng, size):
        return rng.normal(0.0, 0.1) + rng.normal(0.0, 0.48, size)


class RareShocks(Noisy):
    """Shows a shock of nine standard deviations in one of 300 rounds, and none in pulls."""

    def rare(self, rng, size):
        shock = rng.choice([-4.5, 4.5]) if rng.random() < 1 / 300 else 0.0
        return rng.normal(0.0, 0.4, size) + shock


class ShakyRounds(Noisy):
    """Its rounds have more noise than the scale permits."""

    def in_round(self, t, rng):
        return _Shaky()


class _Shaky(Noisy):
    def rare(self, rng, size):
        return rng.normal(0.0, 1.0, size)


SOUND = [Noisy]
FAULTS = [
    Fault(Exponential, "tails"),
    Fault(SkewedCoins, "tails"),
    Fault(CommonError, "tails"),
    Fault(RareShocks, "tails"),
    Fault(ShakyRounds, "tails"),
]
