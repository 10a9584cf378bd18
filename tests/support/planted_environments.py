"""Environments with one planted fault each, and the check that names it."""

import threading
import time
from itertools import combinations, permutations

import networkx as nx
import numpy as np
from planted_oracles import START, Fault

from cmab import Context, Environment, Feedback
from instances import BernoulliArms, GaussianArms, IndependentCascade, SemiBandit
from oracles import TopK

MEANS = np.array([0.3, 0.5, 0.8, 0.2, 0.6, 0.4, 0.7])
SUPER_ARMS = [(0, 1), (1, 2), (4, 6)]


class Links(Environment):
    """Sound: Bernoulli arms, two of which are played."""

    def __init__(self):
        self.arms = BernoulliArms(MEANS)
        self.means, self.n_arms = self.arms.means.copy(), len(MEANS)
        self.oracle = TopK(self.n_arms, 2)
        self.optimum = float(np.sort(MEANS)[-2:].sum())

    def play(self, super_arm, rng):
        return self.shown(super_arm, self.arms.play(super_arm, rng).outcomes, rng)

    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes, reward=float(outcomes.sum()))

    def pull(self, arms, rng):
        return self.arms.pull(arms, rng)

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


class SharedRate(Links):
    """Keeps a parameter in the class, so that the last instance made decides for all."""

    def __init__(self, rate=1.0):
        super().__init__()
        self.rate = SharedRate.last = rate

    def shown(self, arms, outcomes, rng):
        return super().shown(arms, outcomes * SharedRate.last, rng)


class TwoPerCent(Links):
    """Shows two in a hundred less than it should."""

    def shown(self, arms, outcomes, rng):
        kept = np.random.default_rng(int(rng.random() * 2**53)).random(len(MEANS))[arms] > 0.02
        return super().shown(arms, outcomes * kept, rng)


class Biased(BernoulliArms):
    def quantile(self, arms, uniforms):
        return (uniforms < 0.9 * self.means[arms]).astype(float)


class CommonPull(Links):
    """One coin for all pulls of a call."""

    def pull(self, arms, rng):
        return (rng.random() < self.means[arms]).astype(float)


class FewSeeds(Links):
    """Derives the pulls of a call from one of 256 seeds."""

    def pull(self, arms, rng):
        return super().pull(arms, np.random.default_rng(int(rng.integers(256))))


class TakesOver(Links):
    """Shows the outcome of the round before in a tenth of the rounds."""

    last = 0.0

    def shown(self, arms, outcomes, rng):
        shown = outcomes.copy()
        shown[0] = self.last if rng.random() < 0.1 else shown[0]
        self.last = float(outcomes[0])
        return Feedback(arms, shown, reward=float(shown.sum()))


class SometimesRewarded(Links):
    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes, reward=np.nan if rng.random() < 0.05 else float(outcomes.sum()))


class CommonCoin(Links):
    def play(self, super_arm, rng):
        return self.shown(super_arm, (rng.random() < self.means[super_arm]).astype(float), rng)


class Untriggered(Links):
    def play(self, super_arm, rng):
        everything = self.arms.play(np.arange(len(MEANS)), rng)
        return Feedback(
            everything.arms, everything.outcomes, reward=float(everything.outcomes[super_arm].sum())
        )


class RewardApart(Links):
    """The reward has the right mean, and nothing to do with the outcomes."""

    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes, reward=float((rng.random(len(arms)) < self.means[arms]).sum()))


class Lying(Links):
    def expected_reward(self, super_arm):
        return float(self.means[super_arm].max())


class StickyPulls(Links):
    def __init__(self):
        super().__init__()
        self.last = np.zeros(len(MEANS))

    def pull(self, arms, rng):
        outcomes = super().pull(arms, rng)
        for position, arm in enumerate(arms[: 10**5]):
            if rng.random() < 0.3:
                outcomes[position] = self.last[arm]
            self.last[arm] = outcomes[position]
        return outcomes


class OptimumTooHigh(Links):
    def __init__(self):
        super().__init__()
        self.optimum += 0.1


class OptimumTooLow(Links):
    def __init__(self):
        super().__init__()
        self.optimum = 0.5


class BiasedBeyondFive(Links):
    def pull(self, arms, rng):
        return np.where(arms > 5, 1.0, super().pull(arms, rng))


class Squares(Links):
    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        return sums, 3 * squares


class SquaresUnbounded(SemiBandit):
    def __init__(self):
        super().__init__(GaussianArms(MEANS, 0.5), TopK(len(MEANS), 2))

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        return sums, 3 * squares


class HalfSums(Links):
    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        return sums / 2, squares


class RareOutcome(Links):
    """Once in ten thousand pulls something impossible."""

    def pull(self, arms, rng):
        return np.where(rng.random(len(arms)) < 1e-4, 5.0, super().pull(arms, rng))


class Doubled(Links):
    def shown(self, arms, outcomes, rng):
        return super().shown(arms, 2 * outcomes, rng)


class NoNoise(Links):
    def play(self, super_arm, rng):
        return self.shown(super_arm, self.means[super_arm], rng)

    def pull(self, arms, rng):
        return self.means[arms]


class Drift(Links):
    played = 0

    def play(self, super_arm, rng):
        self.played += 1
        moved = BernoulliArms(np.clip(MEANS + 1e-6 * self.played, 0, 1))
        return self.shown(super_arm, moved.play(super_arm, rng).outcomes, rng)


class MovingMeans(Links):
    def play(self, super_arm, rng):
        self.means[0] += 1e-9
        return super().play(super_arm, rng)


class Unpicklable(Links):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class WallClock(Links):
    def play(self, super_arm, rng):
        outcomes = self.arms.play(super_arm, rng).outcomes
        return self.shown(super_arm, outcomes if time.time() < START + 3600 else 1 - outcomes, rng)


class GlobalDraws(Links):
    def play(self, super_arm, rng):
        return self.shown(super_arm, (np.random.random(len(super_arm)) < 0.5) * 1.0, rng)  # noqa: NPY002


class GlobalSample(Links):
    def sample(self, arms, pulls, rng):
        return super().sample(arms, pulls, np.random.default_rng(np.random.randint(2**31)))  # noqa: NPY002


class OwnPullGenerator(Links):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def pull(self, arms, rng):
        return super().pull(arms, self.rng)


class LosesPulls(Links):
    """Its copies play as it does, and pull other arms."""

    shift = 0

    def __getstate__(self):
        return {**self.__dict__, "shift": 1}

    def pull(self, arms, rng):
        return self.arms.pull((arms + self.shift) % len(MEANS), rng)


class RoundSums(Links):
    """Sums that vary too little: half of each is certain."""

    def pull_many(self, arms, pulls, rng):
        sums = (super().pull_many(arms, pulls, rng)[0] + pulls * self.means[arms]) / 2
        return sums, pulls * self.means[arms]


class SquaresAFifthLow(SemiBandit):
    def __init__(self):
        super().__init__(GaussianArms(MEANS, 0.5), TopK(len(MEANS), 2))

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        return sums, squares - 0.3 * (squares - sums**2 / pulls)


class Silent(Links):
    """Sound: its rounds have no reward."""

    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes)


class RareSuccesses(Links):
    """Sound: sums of so rare successes vary as if by chance."""

    def __init__(self):
        super().__init__()
        self.arms = BernoulliArms([1e-4, 1e-3, 0.999, 0.5, 0.0, 1.0, 0.02])
        self.means = self.arms.means.copy()
        self.optimum = 1.999


class FewWinners(Environment):
    """Sound: outcomes without bound, most of them small and few very large."""

    support = (-np.inf, np.inf)

    def __init__(self):
        self.n_arms, self.means = 3, np.exp([0.5, 1.125, 2.0])
        self.spreads = np.array([1.0, 1.5, 2.0])

    def play(self, super_arm, rng):
        outcomes = np.random.default_rng(int(rng.random() * 2**53)).standard_normal(self.n_arms)
        return Feedback(super_arm, np.exp(self.spreads * outcomes)[super_arm])

    def pull(self, arms, rng):
        return np.exp(self.spreads[arms] * rng.standard_normal(len(arms)))

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


class Unpaired(Links):
    """Derives the outcomes from one number, but in another way for each super arm."""

    def play(self, super_arm, rng):
        own = np.random.default_rng((int(rng.integers(2**62)), int(super_arm.sum())))
        return self.shown(super_arm, self.arms.play(super_arm, own).outcomes, rng)


class Distracted(IndependentCascade):
    def __init__(self):
        graph = nx.path_graph(4, create_using=nx.DiGraph)
        super().__init__(graph, [0.5, 0.4, 0.8], k=1)

    def play(self, super_arm, rng):
        whole = super().play(super_arm, rng)
        seen = rng.random(len(whole.arms)) < 0.9
        return Feedback(whole.arms[seen], whole.outcomes[seen], reward=whole.reward)


def biased():
    return Biased(MEANS)


biased.__name__ = "Biased"


class Seasons(Links):
    """Sound: in each round the means stand at other arms, and two arms sleep."""

    def in_round(self, t, rng):
        return self.season(np.roll(MEANS, t // 10), rng.choice(len(MEANS), 2, replace=False))

    def season(self, means, asleep):
        place = Links()
        place.arms = BernoulliArms(means)
        place.means = place.arms.means.copy()
        available = np.ones(len(MEANS), bool)
        available[asleep] = False
        place.context = Context(available=available)
        place.optimum = float(np.sort(means[available])[-2:].sum())
        return place


class Holidays(Links):
    """In every ninth round, successes count twice, outside the support."""

    factor = 1.0

    def __init__(self):
        super().__init__()
        self.arms = BernoulliArms(MEANS / 2)
        self.means, self.optimum = self.arms.means.copy(), self.optimum / 2

    def in_round(self, t, rng):
        place = type(self)()
        place.factor = 2.0 if t % 9 == 0 else 1.0
        place.means, place.optimum = place.factor * self.means, place.factor * self.optimum
        return place

    def play(self, super_arm, rng):
        told = super().play(super_arm, rng)
        return Feedback(told.arms, self.factor * told.outcomes, reward=self.factor * told.reward)

    def pull(self, arms, rng):
        return self.factor * super().pull(arms, rng)


class HalfMeans(Holidays):
    """Sound: the same with half of each outcome, inside the support."""

    def __init__(self):
        super().__init__()
        self.means, self.optimum = self.means / 2, self.optimum / 2

    def play(self, super_arm, rng):
        told = super().play(super_arm, rng)
        return Feedback(told.arms, told.outcomes / 2, reward=told.reward / 2)

    def pull(self, arms, rng):
        return super().pull(arms, rng) / 2


class OptimumOfAll(Seasons):
    """Its optimum forgets that two arms sleep."""

    def season(self, means, asleep):
        place = super().season(means, asleep)
        place.optimum = self.optimum
        return place


class OtherKernel(SemiBandit):
    """Its compiled form plays the arms in another order."""

    def __init__(self):
        super().__init__(BernoulliArms(MEANS), TopK(len(MEANS), 2))

    def kernel(self):
        return SemiBandit(BernoulliArms(MEANS[::-1]), self.oracle).kernel()


class Leave(Links):
    """Sound: two arms sleep in each round, and there is no oracle."""

    def __init__(self):
        super().__init__()
        del self.oracle

    def in_round(self, t, rng):
        place = Links()
        del place.oracle
        available = np.ones(len(MEANS), bool)
        available[rng.choice(len(MEANS), 2, replace=False)] = False
        place.context = Context(available=available)
        place.optimum = self.best(available)
        return place

    def best(self, available):
        return float(np.sort(MEANS[available])[-2:].sum())


class LeaveUnnoticed(Leave):
    """Its optimum forgets that two arms sleep."""

    def best(self, available):
        return self.optimum


class SharedWalk(Links):
    """Keeps the random walk of its means, so that the first replication decides for all."""

    def __init__(self):
        super().__init__()
        self.walk = [MEANS]

    def in_round(self, t, rng):
        while len(self.walk) <= t:
            self.walk.append(np.clip(self.walk[-1] + rng.normal(0, 0.01, len(MEANS)), 0.0, 1.0))
        place = Links()
        place.arms = BernoulliArms(self.walk[t])
        place.means = place.arms.means.copy()
        place.optimum = float(np.sort(place.means)[-2:].sum())
        return place


class OptimumOfTheFirst(Seasons):
    """Its optimum is the worth now of what was best before the means moved."""

    def season(self, means, asleep):
        place = super().season(means, asleep)
        place.context = None
        place.optimum = float(means[np.argsort(MEANS)[-2:]].sum())
        return place


class MovesItself(Seasons):
    def in_round(self, t, rng):
        self.means = np.roll(self.means, 1)
        return self


class TellsByItself(Seasons):
    """Returns itself, with the context of the round."""

    def in_round(self, t, rng):
        place = super().in_round(1, rng)
        self.context, self.optimum = place.context, place.optimum
        return self


class CountsRounds(Seasons):
    """Goes by how often it was asked, not by the round."""

    asked = 0

    def in_round(self, t, rng):
        self.asked += 1
        return super().in_round(10 * self.asked, rng)


class LosesAnArm(Seasons):
    def in_round(self, t, rng):
        return Fewer() if t == 10 else super().in_round(t, rng)


class AlwaysTheFirst(Seasons):
    """Plays all rounds as if the means had not moved."""

    def season(self, means, asleep):
        place = super().season(means, asleep)
        place.arms = self.arms
        return place


class Late(Seasons):
    """In one round a run is told something that it cannot play: `odd` changes that round."""

    def in_round(self, t, rng):
        place = super().in_round(t, rng)
        return self.odd(place) if t == 7 else place


class Nothing(Late):
    def odd(self, place):
        return None


class AllAsleep(Late):
    def odd(self, place):
        place.context = Context(available=np.zeros(len(MEANS), bool))
        return place


class NoContext(Late):
    def odd(self, place):
        place.context = {"available": place.context.available}
        return place


class Fewer(Links):
    def __init__(self):
        super().__init__()
        self.arms = BernoulliArms(MEANS[:-1])
        self.means, self.n_arms = self.arms.means.copy(), len(MEANS) - 1


class MeanOutside(Links):
    support = (0.0, 0.5)


class SortsSuperArm(Links):
    """Pairs the sorted arms with the outcomes in the given order."""

    def play(self, super_arm, rng):
        shown = self.arms.play(super_arm, rng)
        return self.shown(np.sort(super_arm), shown.outcomes, rng)


class ByPosition(Links):
    """The number of an outcome goes with the place of the arm in the super arm."""

    def play(self, super_arm, rng):
        numbers = np.random.default_rng(int(rng.random() * 2**53)).random(len(super_arm))
        return self.shown(super_arm, (numbers < self.means[super_arm]).astype(float), rng)


class ExtraDraw(Links):
    def play(self, super_arm, rng):
        feedback = super().play(super_arm, rng)
        if 1 in super_arm:
            rng.random()
        return feedback


class SortsInPlace(Links):
    def play(self, super_arm, rng):
        super_arm.sort()
        return super().play(super_arm, rng)


class ShowsItsMeans(Links):
    """Certain outcomes, and the array of the means itself."""

    def play(self, super_arm, rng):
        return Feedback(super_arm, self.means[super_arm], reward=float(self.means[super_arm].sum()))

    def pull(self, arms, rng):
        self.last = (
            self.means[arms] if not hasattr(self, "last") or len(self.last) != len(arms) else self.last
        )
        return self.last


class SortsPulls(Links):
    def pull(self, arms, rng):
        return super().pull(np.sort(arms), rng)


class SwapsPairs(Links):
    """Swaps the outcomes of requests of two arms."""

    def pull(self, arms, rng):
        outcomes = super().pull(arms, rng)
        return outcomes[::-1].copy() if len(arms) == 2 else outcomes


class LowSamples(Links):
    """Its samples of several pulls lack a part."""

    def sample(self, arms, pulls, rng):
        told = super().sample(arms, pulls, rng)
        part = 1.0 if pulls == 1 else 0.5
        return Feedback(told.arms, part * told.outcomes, pulls=told.pulls, squares=told.squares)


class NarrowScale(SemiBandit):
    sigma = 0.3

    def __init__(self):
        super().__init__(GaussianArms(MEANS, 0.5), TopK(len(MEANS), 2))


class OtherNoise(Links):
    """Rounds show coins, pulls show numbers near the mean."""

    def pull(self, arms, rng):
        return self.means[arms] + 0.1 * (rng.random(len(arms)) - 0.5)


class SumOfSquares(Links):
    """Its rewards and their expectation are not those of its oracle."""

    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes, reward=float(outcomes.max()))

    def expected_reward(self, super_arm):
        return float(1.0 - np.prod(1.0 - self.means[super_arm]))


class EveryThousandth(Links):
    """Shows nothing but failures in each thousandth round of the program."""

    played = [0]  # noqa: RUF012

    def shown(self, arms, outcomes, rng):
        self.played[0] += 1
        return super().shown(arms, outcomes * (self.played[0] % 1000 > 0), rng)


class Walk(Links):
    """Each round repeats the outcomes of the round before it with probability one half."""

    def play(self, super_arm, rng):
        numbers = rng.random(1)
        before = getattr(self, "_before", numbers[0])
        self._before = before if numbers[0] < 0.5 else 2 * numbers[0] - 1
        coins = np.random.default_rng(int(self._before * 2**53)).random(len(MEANS))
        return self.shown(super_arm, (coins[super_arm] < self.means[super_arm]) * 1.0, rng)


class NormalSums(Links):
    """Approximates the law of large sums with the variance of a Poisson law."""

    def pull_many(self, arms, pulls, rng):
        chances = self.means[arms]
        large = np.clip(np.round(rng.normal(pulls * chances, np.sqrt(pulls * chances))), 0, pulls)
        sums = np.where(pulls > 1000, large, rng.binomial(pulls, chances)).astype(float)
        return sums, sums.copy()


class ShrinkingSeasons(Links):
    """The means shrink in later rounds, but the optimum is that of the first round."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.means = self.means * factor
        self.arms = BernoulliArms(self.means)
        del self.oracle

    def in_round(self, t, rng):
        return ShrinkingSeasons(0.2 if t // 50 % 2 else 1.0)


class Rationed(Links):
    """Sound: each success uses one unit of a resource. The optimum mixes super arms."""

    allowance = np.array([1.0])

    def __init__(self):
        super().__init__()
        self.optimum = 1.0

    def shown(self, arms, outcomes, rng):
        return Feedback(arms, outcomes, reward=float(outcomes.sum()), costs=outcomes[:, None])


class BestAlone(Rationed):
    """Its optimum is the best single super arm within the allowance."""

    def __init__(self):
        super().__init__()
        self.optimum = 0.8


FAULTS = [
    Fault(SharedRate, "instances"),
    Fault(NormalSums, "large sums"),
    Fault(ShrinkingSeasons, "optima"),
    Fault(MeanOutside, "declaration"),
    Fault(SortsSuperArm, "order"),
    Fault(ByPosition, "order"),
    Fault(ExtraDraw, "stream"),
    Fault(SortsInPlace, "input"),
    Fault(ShowsItsMeans, "input"),
    Fault(SortsPulls, "pull order"),
    Fault(SwapsPairs, "pull order"),
    Fault(LowSamples, "pull order"),
    Fault(NarrowScale, "scale"),
    Fault(OtherNoise, "laws"),
    Fault(SumOfSquares, "agreement"),
    Fault(EveryThousandth, "replay"),
    Fault(Walk, "succession"),
    Fault(FewSeeds, "succession"),
    Fault(TakesOver, "replay"),
    Fault(SometimesRewarded, "rewards"),
    Fault(TwoPerCent, "outcomes"),
    Fault(biased, "outcomes"),
    Fault(CommonPull, "independence"),
    Fault(CommonCoin, None, "outcomes of one round may depend on each other"),
    Fault(Untriggered, "triggers"),
    Fault(RewardApart, "rewards"),
    Fault(Lying, "rewards"),
    Fault(StickyPulls, "independence"),
    Fault(OptimumTooHigh, "optimum"),
    Fault(OptimumTooLow, "optimum"),
    Fault(BestAlone, "optimum"),
    Fault(BiasedBeyondFive, "pulls"),
    Fault(Squares, "squares"),
    Fault(SquaresUnbounded, "squares"),
    Fault(HalfSums, "pulls"),
    Fault(RareOutcome, "support"),
    Fault(Doubled, "support"),
    Fault(NoNoise, None, "certain outcomes are allowed"),
    Fault(Drift, "stationarity"),
    Fault(MovingMeans, "stationarity"),
    Fault(Unpicklable, "pickling"),
    Fault(WallClock, "clock"),
    Fault(GlobalDraws, "global randomness"),
    Fault(GlobalSample, "global randomness"),
    Fault(OwnPullGenerator, "determinism"),
    Fault(LosesPulls, "pickling"),
    Fault(RoundSums, "pulls"),
    Fault(SquaresAFifthLow, "squares"),
    Fault(Unpaired, "coins"),
    Fault(Distracted, "triggers"),
    Fault(OtherKernel, "compiled"),
    Fault(OptimumOfAll, "optima"),
    Fault(Holidays, "played rounds"),
    Fault(LeaveUnnoticed, "optima"),
    Fault(SharedWalk, "rounds"),
    Fault(OptimumOfTheFirst, "optima"),
    Fault(MovesItself, "rounds"),
    Fault(CountsRounds, "rounds"),
    Fault(TellsByItself, "rounds"),
    Fault(LosesAnArm, "rounds"),
    Fault(AlwaysTheFirst, "played rounds"),
    Fault(Nothing, "rounds"),
    Fault(AllAsleep, "rounds"),
    Fault(NoContext, "rounds"),
]


class Costs(Links):
    """Sound: the rewards are costs, which only the oracle of the policy declares."""

    def __init__(self):
        super().__init__()
        del self.oracle
        self.optimum = min(self.expected_reward([*arms]) for arms in SUPER_ARMS)


class PaidByPlace(Links):
    """Sound: later places of a list earn less. Prices make some lists worth the same in two orders."""

    prices, places = np.array([2.0, 1.0, 1.0, 4.0, 1.0, 1.0, 2.0]), np.array([1.0, 0.75, 0.5])

    def __init__(self):
        super().__init__()
        del self.oracle
        self.arms = BernoulliArms(np.full(len(MEANS), 0.5))
        self.means = self.arms.means.copy()
        self.optimum = max(self.expected_reward([*order]) for order in permutations(range(len(MEANS)), 3))

    def paid(self, super_arm):
        return self.places[: len(super_arm)] * self.prices[super_arm]

    def play(self, super_arm, rng):
        outcomes = self.arms.play(super_arm, rng).outcomes
        return Feedback(super_arm, outcomes, reward=float(outcomes @ self.paid(super_arm)))

    def expected_reward(self, super_arm):
        return float(self.means[super_arm] @ self.paid(super_arm))


SOUND = [Links, Seasons, Leave, Silent, RareSuccesses, FewWinners, Costs, HalfMeans, PaidByPlace, Rationed]


def super_arms_of(environment):
    """Return what is played."""
    if isinstance(environment, PaidByPlace):
        return [(0, 1, 2), (3, 0, 2), (1, 4, 6), (6, 0)]
    if isinstance(environment, Leave):
        return list(combinations(range(len(MEANS)), 2))
    return [(0,), (1,)] if isinstance(environment, IndependentCascade | FewWinners) else SUPER_ARMS
