"""Whether an environment draws a number for each arm of a round, or one number for the whole round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment

#: The words of a check of common random numbers that such an environment cannot pass.
EACH = "not tried: a round draws a number for each arm, so policies meet other outcomes (`round_key`)"
_SEEDS = 5


class _Counting(np.random.Generator):
    """A generator that counts the numbers that its methods have returned."""

    numbers = 0

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name.startswith("_") or name in ("bit_generator", "numbers") or not callable(value):
            return value

        def counted(*args: Any, **named: Any) -> Any:
            answer = value(*args, **named)
            self.numbers += int(np.size(answer))
            return answer

        return counted


def draws_each_arm(environment: Environment, super_arms: Iterable[IntArray]) -> bool:
    """Return whether each round with at least two observed arms draws as many numbers as arms, or more.

    The contract allows this. The same generator state then gives an arm other outcomes in other super arms.
    A compiled environment that rejects the counting generator draws one number, as far as is known here.
    """
    seen = False
    for super_arm in super_arms:
        for seed in range(_SEEDS):
            rng = _Counting(np.random.PCG64(seed))
            try:
                observed = len(environment.play(super_arm.copy(), rng).arms)
            except Exception:
                return False
            if observed >= 2 and rng.numbers < observed:
                return False
            seen |= observed >= 2
    return seen
