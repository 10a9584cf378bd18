"""Distributions of base arms."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.environment import Environment, round_key
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.validation import frozen, real, vector


class Arms(Environment):
    """Independent base arms; the reward of a super arm is the sum of the outcomes of its arms.

    A subclass sets `means` (and `support`, if it is not [0, 1]) and defines `pull` and `quantile`.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import Arms
    >>> class UniformArms(Arms):
    ...     means = np.array([0.5, 0.5])
    ...     def pull(self, arms, rng):
    ...         return rng.random(len(arms))
    ...     def quantile(self, arms, uniforms):
    ...         return uniforms
    >>> UniformArms().n_arms
    2
    """

    has_rounds = False

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """The number of base arms."""
        return len(self.means)

    @property
    def n_choices(self) -> int:  # type: ignore[override]
        """The number of base arms, because a super arm is a list of base arms."""
        return len(self.means)

    @abstractmethod
    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        """Return the outcome of each arm, its quantile function at a uniform number in [0, 1)."""

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Return the outcomes of the arms in `super_arm` (common random numbers) and their sum."""
        from cmab.kernels import keyed_uniforms
        from instances.arms._kernels_bernoulli import sum_in_order

        # One random number per round determines the outcomes of all arms: common random numbers.
        outcomes = unguarded(self.quantile)(super_arm, keyed_uniforms(round_key(rng), super_arm))
        return Feedback(super_arm, outcomes, reward=sum_in_order(outcomes))

    def expected_reward(self, super_arm: IntArray) -> float:
        from instances.arms._kernels_bernoulli import sum_in_order

        return float(sum_in_order(self.means[super_arm]))


class BernoulliArms(Arms):
    """Base arms with outcomes 0 and 1 (Bernoulli distributions).

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Success probability of each arm, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances import BernoulliArms
    >>> BernoulliArms([0.0, 1.0]).pull(np.array([0, 1, 1]), np.random.default_rng(0))
    array([0., 1., 1.])
    """

    distribution = "bernoulli"

    def __init__(self, means: ArrayLike) -> None:
        self.means = frozen(vector("means", means, low=0.0, high=1.0))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        return (uniforms < self.means[arms]).astype(np.float64)

    def kernel(self) -> Kernel:
        from instances.arms._kernels_bernoulli import play_bernoulli

        return Kernel(play_bernoulli, reals=np.array(self.means))

    def pull_kernel(self) -> Kernel:
        from instances.arms._kernels_pulls import pull_bernoulli

        return Kernel(pull_bernoulli, reals=np.array(self.means))

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return binomial numbers of successes as sums and as sums of squares, which are equal."""
        # One draw has the exact distribution of the sum, for any number of pulls.
        successes = rng.binomial(pulls, self.means[arms]).astype(np.float64)
        return successes, successes


class GaussianArms(Arms):
    """Base arms with normal outcomes that have a common variance.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Mean of each arm, finite.
    sigma : float
        Standard deviation of all arms, positive.

    Examples
    --------
    >>> from instances import GaussianArms
    >>> GaussianArms([0.5, 0.0], sigma=0.5).support
    (-inf, inf)
    """

    distribution = "gaussian"
    support = (-np.inf, np.inf)

    def __init__(self, means: ArrayLike, sigma: float = 1.0) -> None:
        self.means = frozen(vector("means", means))
        self._sigma = real("sigma", sigma, 0.0, inside=True)

    @property
    def sigma(self) -> float:
        return self._sigma

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.means[arms] + self._sigma * rng.standard_normal(len(arms))

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        from instances.arms._kernels_gaussian import normal_quantiles

        normals: FloatArray = normal_quantiles(uniforms)
        return self.means[arms] + self._sigma * normals

    def kernel(self) -> Kernel:
        from instances.arms._kernels_gaussian import play_gaussian

        return Kernel(play_gaussian, reals=np.append(self.means, self._sigma))

    def pull_kernel(self) -> Kernel:
        from instances.arms._kernels_pulls import pull_gaussian

        return Kernel(pull_gaussian, reals=np.append(self.means, self._sigma))

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums and sums of squares from a normal mean and an independent chi-square deviation."""
        means = self.means[arms] + self._sigma * rng.standard_normal(len(arms)) / np.sqrt(pulls)
        # Cochran's theorem: the sample mean is normal; the sum of squared deviations is sigma^2 chi^2 with
        # n - 1 degrees of freedom and independent of the mean.
        degrees = np.asarray(pulls) - 1
        deviations = np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1)), 0.0) * self._sigma**2
        return pulls * means, deviations + pulls * means**2
