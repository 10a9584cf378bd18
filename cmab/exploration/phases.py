"""Exploration in phases: sample all undecided arms equally often, then accept or reject some of them.

Halving keeps the better half of the arms; AdaptiveTopK and OptMAI decide the arms far from the border between
the k best and the others.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.bounds.samples import best_k_gaps, halving_schedule
from cmab.exploration.base import DELTA, N_ARMS, TOLERANCE, K, budget
from cmab.explorer import AggregateTopK, ExploreM, Explorer, Goal, best_k
from cmab.feedback import Context, Feedback, Ticket
from cmab.parameters import integer, real
from cmab.statistics import ArmStatistics


@dataclass(eq=False)
class Phases:
    """State of an exploration in phases.

    Attributes
    ----------
    stats : ArmStatistics
        Statistics of all phases, or only of the present phase if the rule uses fresh means.
    undecided, accepted : BoolArray, shape (n_arms,)
        Masks of the undecided arms and of the accepted arms. All other arms are rejected.
    target : int
        Number of outcomes of each undecided arm in `stats` at the end of the phase.
    phase : int
        Number of completed phases.
    samples : int
        Number of outcomes in all phases.
    """

    stats: ArmStatistics
    undecided: BoolArray
    accepted: BoolArray
    target: int = 0
    phase: int = 0
    samples: int = 0


class PhasedExplorer(Explorer[Phases]):
    """Base class of explorers that take one batch of samples per phase and then decide about arms.

    A subclass sets `n_arms` and `k` and defines `pulls_per_arm` and `decide`. If its phases may go on without
    end, it also sets ``is_bounded = False``.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import PhasedExplorer, identify
    >>> from instances import BernoulliArms
    >>> class DropTheWorst(PhasedExplorer):
    ...     def __init__(self, n_arms, k):
    ...         self.n_arms, self.k = n_arms, k
    ...     def pulls_per_arm(self, state):
    ...         return 100
    ...     def decide(self, state):
    ...         arms = np.flatnonzero(state.undecided)
    ...         state.undecided[arms[np.argmin(state.stats.means[arms])]] = False
    ...         if state.undecided.sum() == self.k:
    ...             state.accepted |= state.undecided
    ...             state.undecided[:] = False
    >>> identify(DropTheWorst(3, k=1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    """

    k: int
    fresh_means = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        """The goal: the best `k` arms."""
        return ExploreM(self.k)

    @abstractmethod
    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples of each undecided arm in the phase that begins; 0 ends the run."""

    @abstractmethod
    def decide(self, state: Phases) -> None:
        """Decide about arms at the end of a phase.

        Set `accepted` for the accepted arms, and clear `undecided` for all accepted and rejected arms.
        """

    def initial_state(self, rng: np.random.Generator | None = None) -> Phases:
        """Return the state at the beginning of the first phase."""
        n_arms = self.n_arms
        state = Phases(ArmStatistics.empty(n_arms), np.ones(n_arms, np.bool_), np.zeros(n_arms, np.bool_))
        self._begin(state)
        return state

    def select(self, state: Phases, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the undecided arms that have fewer than ``state.target`` outcomes."""
        return np.flatnonzero(state.undecided & (state.stats.counts < state.target))

    def pulls(self, state: Phases) -> int:
        """Return the number of outcomes of each selected arm to take at once."""
        counts = state.stats.counts[state.undecided]
        # The least number that a selected arm needs, so that no arm gets more than `target`.
        return int(state.target - counts[counts < state.target].max(initial=0))

    def update(
        self,
        state: Phases,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the statistics with `feedback`; if the phase is complete, decide and begin the next."""
        state.stats.update(feedback)
        state.samples += int(len(feedback.arms) if feedback.pulls is None else feedback.pulls.sum())
        # A loop, because feedback with several outcomes may complete more than one phase.
        while state.undecided.any() and state.stats.counts[state.undecided].min() >= state.target:
            self.decide(state)
            state.phase += 1
            if state.undecided.any():
                self._begin(state)

    def is_done(self, state: Phases) -> bool:
        """Return whether every arm is decided."""
        return not state.undecided.any()

    def recommend(self, state: Phases) -> IntArray:
        """Return the accepted arms and, up to `k` arms, the best undecided arms."""
        return np.flatnonzero(state.accepted | best_undecided(state, self.k - int(state.accepted.sum())))

    def _begin(self, state: Phases) -> None:
        """Set the target of a new phase, or accept the best arms if no more samples are possible."""
        if self.fresh_means and state.phase:
            state.stats = ArmStatistics.empty(self.n_arms)
        pulls = self.pulls_per_arm(state)
        if pulls < 1:
            finish(state, self.k)
        state.target = pulls + (0 if self.fresh_means else state.target)


class BudgetExplorer(PhasedExplorer):
    """Base class of explorers in phases that take at most `budget` samples and certify no answer."""

    budget: int

    is_proven = False


def affordable(budget: int, state: Phases, pulls: int) -> int:
    """Return `pulls`, or the number of samples per undecided arm that the budget allows if it is less."""
    return min(pulls, (budget - state.samples) // int(state.undecided.sum()))


def best_undecided(state: Phases, size: int) -> BoolArray:
    """Return a mask of the `size` undecided arms with the largest means; ties go to the lower index."""
    arms = np.flatnonzero(state.undecided)
    mask = np.zeros(len(state.undecided), np.bool_)
    mask[arms[best_k(state.stats.means[arms], size)]] = True
    return mask


def finish(state: Phases, k: int) -> None:
    """Accept the best undecided arms up to `k`, and reject the rest."""
    state.accepted |= best_undecided(state, k - int(state.accepted.sum()))
    state.undecided[:] = False


def settle(state: Phases, k: int) -> None:
    """Decide all undecided arms if `k` arms are accepted, or if at most `k` arms are not rejected."""
    if int(state.accepted.sum()) + int(state.undecided.sum()) <= k or int(state.accepted.sum()) == k:
        finish(state, k)


def undecided_means(state: Phases) -> tuple[IntArray, FloatArray]:
    """Return the undecided arms and their means."""
    arms = np.flatnonzero(state.undecided)
    return arms, state.stats.means[arms]


@dataclass(frozen=True, eq=False)
class Halving(PhasedExplorer):
    """Halving (Kalyanakrishnan and Stone 2010): keep the better half until k arms are left.

    Use this explorer only to compare with its paper. `LUCB1` needs far fewer samples on most problems.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`, for independent outcomes in [0, 1]. The number of samples is the same on every instance
    (`cmab.bounds.samples.halving_samples`). Each round uses only its own outcomes.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, in (1e-4, 1).

    Examples
    --------
    >>> from cmab import Session
    >>> from cmab.exploration.phases import Halving
    >>> ticket = Session(Halving(n_arms=100, k=5, epsilon=0.1, delta=0.1), rng=0).ask()
    >>> len(ticket), ticket.pulls
    (100, 18253)

    References
    ----------
    S. Kalyanakrishnan, P. Stone: Efficient Selection of Multiple Bandit Arms, ICML 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    epsilon: float = field(metadata=TOLERANCE)
    fresh_means = True
    support = (0.0, 1.0)

    @property
    def goal(self) -> Goal:
        return ExploreM(self.k, self.epsilon)

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples per arm that Hoeffding's bound needs in this round.

        Each round has a share of `epsilon` and `delta`.
        """
        return halving_schedule(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta)[state.phase][1]

    def decide(self, state: Phases) -> None:
        """Keep the better half of the undecided arms, but at least `k`; if `k` are left, accept them."""
        size = max(-(-int(state.undecided.sum()) // 2), self.k)
        state.undecided = best_undecided(state, size)
        if size == self.k:
            finish(state, self.k)


@dataclass(frozen=True, eq=False)
class UniformAllocation(BudgetExplorer):
    """Uniform allocation, a baseline: sample every arm equally often and return the k largest means.

    Use this explorer only as the baseline of a comparison.

    The remainder of `budget` divided by `n_arms` is not used. No answer is certified.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        Number of arms to return, in ``[1, n_arms]``.
    budget : int
        Maximum number of samples, at least `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import Session, UniformAllocation
    >>> Session(UniformAllocation(n_arms=3, k=1, budget=100), rng=0).ask().pulls
    33
    """

    n_arms: int = field(metadata=integer(1))
    k: int = field(metadata=integer(1, lambda explorer: explorer.n_arms))
    _: KW_ONLY
    budget: int = field(metadata=budget(lambda explorer: explorer.n_arms))

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples of each arm."""
        return self.budget // self.n_arms

    def decide(self, state: Phases) -> None:
        """Accept the arms with the k largest means."""
        finish(state, self.k)


_DECAY = math.exp(0.2) * 0.75  # in OptMAI, each round gets this multiple of the budget of the round before


@dataclass(frozen=True, eq=False)
class AdaptiveTopK(PhasedExplorer):
    """AdaptiveTopK: k arms with an average mean within `epsilon` of the best, with probability 1 - delta.

    Use this explorer if the average of the returned means matters and samples come in large batches. If each
    returned arm must be among the best, use `BestKGLR`.

    The guarantee holds for independent outcomes in [0, 1] and ``pulls_factor >= 1``. Means include the
    outcomes of all rounds.

    With a `budget` instead of `epsilon`, this is the rule of the paper's experiments, and no answer is
    certified. With ``pulls_factor = 1``, the first round alone takes ``4 ln(2 n / delta)`` samples of each
    arm. With a budget up to this number, the rule is uniform allocation. The last round is cut to the rest of
    the budget.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1). With a budget, it only sets the number of samples per round.
    epsilon : float, optional
        Tolerance of the average, in (1e-4, 1). Pass either `epsilon` or `budget`.
    budget : int, optional
        Maximum number of samples, at least `n_arms`.
        Samples of open tickets are not counted.
    pulls_factor : float
        Factor of the number of samples in each round. Below 1, no answer is certified.

    Examples
    --------
    >>> from cmab import AdaptiveTopK, Session
    >>> Session(AdaptiveTopK(n_arms=1000, k=100, epsilon=0.01, delta=0.01), rng=0).ask().pulls
    49
    >>> Session(AdaptiveTopK(n_arms=1000, k=100, delta=0.01, budget=20_000), rng=0).ask().pulls
    20

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, Algorithm 1; section
    3 for the budget.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    epsilon: float | None = field(default=None, metadata=real(1e-4, 1.0, inside=True, optional=True))
    budget: int | None = field(default=None, metadata=budget(lambda explorer: explorer.n_arms, optional=True))
    pulls_factor: float = field(default=1.0, metadata=real(1e-6, 100.0))
    support = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.epsilon is None) == (self.budget is None):
            raise ValueError(
                f"exactly one of epsilon and budget must be given, got epsilon={self.epsilon} and"
                f" budget={self.budget}"
            )
        if self.epsilon is None:
            object.__setattr__(self, "support", None)

    @property
    def is_proven(self) -> bool:
        """Whether `epsilon` is set and `pulls_factor` is at least 1."""
        return self.budget is None and self.pulls_factor >= 1.0

    @property
    def goal(self) -> Goal:
        """The goal: an average within `epsilon` of the best, or with a budget the best `k` arms."""
        return ExploreM(self.k) if self.epsilon is None else AggregateTopK(self.k, self.epsilon)

    def pulls_per_arm(self, state: Phases) -> int:
        """Return ``ceil(c 4^r ln(2 n r^2 / delta))`` with c = `pulls_factor`, or less if the budget is short.

        Return 0 if the arms that are still to be accepted cannot cost more than the tolerance.
        """
        wanted = self.k - int(state.accepted.sum())
        # Equation 13: each arm still to be accepted costs at most 2 * 2^-r, and their sum is at most eps K.
        if self.epsilon is not None and 2.0 * 2.0**-state.phase * wanted <= self.epsilon * self.k:
            return 0
        # 2^-r is the width of round r, and Hoeffding's inequality needs 4^r ln(2 n r^2 / delta)
        # outcomes for it (equation 18).
        r = state.phase + 1
        pulls = math.ceil(self.pulls_factor * 4.0**r * math.log(2 * self.n_arms * r * r / self.delta))
        return pulls if self.budget is None else affordable(self.budget, state, pulls)

    def decide(self, state: Phases) -> None:
        """Accept or reject every arm with a gap above twice the width of the round.

        The paper recomputes the border after each arm. That changes no gap: an accepted arm reduces the
        number of wanted arms by one, and a rejected arm was below the border. All arms can therefore be
        decided at once. If the budget cut the round short, the best arms are accepted.
        """
        if self.budget is not None and affordable(self.budget, state, 1) < 1:
            finish(state, self.k)
            return
        arms, means = undecided_means(state)
        wanted = self.k - int(state.accepted.sum())
        # Algorithm 1, inner loop, as its proofs imply it: arms with gaps above 2 widths are on the true side.
        clear = best_k_gaps(means, wanted) > 2.0 * 2.0 ** -(state.phase + 1)
        top = np.zeros(len(arms), np.bool_)
        top[best_k(means, wanted)] = True
        state.accepted[arms[clear & top]] = True
        state.undecided[arms[clear]] = False
        settle(state, self.k)


@dataclass(frozen=True, eq=False)
class OptMAI(BudgetExplorer):
    """OptMAI (Zhou et al. 2014): a fixed budget, and each round decides a quarter of the arms.

    Use this explorer to compare with its paper. `AdaptiveTopK(budget=...)` maximises the same average.

    As long as at least 4k arms are left, a round drops the worst quarter. Later rounds accept or reject the
    quarter that is farthest from the border between the k best and the others. Means include the outcomes of
    all rounds. Every round takes at least one sample of each arm that is left. No answer is certified.

    The budget of the rounds decreases geometrically, and the run ends when k arms are found. About a fifth of
    the budget therefore remains unused, so compare this explorer at the number of samples that it took.

    Parameters
    ----------
    n_arms, k, budget
        As for `AdaptiveTopK`. The analysis needs ``k <= n_arms / 2``.

    Examples
    --------
    >>> from cmab import OptMAI, Session
    >>> Session(OptMAI(n_arms=1000, k=100, budget=50_000), rng=0).ask().pulls
    4

    References
    ----------
    Y. Zhou, X. Chen, J. Li: Optimal PAC Multiple Arm Identification with Applications to Crowdsourcing,
    ICML 2014 (from memory, and public code).
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    budget: int = field(metadata=budget(lambda explorer: explorer.n_arms))

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples of each undecided arm in this round."""
        # Q_r = beta^r (1 - beta) Q, whose sum over all rounds is the budget Q.
        share = _DECAY**state.phase * (1.0 - _DECAY) * self.budget
        pulls = int(share // int(state.undecided.sum()))
        return affordable(self.budget, state, max(1, pulls))

    def decide(self, state: Phases) -> None:
        """Drop the worst quarter, or accept and reject the quarter that is farthest from the border."""
        arms, means = undecided_means(state)
        quarter = -(-len(arms) // 4)
        wanted = self.k - int(state.accepted.sum())
        # With at least 4k arms left, the round only rejects.
        if len(arms) >= 4 * self.k:
            state.undecided[arms[np.argsort(-means, kind="stable")[len(arms) - quarter :]]] = False
            return
        farthest = arms[np.argsort(-best_k_gaps(means, wanted), kind="stable")[:quarter]]
        state.accepted[np.intersect1d(farthest, arms[best_k(means, wanted)])] = True
        state.undecided[farthest] = False
        settle(state, self.k)
