"""An environment's truth as the runner reads it, and whether it stays the same."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.running._declared import finite_or_nan

#: Super arms that are asked about again, the first ones of a run.
_WITNESSES = 4


class Truth:
    """Means, optimum and expected rewards of an environment during one run.

    Regret is against one optimum, and the expected reward of a super arm that stays in play is asked for
    once. Both are right only where nothing changes: that is looked at in rounds 2, 4, 8, ... and at the end.

    Parameters
    ----------
    environment : Environment
        Whose truth it is.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._means: FloatArray = np.array(environment.means, np.float64)
        self._optimum = finite_or_nan("environment.optimum", environment.optimum)
        self._witnesses: dict[bytes, float] = {}
        self._previous, self._value, self._look = b"none", math.nan, 2

    def at(self, t: int) -> Environment:  # noqa: ARG002
        """Return the environment as it is in round `t`: always the same."""
        return self.environment

    def expected_reward(self, super_arm: IntArray, t: int) -> float:
        """Return the expected reward of what is played in round `t`."""
        # The same super arm again, as in most late rounds, has the same expected reward: asking can be slow.
        played = super_arm.tobytes()
        if played != self._previous or t == self._look:
            self._value, self._previous = self._ask(super_arm, played, t), played
        # In rounds 2, 4, 8, ...: few looks that find what moves.
        if t == self._look:
            self.check(t)
            self._look *= 2
        return self._value

    def check(self, t: int) -> None:
        """Raise ``ValueError`` if something has changed by round `t`."""
        means = self.environment.means
        optimum = finite_or_nan("environment.optimum", self.environment.optimum)
        if not np.array_equal(self._means, means, equal_nan=True):
            arm = int(np.flatnonzero(np.asarray(means) != self._means)[0])
            raise _changed(f"the mean of arm {arm} was {self._means[arm]} and is {means[arm]}", t)
        if optimum != self._optimum and not (math.isnan(optimum) and math.isnan(self._optimum)):
            raise _changed(f"the optimum was {self._optimum} and is {optimum}", t)

    def check_end(self, t: int) -> None:
        """As `check`, and the expected rewards of the first super arms as well."""
        self.check(t)
        for played in list(self._witnesses):
            super_arm = np.frombuffer(played, np.int64).copy()
            self._ask(super_arm, played, t)

    def _ask(self, super_arm: IntArray, played: bytes, t: int) -> float:
        answer = self.environment.expected_reward(super_arm)
        value = finite_or_nan("environment.expected_reward(super_arm)", answer)
        known = self._witnesses.get(played)
        if known is None:
            if len(self._witnesses) < _WITNESSES:
                self._witnesses[played] = value
        # Sums in another order may differ in their last digits.
        elif not math.isclose(known, value, rel_tol=1e-9) and not (math.isnan(known) and math.isnan(value)):
            raise _changed(
                f"the expected reward of super arm {super_arm.tolist()} was {known} and is {value}", t
            )
        return value


def _changed(what: str, t: int) -> ValueError:
    return ValueError(
        f"environment must keep its means, optimum and expected rewards during a run, for regret is against"
        f" one optimum; but by round {t} {what}. Let in_round(t, rng) return the environment of a round where"
        " rounds differ"
    )
