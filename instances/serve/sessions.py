"""Sessions of browsers and programs, and limits on attempts."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from instances.serve.users import Role

#: A session ends after this time without a request, and after this time in any case, in seconds.
IDLE, LONGEST = 3_600.0, 43_200.0
_MOST_SESSIONS = 1_000
_MOST_WATCHED = 10_000


@dataclass
class WebSession:
    """A session of a browser or a program.

    Attributes
    ----------
    user : str
        The name of the user, the author of events.
    role : {"read", "report", "decide"}
        The role of the user.
    csrf : str
        The token that each form of this session must contain.
    begun, used : float
        The times of the beginning and of the last request.
    password : str
        The hash of the password at the beginning; the session ends when the password is changed.
    """

    user: str
    role: Role
    csrf: str
    begun: float
    used: float
    password: str = ""


class Sessions:
    """The open sessions, in memory only. Keys are stored as hashes.

    Parameters
    ----------
    clock : callable
        The clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._open: OrderedDict[str, WebSession] = OrderedDict()

    def begin(self, user: str, role: Role, password: str = "") -> str:
        """Begin a session of a user with the hash of the password, and return its secret key."""
        key, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._open[_digest(key)] = WebSession(user, role, secrets.token_urlsafe(32), now, now, password)
            while len(self._open) > _MOST_SESSIONS:
                self._open.popitem(last=False)
        return key

    def find(self, key: str) -> WebSession | None:
        """Return the open session of a key, or None; the session then stays open for another hour."""
        now = self._clock()
        with self._lock:
            session = self._open.get(_digest(key))
            if session is None:
                return None
            if now - session.used > IDLE or now - session.begun > LONGEST:
                del self._open[_digest(key)]
                return None
            session.used = now
            self._open.move_to_end(_digest(key))
            return session

    def end(self, key: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(_digest(key), None)


class Attempts:
    """A limit on failed attempts: at most `most` in `seconds`, for each key.

    Parameters
    ----------
    most : int
        The largest number of failed attempts.
    seconds : float
        The time after which a failed attempt no longer counts.
    clock : callable
        The clock, in seconds.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.seconds, self._clock = most, seconds, clock
        self._lock = threading.Lock()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Return the seconds until the next attempt is allowed, 0 if it is allowed now."""
        with self._lock:
            times, now = self._failed.get(key, deque()), self._clock()
            while times and now - times[0] > self.seconds:
                times.popleft()
            return 0.0 if len(times) < self.most else self.seconds - (now - times[0])

    def fail(self, key: str) -> None:
        """Count a failed attempt."""
        with self._lock:
            self._failed.setdefault(key, deque()).append(self._clock())
            self._failed.move_to_end(key)
            while len(self._failed) > _MOST_WATCHED:
                self._failed.popitem(last=False)

    def succeed(self, key: str) -> None:
        """Forget the failed attempts of a key."""
        with self._lock:
            self._failed.pop(key, None)


def is_same(given: str, secret: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on their contents."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
