"""Warnings of estimators: the same warning is shown once for each policy, although it fits many models."""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

#: The largest number of different warnings of an estimator that a policy shows. Texts may differ each time.
_MOST = 100
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_LOCK = threading.Lock()
#: What each policy has shown.
_SHOWN: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()


class _Running(threading.local):
    """What the policy that runs an estimator in this thread has shown; None if no policy does."""

    shown: set[Any] | None = None


class _Hook:
    """The replacement of `warnings.showwarning` while a policy runs an estimator in any thread.

    `warnings.catch_warnings` is not used here, because it also catches the warnings of other threads, and
    because Python afterwards repeats all warnings that it shows once.
    """

    def __init__(self) -> None:
        self.users = 0
        self.former: Any = warnings.showwarning

    def __call__(self, message: Any, category: Any, *more: Any, **named: Any) -> None:
        if is_new(category, str(message), _MOST):
            self.former(message, category, *more, **named)

    def enter(self, module: Any = warnings) -> None:
        with _LOCK:
            self.users += 1
            if module.showwarning is not self:
                self.former, module.showwarning = module.showwarning, self

    def leave(self, module: Any = warnings) -> None:
        with _LOCK:
            self.users -= 1
            if self.users == 0 and module.showwarning is self:
                module.showwarning = self.former


_RUNNING, _HOOK = _Running(), _Hook()


def is_new(kind: object, text: str, most: float) -> bool:
    """Return whether the policy of this thread has shown neither this warning nor `most` others. Keep it.

    Warnings are the same if their kind and text are equal. Numbers in the texts may differ. The answer is
    always True if no policy runs in this thread.
    """
    shown, warning = _RUNNING.shown, (kind, _NUMBER.sub("", text))
    if shown is None:
        return True
    if warning in shown or len(shown) >= most:
        return False
    shown.add(warning)
    return True


@contextmanager
def shown_once(policy: object) -> Iterator[None]:
    """Show the same warning of this thread only once for `policy`; see `is_new`.

    Parameters
    ----------
    policy : object
        The policy; None to show all warnings.
    """
    outer = _RUNNING.shown
    with _LOCK:
        _RUNNING.shown = None if policy is None else _SHOWN.setdefault(policy, set())
    _HOOK.enter()
    try:
        yield
    finally:
        _HOOK.leave()
        _RUNNING.shown = outer


def warn(text: str, until: int | None = None) -> None:
    """Warn the caller of a policy's ``update``, once for each value of `until`, the time of the next fit."""
    if is_new(until, text, math.inf):
        with shown_once(None):
            warnings.warn(text, RuntimeWarning, stacklevel=5)
