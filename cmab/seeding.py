"""Independent random streams for each purpose and replication, which are the same in all processes."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from cmab.validation import shown

Seed = int | np.random.SeedSequence | np.random.Generator | None


class Purpose(IntEnum):
    """The purpose of a stream. It is part of the key of the stream, so numbers must never be reused."""

    ENVIRONMENT = 0
    LEARNER = 1
    ESTIMATION = 2
    ROUNDS = 3
    DELAYS = 4


def root(rng: Seed) -> np.random.SeedSequence:
    """Return the seed sequence from which all streams of a call are derived.

    Parameters
    ----------
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        The seed. This call advances a ``Generator``. ``None`` uses fresh entropy of the system.

    Raises
    ------
    ValueError
        If `rng` has another type or is a negative integer.
    """
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        # Draw from the generator, so that two calls with the same generator differ, as users expect.
        return np.random.SeedSequence(rng.integers(0, 2**32, size=4).tolist())
    if rng is None:
        return np.random.SeedSequence()
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:  # type: ignore[redundant-expr]
        raise ValueError(
            f"rng must be a nonnegative integer, a Generator or a SeedSequence, got {shown(rng)}"
        )
    return np.random.SeedSequence(int(rng))


def stream(seed: np.random.SeedSequence, purpose: Purpose, replication: int) -> np.random.Generator:
    """Return the generator of a purpose and a replication that is derived from `seed`.

    The key does not contain the learner, so all learners of an experiment share the stream of the environment
    (common random numbers).
    """
    # Use a key instead of `spawn`, which counts its calls, so that any process can create any stream.
    key = (*seed.spawn_key, int(purpose), replication)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
