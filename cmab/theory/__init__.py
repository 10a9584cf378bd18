"""Regret theory: smoothness of rewards, gaps of small instances, and the regret bounds of CUCB."""

from cmab.smoothness import Smoothness
from cmab.theory.gaps import RewardGaps, reward_gaps
from cmab.theory.regret_bounds import theorem_1, theorem_2

__all__ = ["RewardGaps", "Smoothness", "reward_gaps", "theorem_1", "theorem_2"]
