"""The certificate of an exploration: its answer and its guarantee."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.arrays import FloatArray, IntArray
from cmab.explorer import AnyExplorer, ExploreM, Goal
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class Certificate:
    """The arms that an explorer returns, their guarantee, and the samples and intervals behind them.

    Attributes
    ----------
    explorer : str
        The name of the explorer.
    goal : Goal or None
        The goal that the arms are guaranteed to meet; None if the explorer declares no goal.
    delta : float or None
        The probability with which the guarantee may fail; None if the explorer has no `delta`.
    is_certified : bool
        Whether the guarantee holds: the rule stopped and has a proof. If False, the arms are a guess.
    arms : IntArray
        The arms that the explorer returns.
    counts : IntArray, shape (n_arms,), or None
        Samples of each arm; None for a session with a state that does not keep them.
        `cmab.bounds.best_k_time` returns the shares of an optimal rule.
    means : FloatArray, shape (n_arms,), or None
        The means that the rule uses. The means of arms that were eliminated early may be older.
    lower, upper : FloatArray, shape (n_arms,), or None
        The confidence bounds that the rule compares, infinite for arms without samples. They are None for
        rules without intervals, such as rules that compare likelihoods. If the rule has a proof, the
        intervals of all arms hold at the same time, in all rounds.
    witness : tuple of int or None
        A returned arm and another arm that were the hardest to separate: the returned arm with the least
        lower bound and the other arm with the largest upper bound, or the pair with the least evidence. None
        if the explorer does not return single arms.

    Examples
    --------
    >>> from cmab import LUCB1, identify
    >>> from instances import BernoulliArms
    >>> found = identify(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.2, 0.9, 0.5]), rng=0)
    >>> found.certificates[0]
    Certificate(LUCB1: [1] certified, ExploreM(k=1, epsilon=0.0), delta 0.1, 741 samples, closest arms 1, 0)
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
        """The tolerance `epsilon` of the goal, 0 for a goal without a tolerance."""
        return float(getattr(self.goal, "epsilon", 0.0))

    @property
    def radii(self) -> FloatArray | None:
        """Half the length of each confidence interval."""
        return None if self.lower is None or self.upper is None else 0.5 * (self.upper - self.lower)

    @property
    def margin(self) -> float | None:
        """The gap between the intervals of the witness; negative if they overlap, as `epsilon` may allow."""
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
            said.append("closest arms {}, {}".format(*self.witness))
        return f"Certificate({self.explorer}: {', '.join(said)})"


def certificate(
    explorer: AnyExplorer, state: object, *, arms: IntArray | None = None, counts: IntArray | None = None
) -> Certificate:
    """Return the certificate of `explorer` at `state`.

    If `arms` is None, the certificate is for the recommended arms. If `counts` is None, the counts are those
    of `state`, if it has counts of the whole run.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import LUCB1
    >>> from cmab.exploration.certificate import certificate
    >>> explorer = LUCB1(3, k=1, delta=0.1)
    >>> certificate(explorer, explorer.initial_state(), arms=np.array([0]))
    Certificate(LUCB1: [0] not certified, ExploreM(k=1, epsilon=0.0), delta 0.1, 0 samples)
    """
    named = explorer.recommend(state) if arms is None else arms
    stats = _statistics(state)
    ends: tuple[FloatArray, FloatArray] | None = None
    witness = None
    if stats is not None and stats.counts.any():
        ends = explorer.intervals(state)
        # Only an answer of k out of n arms has a hardest pair of an arm inside and an arm outside.
        if isinstance(explorer.goal, ExploreM) and 0 < len(named) < explorer.n_arms:
            witness = explorer.witness(state, named)
    if counts is None and stats is not None and not getattr(explorer, "fresh_means", False):
        counts = stats.counts.copy()
    return Certificate(
        explorer=type(explorer).__name__,
        goal=explorer.goal,
        delta=getattr(explorer, "delta", None),
        is_certified=explorer.is_certified(state),
        arms=named,
        counts=counts,
        means=None if stats is None else stats.means.copy(),
        lower=None if ends is None else ends[0],
        upper=None if ends is None else ends[1],
        witness=witness,
    )


def _statistics(state: object) -> ArmStatistics | None:
    # The statistics of an explorer in phases are a part of its state.
    stats = getattr(state, "stats", state)
    return stats if isinstance(stats, ArmStatistics) else None
