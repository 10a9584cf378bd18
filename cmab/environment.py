"""Environments: what a policy plays against. Only the runner reads their truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import Kernel, settle_forms
from cmab.context import Context
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import generator, guard
from cmab.validation import arm_indices, check_vector, integer, real_array, shown


class Environment(ABC):
    """A combinatorial bandit instance: outcomes to observe, and a truth that learners do not see.

    A subclass sets `n_arms` and `means` and defines `play`, `pull` and `expected_reward`.

    Methods that take base arms get them as an int64 array of entries of ``range(n_arms)``, and where
    `n_choices` is given, those that take a super arm get distinct entries of ``range(n_choices)``: anything
    else is refused with a ``ValueError`` before they run. For `rng` a caller may hand over a seed.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    means : FloatArray, shape (n_arms,)
        True means of the base arms.
    n_choices : int or None
        Entries of a super arm lie in ``range(n_choices)``; with None, the default, `play` and others get
        super arms unchecked.
    support : tuple of float
        Interval that holds every outcome; infinite where outcomes are unbounded.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of `support` unless a subclass knows better.
    optimum : float
        Expected reward of the best super arm, ``nan`` where it is unknown.
    context : Context or None
        What a policy is told of the round before it chooses; None, the default, is nothing.
    allowance : FloatArray or None, shape (n_resources,)
        What budgets allow to be used up of each resource a round, on average. Where it is given, `optimum` is
        that of the best mixture of super arms within it, which single ones may exceed.

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

    def __init_subclass__(cls, **named: Any) -> None:
        """Guard the public methods of every subclass against arguments that are none."""
        super().__init_subclass__(**named)
        guard(cls, _TAKES)
        settle_forms(cls, _FORMS)

    def __repr__(self) -> str:
        return described(self)

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of the outcomes."""
        # Hoeffding's lemma: outcomes in [low, high] are sub-Gaussian with half the length.
        return (self.support[1] - self.support[0]) / 2

    @abstractmethod
    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm` for one round.

        It takes exactly one ``rng.random()`` where it can, and derives the coin of each base arm from
        that key, so that different policies meet the same coins.
        """

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:  # noqa: ARG002
        """Return the instance as it is in round `t`: itself, the default, where rounds are alike.

        Override it for means that drift, arms that come and go, or a context. What is returned is played in
        that round; its `context` is told to the policy, and its `means`, `optimum` and `expected_reward` are
        the truth of that round: regret is against the sum of these optima. This object stays as it is, for
        every replication asks it for its rounds. Such environments are played by the Python loop.

        Parameters
        ----------
        t : int
            Number of the round, from 1. Rounds come in order, each once, but a run may ask for the first one
            again.
        rng : numpy.random.Generator
            A stream for the rounds of one replication, apart from the coins of `play`: all policies meet the
            same rounds.

        Returns
        -------
        Environment
            With as many base arms, outcomes in `support`, and a `sigma` that is not larger.

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
        """Return one fresh, independent outcome of every entry of `arms` (entries may repeat)."""

    @abstractmethod
    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the true expected reward of `super_arm`."""

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:  # noqa: ARG002
        """Return the probability with which `super_arm` shows each base arm; None, the default, says nothing.

        `check_environment` compares it with what is observed.
        """
        return None

    def sample(self, arms: IntArray, pulls: int, rng: np.random.Generator) -> Feedback:
        """Return the feedback of `pulls` fresh outcomes of each of `arms`, as explorers ask for them."""
        pulls = integer("pulls", pulls, 1)
        if pulls == 1:
            return Feedback(arms, self.pull(arms, rng))
        times = np.full(len(arms), pulls)
        sums, squares = self.pull_many(arms, times, rng)
        return Feedback(arms, sums, pulls=times, squares=squares)

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `play` and `expected_reward`; none unless overridden."""
        return None

    def pull_kernel(self) -> Kernel | None:
        """Return a compiled form of `pull` for one arm, with the same draws; none unless overridden."""
        return None

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the sums, and the sums of squares, of ``pulls[i]`` fresh outcomes of each ``arms[i]``.

        The default draws them one by one; distributions that can draw the sums exactly override it.
        """
        # One long call of `pull`, and sums by owner. Arms with a law for sums
        # override this, as for a million pulls.
        owner = np.repeat(np.arange(len(arms)), pulls)
        outcomes = self.pull(np.repeat(arms, pulls), rng)
        sums: FloatArray = np.bincount(owner, outcomes, minlength=len(arms)).astype(np.float64, copy=False)
        squares = np.bincount(owner, outcomes**2, minlength=len(arms)).astype(np.float64, copy=False)
        return sums, squares


def _super_arm(environment: Environment, super_arm: IntArray, _: object) -> IntArray:
    n_choices = environment.n_choices
    return super_arm if n_choices is None else arm_indices("super_arm", super_arm, n_choices)


def _arms(environment: Environment, arms: IntArray, _: object) -> IntArray:
    return arm_indices("arms", arms, environment.n_arms, distinct=False)


def _pulls(_: object, pulls: ArrayLike, args: tuple[IntArray, ...]) -> IntArray:
    array, shape = np.asarray(pulls), args[0].shape
    fits = array.dtype.kind in "iu" and array.shape in ((), shape)
    if not fits or (array.size and not 1 <= array.min() <= array.max() < 2**63):
        raise ValueError(f"pulls must be positive integers, one for each of arms, got {shown(pulls)}")
    return np.broadcast_to(array.astype(np.int64, copy=False), shape)


def _uniforms(_: object, uniforms: ArrayLike, args: tuple[IntArray, ...]) -> FloatArray:
    array = real_array("uniforms", uniforms)
    check_vector("uniforms", array, len(args[0]), 0.0, float(np.nextafter(1.0, 0.0)))
    return array


# By method: a check for each argument in order, None for what the method checks by itself.
_TAKES = {
    "play": (_super_arm, generator),
    "in_round": (None, generator),
    "expected_reward": (_super_arm,),
    "triggering_probabilities": (_super_arm,),
    "spread": (_super_arm, None, generator),
    "standard_error": (_super_arm,),
    "pull": (_arms, generator),
    "pull_many": (_arms, _pulls, generator),
    "sample": (_arms, None, generator),
    "quantile": (_arms, _uniforms),
}
guard(Environment, _TAKES)
# Rules that compiled forms stand for.
_FORMS = {"kernel": ("play", "quantile", "expected_reward"), "pull_kernel": ("pull", "sample")}
settle_forms(Environment, _FORMS)


def changes(environment: Environment) -> bool:
    """Return whether an environment says by `in_round` of its own that its rounds differ."""
    own = "in_round" in getattr(environment, "__dict__", ())
    return own or type(environment).in_round is not Environment.in_round


def round_key(rng: np.random.Generator) -> int:
    """Return the 53-bit key of a round, drawn so that compiled and Python loops get the same one.

    Parameters
    ----------
    rng : numpy.random.Generator
        The environment's stream, of which one number is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import round_key
    >>> round_key(np.random.default_rng(0))
    5737240835340368
    """
    # All 53 bits of a double, one draw: the compiled loops take the same number of the stream.
    return int(rng.random() * 2.0**53)
