"""Bounds: confidence radii and sequences, hardness, regret and samples of rules, and certificates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
