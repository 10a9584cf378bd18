"""Samples of the rules with fixed confidence on one instance, and what a sample costs to choose.

``python tests/benchmarks/exploration_rules.py`` prints the samples of explorers on the page of reproductions.
"""

import numpy as np

from cmab import (
    CLUCB,
    LUCB1,
    AdaptiveTopK,
    BernsteinLUCB,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import KLLUCB, LilLUCB
from cmab.exploration.phases import Halving
from cmab.exploration.ugape import UGapEcV
from cmab.run.plan import least_samples
from instances import BernoulliArms, BetaArms, GaussianArms
from oracles import TopK

N_ARMS, K, RUNS = 50, 5, 20
SHAPE, OWN = {"n_arms": N_ARMS, "k": K, "delta": 0.05}, {"epsilon": 0.1}
EXACT = {
    "BestKGLR, coins": BestKGLR(**SHAPE, family="bernoulli"),
    "BestKGLR": BestKGLR(**SHAPE),
    "BernsteinLUCB": BernsteinLUCB(**SHAPE),
    "LilRandLUCB": LilRandLUCB(**SHAPE),
    "LUCBPlusPlus": LUCBPlusPlus(**SHAPE),
    "LilLUCB": LilLUCB(**SHAPE),
    "LilCLUCB": LilCLUCB(TopK(N_ARMS, K), delta=0.05),
    "KLLUCB": KLLUCB(**SHAPE),
    "LUCB1": LUCB1(**SHAPE),
    "CLUCB": CLUCB(TopK(N_ARMS, K), delta=0.05),
    "UGapEc": UGapEc(**SHAPE),
    "UGapEcV": UGapEcV(**SHAPE),
}
WITHIN = {
    "BestKGLR, coins": BestKGLR(**SHAPE, **OWN, family="bernoulli"),
    "BernsteinLUCB": BernsteinLUCB(**SHAPE, **OWN),
    "KLLUCB": KLLUCB(**SHAPE, **OWN),
    "LUCB1": LUCB1(**SHAPE, **OWN),
    "UGapEc": UGapEc(**SHAPE, **OWN),
    "AdaptiveTopK": AdaptiveTopK(**SHAPE, **OWN),
    "Halving": Halving(**SHAPE, **OWN),
}


class UnequalArms(GaussianArms):
    """Gaussian arms of different variances."""

    def __init__(self, means, sigmas):
        super().__init__(means, max(sigmas))
        self.sigmas = np.array(sigmas)

    def pull(self, arms, rng):
        """Return fresh outcomes of `arms`."""
        return self.means[arms] + self.sigmas[arms] * rng.standard_normal(len(arms))


# The two best of ten, their standard deviations from 0.05 to 0.3.
FEW, MEANS = {"n_arms": 10, "k": 2, "delta": 0.05}, np.repeat([0.6, 0.4], [2, 8])
SIGMAS = np.array([0.05, 0.1, 0.05, 0.3, 0.05, 0.1, 0.05, 0.1, 0.05, 0.1])


def beta_arms():
    """Return arms of these means and standard deviations with outcomes in [0, 1]."""
    size = MEANS * (1.0 - MEANS) / SIGMAS**2 - 1.0
    return BetaArms(size * MEANS, size * (1.0 - MEANS))


UNKNOWN = {
    "in [0, 1]": (
        beta_arms(),
        {
            "BestKGLR, coins": BestKGLR(**FEW, family="bernoulli"),
            "BernsteinLUCB": BernsteinLUCB(**FEW),
            "LilRandLUCB": LilRandLUCB(**FEW),
            "KLLUCB": KLLUCB(**FEW),
            "LUCB1": LUCB1(**FEW),
            "UGapEcV": UGapEcV(**FEW),
        },
    ),
    "Gaussian": (
        UnequalArms(MEANS, SIGMAS),
        {
            "BestKGLR, sigma 0.3": BestKGLR(**FEW, sigma=0.3),
            "LilRandLUCB, sigma 0.3": LilRandLUCB(**FEW, sigma=0.3),
            "LUCB1, sigma 0.3": LUCB1(**FEW, sigma=0.3),
        },
    ),
}


def unknown_variances():
    """Print mean samples, standard errors and wrong runs where variances are small and different."""
    for title, (arms, rules) in UNKNOWN.items():
        print(f"the 2 best of 10 arms of different variances, {title}, delta = 0.05, {RUNS} runs")
        for name, rule in rules.items():
            found = identify(rule, arms, replications=RUNS, rng=0)
            error = found.samples.std(ddof=1) / RUNS**0.5
            print(f"  {name:24} {found.samples.mean():10,.0f} ± {error:6,.0f}  {found.wrong.sum()} wrong")


def main():
    """Print mean samples with standard errors, runs that were wrong, and microseconds a sample."""
    arms = BernoulliArms(np.where(np.arange(N_ARMS) < K, 0.7, 0.4))
    print(f"no rule takes less than {least_samples(EXACT['LUCB1'], arms, 0.05):,.0f} on average, exactly")
    for title, rules in (("exactly", EXACT), ("within 0.1", WITHIN)):
        print(f"the {K} best of {N_ARMS} coins, {title}, delta = 0.05, {RUNS} runs")
        for name, rule in rules.items():
            identify(rule, arms, rng=1)  # compiled before it is timed
            found = identify(rule, arms, replications=RUNS, rng=0)
            error = found.samples.std(ddof=1) / RUNS**0.5
            cost = 1e6 * np.min(found.seconds / found.samples)
            samples = f"{found.samples.mean():10,.0f} ± {error:6,.0f}"
            print(f"  {name:18} {samples}  {cost:8.3f} us  {found.wrong.sum()} wrong")
    unknown_variances()


if __name__ == "__main__":
    main()
