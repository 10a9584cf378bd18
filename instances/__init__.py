"""Problem instances: distributions of arms, environments and the instances of papers.

This module has the names that most programs need. Other names are in `instances.arms`, `instances.worlds`,
`instances.networks`, `instances.benchmarks` and `instances.best_k`.
"""

from cmab.namespaces import attach

_SHOWN = """
    BernoulliArms CascadeModel Coverage GaussianArms IndependentCascade LinearSemiBandit
    LinearThreshold MultinomialLogit read_network SemiBandit
    arms benchmarks best_k networks worlds
"""

__getattr__, __dir__, __all__ = attach(__name__, _SHOWN.split())
