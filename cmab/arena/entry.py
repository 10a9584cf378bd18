"""The entries of the arena: rules that make a policy for the oracle of any instance."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cmab.oracle import Oracle, Sense
from cmab.policy import AnyPolicy
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of an instance that every policy may know. The means are not among them.

    Attributes
    ----------
    kind : str
        The kind of the problem.
    horizon : int
        Number of rounds of the run.
    support : tuple of float
        The interval of the outcomes.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised.
    batch : int
        Number of rounds of a batch.
    is_late : bool
        Whether feedback is delayed.
    other : mapping
        Facts of the problem, for example the features of the arms.

    Examples
    --------
    >>> from cmab.arena import Facts
    >>> Facts(kind="top-k", horizon=1000).support
    (0.0, 1.0)
    """

    kind: str
    horizon: int
    support: tuple[float, float] = (0.0, 1.0)
    sense: Sense = "max"
    batch: int = 1
    is_late: bool = False
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best_outcome(self) -> float:
        """The best outcome of an arm: the upper end of the support, or the lower end for costs."""
        return self.support[1] if self.sense == "max" else self.support[0]


@dataclass(frozen=True, eq=False)
class Entry:
    """A named rule of the arena, which makes a policy for each instance.

    Parameters
    ----------
    name : str
        The name in all tables.
    make : callable
        ``make(oracle, facts)`` returns the policy for an instance. `facts` is a `Facts`.
    kinds : iterable of str, optional
        The kinds of problems on which the entry plays. If omitted, it plays on all problems. A problem that
        its policy rejects with a ``ValueError`` or a ``TypeError`` has no result for this entry.
    tuned : bool
        Whether parameters of the entry were chosen on problems of the arena.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.arena import Entry, Facts
    >>> from oracles import TopK
    >>> entry = Entry("CUCB, short", lambda oracle, facts: CUCB(oracle, radius_factor=0.3))
    >>> entry.make(TopK(3, k=1), Facts(kind="top-k", horizon=100)).radius_factor
    0.3
    """

    name: str
    make: Callable[[Oracle, Facts], AnyPolicy]
    kinds: frozenset[str] | None = None
    tuned: bool = False

    def __post_init__(self) -> None:
        given: Any = self.name
        if not isinstance(given, str) or not given.strip():
            raise ValueError(f"name of an entry must be a non-empty string, got {shown(self.name)}")
        if not callable(self.make):
            raise TypeError(f"make of the entry {self.name} must be callable, got {shown(self.make)}")
        if self.kinds is not None:
            object.__setattr__(self, "kinds", frozenset(self.kinds))

    def plays(self, kind: str) -> bool:
        """Return whether the entry plays on problems of this kind."""
        return self.kinds is None or kind in self.kinds

    @classmethod
    def of(
        cls,
        maker: Callable[..., AnyPolicy],
        name: str | None = None,
        *,
        kinds: Iterable[str] | None = None,
        tuned: bool = False,
        **parameters: Any,
    ) -> Entry:
        """Return the entry of a class of policies, or of a function that takes an oracle.

        Parameters
        ----------
        maker : callable
            The class or function. Its first argument is the oracle. If it has a parameter ``support``, it
            receives the interval of the outcomes. If it has a parameter ``horizon`` without a default, it
            receives the number of rounds. If it has a parameter ``facts``, it receives the `Facts`.
        name : str, optional
            The name in all tables. If omitted, it is the name of the class or function.
        kinds : iterable of str, optional
            The kinds of problems on which the entry plays.
        tuned : bool
            Whether parameters of the entry were chosen on problems of the arena.
        **parameters : object
            Further arguments of the class or function.

        Raises
        ------
        TypeError
            If `maker` is not callable, or requires further arguments.
        """
        if not callable(maker):
            raise TypeError(
                f"maker must be a class of policies or a function of an oracle, got {shown(maker)}"
            )
        own = name or str(getattr(maker, "__name__", type(maker).__name__))
        given = _given(maker, own, parameters)

        def make(oracle: Oracle, facts: Facts) -> AnyPolicy:
            known = {"support": facts.support, "horizon": facts.horizon, "facts": facts}
            return maker(oracle, **{name: known[name] for name in given}, **parameters)

        return cls(own, make, None if kinds is None else frozenset(kinds), tuned)


def _given(maker: Callable[..., Any], name: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the facts that a class or function receives."""
    taken = [*inspect.signature(maker).parameters.values()]
    if not taken or taken[0].kind == taken[0].KEYWORD_ONLY:
        raise TypeError(f"{name} must take the oracle as its first argument, got {shown(maker)}")
    others = {p.name: p for p in taken[1:] if p.name not in parameters}
    required = {key for key, p in others.items() if p.default is p.empty and p.kind not in (2, 4)}
    if missing := sorted(required - {"support", "horizon", "facts"}):
        raise TypeError(
            f"{name} must only require an oracle, support, horizon and facts, got the required arguments"
            f" {', '.join(missing)}; pass a function of the oracle that gives them values"
        )
    given = {"support", "facts"} & others.keys() | {"horizon"} & required
    return sorted(given)
