"""The decorators of compiled rules, for oracles, policies and environments of your own.

Importing this module loads numba, so import it where the rule is made: in ``kernel()``, or in the module that
holds the compiled function.

- ``solve_kernel``: an oracle's ``(means, integers, reals, out) -> size``: write a super arm to ``out``.
- ``index_kernel``: a policy's ``(counts, means, t, reals, out)``: write the index of every base arm.
- ``random_index_kernel``: the same with a generator, ``(counts, means, t, reals, rng, out)``.
- ``play_kernel``: an environment's ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n``.
- ``keyed_uniform``: the coin of a base arm in the round of a ``key``, for ``play_kernel``.

``integers`` and ``reals`` are the parameters and scratch arrays of the ``Kernel`` that ``kernel()`` returns.

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

from cmab.compiled._kernels_random import keyed_uniform
from cmab.compiled._kernels_signatures import index_kernel, play_kernel, random_index_kernel, solve_kernel
from cmab.compiled.forms import Kernel

__all__ = ["Kernel", "index_kernel", "keyed_uniform", "play_kernel", "random_index_kernel", "solve_kernel"]
