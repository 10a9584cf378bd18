"""Base classes of oracles: general oracles, linear oracles, and a cache of answers."""

from cmab.oracle.base import Oracle, Sense, require_oracle
from cmab.oracle.certificate import Certified, SolverCertificate, proved_ratio, report_ratio
from cmab.oracle.linear import LinearOracle
from cmab.oracle.memoised import MemoisedOracle

__all__ = [
    "Certified",
    "LinearOracle",
    "MemoisedOracle",
    "Oracle",
    "Sense",
    "SolverCertificate",
    "proved_ratio",
    "report_ratio",
    "require_oracle",
]
