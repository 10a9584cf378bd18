"""The fixed signatures of compiled rules of policies, oracles and environments.

A loop receives functions with these signatures as pointers. It is therefore compiled once and cached on disk,
and works with every oracle, policy or environment that a user writes.
"""

from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels import types as t

_reals, _integers = t.Array(t.float64, 1, "C"), t.Array(t.int64, 1, "C")
_generator = t.NumPyRandomGeneratorType("NumPyRandomGeneratorType")

INDEX = t.void(_integers, _reals, _reals, _reals, t.int64, _reals, _generator, _reals)
LEARN = t.void(_integers, t.int64, _reals, t.int64, _reals, _reals)
SOLVE = t.int64(_reals, _integers, _reals, _integers)
PLAY = t.int64(_integers, t.int64, t.int64, _integers, _reals, _integers, _reals, _reals)

#: ``(counts, means, deviations, memory, t, reals, rng, out)``: write the index of every base arm in round t
#: to `out`. `rng` is the generator of the learner, for rules with `is_random`.
index_kernel = typed_kernel(INDEX)

#: ``(arms, n, outcomes, t, reals, memory)``: update the rule's `memory` with the first n outcomes of round t,
#: after the update of the statistics. `reals` is the array of the index rule.
learn_kernel = typed_kernel(LEARN)

#: ``(means, integers, reals, out) -> size``: write a super arm to `out` and return its size. A negative size
#: means that there is no super arm, and ends the run with an error.
solve_kernel = typed_kernel(SOLVE)

#: ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n``: play the first `size` entries of
#: `super_arm`. Write the n triggered arms and their outcomes, and to `totals` the realised and the expected
#: reward.
play_kernel = typed_kernel(PLAY)

DRAW = t.float64(t.int64, _integers, _reals, _generator)

#: ``(arm, integers, reals, rng) -> outcome``: draw one outcome of a base arm.
draw_kernel = typed_kernel(DRAW)

SOLVE_EACH = t.void(
    t.FunctionType(SOLVE), _integers, _reals, t.Array(t.float64, 2, "C"), t.Array(t.int64, 2, "C"), _integers
)
