"""Readers of network files in many formats, with names of nodes and probabilities or weights."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
