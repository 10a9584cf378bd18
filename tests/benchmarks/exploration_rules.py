"""Samples of the rules with fixed confidence on one instance, and what a sample costs to choose.

``python tests/benchmarks/exploration_rules.py`` prints the table of the page "Which rule for which question".
"""

import numpy as np

from cmab import (
    CLUCB,
    KLLUCB,
    LUCB1,
    AdaptiveTopK,
    BernsteinRace,
    Halving,
    HoeffdingRace,
    LilCLUCB,
    LilLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    MixtureGLR,
    UGapEc,
    UGapEcV,
    identify,
)
from cmab.running.plan import least_samples
from instances import BernoulliArms, two_groups
from oracles import TopK

N_ARMS, K, RUNS = 50, 5, 20
SHAPE, OWN = {"n_arms": N_ARMS, "k": K, "delta": 0.05}, {"epsilon": 0.1}
EXACT = {
    "MixtureGLR, coins": MixtureGLR(**SHAPE, family="bernoulli"),
    "MixtureGLR": MixtureGLR(**SHAPE),
    "LilRandLUCB": LilRandLUCB(**SHAPE),
    "LUCBPlusPlus": LUCBPlusPlus(**SHAPE),
    "LilLUCB": LilLUCB(**SHAPE),
    "LilCLUCB": LilCLUCB(TopK(N_ARMS, K), delta=0.05),
    "KLLUCB": KLLUCB(**SHAPE),
    "LUCB1": LUCB1(**SHAPE),
    "CLUCB": CLUCB(TopK(N_ARMS, K), delta=0.05),
    "UGapEc": UGapEc(**SHAPE),
    "UGapEcV": UGapEcV(**SHAPE),
    "HoeffdingRace": HoeffdingRace(**SHAPE, max_pulls=100_000),
    "BernsteinRace": BernsteinRace(**SHAPE, max_pulls=100_000),
}
WITHIN = {
    "MixtureGLR, coins": MixtureGLR(**SHAPE, **OWN, family="bernoulli"),
    "KLLUCB": KLLUCB(**SHAPE, **OWN),
    "LUCB1": LUCB1(**SHAPE, **OWN),
    "UGapEc": UGapEc(**SHAPE, **OWN),
    "AdaptiveTopK": AdaptiveTopK(**SHAPE, **OWN),
    "Halving": Halving(**SHAPE, **OWN),
}


def main():
    """Print mean samples with standard errors, runs that were wrong, and microseconds a sample."""
    arms = BernoulliArms(two_groups(N_ARMS, K, high=0.7, low=0.4))
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


if __name__ == "__main__":
    main()
