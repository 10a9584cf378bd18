"""The knapsack by an expanding core, in arrays that grow, and the bound of the fractional knapsack."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles._watch import Watch
from oracles.anytime import Clock
from oracles.programs._mixed_integer import unscaled

# The number of states at first and at most, and of steps of their histories at most. Together with the copies
# while they grow, the arrays take up to 1 GB.
_FIRST, _MOST, _MOST_STEPS = 2**12, 2**22, 2**26
# The number of states that remain when there are too many.
_NARROW = 2**16
# The number of merged states between two looks at the clock: about 0.02 seconds.
_BUDGET = 2_000_000


def packed(
    values: FloatArray,
    sizes: IntArray,
    room: int,
    clock: Clock,
    gap: float,
    watch: Watch,
    goes_on: bool,
) -> tuple[IntArray, float]:
    """Return the best set found, in increasing order, and an upper bound on the value of every set.

    If there are too many states, the search ends, or continues with some of them if `goes_on` is true.
    """
    from oracles.packing._kernels_core import SHORT, SPENT, begin_core, expand, hope_left, mark_best

    free = np.flatnonzero((values > 0.0) & (sizes == 0))
    items = np.flatnonzero((values > 0.0) & (sizes > 0) & (sizes <= room))
    exponent = -int(np.frexp(values[items].max(initial=0.0))[1])
    worth = np.ldexp(values[items], exponent)
    order = np.argsort(-worth / sizes[items], kind="stable")
    items, worth = items[order], worth[order]
    used, taken = sizes[items], np.zeros(len(items), bool)
    core = _longer(None, _FIRST, 4 * _FIRST)
    best = begin_core(used, worth, room, taken, core)
    state, bound, is_complete = SPENT, np.inf, True
    while state in (SPENT, SHORT):
        if state == SHORT:
            wider, longer = _room_for(core)
            if longer > _MOST_STEPS or (wider > _MOST and not goes_on):
                break
            if wider > _MOST:
                # From here on the bound remains, and the search continues with the most promising states.
                bound = min(bound, hope_left(used, worth, room, best, core))
                is_complete = False
                _narrow(core, used, worth, room)
                wider = core.size.shape[1]
            core = _longer(core, wider, longer)
        if clock.is_over or watch.is_interrupted:
            break
        state, best = expand(used, worth, room, _BUDGET, best, core)
        if state == SPENT:
            if is_complete:
                bound = min(bound, hope_left(used, worth, room, best, core))
            watch.tell(unscaled(best, exponent), unscaled(bound, exponent))
            if bound - best <= gap * best:
                break
    if is_complete:
        bound = min(bound, hope_left(used, worth, room, best, core))
    mark_best(core, taken)
    arms = np.sort(np.concatenate((free, items[taken])))
    # The value of the set is summed again, in another order.
    share = 0.0 if bound <= best else unscaled(bound - best, exponent)
    with np.errstate(over="ignore"):
        return arms, float(values[arms].sum()) + share


def _narrow(core: Any, sizes: IntArray, worth: FloatArray, room: int) -> None:
    """Keep the states with the largest upper bounds."""
    from oracles.packing._kernels_core import LEFT, LENGTH, RIGHT, SIDE

    side, length = core.numbers[SIDE], core.numbers[LENGTH]
    left, right = core.numbers[LEFT], core.numbers[RIGHT]
    before = worth[left] / sizes[left] if left >= 0 else np.inf
    after = worth[right] / sizes[right] if right < len(sizes) else 0.0
    size, value = core.size[side, :length], core.worth[side, :length]
    hope = value + np.where(size <= room, (room - size) * after, (room - size) * before)
    kept = np.sort(np.argpartition(-hope, _NARROW)[:_NARROW])
    for table in (core.size, core.worth, core.step):
        table[side, : len(kept)] = table[side, kept]
    core.numbers[LENGTH] = len(kept)


def _room_for(core: Any) -> tuple[int, int]:
    """Return the lengths of the arrays that the next merge needs."""
    from oracles.packing._kernels_core import LENGTH, STEPS

    wider, longer = core.size.shape[1], len(core.parents)
    if 2 * core.numbers[LENGTH] > wider:
        wider *= 4
    if core.numbers[STEPS] + core.numbers[LENGTH] > longer:
        longer *= 4
    return wider, longer


def _longer(core: Any, width: int, steps: int) -> Any:
    """Return a core with longer arrays and the same content."""
    from oracles.packing._kernels_core import Core

    new = Core(
        np.empty((2, width), np.int64),
        np.empty((2, width)),
        np.empty((2, width), np.int64),
        np.empty(steps, np.int32),
        np.empty(steps, np.int32),
        np.zeros(7, np.int64),
    )
    if core is not None:
        for name in ("size", "worth", "step"):
            old = getattr(core, name)
            getattr(new, name)[:, : old.shape[1]] = old
        new.parents[: len(core.parents)], new.items[: len(core.items)] = core.parents, core.items
        new.numbers[:] = core.numbers
    return new


def fractional_bound(values: FloatArray, weights: FloatArray, room: float) -> float:
    """Return the value of the fractional knapsack with one row."""
    good = values > 0.0
    worth, weights = values[good], weights[good]
    with np.errstate(divide="ignore", over="ignore"):
        order = np.argsort(-worth / weights, kind="stable")
    worth, weights = worth[order], weights[order]
    filled = np.minimum(np.cumsum(weights), room)
    taken = np.diff(filled, prepend=0.0)
    shares = np.divide(taken, weights, out=np.ones_like(taken), where=weights > 0.0)
    with np.errstate(over="ignore"):
        return float((worth * shares).sum())
