"""Problem instances: distributions of arms, environments and the instances of papers.

This module has all names. They are also in `instances.arms` and `instances.networks`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
