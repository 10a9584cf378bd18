"""The problems of the arena: families of instances from which every replication draws a new one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.running.simulation import LONGEST
from cmab.validation import integer, shown


class Instance(NamedTuple):
    """An instance of a problem, drawn for one replication.

    Attributes
    ----------
    oracle : Oracle
        The oracle of all policies.
    environment : Environment
        The environment, which the policies never see.
    facts : mapping
        Facts about this instance that a policy may know, for example the features of its arms. They replace
        the facts of the problem with the same names.

    Examples
    --------
    >>> from cmab.arena import Instance
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=1)
    >>> Instance(oracle, SemiBandit(BernoulliArms([0.1, 0.7, 0.6]), oracle)).facts
    {}
    """

    oracle: Oracle
    environment: Environment
    facts: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Problem:
    """A family of instances on which policies are compared.

    Parameters
    ----------
    name : str
        The name in all tables.
    kind : str
        The kind of the problem, for example ``"matching"``. An entry may be restricted to some kinds.
    make : callable
        ``make(rng)`` draws an instance: an `Instance`, or a pair (oracle, environment). It must number the
        arms in random order, because otherwise a policy that prefers the first arms has an advantage.
    horizon : int
        Number of rounds of the quick level, at least 10. Scores are also computed after a tenth of them.
    source : str
        The paper of the problem, or the reason for it.
    held_out : bool
        Whether the problem belongs to the held-out part, which nobody uses to design policies.
    replications : int
        Number of replications of the quick level. The full level has five times as many.
    batch : int
        Number of rounds of a batch, as in `simulate`.
    delay : int or callable, optional
        The delay of the feedback, as in `simulate`.
    facts : mapping
        Facts that a policy may know, for example ``{"dimension": 5}``.

    Raises
    ------
    ValueError
        If a name is empty, or if a number is out of its range.
    TypeError
        If `make` is not callable.

    Examples
    --------
    >>> from cmab.arena import Problem
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=1000, source="an example")
    >>> problem.draw(seed=0, replication=3).oracle
    TopK(n_arms=10, k=2)
    """

    name: str
    kind: str
    make: Callable[[np.random.Generator], Instance | tuple[Oracle, Environment]]
    horizon: int
    source: str
    held_out: bool = False
    replications: int = 6
    batch: int = 1
    delay: int | Callable[[int, np.random.Generator], int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("name", "kind", "source"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} of a problem must be a non-empty string, got {shown(value)}")
        if not callable(self.make):
            raise TypeError(f"make of the problem {self.name} must be callable, got {shown(self.make)}")
        integer(f"horizon of the problem {self.name}", self.horizon, 10, LONGEST)
        integer(f"replications of the problem {self.name}", self.replications, 1)
        integer(f"batch of the problem {self.name}", self.batch, 1)

    def draw(self, *, seed: int = 0, replication: int = 0) -> Instance:
        """Return the instance of a replication. It depends on nothing but the name, the seed and the number.

        Raises
        ------
        TypeError
            If `make` returns something else than an oracle and an environment.
        """
        own, _ = seeds_of(self.name, seed, replication)
        made: Any = self.make(np.random.default_rng(own))
        found = made if isinstance(made, Instance) else Instance(*made) if _is_pair(made) else None
        parts: tuple[Any, ...] = found or (None, None)
        if found is None or not (isinstance(parts[0], Oracle) and isinstance(parts[1], Environment)):
            raise TypeError(
                f"make of the problem {self.name} must return an oracle and an environment, got {shown(made)}"
            )
        return found

    def streams(self, *, seed: int, replication: int) -> np.random.SeedSequence:
        """Return the seed of the runs of a replication, which is the same for all entries."""
        return seeds_of(self.name, seed, replication)[1]


def _is_pair(made: Any) -> bool:
    return isinstance(made, tuple) and len(made) in (2, 3)


def benchmark_of(instance: Instance) -> float:
    """Return the expected reward of a round that regret is measured against.

    It is the optimum of the environment. If the environment does not know it, it is the value of the
    oracle's super arm for the true means.
    """
    optimum = float(instance.environment.optimum)
    if not math.isnan(optimum):
        return optimum
    best = instance.oracle.solve(instance.environment.means, np.random.default_rng(0))
    return float(instance.environment.expected_reward(best))


def seeds_of(name: str, seed: int, replication: int) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Return the seeds of the instance and of the runs of a replication of a problem.

    The seeds depend on the name of the problem, and not on the entry or on the order of the problems.
    """
    words = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], np.uint32)
    key = (*(int(word) for word in words), replication)
    own, runs = (np.random.SeedSequence(seed, spawn_key=(*key, part)) for part in (0, 1))
    return own, runs
