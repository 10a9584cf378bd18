"""Logs: reading them, the value of another policy (off-policy evaluation), and a start from a log."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
