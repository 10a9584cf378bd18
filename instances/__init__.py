"""Problem instances: distributions of arms, environments and the instances of papers.

This module has all names. They are also in `instances.arms`, `instances.worlds`, `instances.networks`,
`instances.benchmarks` and `instances.best_k`.
"""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
