"""The check that an object only draws from the generator that it is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require

_SEEDS = 8
_KINDS = (np.random.MT19937, np.random.Philox, np.random.SFC64)


def check_generator(subject: Any) -> Finding:
    """Check that calls draw from their generator without seeding it, and accept all generators of numpy."""
    calls = 0
    for seed in range(_SEEDS):
        for name, call in subject.drawing(np.random.default_rng(seed)):
            rng = np.random.default_rng(seed)
            stream, increment = rng.bit_generator, rng.bit_generator.state["state"]["inc"]
            call(rng)
            # A generator that is seeded anew has another increment. Draws do not change it.
            same = rng.bit_generator is stream and stream.state["state"]["inc"] == increment
            require(same, "generator", "{} seeded its generator; draw from it instead", name)
            for kind in _KINDS:
                call(np.random.Generator(kind(seed)))
            calls += 1
    return Finding(f"{calls} calls with 4 kinds of generators")
