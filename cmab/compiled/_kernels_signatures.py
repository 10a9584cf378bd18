"""The compiled forms: fixed signatures of index rules, oracles and environments, and the loops over them.

A function of one of these signatures is passed to the loop as a pointer, so the loop is compiled once and
cached on disk, whatever oracle, policy or environment a user writes.
"""

from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels import types as t

_reals, _integers = t.Array(t.float64, 1, "C"), t.Array(t.int64, 1, "C")
_table, _lists = t.Array(t.float64, 2, "C"), t.Array(t.int64, 2, "C")
_generator = t.NumPyRandomGeneratorType("NumPyRandomGeneratorType")

INDEX = t.void(_integers, _reals, t.int64, _reals, _reals)
RANDOM_INDEX = t.void(_integers, _reals, t.int64, _reals, _generator, _reals)
SOLVE = t.int64(_reals, _integers, _reals, _integers)
PLAY = t.int64(_integers, t.int64, t.int64, _integers, _reals, _integers, _reals, _reals)

#: ``(counts, means, t, reals, out)``: write the index of every base arm in round t to `out`.
index_kernel = typed_kernel(INDEX)

#: ``(counts, means, t, reals, rng, out)``: the same, drawing from a generator.
random_index_kernel = typed_kernel(RANDOM_INDEX)

#: ``(means, integers, reals, out) -> size``: write a super arm to `out`, return its length; a negative one
#: ends the run.
solve_kernel = typed_kernel(SOLVE)

#: ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n``: play the first `size` entries of
#: `super_arm`; write the n triggered arms and their outcomes, and to `totals` the realised reward and the
#: expected one.
play_kernel = typed_kernel(PLAY)

DECIDE = t.int64(_integers, _reals, _reals, t.int64, t.int64, t.float64, _integers, _reals, _integers)
DRAW = t.float64(t.int64, _integers, _reals, _generator)

#: ``(counts, means, deviations, rounds, samples, coin, integers, reals, chosen) -> size``: write the base
#: arms to sample next to `chosen`; the size is negative once the stopping rule holds.
decide_kernel = typed_kernel(DECIDE)

#: ``(arm, integers, reals, rng) -> outcome``: draw one outcome of a base arm.
draw_kernel = typed_kernel(DRAW)

_STATE = (_integers, _reals, _reals)
_DRAWING = (t.FunctionType(DRAW), _integers, _reals)
_GENERATORS = (_generator, _generator)
#: Rounds and samples so far, most samples, most steps of this call.
_LIMITS = (_integers, t.int64, t.int64)
EXPLORE = t.boolean(
    t.FunctionType(DECIDE), t.boolean, _integers, _reals, *_DRAWING, *_STATE, *_GENERATORS, *_LIMITS
)
EXPLORE_ORACLE = t.boolean(
    t.FunctionType(SOLVE),
    *(_integers, _reals, _integers, _reals),
    *(*_DRAWING, *_STATE, *_GENERATORS, *_LIMITS),
)
EXPLORE_TREES = t.boolean(_integers, _reals, *_DRAWING, *_STATE, *_GENERATORS, *_LIMITS)

SOLVE_EACH = t.void(
    *(t.FunctionType(SOLVE), _integers, _reals),
    *(_table, _lists, _integers),
)
BATCHED_LOOP = t.void(
    *(t.FunctionType(INDEX), t.boolean, _reals, t.FunctionType(SOLVE), _integers),
    *(t.FunctionType(PLAY), _integers, _reals),
    *(_lists, _integers, _integers, _lists, _table, _table),
    *(_table, _lists, _integers, _table),
    *(_integers, _integers, t.Array(t.float64, 3, "C")),
)

#: What a round changes, the generator of its coins, and the last round.
_ROUNDS = (
    *(_integers, _integers, _integers, _reals, _reals, _generator),
    *(t.int64, _integers, _integers, _table),
    *(_reals, _integers, _reals),
)
LOOP = t.boolean(
    *(t.FunctionType(INDEX), t.FunctionType(RANDOM_INDEX), t.boolean, _reals),
    *(t.FunctionType(SOLVE), _integers, _reals),
    *(t.FunctionType(PLAY), _integers, _reals),
    *(_generator, *_ROUNDS),
)
LAZY_LOOP = t.boolean(_reals, t.int64, t.FunctionType(PLAY), _integers, _reals, *_ROUNDS)
