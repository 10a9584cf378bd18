"""An oracle's Python form between a compiled policy and a compiled environment."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle


class PythonDoor:
    """Answers the compiled loop by the oracle's `solve`, and keeps what that raises until the loop is left.

    Parameters
    ----------
    oracle : Oracle
        Whom to ask.
    rng : numpy.random.Generator
        The learner's stream.
    indices, super_arm : FloatArray, IntArray
        Where the loop puts its question and looks for the answer.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, indices: FloatArray, super_arm: IntArray
    ) -> None:
        from cmab._kernels_callback import door_to

        self.is_asking = self.is_interrupted = False
        self._solve, self._check = oracle.solve, oracle.check_super_arm
        self._rng, self._indices, self._super_arm = rng, indices, super_arm
        self._error: BaseException | None = None
        self.kernel, self._pointer = door_to(self._answer)

    def _answer(self) -> int:
        """Return the size of the super arm, or -1 to end the run: no exception gets through compiled code."""
        try:
            self.is_asking = True
            answer = self._solve(self._indices.copy(), self._rng)
            arms = self._check(answer, "the super arm of solve")
            self.is_asking = False
            size = arms.shape[0]
            self._super_arm[:size] = arms
        except BaseException as error:
            self.is_asking = False
            self._error = error
            return -1
        return -1 if self.is_interrupted else size

    def reraise(self) -> None:
        """Raise what the oracle raised, if it did."""
        error, self._error = self._error, None
        if error is not None:
            raise error
