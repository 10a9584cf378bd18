"""An oracle's Python form between a compiled policy and a compiled environment."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle


class Callback(ABC):
    """Answers compiled code from Python, and keeps what that raises until the compiled code is left.

    Attributes
    ----------
    kernel : Kernel
        What the compiled code calls; the answer is negative if the run must end.
    is_asking : bool
        Whether Python is at work, where Ctrl-C may end the run at once.
    is_interrupted : bool
        To be set where it came elsewhere: the run then ends at the next question.
    """

    def __init__(self) -> None:
        from cmab.compiled._kernels_callback import callback_to

        self.is_asking = self.is_interrupted = False
        self._error: BaseException | None = None
        self.kernel, self._pointer = callback_to(self._answer)

    @abstractmethod
    def _ask(self) -> int:
        """Return the answer, which is not negative; further ones go into arrays that both sides know."""

    def _answer(self) -> int:
        """Return the answer, or -1 to end the run: no exception gets through compiled code."""
        try:
            self.is_asking = True
            answer = self._ask()
            self.is_asking = False
        except BaseException as error:
            self.is_asking = False
            # KeyboardInterrupt and SystemExit too: they must not unwind compiled frames.
            self._error = error
            return -1
        return -1 if self.is_interrupted else answer

    def reraise(self) -> None:
        """Raise what Python raised, if it did."""
        # Raised once: the next call begins without it.
        error, self._error = self._error, None
        if error is not None:
            raise error


class OracleCallback(Callback):
    """Asks an oracle for one super arm.

    Parameters
    ----------
    oracle : Oracle
        Whom to ask.
    rng : numpy.random.Generator
        The learner's stream.
    indices, super_arm : FloatArray, IntArray
        Where the loop puts its question and looks for the answer.

    Attributes
    ----------
    seconds : float
        Wall-clock seconds in the oracle so far.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, indices: FloatArray, super_arm: IntArray
    ) -> None:
        super().__init__()
        self._solve, self._check = oracle.solve, oracle.check_super_arm
        self._name, self.seconds = f"the super arm of {type(oracle).__name__}.solve", 0.0
        self._rng, self._indices, self._super_arm = rng, indices, super_arm

    def _ask(self) -> int:
        # A copy, for the loop writes the next round's indices into the same array.
        indices, started = self._indices.copy(), time.perf_counter()
        answer = self._solve(indices, self._rng)
        self.seconds += time.perf_counter() - started
        arms = self._check(answer, self._name)
        self._super_arm[: len(arms)] = arms
        return len(arms)
