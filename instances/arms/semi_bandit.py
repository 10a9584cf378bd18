"""Semi-bandits: base arms and a linear family of super arms."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Kernel, compiled_form
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.oracle import LinearOracle
from cmab.validation import shown
from instances.arms.arms import Arms


class SemiBandit(Environment):
    """Base arms with semi-bandit feedback: every outcome of a super arm is observed, the reward is their sum.

    If the `context` has values or costs, an outcome contributes value times outcome minus cost (plus cost if
    the oracle minimises) to the reward, the expected reward and the optimum. Feedback still has the outcomes
    themselves.

    Parameters
    ----------
    arms : Arms
        Distributions of the base arms.
    oracle : LinearOracle
        The family of super arms. If the oracle is exact, its solution for the true means gives the optimum.
        If it certifies its calls, the bound of a call takes the place of the optimum.

    Raises
    ------
    ValueError
        If the oracle is not linear, or if `arms` and `oracle` have different numbers of base arms.
    TypeError
        If `arms` is not an `Arms`, for example a list of means.

    Examples
    --------
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> SemiBandit(BernoulliArms([0.1, 0.7, 0.6]), TopK(n_arms=3, k=2)).optimum
    1.2999999999999998
    """

    def __init__(self, arms: Arms, oracle: LinearOracle) -> None:
        if not getattr(oracle, "is_linear", False):
            raise ValueError(f"oracle must be a LinearOracle, got {shown(oracle)}")
        if not isinstance(arms, Arms):
            raise TypeError(f"arms must be Arms such as BernoulliArms({shown(arms)}), got {shown(arms)}")
        if arms.n_arms != oracle.n_arms:
            raise ValueError(f"arms and oracle must agree in n_arms, got {arms.n_arms} and {oracle.n_arms}")
        self.arms = arms
        self.oracle = oracle
        self.n_arms = self.n_choices = arms.n_arms
        self.means = arms.means
        self.support, self.distribution = arms.support, arms.distribution

    @property
    def sigma(self) -> float:
        return self.arms.sigma

    @property
    def optimum_is_exact(self) -> bool:
        """Whether `optimum` is not merely a bound."""
        return self.oracle.is_exact or not self.oracle.certifies_calls

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        """Expected reward of the best available super arm, or a bound; ``nan`` if the oracle has neither.

        If the oracle is not exact but certifies its calls, this is the bound that a call for the true means
        proved. Regret against a bound is an upper bound on the regret.
        """
        # A copy, because numba would compile a kernel again for read-only arrays.
        worth, rng = np.array(self._worth(self.means)), np.random.default_rng(0)
        available = None if self.context is None else self.context.available
        if not self.oracle.is_exact:
            if not (available is None and self.oracle.certifies_calls):
                return float("nan")
            bound = getattr(self.oracle.solve_certified(worth, rng), "bound", np.nan)
            return float(bound) if np.isfinite(bound) else float("nan")
        if available is None:
            best = self.oracle.solve(worth, rng)
        else:
            try:
                best = self.oracle.solve_within(worth, np.array(available), rng)
            except TypeError:  # the oracle cannot exclude arms
                return float("nan")
        return self.oracle.expected_reward(best, worth)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm`; raise ``ValueError`` if it is not feasible."""
        shown = unguarded(self.arms.play)(self.oracle.check_super_arm(super_arm), rng)
        if not self._is_worth_other:
            return shown
        outcomes = np.zeros(self.n_arms)
        outcomes[shown.arms] = shown.outcomes
        reward = float(self._worth(outcomes)[shown.arms].sum())
        return Feedback(shown.arms, shown.outcomes, reward=reward)

    def kernel(self) -> Kernel | None:
        compiled: Kernel | None = compiled_form(self.arms)
        return compiled

    def pull_kernel(self) -> Kernel | None:
        compiled: Kernel | None = compiled_form(self.arms, "pull_kernel")
        return compiled

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.arms.pull(arms, rng)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        return self.arms.pull_many(arms, pulls, rng)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.oracle.triggering_probabilities(super_arm, self.means)

    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the sum of the true means, with the values and costs of the context if it has them."""
        if not self._is_worth_other:
            return self.arms.expected_reward(super_arm)
        return float(self._worth(self.means)[super_arm].sum())

    @property
    def _is_worth_other(self) -> bool:
        """Whether the context has values or costs of arms."""
        context = self.context
        return context is not None and (context.values is not None or context.costs is not None)

    def _worth(self, means: FloatArray) -> FloatArray:
        return means if self.context is None else self.context.worth(means, self.oracle.sense)
