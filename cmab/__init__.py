"""Combinatorial multi-armed bandits with graph oracles."""

from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.oracle import LinearOracle, Oracle
from cmab.policies.baselines import Clairvoyant, EpsilonGreedy, ExploreThenCommit, Greedy, UniformlyRandom
from cmab.policies.cucb import CUCB
from cmab.policies.llr import LLR
from cmab.policies.thompson import CTS
from cmab.policy import IndexPolicy, Policy
from cmab.session import Session, Ticket
from cmab.simulation import Simulation, SimulationInterrupted, simulate
from cmab.statistics import ArmStatistics

__all__ = [
    "CTS",
    "CUCB",
    "LLR",
    "ArmStatistics",
    "Clairvoyant",
    "Environment",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Explorer",
    "Feedback",
    "Greedy",
    "IndexPolicy",
    "LinearOracle",
    "Oracle",
    "Policy",
    "Session",
    "Simulation",
    "SimulationInterrupted",
    "Ticket",
    "UniformlyRandom",
    "simulate",
]
