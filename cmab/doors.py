"""Which doors stand open: an object may offer a compiled form of its rule beside the Python one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray


class Kernel(NamedTuple):
    """A compiled rule with its parameters and scratch space, made afresh for each run.

    Attributes
    ----------
    function : callable
        Compiled by one of the decorators of ``cmab._kernels_doors``.
    integers : IntArray
        Whole-number parameters and scratch space.
    reals : FloatArray
        Real parameters and scratch space.
    is_random : bool
        Whether an index rule draws from the generator.
    """

    function: Any
    integers: IntArray = np.empty(0, np.int64)
    reals: FloatArray = np.empty(0)
    is_random: bool = False


def open_door(thing: Any, *rules: str) -> Kernel | None:
    """Return ``thing.kernel()`` unless a subclass changed one of `rules` without changing its kernel.

    Whoever overrides ``indices`` of a compiled policy means his own rule, not the compiled one.
    """
    lineage = type(thing).__mro__
    depth = {name: _first(lineage, name) for name in ("kernel", *rules)}
    if depth["kernel"] is None or any(d is not None and d < depth["kernel"] for d in depth.values()):
        return None
    if any(rule in vars(thing) for rule in rules):
        return None
    kernel: Kernel | None = thing.kernel()
    return kernel


def _first(lineage: tuple[type, ...], name: str) -> int | None:
    return next((i for i, cls in enumerate(lineage) if name in vars(cls)), None)
