"""Limits of oracles with long calls: the best super arm found, with a bound on the optimum."""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.guarantees import SolverCertificate
from cmab.oracle import LinearOracle
from cmab.validation import integer, one_of, real

OnLimit = Literal["best", "raise"]


class SolverError(RuntimeError):
    """Error of a solver that is missing, ran out of time, or could not prove its answer optimal.

    Examples
    --------
    >>> from oracles import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


class Limits(NamedTuple):
    """The limits of the calls of an oracle, validated by `checked_limits`."""

    time_limit: float | None = None
    gap: float = 0.0
    on_limit: OnLimit = "raise"
    node_limit: int | None = None


def checked_limits(
    time_limit: float | None,
    gap: float,
    on_limit: OnLimit,
    node_limit: int | None = None,
) -> Limits:
    """Return the limits, or raise ``ValueError`` if one is out of its range."""
    relative = real("gap", gap, 0.0, 1.0)
    if relative == 1.0:
        raise ValueError("gap must be a finite number in [0, 1), got 1.0")
    mode = one_of("on_limit", on_limit, ("best", "raise"))
    seconds = None if time_limit is None else real("time_limit", time_limit, 0.0)
    nodes = None if node_limit is None else integer("node_limit", node_limit, 0)
    return Limits(seconds, relative, mode, nodes)


class AnytimeOracle(LinearOracle):
    """A linear oracle whose calls may take long: they have limits, and prove a bound on the optimum.

    A subclass calls `_set_limits` in its constructor and defines `_search`, which returns the best super arm
    found until the limit, with a bound. `solve` and `solve_certified` follow from it.

    Attributes
    ----------
    time_limit : float or None
        The time limit of a call in seconds. With 0, a call returns the greedy answer without a search.
    node_limit : int or None
        The largest number of nodes that branch and bound examines in a call. Unlike the time limit, it does
        not depend on the speed of the machine.
    gap : float
        The relative gap at which a call may stop, in [0, 1).
    on_limit : {"best", "raise"}
        Whether `solve` returns the best super arm found or raises `SolverError` at a limit.
    """

    time_limit: float | None = None
    node_limit: int | None = None
    gap: float = 0.0
    on_limit: str = "raise"

    def _set_limits(self, limits: Limits, greedy_ratio: float = math.nan) -> None:
        """Set the limits and `alpha`; `sense` must be set. `greedy_ratio` is that of the greedy answer."""
        self.time_limit, self.gap, self.on_limit, self.node_limit = limits
        self.alpha = 1 / (1 + self.gap) if self.sense == "max" else 1 / (1 - self.gap)
        if self._may_stop_early:
            self.alpha = greedy_ratio

    @property
    def _may_stop_early(self) -> bool:
        """Whether `solve` may return an answer at a limit, which is not certified."""
        has_limit = self.time_limit is not None or self.node_limit is not None
        return self.time_limit == 0.0 or (has_limit and self.on_limit == "best")

    @property
    def certifies_calls(self) -> bool:  # type: ignore[override]
        """Whether calls have their own approximation ratios: true if a limit may end a search."""
        return self._may_stop_early

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best super arm, or the best that was found until the limit, in increasing order."""
        answer = self.solve_certified(means, rng)
        if not answer.certified and not self._may_stop_early:
            raise SolverError(self._stopped())
        return answer.super_arm

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> SolverCertificate:
        """Return the best super arm found, with a bound on the optimum, whatever `on_limit` is.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        SolverCertificate

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from oracles import VertexCover
        >>> oracle = VertexCover(nx.path_graph(4), time_limit=0.0)
        >>> answer = oracle.solve_certified(np.array([0.5, 0.25, 0.5, 0.75]), np.random.default_rng(0))
        >>> answer.value, answer.bound, answer.certified
        (0.75, 0.75, True)
        """
        return self._search(self._check_means(means, self.least_mean))

    @abstractmethod
    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best super arm found, with a bound on the optimum; the sum of all values is finite."""

    def _stopped(self) -> str:
        """Return the text of the error for a search that a limit ended."""
        return (
            f"{type(self).__name__} must prove an optimum, got to its time limit first (time_limit="
            f"{self.time_limit}, node_limit={self.node_limit}); raise the limit, or write on_limit='best' "
            "for the best super arm found"
        )

    def _certificate(self, chosen: IntArray, value: float, bound: float) -> SolverCertificate:
        """Return the certificate of a super arm; it is certified if the bound is within `gap`."""
        sign = self._sign
        bound = sign * max(sign * bound, sign * value)
        is_within = sign * (bound - value) <= self.gap * abs(value)
        return SolverCertificate(chosen, value, bound, bool(is_within))


class Clock:
    """The deadline of a search, which Ctrl-C ends as well.

    As a context manager, it delays Ctrl-C until the search has ended, because an exception in a callback of a
    solver would leave the solver in an invalid state.

    Parameters
    ----------
    seconds : float or None
        The time until the deadline; None for no deadline.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.perf_counter() + seconds
        self._whole: Clock | None = None
        self._usual: Any = None
        self._interrupt: tuple[int, Any] | None = None

    def __enter__(self) -> Clock:
        # Only the main thread can set handlers, and a handler that was set outside of Python is None.
        if threading.current_thread() is threading.main_thread():
            self._usual = signal.getsignal(signal.SIGINT)
        if callable(self._usual):
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if callable(self._usual):
            signal.signal(signal.SIGINT, self._usual)
            if self._interrupt is not None:
                self._usual(*self._interrupt)

    def _note(self, number: int, frame: Any) -> None:
        self._interrupt, self._end = (number, frame), -math.inf

    def limited(self, share: float) -> Clock:
        """Return a clock with this share of the time that is left."""
        part = Clock(share * self.left)
        part._whole = self
        return part

    @property
    def left(self) -> float:
        """The seconds until the deadline, at least 0; infinite without a deadline."""
        own = max(0.0, self._end - time.perf_counter())
        return own if self._whole is None else min(own, self._whole.left)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left == 0.0
