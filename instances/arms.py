"""Distributions of base arms, and semi-bandits: arms with a linear family, which may consume resources."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import (
    TO_UNIT,
    Kernel,
    compiled_form,
    draw_kernel,
    kernel,
    keyed_uniform,
    keyed_uniforms,
    keyed_word,
    lean_kernel,
    mix,
    normal_quantile,
    play_kernel,
)
from cmab.environment import Environment, round_key
from cmab.feedback import Feedback
from cmab.oracle import LinearOracle, Oracle, check_super_arm
from cmab.parameters import described
from cmab.validation import frozen, interval, listed, real, shown, vector


class BernoulliOutcomes(Environment):
    """Base arms with outcomes 0 and 1; a subclass sets `means`."""

    means: FloatArray

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return binomial numbers of successes as sums and as sums of squares, which are equal."""
        # One draw has the exact distribution of the sum, for any number of pulls.
        arms, pulls = self._check_pulls(arms, pulls)
        successes = rng.binomial(pulls, self.means[arms]).astype(np.float64)
        return successes, successes


class ValuedByOracle(BernoulliOutcomes):
    """The oracle computes rewards and triggering probabilities from the means; a subclass defines `play`."""

    distribution = "bernoulli"

    def __init__(self, oracle: Oracle, name: str, means: ArrayLike) -> None:
        self.oracle, self.n_arms, self.n_choices = oracle, oracle.n_arms, oracle.n_choices
        self.means = frozen(vector(name, means, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        return self.expected_reward(self.oracle.solve(self.means, np.random.default_rng(0)))

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.oracle.triggering_probabilities(super_arm, self.means)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.oracle.expected_reward(super_arm, self.means)


@lean_kernel
def sum_in_order(values):
    """Return the sum of the entries, added in order as in the compiled loop."""
    total = 0.0
    # numpy sums in pairs, which may differ from `play_bernoulli` in the last bit.
    for value in values:
        total += value
    return total


@play_kernel
def play_bernoulli(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round with outcomes 0 and 1; `reals` contains the means."""
    state = mix(np.uint64(key))
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # The outcome depends only on (round, arm), so all policies observe the same outcome in a round.
        outcomes[j] = 1.0 if keyed_word(state, arm) * TO_UNIT < reals[arm] else 0.0
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@play_kernel
def play_gaussian(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round with normal outcomes; `reals` contains the means and then the standard deviation."""
    sigma = reals[reals.shape[0] - 1]
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # Inversion needs one uniform number per outcome, which depends only on (round, arm).
        outcomes[j] = reals[arm] + sigma * normal_quantile(keyed_uniform(key, arm))
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@kernel
def normal_quantiles(uniforms):
    """Return `normal_quantile` of each entry."""
    out = np.empty(uniforms.shape[0])
    for i in range(uniforms.shape[0]):
        out[i] = normal_quantile(uniforms[i])
    return out


@draw_kernel
def pull_bernoulli(arm, integers, reals, rng):
    """Return one outcome, 0 or 1; `reals` contains the means."""
    # One random number per outcome, as numpy uses for a vector of arms, so both loops get the same outcomes.
    return 1.0 if rng.random() < reals[arm] else 0.0


@draw_kernel
def pull_gaussian(arm, integers, reals, rng):
    """Return one normal outcome; `reals` contains the means and then the standard deviation."""
    return float(reals[arm] + reals[reals.shape[0] - 1] * rng.standard_normal())


def _parameters(name: str, values: ArrayLike, low: float = -np.inf, high: float = np.inf) -> FloatArray:
    """Return a parameter of each arm; raise ``ValueError`` if there is no arm."""
    given = vector(name, values, None, low, high)
    if not len(given):
        raise ValueError(f"{name} must have a number for at least one arm, got none")
    return frozen(given)


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
        super_arm = self._check_super_arm(super_arm)
        # One random number per round determines the outcomes of all arms: common random numbers.
        outcomes = self.quantile(super_arm, keyed_uniforms(round_key(rng), super_arm))
        return Feedback.unchecked(super_arm.copy(), outcomes, sum_in_order(outcomes))

    def expected_reward(self, super_arm: IntArray) -> float:
        super_arm = self._check_super_arm(super_arm)
        return float(sum_in_order(self.means[super_arm]))


class BernoulliArms(BernoulliOutcomes, Arms):
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
        self.means = _parameters("means", means, 0.0, 1.0)

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        return (uniforms < self.means[arms]).astype(np.float64)

    def kernel(self) -> Kernel:
        return Kernel(play_bernoulli, reals=np.array(self.means))

    def pull_kernel(self) -> Kernel:
        return Kernel(pull_bernoulli, reals=np.array(self.means))


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
        self.means = _parameters("means", means)
        self.sigma = real("sigma", sigma, 0.0, inside=True)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return self.means[arms] + self.sigma * rng.standard_normal(len(arms))

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        normals: FloatArray = normal_quantiles(uniforms)
        return self.means[arms] + self.sigma * normals

    def kernel(self) -> Kernel:
        return Kernel(play_gaussian, reals=np.append(self.means, self.sigma))

    def pull_kernel(self) -> Kernel:
        return Kernel(pull_gaussian, reals=np.append(self.means, self.sigma))

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums and sums of squares from a normal mean and an independent chi-square deviation."""
        arms, pulls = self._check_pulls(arms, pulls)
        means = self.means[arms] + self.sigma * rng.standard_normal(len(arms)) / np.sqrt(pulls)
        # Cochran's theorem: the sample mean is normal; the sum of squared deviations is sigma^2 chi^2 with
        # n - 1 degrees of freedom and independent of the mean.
        degrees = np.asarray(pulls) - 1
        deviations = np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1)), 0.0) * self.sigma**2
        return pulls * means, deviations + pulls * means**2


class BetaArms(Arms):
    """Base arms with outcomes in [0, 1] from Beta distributions.

    Parameters
    ----------
    a, b : array_like, shape (n_arms,)
        Parameters of the distribution of each arm, positive. The mean is ``a / (a + b)``.

    Examples
    --------
    >>> from instances import BetaArms
    >>> BetaArms(a=[1.0, 3.0], b=[1.0, 1.0]).means
    array([0.5 , 0.75])
    """

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        smallest = float(np.nextafter(0.0, 1.0))
        self.a = _parameters("a", a, smallest)
        self.b = frozen(vector("b", b, len(self.a), low=smallest))
        self.means = frozen(self.a / (self.a + self.b))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return rng.beta(self.a[arms], self.b[arms])

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        from scipy.special import betaincinv

        return np.asarray(betaincinv(self.a[arms], self.b[arms], uniforms), np.float64)


class EmpiricalArms(Arms):
    """Base arms with outcomes drawn uniformly, with replacement, from recorded outcomes.

    Parameters
    ----------
    samples : sequence of array_like
        The recorded outcomes of each arm, at least one per arm.
    support : tuple of float
        An interval that contains all outcomes.

    Examples
    --------
    >>> from instances import EmpiricalArms
    >>> EmpiricalArms([[0.0, 1.0, 1.0, 1.0], [0.2]]).means
    array([0.75, 0.2 ])
    """

    def __init__(self, samples: Sequence[ArrayLike], support: tuple[float, float] = (0.0, 1.0)) -> None:
        low, high = interval("support", support)
        given = listed("samples", samples, "outcomes")
        recorded = [vector(f"samples[{i}]", values, None, low, high) for i, values in enumerate(given)]
        empty = [i for i, values in enumerate(recorded) if len(values) == 0]
        if empty or not recorded:
            raise ValueError(f"samples must have at least one outcome per arm, got none for arms {empty}")
        self.support = (low, high)
        self._sizes = np.array([len(values) for values in recorded], np.int64)
        # All records in one array: the outcomes of arm i begin at starts[i], and there are sizes[i] of them.
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        self._outcomes = frozen(np.concatenate(recorded))
        self.means = frozen(np.array([values.mean() for values in recorded]))

    def __repr__(self) -> str:
        return described(self, outcomes=len(self._outcomes), means=self.means)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return self.quantile(arms, rng.random(len(arms)))

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        # Uniform numbers are below 1, and their product with a size rounds to less than the size.
        position = (uniforms * self._sizes[arms]).astype(np.int64)
        return self._outcomes[self._starts[arms] + position]


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
        return self.oracle.is_exact or not getattr(self.oracle, "certifies_calls", False)

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
            if not (available is None and getattr(self.oracle, "certifies_calls", False)):
                return float("nan")
            bound = float(self.oracle.solve_certified(worth, rng).bound)  # type: ignore[attr-defined]
            return bound if np.isfinite(bound) else float("nan")
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
        if not self.oracle.is_feasible(super_arm):
            check_super_arm(self.oracle, super_arm)  # raises
        shown = self.arms.play(super_arm, rng)
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
        super_arm = self._check_super_arm(super_arm)
        return float(self._worth(self.means)[super_arm].sum())

    @property
    def _is_worth_other(self) -> bool:
        """Whether the context has values or costs of arms."""
        context = self.context
        return context is not None and (context.values is not None or context.costs is not None)

    def _worth(self, means: FloatArray) -> FloatArray:
        return means if self.context is None else self.context.worth(means, self.oracle.sense)


class ResourceSemiBandit(SemiBandit):
    """A semi-bandit in which each played arm consumes a random amount in [0, 1] of each resource.

    `Feedback.costs` has the consumption of each arm, which is independent of its reward. An empty super arm
    is allowed; it has no reward and no consumption.

    Parameters
    ----------
    arms : Arms
        Distributions of the rewards of the base arms.
    oracle : LinearOracle
        The family of super arms.
    uses : iterable of Arms
        For each resource, the distributions of the consumption by each base arm, in [0, 1].
    allowance : array_like, shape (n_resources,), optional
        The allowed mean consumption of each resource per round, budget / horizon. The optimum is then that of
        the best mixture of super arms within the allowance (`cmab.bounds.best_mixture`), which is the
        benchmark of bandits with knapsacks. A single super arm that exceeds the allowance may have a larger
        reward. If None, the optimum is that of the best super arm, whatever it consumes.

    Raises
    ------
    ValueError
        If the oracle is not linear; if there is an allowance and the oracle is not exact or minimises; if
        `arms`, `uses` and `oracle` have different numbers of arms; or if `uses` may be outside [0, 1].
    TypeError
        If `arms` is not an `Arms`.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import BernoulliArms, ResourceSemiBandit
    >>> from oracles import TopK
    >>> uses = [BernoulliArms([1.0, 0.1])]
    >>> place = ResourceSemiBandit(BernoulliArms([0.9, 0.3]), TopK(2, k=1), uses=uses, allowance=[0.5])
    >>> round(place.optimum, 3)
    0.567
    >>> place.play(np.array([0]), np.random.default_rng(0)).costs
    array([[1.]])

    References
    ----------
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013; K. A. Sankararaman,
    A. Slivkins: Combinatorial Semi-Bandits with Knapsacks, AISTATS 2018.
    """

    def __init__(
        self, arms: Arms, oracle: LinearOracle, *, uses: Iterable[Arms], allowance: ArrayLike | None = None
    ) -> None:
        super().__init__(arms, oracle)
        given: list[object] = list(listed("uses", uses, "arms"))
        for use in given:
            if not isinstance(use, Arms) or use.n_arms != self.n_arms:
                raise ValueError(f"uses must be Arms with {self.n_arms} base arms each, got {shown(use)}")
            if not 0.0 <= use.support[0] <= use.support[1] <= 1.0:
                raise ValueError(f"uses must be in [0, 1], got {use!r} with outcomes in {use.support}")
        if not given:
            raise ValueError("uses must have the arms of at least one resource, got none")
        self.uses = tuple(use for use in given if isinstance(use, Arms))
        self.allowance = None if allowance is None else vector("allowance", allowance, len(self.uses), 0.0)

    @property
    def costs(self) -> FloatArray:
        """Mean consumption of each resource by each base arm, shape (n_resources, n_arms)."""
        return np.array([use.means for use in self.uses])

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        """Expected reward per round of the best mixture within the allowance, or of the best super arm."""
        from cmab.bounds import best_mixture

        if self.allowance is None:
            return super().optimum
        return best_mixture(self.oracle, self.means, self.costs, self.allowance).value

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm`, which may be empty; raise ``ValueError`` if it is not feasible."""
        arms = self._check_super_arm(super_arm)
        if len(arms):
            check_super_arm(self.oracle, arms)
        earned = self.arms.play(arms, rng)
        # Each resource takes one random number per round, whatever is played: common random numbers.
        costs = np.stack([use.play(arms, rng).outcomes for use in self.uses], axis=1)
        return Feedback(earned.arms, earned.outcomes, reward=earned.reward, costs=costs)

    def kernel(self) -> Kernel | None:
        """Return None, because compiled loops do not support resources."""
        return None
