"""Named tuples of the arguments of compiled exploration, and the signatures of its rules and loops.

Functions are separate arguments because numba finds no common type for functions in a tuple.
"""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels import types as t
from cmab.compiled._kernels_signatures import DRAW, SOLVE

#: Places in `Seen.clock`: rounds and samples so far; for loops also the limits of samples and steps per call.
ROUNDS, SAMPLES, MOST_SAMPLES, STEPS = range(4)


class Seen(NamedTuple):
    """The statistics of the arms, and the clock; a loop updates these arrays in place."""

    counts: IntArray
    means: FloatArray
    deviations: FloatArray
    clock: IntArray


class Arguments(NamedTuple):
    """Parameters and scratch space of a rule, of arms or of an oracle."""

    integers: IntArray
    reals: FloatArray


class Streams(NamedTuple):
    """The random generators of the learner and of the arms."""

    learner: np.random.Generator
    coins: np.random.Generator


_reals, _integers = t.Array(t.float64, 1, "C"), t.Array(t.int64, 1, "C")
_generator = t.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_seen = t.NamedTuple((_integers, _reals, _reals, _integers), Seen)
_arguments = t.NamedTuple((_integers, _reals), Arguments)
_run = (t.FunctionType(DRAW), _arguments, _seen, t.NamedUniTuple(_generator, 2, Streams))

DECIDE = t.int64(_seen, t.float64, _integers, _reals, _integers)
EXPLORE = t.boolean(t.FunctionType(DECIDE), t.boolean, _arguments, *_run)
EXPLORE_ORACLE = t.boolean(t.FunctionType(SOLVE), _arguments, _arguments, *_run)
EXPLORE_TREES = t.boolean(_arguments, *_run)

#: ``(seen, coin, integers, reals, chosen) -> size``: write the base arms to sample next to `chosen`. The size
#: is negative once the stopping rule holds. `coin` is uniform on [0, 1) for rules with `is_random`.
decide_kernel = typed_kernel(DECIDE, is_lean=False)
