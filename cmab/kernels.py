"""The decorators of compiled rules, and compiled helpers, for oracles, policies and environments of your own.

Importing this module loads numba, so import it where the rule is made: in ``kernel()``, or in the module that
holds the compiled function.

- ``solve_kernel``: an oracle's ``(means, integers, reals, out) -> size``: write a super arm to ``out``.
- ``index_kernel``: a policy's ``(counts, means, deviations, memory, t, reals, rng, out)``: write the
  index of every base arm in round ``t``; ``memory`` is the rule's own, ``rng`` for random rules only.
- ``learn_kernel``: ``(arms, n, outcomes, t, reals, memory)``: take the first ``n`` outcomes into the memory.
- ``play_kernel``: an environment's ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n``.
- ``draw_kernel``: an environment's ``(arm, integers, reals, rng) -> outcome``, for explorers.
- ``decide_kernel``: an explorer's ``(seen, coin, integers, reals, chosen) -> size``: write the base arms to
  sample next to ``chosen``; negative once the stopping rule holds. ``seen`` has ``counts``, ``means``,
  ``deviations`` and ``clock = (rounds, samples)``.
- ``kernel``: any function that these call, compiled when it is first called and cached on disk.
- ``lean_kernel``: the same for a function that makes no array, returns none, and calls only such ones;
  it is faster.

``integers`` and ``reals`` are the parameters and scratch arrays of the ``Kernel`` that ``kernel()`` returns.

Helpers: ``keyed_uniform(key, i)``, the coin of base arm ``i`` in the round of a ``key``, ``keyed_uniforms``
for an array of arms, ``keyed_word`` before it is made a number of [0, 1), and ``mix``, the hash behind them;
``to_unit``, a 64-bit word as such a number, and ``GOLDEN``, the step of a counter that ``mix`` makes random;
``normal_quantile``; ``top_k``, ``solve_top_k`` and ``descending_order``; ``heap_up``, ``heap_rise``,
``heap_sink`` and ``heap_drop`` of a binary heap; ``prefetch``.

Examples
--------
>>> import numpy as np
>>> from cmab.kernels import Kernel, solve_kernel
>>> @solve_kernel
... def solve_best(means, integers, reals, out):
...     out[0] = np.argmax(means)
...     return 1
>>> Kernel(solve_best).function is solve_best
True
"""

import warnings

from cmab.compiled._kernels import Function, kernel, lean_kernel, prefetch
from cmab.compiled._kernels_exploration import decide_kernel
from cmab.compiled._kernels_heap import heap_drop, heap_rise, heap_sink, heap_up
from cmab.compiled._kernels_random import (
    GOLDEN,
    keyed_uniform,
    keyed_uniforms,
    keyed_word,
    mix,
    normal_quantile,
    to_unit,
)
from cmab.compiled._kernels_select import descending_order, top_k
from cmab.compiled._kernels_signatures import (
    draw_kernel,
    index_kernel,
    learn_kernel,
    play_kernel,
    solve_kernel,
)
from cmab.compiled._kernels_top_k import solve_top_k
from cmab.compiled.forms import Kernel, Rule

__all__ = [
    "GOLDEN",
    "Kernel",
    "Rule",
    "decide_kernel",
    "descending_order",
    "draw_kernel",
    "heap_drop",
    "heap_rise",
    "heap_sink",
    "heap_up",
    "index_kernel",
    "kernel",
    "keyed_uniform",
    "keyed_uniforms",
    "keyed_word",
    "lean_kernel",
    "learn_kernel",
    "mix",
    "normal_quantile",
    "play_kernel",
    "prefetch",
    "solve_kernel",
    "solve_top_k",
    "to_unit",
    "top_k",
]


# No `__getattr__` of the module: at each import inside a call Python asks it for `__path__`.
def part(function: Function) -> Function:
    """Compile a helper by `kernel`, under a former name."""
    warnings.warn("cmab.kernels.part is deprecated: use kernel", DeprecationWarning, stacklevel=2)
    compiled: Function = kernel(function)
    return compiled


def borrows(function: Function) -> Function:
    """Return the function: the former way to say that it makes no array."""
    text = "cmab.kernels.borrows is deprecated: use lean_kernel for functions that rules call"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return function
