"""One independent random stream for each purpose and replication, the same in any process."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from cmab.validation import shown

Seed = int | np.random.SeedSequence | np.random.Generator | None


class Purpose(IntEnum):
    """What a stream is for; part of its key, so numbers must never be re-used."""

    ENVIRONMENT = 0
    LEARNER = 1
    ESTIMATION = 2
    ROUNDS = 3
    DELAYS = 4


def root(rng: Seed) -> np.random.SeedSequence:
    """Return the seed sequence that all streams of one call descend from.

    Parameters
    ----------
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        A ``Generator`` is advanced by this call; ``None`` takes fresh entropy from the system.

    Raises
    ------
    ValueError
        If `rng` is none of these, or a negative integer.
    """
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        # A generator is drawn from once, so that two calls with the same one differ, as its user expects.
        return np.random.SeedSequence(rng.integers(0, 2**32, size=4).tolist())
    if rng is None:
        return np.random.SeedSequence()
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:  # type: ignore[redundant-expr]
        raise ValueError(
            f"rng must be a nonnegative integer, a Generator or a SeedSequence, got {shown(rng)}"
        )
    return np.random.SeedSequence(int(rng))


def stream(seed: np.random.SeedSequence, purpose: Purpose, replication: int) -> np.random.Generator:
    """Return the generator of one (purpose, replication) below `seed`.

    The key does not contain the learner, so all learners of an experiment meet the same environment
    stream: common random numbers.
    """
    # A key instead of `spawn`, which counts: any stream can be made alone, in any process.
    key = (*seed.spawn_key, int(purpose), replication)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
