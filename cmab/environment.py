"""Environments: the bandit instances that policies play. Only the loops read their true means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel
from cmab.feedback import Context, Feedback
from cmab.parameters import described
from cmab.validation import arm_indices, integer, shown


class Environment(ABC):
    """A combinatorial bandit instance: observable outcomes, and true means that learners do not see.

    A subclass sets `n_arms` and `means` and defines `play`, `pull` and `expected_reward`.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    means : FloatArray, shape (n_arms,)
        True means of the base arms.
    n_choices : int or None
        The entries of a super arm are in ``range(n_choices)``. If it is None (default), super arms are not
        validated.
    support : tuple of float
        Interval that contains every outcome; infinite if outcomes are unbounded.
    sigma : float
        Sub-Gaussian scale of the outcomes, infinite if they have none. The default is half the length of
        `support`.
    optimum : float
        Expected reward of the best super arm; ``nan`` if it is unknown. If the rewards are costs, it is the
        least expected cost. The oracle of the policy declares whether they are costs.
    context : Context or None
        Information on the round for the policy; None by default.
    allowance : FloatArray or None, shape (n_resources,)
        The average amount of each resource that the budgets allow per round. If it is set, `optimum` is the
        expected reward of the best mixture of super arms with an average use within `allowance`. A single
        super arm of the mixture may use more.

    distribution : {"bernoulli", "gaussian"} or None
        The distributions of the outcomes, if all arms have distributions of this family. The lower bounds of
        `plan` need it.
    has_rounds : bool
        Whether policies can play super arms. False for base arms without super arms, which only explorers
        sample.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Environment, Feedback
    >>> class FullBandit(Environment):
    ...     '''Only the first arm of the super arm shows its (certain) outcome.'''
    ...     n_arms, means = 3, np.array([0.0, 1.0, 1.0])
    ...     def play(self, super_arm, rng):
    ...         shown, reward = super_arm[:1], self.expected_reward(super_arm)
    ...         return Feedback(shown, self.means[shown], reward=reward)
    ...     def pull(self, arms, rng):
    ...         return self.means[arms]
    ...     def expected_reward(self, super_arm):
    ...         return float(self.means[super_arm].sum())
    >>> FullBandit().play(np.array([1, 2]), np.random.default_rng(0)).reward
    2.0
    """

    n_arms: int
    means: FloatArray
    n_choices: int | None = None
    support: tuple[float, float] = (0.0, 1.0)
    optimum: float = float("nan")
    context: Context | None = None
    allowance: FloatArray | None = None
    distribution: Literal["bernoulli", "gaussian"] | None = None
    has_rounds: ClassVar[bool] = True
    #: The methods that compiled forms replace. If a subclass overrides one, but not the form, it runs.
    _in_kernel: ClassVar[tuple[str, ...]] = ("play", "quantile", "expected_reward")
    _in_pull_kernel: ClassVar[tuple[str, ...]] = ("pull", "sample")

    def __repr__(self) -> str:
        return described(self)

    # A cached property can be set in the constructor of a subclass.
    @cached_property
    def sigma(self) -> float:
        """Sub-Gaussian scale of the outcomes."""
        # Hoeffding's lemma: outcomes in [low, high] are sub-Gaussian with scale (high - low) / 2.
        return (self.support[1] - self.support[0]) / 2

    @abstractmethod
    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm` for one round and return the feedback.

        The feedback depends only on `super_arm` and the state of `rng`, in every process, and the method does
        not change this object, apart from cached values. Outcomes of different arms may be dependent. If the
        feedback contains a reward, its mean is `expected_reward`.

        The feedback leaves out arms that were not observed. Whether an arm is observed must not depend on its
        own outcome, because the observed outcomes would then have another mean.

        Draw exactly one ``rng.random()`` if you can, and derive the outcome of each base arm from this number
        (see `round_key`). Different policies then face the same outcomes (common random numbers). More draws
        are allowed; their comparisons have more noise.
        """

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        """Return the environment of round `t`. The default returns this environment.

        Override it for means that drift, sets of arms that change, or contexts. The returned environment is
        played in round `t`. The policy receives its `context`. Its `means`, `optimum` and `expected_reward`
        are the truth of the round, and regret is measured against the sum of the optima of all rounds. The
        method must not change this object, because every replication requests its rounds from it. The `means`
        and `optimum` of this object itself only serve as an example of a round. The Python loop plays such
        environments.

        Parameters
        ----------
        t : int
            Number of the round, from 1. Rounds are requested in order and once each, except that a run may
            request the first round again.
        rng : numpy.random.Generator
            A random stream for the rounds of one replication, separate from the stream of `play`. All
            policies therefore face the same rounds.

        Returns
        -------
        Environment
            It has the same number of base arms, outcomes in `support` and a `sigma` that is not larger.

        Examples
        --------
        >>> import numpy as np
        >>> from cmab import CUCB, simulate
        >>> from instances import BernoulliArms, SemiBandit
        >>> from oracles import TopK
        >>> class Seasons(SemiBandit):
        ...     def in_round(self, t, rng):
        ...         return SemiBandit(BernoulliArms(np.roll(self.means, t // 100)), self.oracle)
        >>> oracle = TopK(3, k=1)
        >>> result = simulate(CUCB(oracle), Seasons(BernoulliArms([0.1, 0.9, 0.5]), oracle), 300, rng=0)
        >>> round(result.optimum, 6)
        0.9
        """
        return self

    @abstractmethod
    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one new, independent outcome for every entry of `arms`. Entries may repeat."""

    @abstractmethod
    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the true expected reward of `super_arm`."""

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        """Return the probability that `super_arm` triggers each base arm, or None (default) if unknown.

        `check_environment` compares it with observed frequencies.
        """
        return None

    def sample(self, arms: IntArray, pulls: int, rng: np.random.Generator) -> Feedback:
        """Return the feedback of `pulls` new outcomes of each of `arms`, as explorers request them."""
        pulls, arms = integer("pulls", pulls, 1), self._check_arms(arms)
        if pulls == 1:
            return Feedback(arms, self.pull(arms, rng))
        times = np.full(len(arms), pulls)
        sums, squares = self.pull_many(arms, times, rng)
        return Feedback(arms, sums, pulls=times, squares=squares)

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `play` and `expected_reward`, or None (default)."""
        return None

    def pull_kernel(self) -> Kernel | None:
        """Return a compiled form of `pull` for one arm, with the same draws, or None (default)."""
        return None

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the sums and the sums of squares of ``pulls[i]`` new outcomes of each ``arms[i]``.

        The default draws the outcomes one by one. Distributions that can draw a sum directly override it,
        with sums that have the same distribution as those of `pull`.
        """
        # One call of `pull`, and sums by arm. For a million pulls, arms that can draw
        # a sum from its distribution override this method.
        arms, pulls = self._check_pulls(arms, pulls)
        owner = np.repeat(np.arange(len(arms)), pulls)
        outcomes = self.pull(np.repeat(arms, pulls), rng)
        sums: FloatArray = np.bincount(owner, outcomes, minlength=len(arms)).astype(np.float64, copy=False)
        squares = np.bincount(owner, outcomes**2, minlength=len(arms)).astype(np.float64, copy=False)
        return sums, squares

    def _check_super_arm(self, super_arm: ArrayLike) -> IntArray:
        """Return `super_arm` as an array of distinct entries, or raise ``ValueError``."""
        return arm_indices("super_arm", super_arm, self.n_arms if self.n_choices is None else self.n_choices)

    def _check_arms(self, arms: ArrayLike) -> IntArray:
        """Return `arms`, which may repeat, as an array of base arms, or raise ``ValueError``."""
        return arm_indices("arms", arms, self.n_arms, distinct=False)

    def _check_pulls(self, arms: ArrayLike, pulls: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return base arms and a positive number of pulls for each of them, or raise ``ValueError``."""
        checked, array = self._check_arms(arms), np.asarray(pulls)
        fits = array.dtype.kind in "iu" and array.shape in ((), checked.shape)
        if not fits or (array.size and not 1 <= array.min() <= array.max() < 2**63):
            raise ValueError(f"pulls must be positive integers, one for each of arms, got {shown(pulls)}")
        return checked, np.broadcast_to(array.astype(np.int64, copy=False), checked.shape)


def changes(environment: Environment) -> bool:
    """Return whether an environment overrides `in_round`, so that its rounds may differ."""
    return type(environment).in_round is not Environment.in_round


def round_key(rng: np.random.Generator) -> int:
    """Return the 53-bit key of a round. Compiled and Python loops get the same key.

    Parameters
    ----------
    rng : numpy.random.Generator
        The stream of the environment. One number is drawn from it.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import round_key
    >>> round_key(np.random.default_rng(0))
    5737240835340368
    """
    # All 53 bits of a double from one draw, as in the compiled loops.
    return int(rng.random() * 2.0**53)
