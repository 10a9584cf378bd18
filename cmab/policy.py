"""Policies: frozen parameters and an oracle; the state is a value of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Kernel, is_current
from cmab.context import Context
from cmab.declared import Declared
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import Check, checks_itself, generator, guard, unguarded
from cmab.oracle import Oracle, require_oracle
from cmab.statistics import ArmStatistics
from cmab.ticket import Ticket
from cmab.validation import shown

State = TypeVar("State")


class Policy(Declared, ABC, Generic[State]):
    """A rule that chooses a super arm from what was observed so far.

    It holds parameters only. What it learns is in the state, a plain dataclass of arrays and numbers,
    which `learn` alone, by default `update`, may change. A state may define ``check(fresh)``, which raises
    ``ValueError`` if no feedback leads from the fresh state to it: `Session.load` calls it.

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

    def __init_subclass__(cls, **named: Any) -> None:
        """Guard all methods that take a state, or a generator after it."""
        super().__init_subclass__(**named)
        guard(cls, {name: takes for name, method in vars(cls).items() if (takes := _takes(name, method))})

    def __post_init__(self) -> None:
        """Check that the oracle is one, and the declared parameters."""
        if "oracle" in vars(self):
            require_oracle(self.oracle)
        super().__post_init__()

    def __repr__(self) -> str:
        return described(self)

    @abstractmethod
    def initial_state(self) -> State:
        """Return the state before the first round."""

    def start(self, rng: np.random.Generator) -> State:  # noqa: ARG002
        """Return the state before the first round of a run, with what the rule draws for all of it at once.

        `Session` and `simulate` begin with it. The default is `initial_state`, and draws nothing.
        """
        return self.initial_state()

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the super arm to play; `state` is left unchanged."""

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> None:
        """Take in one round of feedback, changing `state`."""

    def select_for(self, state: State, context: Context | None, rng: np.random.Generator) -> IntArray:
        """Return the super arm to play in a round of which `context` is known; `state` is left unchanged.

        This is what `Session` and `simulate` call. The default is `select` where nothing is known.

        Parameters
        ----------
        state : State
            What was learned.
        context : Context or None
            What is known of the round; a super arm may have its `available` entries only.
        rng : numpy.random.Generator
            The policy's stream.

        Returns
        -------
        IntArray, shape (size,)

        Raises
        ------
        ValueError
            If the rule does not understand a part of the context: to play on without it would be silent.
        """
        refuse_parts(self, context)
        return self.select(state, rng)

    def is_done(self, state: State) -> bool:  # noqa: ARG002
        """Return whether nothing will be played any more; false unless overridden."""
        return False

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
        """Return the probability with which `select_for` chooses this super arm; None, the default: unknown.

        A `Campaign` writes it down with each ask, for estimates of what other policies would have earned.
        """
        return None

    def learn(
        self,
        state: State,
        ticket: Ticket,  # noqa: ARG002
        feedback: Feedback,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> None:
        """Take in the feedback of a ticket, changing `state`.

        This is what `Session` and `simulate` call. The default is `update`; override it for rules that must
        know what was played (where rewards alone are shown, or feedback comes late), what was known of the
        round, or that draw random numbers to learn.

        Parameters
        ----------
        state : State
            What was learned.
        ticket : Ticket
            What was asked for: its `super_arm` and `context`, neither to be written to.
        feedback : Feedback
            What was observed.
        rng : numpy.random.Generator
            The policy's stream.
        """
        # The guard has seen `state` in this very call.
        unguarded(self.update)(state, feedback)


def refuse_parts(policy: AnyPolicy, context: Context | None, understood: tuple[str, ...] = ()) -> None:
    """Raise ``ValueError`` if a context has parts other than those that a policy has `understood`."""
    if context is None:
        return
    if unknown := [part for part in context.parts if part not in understood]:
        knows = f"have nothing but {' and '.join(understood)}" if understood else "be None"
        raise ValueError(
            f"context must {knows} for {type(policy).__name__}, which knows no more of a round, got"
            f" {' and '.join(unknown)} besides; a policy for it defines select_for(state, context, rng)"
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

# Sizes of rules' memories by policy, as long as it lives.
_MEMORY: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def _takes(name: str, method: object) -> tuple[Check | None, ...]:
    if name.startswith("_") or not isinstance(method, FunctionType):
        return ()
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    if names == ("rng",):
        return (generator,)
    if names[:1] not in (("state",), ("stats",)):
        return ()
    last = names.index("rng") if "rng" in names else 0
    return (_state, *(None for _ in names[1:last]), generator) if last else (_state,)


def _state(policy: Any, state: Any, _: object) -> Any:
    """Refuse statistics of another number of arms or kind of array, which compiled code goes by."""
    if isinstance(state, ArmStatistics):
        state.check_layout()
        n_arms = getattr(policy, "n_arms", None)
        n_arms = policy.oracle.n_arms if n_arms is None else n_arms
        if len(state.means) != n_arms:
            raise ValueError(f"state must have statistics of {n_arms} arms, got {state!r}")
        if len(state.memory) != _memory_size(policy):
            raise ValueError(
                f"state must be one of {policy!r}, got {state!r} with the memory of another rule"
            )
    return state


def _memory_size(policy: Any) -> int:
    """Return how much a rule keeps in mind; asked in every step, so remembered."""
    try:
        size = _MEMORY.get(policy)
        if size is None:
            size = _MEMORY[policy] = len(getattr(policy.initial_state(), "memory", ()))
    except TypeError:  # a policy of somebody's that has no hash
        size = len(getattr(policy.initial_state(), "memory", ()))
    return size


def check_policy_instance(policy: object) -> None:
    """Raise ``TypeError`` unless `policy` is a policy, rather than the class of one."""
    if isinstance(policy, type):
        raise TypeError(f"policy must be a Policy such as {policy.__name__}(oracle), got the class itself")
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy, got {shown(policy)}")


def refuse_resting(policy: AnyPolicy) -> None:
    """Raise ``ValueError`` if a policy may play nothing: one around it would play on, beyond its budgets."""
    if policy.may_rest:
        raise ValueError(
            f"policy must be one without budgets, which another would not keep to, got {policy!r}"
        )


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

    @abstractmethod
    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,); `stats` is left unchanged."""

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `indices` for the compiled loop; none unless overridden."""
        return None

    def memory(self) -> FloatArray:
        """Return what `stats.memory` holds before the first round; nothing unless overridden.

        `learn`, or a compiled learning rule, may write to it: discounted means, windows, what was drawn.
        """
        return np.empty(0)

    def initial_state(self) -> ArmStatistics:
        """Return empty arm statistics, with the memory of the rule."""
        return ArmStatistics.empty(self.oracle.n_arms, memory=self.memory())

    def select(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.oracle.solve(unguarded(self.indices)(state, rng), rng)

    @checks_itself
    def select_for(self, state: ArmStatistics, context: Context | None, rng: np.random.Generator) -> IntArray:
        """Return the oracle's answer to the indices, among what is available, by what it is worth.

        Raises
        ------
        ValueError
            If the context has features, or values or costs where rewards are no sums, or leaves no super
            arm; or if the policy has a `select` of its own, which does not know what is available.
        TypeError
            If the oracle cannot do without what is not available.
        """
        if context is None or not context.parts:
            return self.select(state, rng)
        # Who overrides `select` alone has a rule that knows of no context.
        if not is_current(self, "select", form="select_for"):
            refuse_parts(self, context)
        refuse_parts(self, context, self.understood if self.oracle.is_linear else ("available",))
        return best_within(self.oracle, self.indices(state, rng), context, rng)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback, changing `state`."""
        state.update(feedback)
