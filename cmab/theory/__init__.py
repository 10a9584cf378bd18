"""Regret theory: smoothness of rewards, gaps of small instances, and the regret bounds of CUCB."""

from cmab.smoothness import Smoothness
from cmab.theory.gaps import RewardGaps, reward_gaps
from cmab.theory.regret_bounds import gap_dependent_bound, gap_free_bound

__all__ = ["RewardGaps", "Smoothness", "gap_dependent_bound", "gap_free_bound", "reward_gaps"]
