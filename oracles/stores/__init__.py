"""Graph stores: folders of arrays that are mapped into memory, and their conversion from files of edges."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
