"""Policies: frozen parameters and an oracle; the state is a value of its own."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, Generic, TypeVar
from weakref import finalize

import numpy as np

from cmab._old_verbs import OldVerbs, adopt
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


class Policy(OldVerbs, Declared, ABC, Generic[State]):
    """A rule that chooses a super arm from what was observed so far.

    It holds parameters only. What it learns is in the state, a plain dataclass of arrays and numbers,
    which `update` alone may change. A state may define ``check(fresh)``, which raises ``ValueError`` if no
    feedback leads from the fresh state to it: `Session.load` calls it.

    A subclass defines `initial_state`, `select` and `update`, and leaves out the last arguments that it does
    not need: ``select(self, state, rng)`` is right for a rule that knows of no context, and a context is then
    refused.

    Attributes
    ----------
    oracle : Oracle
        The family of super arms.
    support : tuple of float or None
        Interval that the rule takes outcomes to lie in; None where it takes any.
    learns : bool
        Whether feedback changes what is played: true, but for baselines, which say so.
    may_rest : bool
        Whether it may play nothing, an empty super arm, though that is none of the family: rules with budgets
        do when these are spent.

    Raises
    ------
    ValueError
        If a parameter is out of its range, as it is documented with the parameter.

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
    #: What the compiled loop does by itself: a subclass that overrides one of these, but not `kernel`, means
    #: its own method, and is run in Python.
    in_kernel: ClassVar[tuple[str, ...]] = ("indices", "select", "update", "initial_state")
    #: By method, the checks of its arguments, in order: those of all classes above, and of the class itself.
    _takes: ClassVar[Takes] = {}

    def __init_subclass__(cls, **named: Any) -> None:
        """Guard the methods that take a state or a generator."""
        super().__init_subclass__(**named)
        if "__init__" in vars(cls):
            cls.__init__ = _told_of_dataclasses(vars(cls)["__init__"])  # type: ignore[method-assign]
        cls._takes = {name: checks for base in reversed(cls.__mro__) for name, checks in _own_table(base)}
        guard(cls, cls._takes, VERBS)
        guard(cls, {name: cls._takes[name] for name in adopt(cls)}, VERBS)
        settle_forms(cls, {"kernel": cls.in_kernel})

    def __post_init__(self) -> None:
        """Check that the oracle is one, and the declared parameters."""
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
            The stream of a run, for what the rule draws for all of it at once. Without it nothing is drawn.
        """

    @abstractmethod
    @verb
    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the super arm to play; `state` is left unchanged.

        Parameters
        ----------
        state : State
            What was learned.
        rng : numpy.random.Generator
            The policy's stream.
        context : Context, optional
            What is known of the round; a super arm may have its `available` entries only.

        Returns
        -------
        IntArray, shape (size,)

        Raises
        ------
        ValueError
            If the rule does not understand a part of the context: to play on without it would be silent.
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
        """Take in one round of feedback, changing `state`.

        `Session` and `simulate` give the ticket and the generator too, for rules that must know what was
        played (where rewards alone are shown, or feedback comes late), what was known of the round, or that
        draw random numbers to learn.

        Parameters
        ----------
        state : State
            What was learned.
        feedback : Feedback
            What was observed.
        ticket : Ticket, optional
            What was asked for: its `super_arm` and `context`, neither to be written to.
        rng : numpy.random.Generator, optional
            The policy's stream.
        """

    def _check_state(self, state: State) -> None:
        """Refuse a state, other than `ArmStatistics`, that is not of this policy's size."""

    def is_done(self, state: State) -> bool:  # noqa: ARG002
        """Return whether nothing will be played any more; false unless overridden."""
        return False

    @checks_itself  # does nothing
    def reserve(self, state: State, ticket: Ticket) -> None:  # noqa: ARG002
        """Take note, in `state`, that a ticket is handed out whose feedback may come late.

        `Session` calls it with each ticket, `simulate` where feedback is late. The default does nothing;
        rules with budgets put aside what the ticket may use up until they are told.
        """
        return

    def propensity(
        self,
        state: State,  # noqa: ARG002
        super_arm: IntArray,  # noqa: ARG002
        context: Context | None,  # noqa: ARG002
    ) -> float | None:
        """Return the probability with which `select` chooses this super arm; None, the default: unknown.

        A `Campaign` writes it down with each ask, for estimates of what other policies would have earned.
        """
        return None


def refuse_parts(policy: AnyPolicy, context: Context | None, understood: tuple[str, ...] = ()) -> None:
    """Raise ``ValueError`` if a context has parts other than those that a policy has `understood`."""
    if context is None:
        return
    if unknown := [part for part in context.parts if part not in understood]:
        knows = f"have nothing but {' and '.join(understood)}" if understood else "be None"
        raise ValueError(
            f"context must {knows} for {type(policy).__name__}, which knows no more of a round, got"
            f" {' and '.join(unknown)} besides; a policy for it defines select(state, rng, context)"
        )


def best_within(
    oracle: Oracle, indices: FloatArray, context: Context | None, rng: np.random.Generator
) -> IntArray:
    """Return an oracle's answer to indices of the means, by what arms are worth, among what is available.

    Raises
    ------
    ValueError
        If a value is negative, of which an index on the optimistic side would be a pessimistic worth; or no
        super arm is available.
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

# Numbers of arms and sizes of memories by the identity of a policy, as long as it lives.
_SIZES: dict[int, tuple[int, int]] = {}


def fits(policy: Any, state: Any, _: object) -> Any:
    """Return `state`, refused if it has statistics of another number of arms or kind of array.

    Compiled code goes by them.
    """
    if isinstance(state, ArmStatistics):
        if not state.is_laid_out:
            state.check_layout()
        n_arms, memory = _SIZES.get(id(policy)) or _sizes(policy)  # asked in every step, so remembered
        if len(state.means) != n_arms:
            raise ValueError(f"state must have statistics of {n_arms} arms, got {state!r}")
        if len(state.memory) != memory:
            raise ValueError(
                f"state must be one of {policy!r}, got {state!r} with the memory of another rule"
            )
    else:
        policy._check_state(state)
    return state


def draws_to_learn(policy: AnyPolicy) -> bool:
    """Return whether the `update` of a policy takes a generator."""
    return getattr(policy.update, "takes", 4) >= 4


def _sizes(policy: Any) -> tuple[int, int]:
    """Return how many arms a rule has, and how much it keeps in mind, and remember them."""
    n_arms = getattr(policy, "n_arms", None)
    n_arms = policy.oracle.n_arms if n_arms is None else n_arms
    sizes = n_arms, len(getattr(policy.initial_state(), "memory", ()))
    _SIZES[id(policy)] = sizes
    finalize(policy, _SIZES.pop, id(policy), None).atexit = False
    return sizes


def _own_table(cls: type) -> list[tuple[str, tuple[Check | None, ...]]]:
    return [*vars(cls).get("_takes", {}).items()]


def _told_of_dataclasses(init: Any) -> Any:
    """Return an ``__init__`` that says what to write if it assigns to a field of a frozen class."""

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
    """Raise ``TypeError`` unless `policy` is a policy, rather than the class of one."""
    if isinstance(policy, type):
        raise TypeError(f"policy must be a Policy such as {policy.__name__}(oracle), got the class itself")
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy, got {shown(policy)}")


@dataclass(frozen=True, eq=False)
class IndexPolicy(Policy[ArmStatistics]):
    """A policy that hands one index a base arm to its oracle.

    Most policies are a subclass that defines `indices` and nothing else. Where a context says what is
    available, the oracle is asked for the best of that; where it has values or costs and rewards are sums,
    for what is worth most; features are refused.

    The oracle breaks ties, in most families in favour of the arm with the lower number. Before there is data
    all indices are equal. A rule that draws nothing, such as `CUCB`, therefore begins with the same super arm
    in every run. To begin with another one, number the arms in a random order before the oracle is made.
    Rules that draw, such as `EpsilonGreedy` and `CTS`, break ties between arms never seen at random.

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
    #: Parameters that the memory depends on, None for all: with others, what a file remembers is refused.
    memory_parameters: ClassVar[tuple[str, ...] | None] = None
    #: Parts of a context that the rule knows what to do with, the last two where rewards are sums.
    understood: ClassVar[tuple[str, ...]] = ("available", "values", "costs")
    _takes: ClassVar[Takes] = {"indices": (fits, generator)}

    @abstractmethod
    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,); `stats` is left unchanged."""

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `indices` for the compiled loop; none unless overridden."""
        return None

    def memory(self) -> FloatArray:
        """Return what `stats.memory` holds before the first round; nothing unless overridden.

        `update`, or a compiled learning rule, may write to it: discounted means, windows, what was drawn.
        """
        return np.empty(0)

    def initial_state(self) -> ArmStatistics:
        """Return empty arm statistics, with the memory of the rule."""
        return ArmStatistics.empty(self.oracle.n_arms, memory=self.memory())

    @verb
    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the oracle's answer to the indices, among what is available, by what it is worth.

        Raises
        ------
        ValueError
            If the context has features, or values or costs where rewards are no sums, or leaves no super
            arm.
        TypeError
            If the oracle cannot do without what is not available.
        """
        if context is None:
            return self.oracle.solve(unguarded(self.indices)(state, rng), rng)
        refuse_parts(self, context, self.understood if self.oracle.is_linear else ("available",))
        return best_within(self.oracle, unguarded(self.indices)(state, rng), context, rng)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback, changing `state`."""
        state.update(feedback)
