"""Theory: smoothness of rewards, gaps and bounds of small instances, mixtures within budgets."""

from cmab.smoothness import Smoothness
from cmab.theory.bounds import Bound, instance_bounds
from cmab.theory.gaps import RewardGaps, reward_gaps
from cmab.theory.mixtures import Mixture, best_mixture
from cmab.theory.regret_bounds import gap_dependent_bound, gap_free_bound
from cmab.theory.triggering_bounds import modulated_bound, modulated_gap_free_bound, sum_of_widths

__all__ = [
    "Bound",
    "Mixture",
    "RewardGaps",
    "Smoothness",
    "best_mixture",
    "gap_dependent_bound",
    "gap_free_bound",
    "instance_bounds",
    "modulated_bound",
    "modulated_gap_free_bound",
    "reward_gaps",
    "sum_of_widths",
]
