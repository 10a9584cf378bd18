"""The check that the intervals of an explorer are wide enough after more outcomes than a run can have."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from cmab.statistics import ArmStatistics
from cmab.testing._comparisons import require
from cmab.testing._explorer_runs import Subject

#: Outcomes of each arm, and the share of the shortest width that an interval must have.
_COUNTS, _ALMOST = (100, 10**4, 10**6), 0.97


def check_widths(subject: Subject, delta: float) -> None:
    """Raise ``AssertionError`` if an interval is shorter than any that contains the mean often enough.

    After n outcomes with standard deviation s, the shortest interval around the average that misses the mean
    with probability `delta` extends ``z s / sqrt(n)`` to both sides, where z is the normal quantile of
    ``1 - delta / 2``. Intervals that are valid for all numbers of outcomes and all arms are wider.
    """
    explorer = subject.explorer
    state: Any = explorer.initial_state(np.random.default_rng(0))
    if type(state) is not ArmStatistics or len(state.memory) or not delta < 0.5:
        return
    bounded = explorer.support is not None and all(map(math.isfinite, explorer.support))
    if not bounded and explorer.sigma is None:
        return
    low, high = explorer.support if bounded and explorer.support else (0.0, 1.0)
    deviation = (high - low) / 2 if bounded else float(explorer.sigma or 0.0)
    for count in _COUNTS:
        state.counters[:] = count
        state.means[:] = (low + high) / 2
        state.deviations[:] = count * deviation**2
        state.rounds = count
        ends = explorer.intervals(state)
        if ends is None:
            return
        half = (np.asarray(ends[1]) - np.asarray(ends[0])) / 2
        least = NormalDist().inv_cdf(1 - delta / 2) * deviation / math.sqrt(count)
        text = (
            "after {} outcomes of each arm with standard deviation {:g}, intervals extend {} to each side; an"
            " interval that contains the mean with probability {:g} extends at least {:.3g}"
        )
        wide = bool((half >= _ALMOST * least).all())
        require(wide, "intervals", text, count, deviation, half, 1 - delta, least)
