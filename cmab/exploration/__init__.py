"""Explorers: policies that sample base arms to identify the best ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
