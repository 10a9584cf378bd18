"""Decorators and helpers for your own compiled oracles, policies, explorers and environments.

Importing this module loads numba. Import it inside the method ``kernel()`` or in the module of the compiled
function, not in the module of the class.

Each of these decorators compiles a function with a fixed signature:

- ``solve_kernel``: ``(means, integers, reals, out) -> size`` of an oracle. Write a super arm to ``out`` and
  return its size.
- ``index_kernel``: ``(counts, means, deviations, memory, t, reals, rng, out)`` of a policy. Write the index
  of every base arm in round ``t`` to ``out``. ``memory`` is the memory of the rule. Only random rules may use
  ``rng``.
- ``learn_kernel``: ``(arms, n, outcomes, t, reals, memory)`` of a policy. Update the memory with the first
  ``n`` outcomes.
- ``play_kernel``: ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n`` of an
  environment. Play the first ``size`` entries of ``super_arm``. Write the ``n`` triggered arms, their
  outcomes, and to ``totals`` the realised and the expected reward.
- ``draw_kernel``: ``(arm, integers, reals, rng) -> outcome`` of an environment of explorers. Draw one
  outcome of a base arm.
- ``decide_kernel``: ``(seen, coin, integers, reals, chosen) -> size`` of an explorer. Write the base arms
  to sample next to ``chosen`` and return their number, as a negative number once the stopping rule holds.
  ``seen`` has ``counts``, ``means``, ``deviations`` and ``clock``, which starts with the number of rounds and
  the number of samples.

``integers`` and ``reals`` are the parameters and scratch arrays of the ``Kernel`` that ``kernel()`` returns.

Two decorators compile functions that these call, with any signature, at the first call:

- ``kernel``: compile a function and cache the code on disk.
- ``lean_kernel``: do the same with less overhead, if the function neither creates nor returns an array
  and calls only such functions.

Helpers:

- ``keyed_uniform(key, i)``: the uniform random number of base arm ``i`` in the round with this ``key``.
  ``keyed_uniforms`` returns those of an array of arms, and ``keyed_word`` the underlying 53-bit integer.
- ``mix``: the hash function of these numbers. ``GOLDEN`` is the counter step for ``mix``.
- ``to_unit``: convert a 64-bit word to a number in [0, 1).
- ``normal_quantile``: the standard normal quantile of a number in [0, 1).
- ``top_k``, ``solve_top_k`` and ``descending_order``: select the largest entries, or sort.
- ``heap_up``, ``heap_rise``, ``heap_sink`` and ``heap_drop``: operations of a binary heap.
- ``prefetch``: load an array entry into the processor cache.

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

from cmab.compiled._kernels import kernel, lean_kernel, prefetch
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
