"""Policies. A policy object is immutable; the state that it learns is a separate object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import GOLDEN, Kernel, inner_kernel, mix, to_unit
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle, require_oracle
from cmab.parameters import Declared, described
from cmab.priors import BetaPrior
from cmab.statistics import ArmStatistics
from cmab.validation import check_vector, real_array, shown

State = TypeVar("State")


class Policy(Declared, ABC, Generic[State]):
    """A rule that chooses a super arm in each round from the feedback of earlier rounds.

    A policy object holds only parameters, and perhaps cached values that these determine. Its methods leave
    the settings of the process as they are. The learned statistics are in a separate state, a plain dataclass
    of arrays and numbers. `initial_state` creates the state, and only `update` changes it. A state may define
    ``check(fresh)``, which raises ``ValueError`` if no feedback leads from the initial state `fresh` to this
    state. `Session.load` makes the state from its fields, without ``__init__``, and calls ``check``. All
    attributes of a state must therefore be fields, except caches (named with an underscore), which a loaded
    state computes again.

    A subclass defines `initial_state`, `select` and `update` with all their arguments. A `select` that cannot
    use contexts begins with ``refuse_parts(self, context)``, which raises ``ValueError`` for a context with
    any part.

    Attributes
    ----------
    oracle : Oracle
        The family of super arms.
    support : tuple of float or None
        Interval in which the policy assumes all outcomes to lie; None if it accepts any outcome.
    learns : bool
        Whether feedback changes the choices. True except for baselines, which set it to False.
    may_rest : bool
        Whether the policy may return an empty super arm although the family does not contain it. Policies
        with budgets return it when a budget is spent.

    Raises
    ------
    ValueError
        If a parameter is outside its documented range.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from cmab import Feedback, Policy, Session
    >>> from cmab.policy import refuse_parts
    >>> from oracles import TopK
    >>> @dataclass
    ... class Clock:
    ...     rounds: int = 0
    >>> @dataclass(frozen=True, eq=False)
    ... class RoundRobin(Policy):
    ...     oracle: TopK
    ...     def initial_state(self, rng=None):
    ...         return Clock()
    ...     def select(self, state, rng, context=None):
    ...         refuse_parts(self, context)
    ...         return (state.rounds + np.arange(self.oracle.k)) % self.oracle.n_arms
    ...     def update(self, state, feedback, ticket=None, rng=None):
    ...         state.rounds += 1
    >>> session = Session(RoundRobin(TopK(5, k=2)), rng=0)
    >>> session.tell(Feedback(session.ask(), [0.0, 1.0]))
    >>> session.ask().super_arm
    array([1, 2])
    """

    oracle: Oracle
    support: tuple[float, float] | None = None
    learns: ClassVar[bool] = True
    may_rest: ClassVar[bool] = False
    #: The methods that `kernel` replaces. If a subclass overrides one of them, but not `kernel`, it runs.
    _in_kernel: ClassVar[tuple[str, ...]] = ("indices", "select", "update", "initial_state")

    def __new__(cls, *args: Any, **named: Any) -> Self:
        """Raise ``TypeError`` with a remedy if a subclass declares a field without being a dataclass."""
        known, own = getattr(cls, "__dataclass_fields__", {}), vars(cls)
        is_plain = "__annotations__" in own and "__dataclass_fields__" not in own and "__init__" not in own
        if is_plain and (len(args) + len(named) > len(known) or not known.keys() >= named.keys()):
            raise TypeError(
                f"{cls.__name__} has no arguments of its own, because it is not a dataclass: write"
                " @dataclass(frozen=True, eq=False) above the class"
            )
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Check the type of the oracle and the declared parameters."""
        if "oracle" in vars(self):
            require_oracle(self.oracle)
        super().__post_init__()

    def __repr__(self) -> str:
        return described(self)

    @abstractmethod
    def initial_state(self, rng: np.random.Generator | None = None) -> State:
        """Return the state before the first round.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            The random stream of a run, for numbers that the policy draws once per run. If omitted, the
            policy draws nothing.
        """

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the super arm to play. `state` is not changed.

        Parameters
        ----------
        state : State
            The current state.
        rng : numpy.random.Generator
            The random stream of the policy.
        context : Context, optional
            Information on the round. The super arm may contain only entries that are `available`.

        Returns
        -------
        IntArray, shape (size,)
            The distinct entries of the super arm. The callers in this package convert a list or tuple of
            integers, and copy an array.

        Raises
        ------
        ValueError
            If the context has a part that the policy cannot use. Do not ignore such a part silently.
        """

    @abstractmethod
    def update(
        self,
        state: State,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the feedback of one round.

        `Session` and `simulate` also pass the ticket and the generator. The ticket is for policies that need
        the context of the round, or that need the super arm because only the reward is observed or because
        feedback is late. The generator is for policies that draw random numbers in `update`.

        Parameters
        ----------
        state : State
            The state to update.
        feedback : Feedback
            The feedback of the round. Do not change its arrays, and copy the parts that the state keeps. Its
            arms may be in any order, which must not matter apart from rounding. They can be fewer than the
            super arm triggers, or none. If its `pulls` are set, outcomes are sums: a policy that needs single
            outcomes then raises ``ValueError``. A session raises it for a policy that never reads `pulls`.
        ticket : Ticket, optional
            The ticket of the round with its `super_arm` and `context`. Both are read-only. A policy that
            needs the ticket may raise ``ValueError`` if it is None.
        rng : numpy.random.Generator, optional
            The random stream of the policy.
        """

    def is_done(self, state: State) -> bool:
        """Return whether the policy will play no further round. The default is False.

        `Session.is_done` returns it. `simulate` goes on until its horizon. The policy must then return a
        super arm, which is empty if it rests (see `may_rest`).
        """
        return False

    def reserve(self, state: State, ticket: Ticket) -> None:
        """Record in `state` that a ticket was issued; its feedback may be late.

        `Session` calls this method with each ticket, and `simulate` calls it if feedback is delayed. The
        default does nothing. Policies with budgets reserve the amounts that a ticket may use until its
        feedback arrives. A ticket may be reported without a reservation, and a cancelled ticket is never
        reported.
        """
        return

    def propensity(
        self,
        state: State,
        super_arm: IntArray,
        context: Context | None,
    ) -> float | None:
        """Return the probability that `select` chooses this super arm, or None (default) if it is unknown.

        The probability of a super arm that `select` never chooses is 0. If the order of the entries has a
        meaning, it is that of this order, otherwise that of the set. If `select` rejects the context, this
        method may raise the same error.
        `Campaign` stores it with each ask. The rewards of other policies can be estimated from it.
        """
        return None


def refuse_parts(policy: AnyPolicy, context: Context | None, understood: tuple[str, ...] = ()) -> None:
    """Raise ``ValueError`` if a context has parts other than `understood`, those that a policy can use."""
    if context is None:
        return
    if unknown := [part for part in context.parts if part not in understood]:
        knows = f"have only {' and '.join(understood)}" if understood else "be None"
        raise ValueError(
            f"context must {knows} for {type(policy).__name__}, got {' and '.join(unknown)}, which it cannot"
            " use; pass a policy whose select(state, rng, context) uses this part"
        )


def best_within(
    oracle: Oracle, indices: FloatArray, context: Context | None, rng: np.random.Generator
) -> IntArray:
    """Return the best available super arm for the worth of arms in a context (see `Context.worth`).

    Raises
    ------
    ValueError
        If a value of the context is negative, because its product with an optimistic index is pessimistic, or
        if no super arm is available.
    """
    if context is None:
        return oracle.solve(indices, rng)
    if context.values is not None and (context.values < 0.0).any():
        raise ValueError(f"context.values must not be negative, got {shown(float(context.values.min()))}")
    worth = context.worth(indices, oracle.sense)
    if context.available is None:
        return oracle.solve(worth, rng)
    return oracle.solve_within(worth, context.available, rng)


AnyPolicy = Policy[Any]


def check_policy_instance(policy: object) -> None:
    """Raise ``TypeError`` unless `policy` is an instance of `Policy`, not a class."""
    if isinstance(policy, type):
        raise TypeError(f"policy must be a Policy such as {policy.__name__}(oracle), got the class itself")
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy, got {shown(policy)}")


@dataclass(frozen=True, eq=False)
class IndexPolicy(Policy[ArmStatistics]):
    """A policy that computes one index for each base arm and passes the indices to its oracle.

    Most policies are a subclass that defines only `indices`. The oracle maximises over the super arms that
    are available in the context. If rewards are sums, values and costs of the context are applied to the
    indices (see `Context.worth`). A context with features raises ``ValueError``.

    The oracle breaks ties, in most families in favour of the arm with the lower number. All indices are equal
    before the first feedback. A policy without random draws, such as `CUCB`, therefore starts with the same
    super arm in every run. To start with another super arm, number the arms in a random order before you make
    the oracle. Policies with random draws, such as `EpsilonGreedy` and `CTS`, break ties between unobserved
    arms at random.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import IndexPolicy
    >>> class Greedy(IndexPolicy):
    ...     def indices(self, stats, rng):
    ...         return np.where(stats.counts == 0, 1.0, stats.means)
    """

    oracle: Oracle
    #: Parameters on which the memory depends. A saved memory requires the same values of these.
    memory_parameters: ClassVar[tuple[str, ...]] = ()
    #: Parts of a context that the policy can use; the last two only if rewards are sums.
    understood: ClassVar[tuple[str, ...]] = ("available", "values", "costs")

    @abstractmethod
    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,). `stats` is not changed."""

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `indices` for the compiled loop, or None (default)."""
        return None

    def memory(self) -> FloatArray:
        """Return the content of `stats.memory` before the first round. The default is an empty array.

        `update` or a compiled update rule may write to it, for example discounted means, windows or draws.
        """
        return np.empty(0)

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        """Return empty arm statistics with the initial memory of the policy."""
        return ArmStatistics.empty(self.oracle.n_arms, memory=self.memory())

    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the best available super arm for the indices, with the values and costs of the context.

        Raises
        ------
        ValueError
            If the context has features, if it has values or costs but rewards are not sums, or if no super
            arm is available.
        TypeError
            If the oracle cannot exclude unavailable entries.
        """
        indices = self.indices(state, rng)
        is_plain = type(indices) is np.ndarray and indices.dtype == np.float64
        is_plain = is_plain and indices.shape == state.means.shape
        if not (is_plain and isfinite(indices.max(initial=0.0)) and isfinite(indices.min(initial=0.0))):
            indices = self._checked(indices)
        if context is None:
            return self.oracle.solve(indices, rng)
        refuse_parts(self, context, self.understood if self.oracle.is_linear else ("available",))
        return best_within(self.oracle, indices, context, rng)

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the feedback of one round."""
        state.update(feedback)

    def _checked(self, indices: FloatArray) -> FloatArray:
        """Return the result of `indices`, or raise ``ValueError`` unless it has one finite number an arm."""
        array = real_array("indices", indices)
        check_vector(f"the indices of {type(self).__name__}", array, self.oracle.n_arms)
        return array


#: The largest change of an index, as a fraction of the support. A running mean of 10^4 outcomes has a
#: rounding error of this size, so a smaller difference of indices is not evidence of an order.
SHARE = 2.0**-40
#: The largest change as a fraction of the index itself: 32 floating-point spacings.
_RELATIVE = 2.0**-48


@inner_kernel
def break_ties(counts, low, high, rng, out):
    """Change indices that may be tied, each by less than `SHARE` of the support and within the support.

    These are the indices of unobserved arms and, while there are such arms, the indices at the ends of the
    support. The sum of the indices of k arms changes by less than ``k * SHARE`` of the support.
    """
    # A sum, because the compiler vectorises it. This loop runs in every round.
    m, n_unseen = counts.shape[0], 0
    for i in range(m):
        n_unseen += counts[i] == 0
    if n_unseen == 0:
        return
    # One draw per round: a draw for each arm takes four times as long as a hash of its number.
    key = np.uint64(rng.random() * 2.0**53)
    for i in range(m):
        index = out[i]
        if counts[i] == 0 or not low < index < high:
            scale = high - low if high - low < np.inf else abs(index)
            width = max(SHARE * scale, _RELATIVE * abs(index))
            change = width * to_unit(mix(key + np.uint64(i) * GOLDEN))
            out[i] = index - change if index - width >= low else min(index + change, high)


@dataclass(frozen=True, eq=False)
class CompiledIndexPolicy(IndexPolicy):
    """An index policy with one compiled function as rule, called by `indices` and by the compiled loop.

    A subclass defines `rule`, which returns the function, and `parameters`, which checks the fields and
    returns the numbers that the function needs. It may have a `memory` that its `learning_rule` updates.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.

    Examples
    --------
    >>> from cmab import CTS, CUCB, CompiledIndexPolicy
    >>> issubclass(CUCB, CompiledIndexPolicy) and issubclass(CTS, CompiledIndexPolicy)
    True
    """

    is_random: ClassVar[bool] = False
    _reals: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_reals", self.parameters())

    @abstractmethod
    def rule(self) -> Any:
        """Return the compiled rule, an ``index_kernel``. If the rule draws, the class sets `is_random`."""

    @abstractmethod
    def parameters(self) -> FloatArray:
        """Check the parameters, and return them as the argument `reals` of the rule."""

    def learning_rule(self) -> Any:
        """Return the ``learn_kernel`` that updates the memory, or None (default) without a memory."""
        return None

    def beta_prior(self) -> BetaPrior | None:
        """Return the prior of the means if the policy draws them from Beta posteriors; None (default) if not.

        The means are shares of the support. If this is [0, 1], a campaign also learns from reports with
        hidden outcomes: it draws the outcomes from their posterior.
        """
        return None

    def _completed(self, state: ArmStatistics, won: FloatArray, lost: FloatArray) -> ArmStatistics:
        """Return a state with further outcomes 1 and 0 of each arm.

        Parameters
        ----------
        state : ArmStatistics
            The state with the observed outcomes; it is not changed.
        won, lost : FloatArray, shape (n_arms,)
            The numbers of further outcomes 1 and 0 of each arm.
        """
        return state.with_coins(won, lost, state.memory)

    def kernel(self) -> Kernel:
        """Return the compiled index rule with the learning rule, if there is one."""
        learning = self.learning_rule()
        return Kernel(self.rule(), reals=self._reals, is_random=self.is_random, learning=learning)

    @cached_property
    def _n_memory(self) -> int:
        return len(self.memory())

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        # Compiled rules do not check the lengths of the arrays.
        if len(stats.means) != self.oracle.n_arms or len(stats.memory) != self._n_memory:
            stats.check_sizes(self.oracle.n_arms, self._n_memory)
        out = np.empty(len(stats.means))
        # Passing a generator from Python takes twenty times as long as the rule itself.
        source = rng if self.is_random else None
        learned = (stats.counters, stats.means, stats.deviations, stats.memory)
        # Rounds are numbered from 1, and `rounds` does not include this round yet.
        self.rule()(*learned, stats.rounds + 1, self._reals, source, out)
        return out

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the statistics and, if there is a learning rule, the memory.

        Raises
        ------
        ValueError
            If there is a learning rule, and the feedback has sums of several outcomes of an arm.
        """
        learn = self.learning_rule()
        if learn is not None and feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which needs each outcome separately,"
                f" got {shown(feedback.pulls)}"
            )
        if len(state.memory) != self._n_memory:
            state.check_sizes(self.oracle.n_arms, self._n_memory)
        state.update(feedback)
        if learn is not None:
            arms, outcomes = feedback.arms, feedback.outcomes
            learn(arms, len(arms), outcomes, state.rounds, self._reals, state.memory)
