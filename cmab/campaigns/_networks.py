"""The people and ties that the network of a campaign had at the time of each report."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.campaigns._schema import Event
from cmab.campaigns.names import Names


class _Network(NamedTuple):
    """The number of places up to a description, the number of gone places, and their present numbers."""

    sizes: tuple[int, int]
    n_gone: tuple[int, int]
    gone: tuple[IntArray, IntArray]


class Networks:
    """The network in each description of a campaign, in terms of the present choices and arms.

    A report was made with the network of the last description before it, unless it states the line of
    another description. The report states it if another process, which has another network, has described the
    campaign in the meantime.

    Parameters
    ----------
    choices, arms : Names
        The names of the campaign, which grow with its descriptions.
    """

    def __init__(self, choices: Names, arms: Names) -> None:
        self._names = choices, arms
        self._lines: list[int] = []
        self._found: list[_Network] = []
        self._own: tuple[int, int] = (0, 0)

    def add(self, line: int, event: Event) -> None:
        """Add a description, after its names have their places."""
        gone = [event.get("gone", {}).get(key, []) for key in ("choices", "names")]
        numbers = [names.numbers(places) for names, places in zip(self._names, gone, strict=True)]
        self._lines.append(line)
        self._found.append(
            _Network(
                tuple(len(names.known) for names in self._names),  # type: ignore[arg-type]
                (len(gone[0]), len(gone[1])),
                tuple(found[found >= 0] for found in numbers),  # type: ignore[arg-type]
            )
        )

    def lacking(self, event: Event, line: int) -> tuple[IntArray, IntArray]:
        """Return the numbers of the people and of the ties that took no part in a report.

        Parameters
        ----------
        event : dict
            The event of the report.
        line : int
            The line of this event.
        """
        listed = event["cascade"]
        place = bisect_left(self._lines, line) - 1
        if "network" in listed:
            place = self._lines.index(listed["network"][0])
        people, ties = (
            np.union1d(gone, names.numbers_from(size))
            for names, gone, size in zip(self._names, self._found[place].gone, listed["known"], strict=True)
        )
        return people, ties

    def stated(self) -> dict[str, list[int]]:
        """Return the entries of a new report that tell which people and ties the present network has."""
        line = self._own_line()
        place = self._lines.index(line)
        known = {"known": list(self._found[place].sizes)}
        return known if line == self._lines[-1] else known | {"network": [line]}

    def _own_line(self) -> int:
        """Return the line of the last description with exactly the present people and ties."""
        n_read, line = self._own
        if n_read < len(self._lines):
            pairs = zip(self._lines, self._found, strict=True)
            line = next((at for at, one in reversed([*pairs]) if self._is_own(one)), self._lines[-1])
            self._own = len(self._lines), line
        return line

    def _is_own(self, network: _Network) -> bool:
        return all(
            len(gone) == 0 and len(names.own) == size - n_gone and len(names.numbers_from(size)) == 0
            for names, gone, size, n_gone in zip(
                self._names, network.gone, network.sizes, network.n_gone, strict=True
            )
        )
