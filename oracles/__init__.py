"""Oracles for families of super arms, each with an approximation guarantee.

This module has all oracles. They are also in `oracles.influence`, `oracles.stores`, `oracles.flows`,
`oracles.matroids`, `oracles.packing`, `oracles.programs` and `oracles.lists`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
