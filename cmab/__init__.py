"""Combinatorial multi-armed bandits with graph oracles.

This module has all public names of the package. They are also in the namespaces `cmab.policies`,
`cmab.exploration`, `cmab.offline`, `cmab.campaign`, `cmab.bounds`, `cmab.testing` and
`cmab.plotting`. Each name is imported when it is first used.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
