"""Environments with one planted fault each in a law, a sum, an array or a round, and sound ones like them."""

import numpy as np
from planted_environments import MEANS, Links
from planted_oracles import Fault

from cmab import Environment, Feedback, round_key
from instances import BernoulliArms, SemiBandit
from oracles import TopK

N = len(MEANS)


class Continuous(Links):
    """Sound: outcomes of a continuous law, with sums, squares and samples of its own."""

    support, width = (-np.inf, np.inf), 0.2
    sigma = 0.2

    def draw(self, arms, rng):
        return self.means[arms] + self.width * rng.standard_normal(len(arms))

    def play(self, super_arm, rng):
        outcomes = self.draw(np.arange(N), rng)[super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def pull(self, arms, rng):
        return self.draw(arms, rng)

    def pull_many(self, arms, pulls, rng):
        # The mean and the sum of squared deviations of normal outcomes are independent.
        sums = pulls * self.means[arms] + self.width * np.sqrt(pulls) * rng.standard_normal(len(arms))
        apart = self.width**2 * np.where(pulls > 1, rng.chisquare(np.maximum(pulls - 1, 1)), 0.0)
        return sums, sums**2 / pulls + apart

    def sample(self, arms, pulls, rng):
        times = np.full(len(arms), pulls)
        sums, squares = self.pull_many(arms, times, rng)
        return Feedback(arms, sums, pulls=times, squares=squares)


class Waiting(Links):
    """Sound: waiting times, whose tails are wider than those of normal laws; declares no scale."""

    support, sigma = (0.0, np.inf), np.inf

    def play(self, super_arm, rng):
        outcomes = (self.means * rng.standard_exponential(N))[super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def pull(self, arms, rng):
        return self.means[arms] * rng.standard_exponential(len(arms))


# Tails ------------------------------------------------------------------------------------------------------


class DeviationAsScale(Waiting):
    """Declares the standard deviation, although the tails are exponential."""

    sigma = 0.8


class RareAsNormal(SemiBandit):
    """Declares the deviation of rare successes."""

    def __init__(self):
        super().__init__(BernoulliArms(np.full(N, 0.03)), TopK(N, 2))

    @property
    def sigma(self):
        return float(np.sqrt(0.03 * 0.97))


class Outliers(Continuous):
    """One outcome in a hundred is four deviations away; the variance is that of the scale."""

    def draw(self, arms, rng):
        far = rng.random(len(arms)) < 0.01
        side = np.sign(rng.random(len(arms)) - 0.5)
        return self.means[arms] + np.where(far, 0.8 * side, 0.18 * rng.standard_normal(len(arms)))

    def pull_many(self, arms, pulls, rng):
        return Environment.pull_many(self, arms, pulls, rng)

    def sample(self, arms, pulls, rng):
        return Environment.sample(self, arms, pulls, rng)


# Laws -------------------------------------------------------------------------------------------------------


class WiderRounds(Continuous):
    def play(self, super_arm, rng):
        outcomes = (self.means + 1.25 * self.width * rng.standard_normal(N))[super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))


class UniformSums(Continuous):
    """Sums with the right mean and variance, but between two ends."""

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        apart = np.sqrt(12 * pulls) * self.width * (rng.random(len(arms)) - 0.5)
        other = pulls * self.means[arms] + apart
        return other, squares - sums**2 / pulls + other**2 / pulls


class NormalInRounds(Links):
    """Rounds of another law with the same mean and variance."""

    support = (-np.inf, np.inf)
    sigma = 0.5

    def play(self, super_arm, rng):
        outcomes = (self.means + np.sqrt(self.means * (1 - self.means)) * rng.standard_normal(N))[super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))


# Sums and samples -------------------------------------------------------------------------------------------


class SharedSums(Continuous):
    """One deviation for all sums of a request, with the sign of the place."""

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        sign = np.where(np.arange(len(arms)) % 2, 1.0, -1.0)
        other = pulls * self.means[arms] + self.width * np.sqrt(pulls) * sign * rng.standard_normal()
        return other, squares - sums**2 / pulls + other**2 / pulls


class NeighbouringSums(Continuous):
    """Neighbouring sums of a request share half of their deviations."""

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        noise = rng.standard_normal(len(arms) + 1)
        other = pulls * self.means[arms] + self.width * np.sqrt(pulls / 2) * (noise[1:] + noise[:-1])
        return other, squares - sums**2 / pulls + other**2 / pulls


class PairsOfSums(Continuous):
    """Draws half of the deviations, and the other half with the opposite sign."""

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        noise = np.repeat(rng.standard_normal((len(arms) + 1) // 2), 2)[: len(arms)]
        noise *= np.resize([1.0, -1.0], len(arms))
        other = pulls * self.means[arms] + self.width * np.sqrt(pulls) * noise
        return other, squares - sums**2 / pulls + other**2 / pulls


class ShortSums(Continuous):
    """Multiplies in integers of 32 bits."""

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        base = pulls * self.means[arms]
        short = (pulls * 1000).astype(np.int32) / 1000
        other = sums - base + short * self.means[arms]
        return other, squares - sums**2 / pulls + other**2 / pulls


class AveragedSamples(Continuous):
    """Samples have averages in place of sums."""

    def sample(self, arms, pulls, rng):
        told = super().sample(arms, pulls, rng)
        return Feedback(arms, told.outcomes / pulls, pulls=told.pulls, squares=told.squares)


class SquaresOfSums(Continuous):
    def sample(self, arms, pulls, rng):
        told = super().sample(arms, pulls, rng)
        return Feedback(arms, told.outcomes, pulls=told.pulls, squares=told.outcomes**2)


class OneDrawForAll(Continuous):
    """Repeats one outcome as often as asked for."""

    def sample(self, arms, pulls, rng):
        one, times = self.pull(arms, rng), np.full(len(arms), pulls)
        return Feedback(arms, pulls * one, pulls=times, squares=pulls * one**2)


class SortedSamples(Continuous):
    def sample(self, arms, pulls, rng):
        told = super().sample(np.sort(arms), pulls, rng)
        return Feedback(arms, told.outcomes, pulls=told.pulls, squares=told.squares)


class CertainAlone(Links):
    """A request of one arm gets its mean."""

    def pull(self, arms, rng):
        return self.means[arms] if len(arms) == 1 else super().pull(arms, rng)


# Arrays -----------------------------------------------------------------------------------------------------


class PullBuffer(Links):
    buffer = np.empty(10**6)

    def pull(self, arms, rng):
        told = self.buffer[: len(arms)]
        told[:] = super().pull(arms, rng)
        return told


class SumBuffer(Links):
    buffer = np.empty((2, 10**5))

    def pull_many(self, arms, pulls, rng):
        told = self.buffer[:, : len(arms)]
        told[:] = super().pull_many(arms, pulls, rng)
        return told[0], told[1]


class KeptChances(Links):
    """Returns the same array of probabilities in each call."""

    def __init__(self):
        super().__init__()
        self.chances = np.empty(N)

    def triggering_probabilities(self, super_arm):
        self.chances[:] = np.isin(np.arange(N), super_arm)
        return self.chances


class OwnChances(Links):
    """Sound: returns arrays of its own, which it does not change."""

    def __init__(self):
        super().__init__()
        self.chances = {}

    def triggering_probabilities(self, super_arm):
        key = tuple(super_arm.tolist())
        return self.chances.setdefault(key, np.isin(np.arange(N), super_arm).astype(float))


# Memory -----------------------------------------------------------------------------------------------------

LOG = []
KNOWN = {}


class Logs(Links):
    """Keeps the outcomes of all rounds in a list of the module."""

    def shown(self, arms, outcomes, rng):
        LOG.append(outcomes)
        return super().shown(arms, outcomes, rng)


class KnowsRounds(Links):
    """Keeps each round under its key."""

    def play(self, super_arm, rng):
        key = round_key(rng)
        if key not in KNOWN:
            KNOWN[key] = (np.random.default_rng(key).random(N) < self.means).astype(float)
        outcomes = KNOWN[key][super_arm]
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))


class KeepsPulls(Links):
    kept = ()

    def pull(self, arms, rng):
        outcomes = super().pull(arms, rng)
        type(self).kept = (outcomes, type(self).kept)
        return outcomes

    def __getstate__(self):
        return {**self.__dict__}


# Declarations -----------------------------------------------------------------------------------------------


class OtherOracle(Links):
    """Its oracle is for fewer arms."""

    def __init__(self):
        super().__init__()
        self.oracle = TopK(N - 1, 2)


class MoreChoices(Links):
    n_choices = N + 1


# Rewards ----------------------------------------------------------------------------------------------------


class AnyOfThree(Links):
    """Sound: pays for the first success, with a bonus of its own law."""

    def __init__(self):
        super().__init__()
        self.oracle, self.optimum = None, float("nan")

    def pay(self, outcomes, coin):
        return float(outcomes.any()) + 0.1 * (coin < 0.5)

    def play(self, super_arm, rng):
        coin = rng.random()
        shown = self.arms.play(super_arm, rng)
        return Feedback(super_arm, shown.outcomes, reward=self.pay(shown.outcomes, coin))

    def expected_reward(self, super_arm):
        return float(1 - np.prod(1 - self.means[super_arm])) + 0.05


class Fee(AnyOfThree):
    """Its rewards lack a fee of five per cent."""

    def pay(self, outcomes, coin):
        return 0.95 * super().pay(outcomes, coin)


class FeeOfSums(AnyOfThree):
    """Pays the sum, less a fee in a few rounds that the expectation lacks."""

    def pay(self, outcomes, coin):
        return float(outcomes.sum()) - 0.5 * (coin < 0.1)

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


class RoundedSums(AnyOfThree):
    """Rounds a share of the sum down."""

    def pay(self, outcomes, coin):
        return float(np.floor(64 * 0.7 * outcomes.sum()) / 64) - 0.02

    def expected_reward(self, super_arm):
        return 0.7 * float(self.means[super_arm].sum())


# Rounds -----------------------------------------------------------------------------------------------------


class Base(Links):
    """Sound: the means take turns."""

    def in_round(self, t, rng):
        other = Links()
        other.means = np.roll(MEANS, t)
        other.arms = BernoulliArms(other.means)
        return other


class MovesWithPlay(Base):
    """Each round that is played moves the means of the next one."""

    def __init__(self):
        super().__init__()
        self.played = []

    def in_round(self, t, rng):
        other = super().in_round(t + len(self.played), rng)
        original = other.play

        def play(super_arm, rng):
            self.played.append(len(super_arm))
            return original(super_arm, rng)

        other.play = play
        return other

    def __getstate__(self):
        return {**self.__dict__, "played": []}


class PaysLate(Base):
    """The rewards of all rounds are a seventh too low, which no single round shows."""

    def in_round(self, t, rng):
        other = super().in_round(t, rng)
        other.oracle = None

        def play(super_arm, rng):
            shown = Links.play(other, super_arm, rng)
            late = np.random.default_rng(int(shown.outcomes.sum() * 1000) + int(rng.random() * 1e9)).random()
            return Feedback(shown.arms, shown.outcomes, reward=shown.reward * (late > 0.15))

        other.play = play
        return other


class LateMeans(Base):
    """From round 2,000 on, the means leave the support."""

    def in_round(self, t, rng):
        other = super().in_round(t, rng)
        if t > 2000:
            other.means = 1.5 * other.means
        return other


FAULTS = [
    Fault(DeviationAsScale, "scale"),
    Fault(RareAsNormal, "scale"),
    Fault(Outliers, "scale"),
    Fault(WiderRounds, "laws"),
    Fault(UniformSums, "laws"),
    Fault(NormalInRounds, "laws"),
    Fault(SharedSums, "independence"),
    Fault(NeighbouringSums, "independence"),
    Fault(PairsOfSums, "independence"),
    Fault(ShortSums, "large sums"),
    Fault(AveragedSamples, "samples"),
    Fault(SquaresOfSums, "samples"),
    Fault(OneDrawForAll, "samples"),
    Fault(SortedSamples, "samples"),
    Fault(CertainAlone, "pull order"),
    Fault(PullBuffer, "aliasing"),
    Fault(SumBuffer, "aliasing"),
    Fault(KeptChances, "aliasing"),
    Fault(Fee, "rewards"),
    Fault(FeeOfSums, "rewards"),
    Fault(RoundedSums, "rewards"),
    Fault(Logs, "growth"),
    Fault(KnowsRounds, "growth"),
    Fault(KeepsPulls, "growth"),
    Fault(OtherOracle, "declaration"),
    Fault(MoreChoices, "declaration"),
    Fault(MovesWithPlay, "rounds"),
    Fault(PaysLate, "played rounds"),
    Fault(LateMeans, "rounds"),
]
SOUND = [Continuous, Waiting, Base, AnyOfThree, OwnChances]
