"""Explorers for aggregate regret, the difference in average mean of the k best and the returned arms."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.declared import real
from cmab.exploration.parameters import DELTA, N_ARMS, POSITIVE, K, budget, check_samples
from cmab.exploration.phases import (
    BudgetExplorer,
    PhasedExplorer,
    Phases,
    affordable,
    finish,
    settle,
    undecided_means,
)
from cmab.goals import AggregateTopK, ExploreM, Goal, best_k
from cmab.theory.hardness import best_k_gaps

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
        Tolerance of the average, in (0, 1). Pass either `epsilon` or `budget`.
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
    epsilon: float | None = field(default=None, metadata=real(1e-100, 1.0, inside=True, optional=True))
    budget: int | None = field(default=None, metadata=budget(lambda explorer: explorer.n_arms, optional=True))
    pulls_factor: float = field(default=1.0, metadata=POSITIVE)
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
            return
        # The last round is the first whose width is at most epsilon. All rounds before it together take a
        # third of its samples.
        r = math.ceil(math.log2(2.0 / self.epsilon))
        pulls = self.pulls_factor * math.log(2 * self.n_arms * r * r / self.delta) * 4 / 3 * self.n_arms
        check_samples(2.0 * r + math.log2(max(1.0, pulls)), "epsilon, delta and pulls_factor")

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
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``. The analysis needs ``k <= n_arms / 2``.
    budget : int
        Maximum number of samples, at least `n_arms`.
        Samples of open tickets are not counted.

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
