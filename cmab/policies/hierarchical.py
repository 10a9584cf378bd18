"""Thompson sampling whose prior is learned too."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.declared import interval, one_of
from cmab.guards import Takes
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.policy import fits
from cmab.renamed import former_parameters
from cmab.statistics import ArmStatistics
from cmab.validation import as_array, shown, vector

# Denser where means are small: in graphs and lists most of what could happen hardly ever does.
_MEANS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
_WEIGHTS = (1.0, 4.0, 16.0, 64.0)
_LEAST = 1e-6


@former_parameters
@dataclass(frozen=True, eq=False)
class HierarchicalCTS(CompiledIndexPolicy):
    """Thompson sampling that learns the prior of each group of arms from the group's own outcomes.

    Arms of a group have one Beta prior, an unknown point of the grid ``means x weights``, each as likely
    beforehand. Each round a point is drawn for each group from what is known of it, then each arm from its
    Beta posterior under that prior. Both posteriors are exact for outcomes 0 and 1, and an outcome costs one
    step for each point of the grid. Others count as in `CTS`: x in [0, 1] as x successes and 1 - x failures,
    with the likelihood ``p^x (1 - p)^(1 - x)``. With one point it is `CTS` with that prior, number by number.

    Its guarantee is Bayesian: for means drawn as the model says, the regret summed over T rounds is
    ``O(B sqrt(m K T log T))`` for rewards with triggering-probability-modulated smoothness B and at most K
    triggered arms, for any approximate oracle (theorem A in the docs, ours). Nothing is claimed for one fixed
    truth, and what groups say should be so: arms that have nothing in common make a group slow, not wrong.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    groups : array_like of int, shape (n_arms,), optional
        Label of each arm's group. If left out, what the oracle declares (`Oracle.arm_groups`): oracles of
        influence do, by the in-degree of the head of an arc. Where it declares none, all are one.
    means : array_like
        Means of the priors, strictly inside `support`; 16 from 0.002 to 0.97 of it if left out.
    weights : array_like
        Numbers of outcomes that the priors are worth, from 1e-6 on; 1, 4, 16, 64 if left out.
    estimate : {"sample", "mean"}
        Whether indices are draws, or means of the posterior: then it only exploits, and has no guarantee
        unless something else explores (`ForcedExploration`).
    support : tuple of float
        Interval of the outcomes; others count as its nearest end.

    Examples
    --------
    >>> from cmab import HierarchicalCTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8, 0.1, 0.2]), oracle)
    >>> policy = HierarchicalCTS(oracle, groups=[0, 1, 0, 1, 0, 1])
    >>> result = simulate(policy, environment, horizon=500, rng=0)
    >>> result.super_arms
    [array([1, 3])]
    >>> policy.prior_means(result.states[0]).round(1)
    array([0.2, 0.6])

    References
    ----------
    J. Hong, B. Kveton, M. Zaheer, M. Ghavamzadeh: Hierarchical Bayesian Bandits, AISTATS 2022, for the idea,
    with Gaussian priors. The grid is ours.
    """

    groups: ArrayLike | None = None
    _: KW_ONLY
    means: ArrayLike | None = None
    weights: ArrayLike | None = None
    estimate: Literal["sample", "mean"] = field(default="sample", metadata=one_of("sample", "mean"))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...] | None] = ("groups", "means", "weights", "support")
    _takes: ClassVar[Takes] = {"prior_means": (fits,)}

    def rule(self) -> Any:
        if self.estimate == "mean":
            from cmab.policies._kernels_hierarchical_means import hierarchical_means

            return hierarchical_means
        from cmab.policies._kernels_hierarchical import hierarchical_draws

        return hierarchical_draws

    def learning_rule(self) -> Any:
        """Return the compiled rule that learns the priors."""
        from cmab.policies._kernels_hierarchical import learn_grid

        return learn_grid

    def memory(self) -> FloatArray:
        """Return the log weights of all points of the grid for all groups, and no outcomes."""
        n_groups, n_points = self._sizes()
        return np.zeros(n_groups * n_points + 2 * self.oracle.n_arms)

    def parameters(self) -> FloatArray:
        low, high = self.support
        means = vector(
            "means", [low + (high - low) * mean for mean in _MEANS] if self.means is None else self.means
        )
        weights = vector("weights", _WEIGHTS if self.weights is None else self.weights, low=_LEAST)
        shares = (means - low) / (high - low)
        if not (len(means) and len(weights) and (shares > 0.0).all() and (shares < 1.0).all()):
            raise ValueError(
                f"means must lie strictly inside {self.support}, and weights be some, got means={means},"
                f" weights={weights}"
            )
        labels = self._labels()
        wins, losses = np.outer(shares, weights).ravel(), np.outer(1.0 - shares, weights).ravel()
        n_groups, order = int(labels.max(initial=-1)) + 1, np.argsort(labels, kind="stable")
        return np.concatenate([[low, high, n_groups, len(wins)], wins, losses, labels, order])

    def prior_means(self, state: ArmStatistics) -> FloatArray:
        """Return the expected mean of each group's prior as it is known, in the order of the labels."""
        grid = self._grid(state)
        n_points = grid.shape[1]
        wins, losses = np.split(self._reals[4 : 4 + 2 * n_points], 2)
        low, high = self.support
        mixed: FloatArray = grid @ (wins / (wins + losses))
        return low + (high - low) * mixed

    def _grid(self, state: ArmStatistics) -> FloatArray:
        """Return the probability of each point of the grid, shape (number of groups, number of points)."""
        n_groups, n_points = self._sizes()
        weights = state.memory[: n_groups * n_points].reshape(n_groups, n_points)
        shares = np.exp(weights - weights.max(axis=1, keepdims=True))
        probabilities: FloatArray = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    def _sizes(self) -> tuple[int, int]:
        return int(self._reals[2]), int(self._reals[3])

    def _labels(self) -> IntArray:
        """Return the group of each arm, numbered from 0 in the order of the labels."""
        m = self.oracle.n_arms
        groups = self.oracle.arm_groups if self.groups is None else self.groups
        if groups is None:
            return np.zeros(m, np.int64)
        labels = as_array("groups", groups)
        if labels.shape != (m,) or labels.dtype.kind not in "iu":
            raise ValueError(f"groups must be {m} integers, got {shown(self.groups)}")
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
