"""Bandit over bandits: a second bandit selects the length of a sliding window in each block of rounds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from cmab import declared
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.policies._wrapped import WrappedPolicy
from cmab.policies.windowed import ARM, ROUND, SlidingWindow, WindowStatistics
from cmab.statistics import ArmStatistics
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_vector, integer, shown

#: The default number of windows.
_WINDOWS = 4


class BlockStatistics(WindowStatistics):
    """Statistics of the window of the current block, which may be shorter than that of the first block.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback, WindowStatistics
    >>> from cmab.policies.over_windows import BlockStatistics
    >>> seen = WindowStatistics.empty(ArmStatistics.empty(2), window=5)
    >>> for outcome in (1.0, 0.0, 0.0):
    ...     seen.update(Feedback([0], [outcome]))
    >>> BlockStatistics.of(seen, ArmStatistics.empty(2), window=2).recent.means
    array([0., 0.])
    """

    @classmethod
    def of(cls, seen: WindowStatistics, fresh: ArmStatistics, *, window: int) -> BlockStatistics:
        """Return the statistics of the last `window` rounds of `seen`, written into `fresh`."""
        narrow = cls(fresh, window, np.zeros(fresh.n_arms))
        part = seen.kept[:, seen.kept[ROUND] > seen.rounds - window].copy()
        narrow.rounds, narrow.low, narrow.high = seen.rounds, seen.low, seen.high
        narrow.last, narrow.history = part.shape[1], [part] if part.size else []
        arms = part[ARM].astype(np.int64)
        fresh.counters[:] = np.bincount(arms, minlength=fresh.n_arms)
        fresh.rounds = min(seen.rounds, window)
        narrow._recount()
        return narrow

    def check(self, fresh: WindowStatistics) -> None:
        """Raise if no feedback leads to these statistics in a window of any length.

        Raises
        ------
        ValueError
            As in `WindowStatistics.check`.
        """
        integer("window", self.window, 1)
        super().check(replace(fresh, window=self.window))


@dataclass
class BlockState:
    """Statistics of the longest window and of the current window, and scores of K windows.

    Attributes
    ----------
    seen : WindowStatistics
        Statistics of the longest window.
    recent : BlockStatistics
        Statistics of the window of this block, which the wrapped policy uses.
    scores : FloatArray, shape (K,)
        Logarithms of the weights of EXP3.
    blocks : IntArray, shape (K,)
        Number of blocks with each window, including the current block.
    choice : int
        Index of the window of this block.
    told : int
        Number of rounds of this block with feedback.
    earned : float
        Sum of the rewards of these rounds, each rescaled to [0, 1].

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.policies.over_windows import BanditOverBandit
    >>> from oracles import TopK
    >>> BanditOverBandit(CUCB(TopK(4, k=1)), 1000).initial_state().blocks
    array([0, 0, 0, 1])
    """

    seen: WindowStatistics
    recent: BlockStatistics
    scores: FloatArray
    blocks: IntArray
    choice: int
    told: int = 0
    earned: float = 0.0

    def check(self, fresh: BlockState) -> None:
        """Raise if no feedback leads to this state, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If the parts contradict each other.
        """
        self.seen.check(fresh.seen)
        self.recent.check(fresh.recent)
        check_vector("scores", self.scores, len(fresh.scores), 0.0)
        arm_indices("blocks", self.blocks, 2**53, distinct=False)
        integer("choice", self.choice, 0, len(self.scores) - 1)
        integer("told", self.told, 0)
        if len(self.blocks) != len(self.scores) or not 0.0 <= self.earned <= self.told:
            raise ValueError(f"earned must lie in [0, {self.told}], got {shown(self.earned)}")


@dataclass(frozen=True, eq=False)
class BanditOverBandit(WrappedPolicy[BlockState]):
    """Another policy in a sliding window of a length that EXP3 selects anew for each block of rounds.

    No knowledge of the speed of changes is needed. The regret is about the average over the tested windows,
    so it is smaller than that of the worst window; in long runs it approaches that of the best. If means
    change abruptly, `GLRRestart` has less regret. If you know roughly how often they change, so does
    `SlidingWindow` with one window.

    The policy uses observations from before a block if the window includes them. The bound in the literature
    is for policies that forget everything after each block. At realistic horizons, forgetting costs more than
    a wrong window. Delayed feedback counts in the block in which it arrives.

    Parameters
    ----------
    policy : Policy
        The wrapped policy, as in `SlidingWindow`.
    horizon : int
        Number of rounds. The weights of EXP3 depend on it.
    windows : array_like of int, optional
        The candidate lengths, at least two, in increasing order. By default, four lengths in a geometric
        sequence from `block` to `horizon`.
    block : int, optional
        Number of rounds in a block. The default is the square root of the horizon.
    reward_range : tuple of float, optional
        Interval of the rewards of a round. Rewards outside it are clipped. With a narrower interval, the
        policy distinguishes windows sooner. For rewards that are sums, the default is the range for outcomes
        in the support.

    Raises
    ------
    TypeError
        If `policy` is not a policy.
    ValueError
        As in `SlidingWindow`; if a parameter is out of its range; or if `reward_range` is omitted although
        rewards are not sums or the wrapped policy has no bounded support.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from cmab.policies.over_windows import BanditOverBandit
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=1)
    >>> means = [0.1, 0.6, 0.2, 0.5], [0.9, 0.6, 0.2, 0.5]
    >>> before, after = (SemiBandit(BernoulliArms(p), oracle) for p in means)
    >>> environment = PiecewiseStationary([before, after], changes=[1000])
    >>> rule = CUCB(oracle, radius_factor=0.3)
    >>> plain = simulate(rule, environment, 2000, rng=0)
    >>> chosen = simulate(BanditOverBandit(rule, 2000), environment, 2000, rng=0)
    >>> bool(plain.regret[:, -1].mean() > 1.5 * chosen.regret[:, -1].mean())
    True

    References
    ----------
    W. C. Cheung, D. Simchi-Levi, R. Zhu: Learning to Optimize under Non-Stationarity, AISTATS 2019 (BOB),
    from memory: EXP3 (P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit
    Problem, SIAM J. Comput. 2002, Figure 1 and Corollary 3.2) over windows, in blocks of about the square
    root of the horizon. W. Chen et al., UAI 2021, extend it to super arms. The memory across blocks and the
    choice of the candidate windows are ours.
    """

    horizon: int = field(metadata=declared.integer(2))
    _: KW_ONLY
    windows: ArrayLike | None = None
    block: int | None = field(default=None, metadata=declared.integer(1, optional=True))
    reward_range: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))
    _lengths: IntArray = field(init=False, repr=False)
    _size: int = field(init=False, repr=False)
    _ends: tuple[float, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        horizon = self.horizon
        SlidingWindow(self.policy, window=horizon)  # raises an error if the policy does not fit
        root = math.ceil(math.sqrt(horizon))
        size = root if self.block is None else self.block
        if self.windows is None:
            spread = np.geomspace(min(size, horizon - 1), horizon, _WINDOWS)
            lengths = np.unique(np.round(spread).astype(np.int64))
        else:
            lengths = arm_indices("windows", self.windows, 2**53)
        if len(lengths) < 2 or lengths[0] < 1 or (np.diff(lengths) <= 0).any():
            raise ValueError(f"windows must be two or more increasing lengths, got {shown(self.windows)}")
        for name, value in (("_lengths", lengths), ("_size", size), ("_ends", self._range())):
            object.__setattr__(self, name, value)

    def _learned(self, state: BlockState) -> ArmStatistics:
        return state.recent.recent

    def initial_state(self, rng: np.random.Generator | None = None) -> BlockState:
        """Return the initial state. Without a generator, the first block has the longest window."""
        seen, recent = self.policy.initial_state(rng), self.policy.initial_state(rng)
        k = len(self._lengths)
        return self._begun(seen, recent, k - 1 if rng is None else int(rng.choice(k)))

    def _begun(self, seen: Any, recent: Any, choice: int) -> BlockState:
        numbers = np.zeros(len(self._lengths), np.int64)
        numbers[choice] = 1
        longest = WindowStatistics.empty(seen, window=int(self._lengths[-1]))
        now = BlockStatistics.of(longest, recent, window=int(self._lengths[choice]))
        return BlockState(longest, now, np.zeros(len(numbers)), numbers, choice)

    def update(
        self,
        state: BlockState,
        feedback: Feedback,
        ticket: Ticket | None = None,  # noqa: ARG002
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with one round of feedback. At the end of a block, draw the next window.

        Without a generator, the next block has the most probable window.
        """
        state.recent.update(feedback)
        state.seen.update(feedback)
        low, high = self._ends
        reward = feedback.reward if math.isfinite(feedback.reward) else float(feedback.outcomes.sum())
        share = min(max((reward - low) / (high - low), 0.0), 1.0)
        state.earned += share if self.oracle.sense == "max" else 1.0 - share
        state.told += 1
        if state.told == self._size:
            self._next_block(state, rng)

    def _next_block(self, state: BlockState, rng: np.random.Generator | None) -> None:
        """Credit the window of the finished block, and select the window of the next block."""
        k, ended = len(self._lengths), state.choice
        # Auer et al. (2002), Corollary 3.2: gamma = min(1, sqrt(K ln K / ((e - 1) g))),
        # where g is at least the number of blocks.
        gamma = min(1.0, math.sqrt(k * math.log(k) * self._size / ((math.e - 1.0) * self.horizon)))
        # Figure 1: w <- w exp(gamma x / (p K)), and p = (1 - gamma) w / sum w + gamma / K.
        chance = self._chances(state.scores, gamma)[ended]
        state.scores[ended] += gamma * (state.earned / state.told) / (chance * k)
        state.scores -= state.scores.min()
        chances = self._chances(state.scores, gamma)
        state.choice = int(np.argmax(chances)) if rng is None else int(rng.choice(k, p=chances))
        state.blocks[state.choice] += 1
        state.told, state.earned = 0, 0.0
        fresh = self.policy.initial_state(rng)
        state.recent = BlockStatistics.of(state.seen, fresh, window=int(self._lengths[state.choice]))

    @staticmethod
    def _chances(scores: FloatArray, gamma: float) -> FloatArray:
        weights = np.exp(scores - scores.max())
        chances: FloatArray = (1.0 - gamma) * weights / weights.sum() + gamma / len(scores)
        return chances

    def _range(self) -> tuple[float, float]:
        """Return the assumed interval of the rewards of a round."""
        if self.reward_range is not None:
            return self.reward_range
        oracle, support = self.policy.oracle, self.policy.support
        if not oracle.is_linear or support is None or not np.isfinite(support).all():
            raise ValueError(
                f"reward_range must be given unless rewards are sums of bounded outcomes, got {oracle!r}"
            )
        return min(oracle.max_size * support[0], 0.0), max(oracle.max_size * support[1], 0.0)
