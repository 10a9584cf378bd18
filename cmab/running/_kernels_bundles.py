"""Named tuples of the arguments of the compiled loops of rounds.

They do not contain functions, because numba has no common type for functions in a tuple.
"""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import INDEX, LEARN, PLAY, SOLVE, learn_kernel
from cmab.compiled import types as t

#: Indices into `Log.progress`: played rounds, next checkpoint, size of the last super arm, last round.
PLAYED, CHECKPOINT, SIZE, LAST = range(4)


class Arguments(NamedTuple):
    """Parameters and buffers of the compiled rules."""

    policy: FloatArray
    learns: bool
    oracle_integers: IntArray
    oracle_reals: FloatArray
    environment_integers: IntArray
    environment_reals: FloatArray
    is_watched: bool  # whether to check that indices are finite, as for rules of users


class Learned(NamedTuple):
    """The arrays of the state. In the batched loop, each has an additional first axis of replications."""

    counters: IntArray
    means: FloatArray
    deviations: FloatArray
    memory: FloatArray


class Log(NamedTuple):
    """The progress and the results of a run.

    `earned` and `recorded` hold realised and expected rewards, in this order. The last three arrays are
    buffers for `play`, so that the loop creates no arrays and needs no reference counting.
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
    """The streams of the learner and of the environment."""

    learner: np.random.Generator
    coins: np.random.Generator


class Rows(NamedTuple):
    """Further arguments of the batched loop.

    `keys` has a row of keys of the rounds for each replication, and `sizes` the sizes of the super arms.
    `is_random` tells whether the index rule draws; then the callback writes the indices before it calls the
    oracle. Otherwise the rule gets the generator `nobody`, from which it does not draw.
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
    """Return the types of `Learned` and `Log` with `more` additional axes."""
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
    """Do nothing, in place of a learning rule."""
