"""Combinatorial multi-armed bandits with graph oracles."""

from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.oracle import LinearOracle, Oracle
from cmab.policies.cucb import CUCB
from cmab.policy import IndexPolicy, Policy
from cmab.session import Session, Ticket
from cmab.simulation import Simulation, SimulationInterrupted, simulate
from cmab.statistics import ArmStatistics

__all__ = [
    "CUCB",
    "ArmStatistics",
    "Environment",
    "Explorer",
    "Feedback",
    "IndexPolicy",
    "LinearOracle",
    "Oracle",
    "Policy",
    "Session",
    "Simulation",
    "SimulationInterrupted",
    "Ticket",
    "simulate",
]
