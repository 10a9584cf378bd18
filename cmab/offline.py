"""The former location of `cmab.logs.offline`, which stays for one version."""

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    from cmab.logs import offline

    value = getattr(offline, name)
    what = f"cmab.offline.{name} is deprecated: import it from cmab.logs.offline"
    warnings.warn(what, DeprecationWarning, stacklevel=2)
    return value
