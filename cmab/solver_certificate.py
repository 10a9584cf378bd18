"""Certificates: a super arm with a bound on the optimum, and the approximation ratio that they prove."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from cmab.arrays import IntArray


class Certified(Protocol):
    """The attributes that the result of every `solve_certified` has.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The super arm.
    ratio : float
        The approximation ratio that was proved in this call.
    certified : bool
        Whether the call proved what the oracle promises without a limit.
    """

    @property
    def super_arm(self) -> IntArray: ...

    @property
    def ratio(self) -> float: ...

    @property
    def certified(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class SolverCertificate:
    """A super arm and a proved bound on the optimum.

    Parameters
    ----------
    super_arm : IntArray, shape (size,)
        The base arms, in increasing order.
    value : float
        The reward (for linear oracles, the sum of the means) of the super arm.
    bound : float
        An upper bound on the value of every super arm (a lower bound for costs), proved up to the tolerances
        of the oracle. If the call had no time to prove a better bound, this is the sum of all positive
        (negative) means.
    certified : bool
        Whether the super arm is optimal, up to the oracle's `gap`. For an oracle with another declared
        `alpha`, whether this `alpha` is proved. It is false only if a limit ended the search.
    parts : tuple of (float, float, int), optional
        The value and the bound, both divided by ``2**exponent``, and the exponent. With them, `ratio` and
        `gap` are known even if the value and the bound exceed the largest float and are infinite.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import Matching
    >>> oracle = Matching(nx.path_graph(4))
    >>> answer = oracle.solve_certified(np.array([0.25, 0.75, 0.25]), np.random.default_rng(0))
    >>> answer.super_arm, answer.value, answer.bound, answer.certified, answer.ratio
    (array([1]), 0.75, 0.75, True, 1.0)
    """

    super_arm: IntArray
    value: float
    bound: float
    certified: bool
    parts: tuple[float, float, int] | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """The largest possible loss of the super arm, ``abs(bound - value)``, in the units of the means."""
        if self.parts is not None:
            value, bound, exponent = self.parts
            return _times_power(abs(bound - value), exponent)
        return 0.0 if self.bound == self.value else abs(self.bound - self.value)

    @property
    def ratio(self) -> float:
        """The approximation ratio that this call proved, ``value / bound``.

        The value is at least `ratio` times the optimum (for costs, at most). It is at most 1 for rewards and
        at least 1 for costs. For costs, it is infinite if the bound is not positive. It is ``nan`` if the
        signs allow no ratio: if the value of a reward or the bound and the value of a cost are negative, and
        they differ.
        """
        value, bound = (self.value, self.bound) if self.parts is None else self.parts[:2]
        return proved_ratio(value, bound)

    def times_power(self, exponent: int) -> SolverCertificate:
        """Return the certificate for means that are ``2**exponent`` times as large.

        Parameters
        ----------
        exponent : int
            The exponent.

        Examples
        --------
        >>> import numpy as np
        >>> from cmab.solver_certificate import SolverCertificate
        >>> large = SolverCertificate(np.array([0]), 1.5e308, 1.75e308, False).times_power(1)
        >>> large.value, large.bound, round(large.ratio, 2), large.gap
        (inf, inf, 0.86, 5e+307)
        """
        value, bound = _times_power(self.value, exponent), _times_power(self.bound, exponent)
        parts = self.value, self.bound, exponent
        return SolverCertificate(self.super_arm, value, bound, self.certified, parts)


def _times_power(number: float, exponent: int) -> float:
    """Return ``number * 2**exponent``; it is infinite if it exceeds the largest float."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


def declared_certificate(super_arm: IntArray, value: float, alpha: float, sign: float) -> SolverCertificate:
    """Return the certificate that a declared ratio gives: the optimum is at most ``value / alpha``.

    `sign` is 1 for rewards and -1 for costs. If there is no ratio (``nan`` or 0, or a negative value), the
    bound is infinite.
    """
    if alpha == 1.0:
        return SolverCertificate(super_arm, value, value, True)
    is_known = alpha > 0.0 and value >= 0.0
    bound = value / alpha if is_known else sign * math.inf
    return SolverCertificate(super_arm, value, bound, is_known)


def proved_ratio(value: float, bound: float) -> float:
    """Return the ratio that `value` and a bound on the optimum prove; see `SolverCertificate.ratio`.

    Parameters
    ----------
    value : float
        The reward or cost of a super arm.
    bound : float
        An upper bound on all rewards, so at least `value`; or a lower bound on all costs, so at most `value`.

    Returns
    -------
    float

    Examples
    --------
    >>> from cmab.solver_certificate import proved_ratio
    >>> proved_ratio(3.0, 4.0), proved_ratio(5.0, 4.0), proved_ratio(0.0, 0.0), proved_ratio(1.0, 0.0)
    (0.75, 1.25, 1.0, inf)
    """
    if value == bound:
        return 1.0
    if bound > value:
        return value / bound if value >= 0.0 else math.nan
    if bound > 0.0:
        return value / bound
    return math.inf if value > 0.0 else math.nan


class Meter:
    """The worst approximation ratio that the calls of one oracle proved.

    Parameters
    ----------
    oracle : Oracle or None
        The oracle whose reports count.
    """

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self._of_round: float | None = None
        self._latest = math.nan

    def report(self, ratio: float) -> None:
        """Include the ratio that a call proved."""
        if self._of_round is not None and not math.isnan(ratio):
            worse = min if self.oracle.sense == "max" else max
            # The first operand is returned if a comparison with nan is false.
            ratio = worse(self._of_round, ratio)
        self._of_round = ratio

    def take_ratio(self) -> float:
        """Return the worst ratio of the calls since the last `take_ratio`; without a call, the last result.

        It is ``nan`` if a call proved no ratio.
        """
        if self._of_round is not None:
            self._latest, self._of_round = self._of_round, None
        return self._latest


class _Active(threading.local):
    """The meter of a thread, because replications in several threads share the oracle."""

    meter: Meter | None = None


_ACTIVE = _Active()


@contextmanager
def metered(oracle: object) -> Iterator[Meter]:
    """Collect the ratios that `oracle` reports in this thread, as a context manager; None for no oracle."""
    outer, meter = _ACTIVE.meter, Meter(oracle)
    _ACTIVE.meter = meter
    try:
        yield meter
    finally:
        _ACTIVE.meter = outer


def report_ratio(oracle: object, ratio: float) -> None:
    """Report the approximation ratio that the present call of `oracle` proved, for the regret of a run.

    `simulate` measures `Simulation.regret_at_proved_ratios` against these ratios. An oracle that declares
    `certifies_calls` calls this function in `solve`. Outside of a run, the function does nothing.

    Parameters
    ----------
    oracle : Oracle
        The oracle whose `solve` is running.
    ratio : float
        The proved ratio: at most 1 for rewards, at least 1 for costs, ``nan`` if there is none.

    Examples
    --------
    >>> from cmab.solver_certificate import report_ratio
    >>> from oracles import TopK
    >>> report_ratio(TopK(3, k=1), 1.0)
    """
    meter = _ACTIVE.meter
    if meter is not None and meter.oracle is oracle:
        meter.report(ratio)
