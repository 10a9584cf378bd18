"""Oracles: families of super arms with their rewards, linear ones, and answers that are remembered."""

from cmab.oracle.base import Oracle, Sense, require_oracle
from cmab.oracle.linear import LinearOracle
from cmab.oracle.memoised import MemoisedOracle

__all__ = ["LinearOracle", "MemoisedOracle", "Oracle", "Sense", "require_oracle"]
