"""What the end of an exploration says."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.arrays import FloatArray, IntArray
from cmab.goals import Goal


@dataclass(frozen=True, eq=False)
class Certificate:
    """Which arms, with what guarantee, and how closely it was decided: of a run's end, or of any moment.

    Attributes
    ----------
    explorer : str
        The explorer's name.
    goal : Goal or None
        What is guaranteed of the arms; None where the explorer does not say.
    delta : float or None
        The probability with which the guarantee may fail; None where the explorer has none.
    is_certified : bool
        Whether the guarantee holds: the rule stopped, and is proven. Otherwise the arms are a guess.
    arms : IntArray
        The arms that are named.
    counts : IntArray, shape (n_arms,), or None
        Samples of each arm; None of a session whose state forgets them. What an optimal rule would give to
        each is `cmab.theory.optimal_proportions`.
    means : FloatArray, shape (n_arms,), or None
        What the rule has for means; those of arms that were given up early may be older.
    lower, upper : FloatArray, shape (n_arms,), or None
        The intervals that the rule compares, infinite for arms never seen; None of rules without any, as
        those that compare likelihoods. They hold all at once, at all times, where the rule is proven.
    witness : tuple of int or None
        The named arm and the other one that are the closest: of least lower and of largest upper bound, or of
        least evidence. They were the last to be told apart. None where arms are not named one by one.

    Examples
    --------
    >>> from cmab import LUCB1, identify
    >>> from instances import BernoulliArms
    >>> found = identify(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.2, 0.9, 0.5]), rng=0)
    >>> found.certificates[0]
    Certificate(LUCB1: [1] certified, ExploreM(k=1, epsilon=0.0), delta 0.1, 741 samples, 1 told from 0)
    """

    explorer: str
    goal: Goal | None
    delta: float | None
    is_certified: bool
    arms: IntArray
    counts: IntArray | None
    means: FloatArray | None
    lower: FloatArray | None
    upper: FloatArray | None
    witness: tuple[int, int] | None

    @property
    def epsilon(self) -> float:
        """The tolerance of the goal."""
        return float(getattr(self.goal, "epsilon", 0.0))

    @property
    def radii(self) -> FloatArray | None:
        """Half the length of each interval."""
        return None if self.lower is None or self.upper is None else 0.5 * (self.upper - self.lower)

    @property
    def margin(self) -> float | None:
        """By how much the intervals of the witness are apart; below 0 they overlap, as `epsilon` allows."""
        if self.witness is None or self.lower is None or self.upper is None:
            return None
        inside, outside = self.witness
        return float(self.lower[inside] - self.upper[outside])

    def __repr__(self) -> str:
        said = [f"{self.arms.tolist()} {'' if self.is_certified else 'not '}certified", repr(self.goal)]
        if self.delta is not None:
            said.append(f"delta {self.delta:g}")
        if self.counts is not None:
            said.append(f"{int(self.counts.sum()):,} samples")
        if self.witness is not None:
            said.append("{} told from {}".format(*self.witness))
        return f"Certificate({self.explorer}: {', '.join(said)})"
