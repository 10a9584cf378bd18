"""The progress of a running study: finished pieces, rate, remaining time and best learner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TextIO

from cmab._streams import printable
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.running._bars import is_watched, progress_bar
from cmab.studies._pieces import Piece
from cmab.studies._results import Score, score

_LOG_SECONDS = 60.0
_LOG_LINE = "{n} of {total} pieces, {rate_noinv:.3g} a second, {remaining} left{postfix}"


class Progress:
    """A progress bar on a terminal or in a notebook; otherwise, as in a log file, one line per minute.

    Parameters
    ----------
    total, done : int
        Number of all pieces, and of pieces that were stored before.
    stream : TextIO
        The output stream.
    """

    def __init__(self, total: int, done: int, stream: TextIO) -> None:
        self._total, self._done, self._stream = total, done, stream
        self._bar: Any = None
        self._waiting: Any = None
        self._means: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}

    def recall(self, stored: Mapping[tuple[str, str], Simulation | Identification]) -> None:
        """Add the results that were stored before."""
        for (instance, learner), result in stored.items():
            self._add(instance, learner, score(result), len(result.seconds))

    def wait(self) -> None:
        """Show a bar on a terminal while the first piece runs, which may take long."""
        if is_watched(self._stream):
            options = {"total": self._total, "initial": self._done, "unit": " pieces", "leave": False}
            self._waiting = progress_bar(**options, file=self._stream, dynamic_ncols=True)

    def __call__(self, piece: Piece, found: Score) -> None:
        """Add a piece after it is stored."""
        self._add(piece.instance, piece.learner, found, 1)
        leader = self._leader(piece.instance, found.measure)
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None
        if self._bar is None:
            # The first piece includes imports and compilation, so the rate is measured without it.
            self._bar = self._first(leader)
        else:
            self._bar.set_postfix_str(leader, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Close the bars."""
        for bar in (self._waiting, self._bar):
            if bar is not None:
                bar.close()

    def _first(self, leader: str) -> Any:
        # Check the clock after each piece, because the rate of pieces may fall.
        options = {
            "total": self._total,
            "initial": self._done + 1,
            "postfix": leader,
            "miniters": 1,
            "smoothing": 0,
        }
        if is_watched(self._stream):
            return progress_bar(**options, unit=" pieces", file=self._stream, dynamic_ncols=True)
        lines = SimpleNamespace(write=self._write_line, flush=self._stream.flush)
        times = {"mininterval": _LOG_SECONDS, "delay": _LOG_SECONDS}
        return progress_bar(**options, **times, bar_format=_LOG_LINE, file=lines, leave=False)

    def _write_line(self, text: str) -> None:
        """Write text that would overwrite the previous line as a separate line."""
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def _leader(self, instance: str, measure: str) -> str:
        """Return a text with the learner that has the best mean on an instance."""
        means = self._means.get((instance, measure), {})
        if not means:
            return ""
        best = max if measure == "reward" else min
        name = best(means, key=lambda name: means[name][0])
        return printable(f"{instance}: {name} leads with {measure} {means[name][0]:.4g}")

    def _add(self, instance: str, learner: str, found: Score, count: int) -> None:
        if math.isnan(found.value):  # trials have no score
            return
        means = self._means.setdefault((instance, found.measure), {})
        mean, n = means.get(learner, (0.0, 0))
        # Only mean and count are kept, because a study may have millions of pieces.
        means[learner] = (mean * n + found.value * count) / (n + count), n + count
