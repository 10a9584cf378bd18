"""Policies that fail, in a module that workers can import."""

import os
import signal

from cmab import CUCB
from cmab.seeding import Purpose, root, stream

SEED = 7


class Raises(CUCB):
    """Raises in replication 17, which it knows by its random stream."""

    def select(self, state, rng, context=None):
        if rng.bit_generator.state == stream(root(SEED), Purpose.LEARNER, 17).bit_generator.state:
            raise RuntimeError("the oracle has gone")
        return super().select(state, rng)


class Dies(CUCB):
    """Is killed by the system, as if memory had run out."""

    def select(self, state, rng, context=None):
        os.kill(os.getpid(), signal.SIGKILL)
