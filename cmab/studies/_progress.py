"""What a running study says: pieces done, rate, time left, and who leads."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TextIO

from cmab._streams import printable
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.studies._pieces import Piece
from cmab.studies._results import Score, score

_TERMINAL_SECONDS = 0.1
_LOG_SECONDS = 60.0


class Progress:
    """A line that is written anew on a terminal; elsewhere, such as in a log, a line a minute.

    Parameters
    ----------
    total, done : int
        Pieces in all, and those stored before.
    stream : TextIO
        Where to write.
    clock : callable
        Seconds, for tests.
    """

    def __init__(
        self, total: int, done: int, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._done, self._here = total, done, 0
        self._stream, self._clock = stream, clock
        self._is_terminal = stream.isatty()
        self._first = math.nan
        self._next = clock() + (0.0 if self._is_terminal else _LOG_SECONDS)
        self._means: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        self._last = ("", "")

    def recall(self, stored: Mapping[tuple[str, str], Simulation | Identification]) -> None:
        """Take in what was stored before."""
        for (instance, learner), result in stored.items():
            self._add(instance, learner, score(result), len(result.seconds))

    def __call__(self, piece: Piece, found: Score) -> None:
        """Take in a piece that was stored just now."""
        self._add(piece.instance, piece.learner, found, 1)
        self._done, self._here = self._done + 1, self._here + 1
        self._last = piece.instance, found.measure
        if self._here == 1:
            self._first = self._clock()
        if self._clock() >= self._next:
            self._write()
            self._next = self._clock() + (_TERMINAL_SECONDS if self._is_terminal else _LOG_SECONDS)

    def close(self) -> None:
        """Leave the last line on the terminal."""
        if self._is_terminal and self._here:
            self._write()
            self._stream.write("\n")

    def __str__(self) -> str:
        parts = [f"{self._done} of {self._total} pieces"]
        if self._here > 1:  # the first piece also pays for imports and compilation
            rate = (self._here - 1) / max(self._clock() - self._first, 1e-9)
            left = timedelta(seconds=round((self._total - self._done) / rate))
            parts += [f"{rate:.3g} a second", f"{left} left"]
        return ", ".join(parts) + self._leader()

    def _leader(self) -> str:
        """Return who has the best mean on the instance that was played last."""
        means = self._means.get(self._last, {})
        if not means:
            return ""
        instance, measure = self._last
        best = max if measure == "reward" else min
        name = best(means, key=lambda name: means[name][0])
        return printable(f"; {instance}: {name} leads with {measure} {means[name][0]:.4g}")

    def _add(self, instance: str, learner: str, found: Score, count: int) -> None:
        if math.isnan(found.value):  # trials have nothing by which one leads
            return
        means = self._means.setdefault((instance, found.measure), {})
        mean, n = means.get(learner, (0.0, 0))
        # The mean so far and its number: a study may have millions of pieces.
        means[learner] = (mean * n + found.value * count) / (n + count), n + count

    def _write(self) -> None:
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{str(self)[:width]}")
        else:
            self._stream.write(f"{self}\n")
        self._stream.flush()
