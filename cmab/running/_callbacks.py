"""Calls from the compiled loop to an oracle in Python."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle


class Callback(ABC):
    """A function in Python that compiled code calls. It stores exceptions until the compiled code returns.

    Attributes
    ----------
    kernel : Kernel
        The function for the compiled code. It returns a negative number if the run must end.
    is_asking : bool
        Whether Python code is running, so that Ctrl-C can end the run immediately.
    is_interrupted : bool
        Set it to True if Ctrl-C arrives in compiled code. The run ends at the next call.
    """

    def __init__(self) -> None:
        from cmab.compiled import callback_to

        self.is_asking = self.is_interrupted = False
        self._error: BaseException | None = None
        self.kernel, self._pointer = callback_to(self._answer)

    @abstractmethod
    def _ask(self) -> int:
        """Return a nonnegative number, and write further results to arrays that the loop shares."""

    def _answer(self) -> int:
        """Return the result of `_ask`, or -1 to end the run, because exceptions cannot pass compiled code."""
        try:
            self.is_asking = True
            answer = self._ask()
            self.is_asking = False
        except BaseException as error:
            self.is_asking = False
            # Also catch KeyboardInterrupt and SystemExit, which must not unwind compiled frames.
            self._error = error
            return -1
        return -1 if self.is_interrupted else answer

    def reraise(self) -> None:
        """Raise the stored exception, if there is one."""
        # Remove the exception, so that it is raised once.
        error, self._error = self._error, None
        if error is not None:
            raise error


class OracleCallback(Callback):
    """A callback that asks an oracle for one super arm.

    Parameters
    ----------
    oracle : Oracle
        The oracle.
    rng : numpy.random.Generator
        The stream of the learner.
    indices, super_arm : FloatArray, IntArray
        The arrays of the loop for the indices and for the super arm.

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
        # A copy, because the loop writes the indices of the next round into the same array.
        indices, started = self._indices.copy(), time.perf_counter()
        answer = self._solve(indices, self._rng)
        self.seconds += time.perf_counter() - started
        arms = self._check(answer, self._name)
        self._super_arm[: len(arms)] = arms
        return len(arms)
