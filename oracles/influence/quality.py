"""How good seeds shall be: by how many sets they are chosen."""

from __future__ import annotations

from typing import Literal, get_args

from cmab.validation import real, shown

Quality = Literal["fast", "good", "best"]
# The chance that some seeds look better than they are grows with C(n, k), and falls exponentially with the
# number of sets that they meet: both together decide how good greedy's choice is. So many sets for each unit
# of ln C(n, k) + ln(1 / delta) give seeds within 3 % of the best known ones, on seven networks and at k = 10,
# 50 and 200 alike (`tests/benchmarks/influence_quality.py`); seven times as many within 0.5 %.
_HITS = 15.0
_FACTORS = {"fast": 0.0, "good": 1.0, "best": 7.0}


def hits_per_unit(quality: Quality | float) -> float:
    """Return how many of the sets that chose them seeds must meet, for each unit of ln(C(n, k) / delta).

    Raises
    ------
    ValueError
        If `quality` is neither a name nor a number that is not negative.
    """
    if isinstance(quality, str):
        if quality not in _FACTORS:
            raise ValueError(f"quality must be one of {get_args(Quality)} or a number, got {shown(quality)}")
        return _HITS * _FACTORS[quality]
    return _HITS * real("quality", quality, 0.0)
