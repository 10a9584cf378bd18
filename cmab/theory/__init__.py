"""Regret theory: smoothness of rewards, gaps of small instances, and the regret bounds of CUCB."""

from cmab.theory.gaps import RewardGaps, reward_gaps
from cmab.theory.regret_bounds import theorem_1, theorem_2
from cmab.theory.smoothness import Smoothness

__all__ = ["RewardGaps", "Smoothness", "reward_gaps", "theorem_1", "theorem_2"]
