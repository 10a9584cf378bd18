"""Base classes of oracles: general oracles, linear oracles, and a cache of answers."""

from cmab.oracle.base import Oracle, Sense, require_oracle
from cmab.oracle.linear import LinearOracle
from cmab.oracle.memoised import MemoisedOracle

__all__ = ["LinearOracle", "MemoisedOracle", "Oracle", "Sense", "require_oracle"]
