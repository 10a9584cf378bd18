"""Campaigns, which identify arms by name and store every event in a database."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
