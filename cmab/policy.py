"""Policies. A policy object is immutable; the state that it learns is a separate object."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, Generic, TypeVar
from weakref import finalize

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Kernel, settle_forms
from cmab.context import Context
from cmab.declared import Declared
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import (
    Check,
    Takes,
    Verb,
    checks_itself,
    generator,
    generator_or_none,
    guard,
    unguarded,
    verb,
)
from cmab.oracle import Oracle, require_oracle
from cmab.statistics import ArmStatistics
from cmab.ticket import Ticket
from cmab.validation import shown

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

    A subclass defines `initial_state`, `select` and `update`. Each method may omit trailing arguments that it
    does not need. For example, a policy without contexts defines ``select(self, state, rng)``. This `select`
    raises ``ValueError`` if it receives a context with any part.

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
    >>> from oracles import TopK
    >>> @dataclass
    ... class Clock:
    ...     rounds: int = 0
    >>> @dataclass(frozen=True, eq=False)
    ... class RoundRobin(Policy):
    ...     oracle: TopK
    ...     def initial_state(self):
    ...         return Clock()
    ...     def select(self, state, rng):
    ...         return (state.rounds + np.arange(self.oracle.k)) % self.oracle.n_arms
    ...     def update(self, state, feedback):
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
    #: Methods that the compiled loop replaces. If a subclass overrides one of them, but not `kernel`, its
    #: method differs from the compiled one, so the policy is played by the Python loop.
    in_kernel: ClassVar[tuple[str, ...]] = ("indices", "select", "update", "initial_state")
    #: Checks of the arguments of each method, in order: those of all base classes, and of the class itself.
    _takes: ClassVar[Takes] = {}

    def __init_subclass__(cls, **named: Any) -> None:
        """Add checks of the arguments to the methods that take a state or a generator."""
        super().__init_subclass__(**named)
        if "__init__" in vars(cls):
            cls.__init__ = _told_of_dataclasses(vars(cls)["__init__"])  # type: ignore[method-assign]
        cls._takes = {name: checks for base in reversed(cls.__mro__) for name, checks in _own_table(base)}
        guard(cls, cls._takes, VERBS)
        settle_forms(cls, {"kernel": cls.in_kernel})

    def __post_init__(self) -> None:
        """Check the type of the oracle and the declared parameters."""
        if "oracle" in vars(self):
            require_oracle(self.oracle)
        super().__post_init__()

    def __repr__(self) -> str:
        return described(self)

    @abstractmethod
    @verb
    def initial_state(self, rng: np.random.Generator | None = None) -> State:
        """Return the state before the first round.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            The random stream of a run, for numbers that the policy draws once per run. If omitted, the
            policy draws nothing.
        """

    @abstractmethod
    @verb
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
    @verb
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

    def _check_state(self, state: State) -> None:
        """Raise ``ValueError`` if a state of another type than `ArmStatistics` has the wrong size."""

    def is_done(self, state: State) -> bool:  # noqa: ARG002
        """Return whether the policy will play no further round. The default is False.

        `Session.is_done` returns it. `simulate` goes on until its horizon. The policy must then return a
        super arm, which is empty if it rests (see `may_rest`).
        """
        return False

    @checks_itself  # does nothing
    def reserve(self, state: State, ticket: Ticket) -> None:  # noqa: ARG002
        """Record in `state` that a ticket was issued; its feedback may be late.

        `Session` calls this method with each ticket, and `simulate` calls it if feedback is delayed. The
        default does nothing. Policies with budgets reserve the amounts that a ticket may use until its
        feedback arrives. A ticket may be reported without a reservation, and a cancelled ticket is never
        reported.
        """
        return

    def propensity(
        self,
        state: State,  # noqa: ARG002
        super_arm: IntArray,  # noqa: ARG002
        context: Context | None,  # noqa: ARG002
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

# The number of arms and the size of the memory of each policy, by its identity, while the policy exists.
_SIZES: dict[int, tuple[int, int]] = {}


def fits(policy: Any, state: Any, _: object) -> Any:
    """Return `state`. Raise ``ValueError`` if its statistics have a wrong number of arms or array type.

    Compiled code relies on both.
    """
    if isinstance(state, ArmStatistics):
        if not state.is_laid_out:
            state.check_layout()
        n_arms, memory = _SIZES.get(id(policy)) or _sizes(policy)  # cached: every step needs them
        if len(state.means) != n_arms:
            raise ValueError(f"state must have statistics of {n_arms} arms, got {state!r}")
        if len(state.memory) != memory:
            raise ValueError(
                f"state must be a state of {policy!r}, got {state!r} with the memory of another policy"
            )
    else:
        policy._check_state(state)
    return state


def draws_to_learn(policy: AnyPolicy) -> bool:
    """Return whether the `update` of a policy takes a generator as an argument."""
    return getattr(policy.update, "takes", 4) >= 4


def _sizes(policy: Any) -> tuple[int, int]:
    """Return the number of arms and the size of the memory of a policy, and cache them."""
    n_arms = getattr(policy, "n_arms", None)
    n_arms = policy.oracle.n_arms if n_arms is None else n_arms
    sizes = n_arms, len(getattr(policy.initial_state(), "memory", ()))
    _SIZES[id(policy)] = sizes
    finalize(policy, _SIZES.pop, id(policy), None).atexit = False
    return sizes


def _own_table(cls: type) -> list[tuple[str, tuple[Check | None, ...]]]:
    return [*vars(cls).get("_takes", {}).items()]


def _told_of_dataclasses(init: Any) -> Any:
    """Return ``__init__`` with an error that states the remedy if it assigns to a field of a frozen class."""

    @functools.wraps(init)
    def made(self: Any, *args: Any, **named: Any) -> None:
        try:
            init(self, *args, **named)
        except FrozenInstanceError as error:
            raise TypeError(
                f"{type(self).__name__} must declare its parameters as fields of a dataclass instead of an"
                " __init__ that assigns them, because policies are frozen: write @dataclass(frozen=True,"
                f" eq=False) above the class and a line `name: type` for each parameter ({error})"
            ) from error

    return made


VERBS = {
    "initial_state": Verb(("rng",), 0),
    "select": Verb(("state", "rng", "context"), 2, refuse_parts),
    "update": Verb(("state", "feedback", "ticket", "rng"), 2),
}
Policy._takes = {
    "initial_state": (generator_or_none,),
    "select": (fits, generator, None),
    "update": (fits, None, None, generator_or_none),
    "is_done": (fits,),
    "propensity": (fits,),
    "reserve": (fits,),
}
guard(Policy, Policy._takes, VERBS)


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
    #: Parameters on which the memory depends; None for all. A saved memory requires the same values of these.
    memory_parameters: ClassVar[tuple[str, ...] | None] = None
    #: Parts of a context that the policy can use; the last two only if rewards are sums.
    understood: ClassVar[tuple[str, ...]] = ("available", "values", "costs")
    _takes: ClassVar[Takes] = {"indices": (fits, generator)}

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

    def initial_state(self) -> ArmStatistics:
        """Return empty arm statistics with the initial memory of the policy."""
        return ArmStatistics.empty(self.oracle.n_arms, memory=self.memory())

    @verb
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
        if context is None:
            return self.oracle.solve(unguarded(self.indices)(state, rng), rng)
        refuse_parts(self, context, self.understood if self.oracle.is_linear else ("available",))
        return best_within(self.oracle, unguarded(self.indices)(state, rng), context, rng)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Update `state` with the feedback of one round."""
        state.update(feedback)
