"""Regret curves as SVG, drawn without matplotlib, so that a page of many problems stays small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from cmab.arrays import FloatArray, IntArray

_WIDTH, _HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 30, 22, 34
#: Number of curves in colour. All others are grey.
COLOURS = 8


def regret_curves(
    curves: Mapping[str, tuple[IntArray, FloatArray]], coloured: Sequence[str], title: str
) -> str:
    """Return an SVG of mean regrets on logarithmic axes.

    Parameters
    ----------
    curves : mapping
        The rounds and the mean regrets by entry.
    coloured : sequence of str
        The entries whose curves are in colour, at most `COLOURS`, in the order of the legend.
    title : str
        The title for screen readers.
    """
    rounds = np.concatenate([r for r, _ in curves.values()])
    values = np.concatenate([v[v > 0.0] for _, v in curves.values()] or [np.ones(1)])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.1, 1.0)
    low = max(low, high / 1e4)
    across = _Axis(float(rounds.min()), float(rounds.max()), _LEFT, _WIDTH - _RIGHT)
    up = _Axis(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" class="curves"><title>{escape(title)}</title>'
    ]
    for tick in across.ticks():
        x = across(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">{tick:,.6g}</text>'
        )
    for tick in up.ticks():
        y = up(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:,.6g}</text>')
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">Round</text>'
    )
    parts.append(f'<text x="{_LEFT}" y="12" text-anchor="middle">Regret</text>')
    grey = [name for name in curves if name not in coloured]
    for name in (*grey, *reversed([*coloured])):
        kind = f"c{[*coloured].index(name)}" if name in coloured else "other"
        r, v = curves[name]
        kept = v >= low
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(r[kept], v[kept], strict=True))
        parts.append(f'<polyline class="{kind}" points="{points}"><title>{escape(name)}</title></polyline>')
    return "".join([*parts, "</svg>"])


class _Axis:
    """A logarithmic axis from positions `start` to `end`."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = low, max(high, low * 1.01)
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = np.log(value / self.low) / np.log(self.high / self.low)
        return float(self.start + share * (self.end - self.start))

    def ticks(self) -> list[float]:
        """Return round numbers: powers of ten, with 2 and 5 times of them if there are few."""
        first, last = np.floor(np.log10(self.low)), np.ceil(np.log10(self.high))
        powers = [10.0**e for e in np.arange(first, last + 1)]
        for factors in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            found = [f * p for p in powers for f in factors if self.low <= f * p <= self.high]
            if len(found) >= 3:
                break
        return found
