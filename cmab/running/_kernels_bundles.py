"""What the loops of rounds take and change, in bundles.

Functions cannot be bundled, for numba finds no common type for them in a tuple.
"""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import types as t
from cmab.compiled._kernels_signatures import INDEX, LEARN, PLAY, SOLVE, learn_kernel

#: Places in `Log.progress`: rounds so far, next checkpoint, size of the last super arm, round to stop at.
PLAYED, CHECKPOINT, SIZE, LAST = range(4)


class Arguments(NamedTuple):
    """Parameters and scratch space of the rules, as their kernels brought them."""

    policy: FloatArray
    learns: bool
    oracle_integers: IntArray
    oracle_reals: FloatArray
    environment_integers: IntArray
    environment_reals: FloatArray
    is_watched: bool  # whether indices may turn out infinite or nan, as those of users' rules may


class Learned(NamedTuple):
    """The state: an array each, or a row of it for each of many replications."""

    counters: IntArray
    means: FloatArray
    deviations: FloatArray
    memory: FloatArray


class Log(NamedTuple):
    """What a run tells: `earned` and `recorded` hold realised and expected rewards, in this order.

    The last three are room for what `play` writes in one round. A loop that makes no array of its own has no
    references to count.
    """

    progress: IntArray
    checkpoints: IntArray
    recorded: FloatArray
    earned: FloatArray
    super_arm: IntArray
    indices: FloatArray
    arms: IntArray
    outcomes: FloatArray
    totals: FloatArray


class Streams(NamedTuple):
    """The learner's generator, and that of the rounds' coins."""

    learner: np.random.Generator
    coins: np.random.Generator


class Rows(NamedTuple):
    """What many replications side by side have besides.

    Keys of the rounds, a row each; sizes of the super arms; whether the index rule draws, in which case the
    indices are there when the oracle is asked; and else a generator for it, from which nothing is drawn.
    """

    keys: IntArray
    sizes: IntArray
    is_random: bool
    nobody: np.random.Generator


_generator = t.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_rules = tuple(t.FunctionType(signature) for signature in (INDEX, LEARN, SOLVE, PLAY))


def _integers(axes: int) -> t.Array:
    return t.Array(t.int64, axes, "C")


def _reals(axes: int) -> t.Array:
    return t.Array(t.float64, axes, "C")


def _state(more: int) -> tuple[t.Type, t.Type]:
    """Return the types of `Learned` and `Log` with so many axes more than those of one replication."""
    one, shared = 1 + more, _integers(1)
    learned = (_integers(one), _reals(one), _reals(one), _reals(one))
    room = (shared, _reals(1), _reals(1))
    log = (shared, shared, _reals(one + 1), _reals(one), _integers(one), _reals(one), *room)
    return t.NamedTuple(learned, Learned), t.NamedTuple(log, Log)


_parameters = (_integers(1), _reals(1), _integers(1), _reals(1))
_arguments = t.NamedTuple((_reals(1), t.boolean, *_parameters, t.boolean), Arguments)
LOOP = t.boolean(*_rules, _arguments, *_state(0), t.NamedUniTuple(_generator, 2, Streams))
BATCHED_LOOP = t.void(
    *(*_rules, _arguments, *_state(1)),
    t.NamedTuple((_integers(2), _integers(1), t.boolean, _generator), Rows),
)


@learn_kernel
def no_learning(arms, n, outcomes, t, reals, memory):
    """Stand where a learning rule takes its place."""
