"""Comparison of several learners on one environment, with common random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.oracle import Oracle
from cmab.policies.exploration import Clairvoyant
from cmab.policy import AnyPolicy
from cmab.results.comparison import Comparison
from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.policy_comparison import PolicyComparison
from cmab.running import identification, simulation
from cmab.seeding import Seed, root
from cmab.validation import check_jobs, integer, shown


class ComparisonInterrupted(KeyboardInterrupt):
    """Exception for Ctrl-C during `compare`, with the results so far in `partial`.

    Attributes
    ----------
    partial : Comparison
        The comparison of the finished learners.

    Examples
    --------
    >>> from cmab import ComparisonInterrupted
    >>> try:
    ...     pass  # comparison = compare(...)
    ... except ComparisonInterrupted as stopped:
    ...     comparison = stopped.partial
    """

    def __init__(self, finished: Comparison[Any]) -> None:
        super().__init__("interrupted; the finished learners are in .partial")
        self.partial = finished


@overload
def compare(
    learners: Mapping[str, AnyPolicy],
    environment: Environment,
    *,
    horizon: int,
    replications: int = ...,
    checkpoints: Sequence[int] | IntArray | None = ...,
    rng: Seed = ...,
    n_jobs: int = ...,
    progress: bool | None = ...,
) -> PolicyComparison: ...
@overload
def compare(
    learners: Mapping[str, AnyExplorer],
    environment: Environment,
    *,
    replications: int = ...,
    rng: Seed = ...,
    n_jobs: int = ...,
    max_samples: int | None = ...,
    progress: bool | None = ...,
) -> ExplorerComparison: ...
def compare(
    learners: Mapping[str, Any],
    environment: Environment,
    *,
    horizon: int | None = None,
    replications: int = 20,
    checkpoints: Sequence[int] | IntArray | None = None,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool | None = None,
) -> Comparison[Any]:
    """Run several policies or explorers on one environment with common random numbers.

    Parameters
    ----------
    learners : mapping of str to Policy, or of str to Explorer
        The learners, by the names that tables and figures show. An object may occur under several names.
    environment : Environment
        The instance.
    horizon : int, optional
        Number of rounds of each replication for policies, which `simulate` runs. Omit it for explorers, which
        `identify` runs until they stop.
    replications : int
        Number of independent replications. All learners share the random numbers of a replication, so the
        tests compare learners within replications.
    checkpoints : sequence of int, optional
        Rounds to record, as in `simulate`.
    rng : int, SeedSequence, Generator or None
        Seed. If it is an integer, each result equals that of `simulate` or `identify` with this seed.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    max_samples : int, optional
        Largest number of samples of a replication of an explorer, as in `identify`.
    progress : bool, optional
        Whether to show a progress bar for each learner, as in `simulate`.

    Returns
    -------
    PolicyComparison or ExplorerComparison
        The results, with tables, tests and plots.

    Raises
    ------
    ValueError
        If `learners` is empty, if a name is not a non-empty string, if the oracles differ in sense, or if an
        oracle returns a set that is not a super arm of the environment. Also if `simulate` or `identify`
        raises for a learner; the message names the learner.
    TypeError
        If `learners` is not a mapping, or holds both explorers and policies.
    ComparisonInterrupted
        On Ctrl-C after the first learner is finished. Its `partial` compares the finished learners.

    Examples
    --------
    >>> from cmab import CTS, CUCB, RandomPolicy, compare
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3, 0.5]), oracle)
    >>> learners = {"CUCB": CUCB(oracle), "Thompson": CTS(oracle), "Random": RandomPolicy(oracle)}
    >>> found = compare(learners, environment, horizon=500, replications=10, rng=0)
    >>> found.best, found.tied
    ('Thompson', [])
    >>> [row["learner"] for row in found.rows()]
    ['Thompson', 'CUCB', 'Random']
    """
    named = _named(learners)
    integer("replications", replications, 1)
    check_jobs(n_jobs)
    # All learners share one root: the streams of the environment are keyed by replication only.
    common: dict[str, Any] = {
        "replications": replications,
        "rng": root(rng),
        "n_jobs": n_jobs,
        "progress": progress,
    }
    if horizon is None:
        _check_explorers(named, environment, checkpoints)
        run: Any = partial(
            identification.identify, environment=environment, max_samples=max_samples, **common
        )
        said = {"deltas": _declared(named, "delta"), "budgets": _declared(named, "budget")}
        return _compared(named, run, partial(ExplorerComparison, environment=repr(environment), **said))
    if max_samples is not None:
        raise ValueError(
            f"max_samples must be omitted if horizon is given, got {max_samples}; it is for explorers"
        )
    _check_policies(named, environment)
    run = partial(
        simulation.simulate, environment=environment, horizon=horizon, checkpoints=checkpoints, **common
    )
    told = [name for name, learner in named.items() if isinstance(learner, Clairvoyant)]
    return _compared(named, run, partial(PolicyComparison, environment=repr(environment), informed=told))


def _compared(
    named: Mapping[str, Any], run: Callable[[Any], Any], make: Callable[[dict[str, Any]], Comparison[Any]]
) -> Comparison[Any]:
    """Run the learners in turn. After Ctrl-C, raise an exception with the finished results."""
    found: dict[str, Any] = {}
    try:
        for name, learner in named.items():
            found[name] = run(learner)
    except KeyboardInterrupt:
        if not found:
            raise
        raise ComparisonInterrupted(make(found)) from None
    return make(found)


def _named(learners: object) -> dict[str, Any]:
    """Return the learners by name; raise unless `learners` is a non-empty mapping of names."""
    if not isinstance(learners, Mapping):
        raise TypeError(f'learners must be a mapping such as {{"CUCB": CUCB(oracle)}}, got {shown(learners)}')
    if not learners:
        raise ValueError("learners must have at least one entry, got none")
    if strange := [name for name in learners if not isinstance(name, str) or not name.strip()]:
        raise ValueError(f"learners must have non-empty strings as names, got {shown(strange[0])}")
    return dict(learners)


def _declared(named: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Return the values of a parameter of the explorers that have it."""
    values = {name: getattr(each, parameter, None) for name, each in named.items()}
    return {name: value for name, value in values.items() if value is not None}


def _check_explorers(named: Mapping[str, Any], environment: Environment, checkpoints: object) -> None:
    for name, learner in named.items():
        if hasattr(learner, "oracle") and not isinstance(learner, Explorer):
            raise TypeError(
                f"learners[{name!r}] must be an Explorer if no horizon is given, got"
                f" {type(learner).__name__}; pass the horizon for policies"
            )
        _checked(identification.check_fit, name, learner, environment)
    if checkpoints is not None:
        raise ValueError(
            f"checkpoints must be omitted without a horizon, got {shown(checkpoints)}; they are for policies"
        )


def _check_policies(named: Mapping[str, Any], environment: Environment) -> None:
    # Check all learners first, because a run may take hours.
    for name, learner in named.items():
        _checked(simulation.check_fit, name, learner, environment)
        _checked(_check_family, name, learner, environment)
    senses = {name: learner.oracle.sense for name, learner in named.items()}
    if len(set(senses.values())) > 1:
        raise ValueError(f"learners must have oracles with the same sense, got {senses}")


def _check_family(learner: AnyPolicy, environment: Environment) -> None:
    """Raise ``ValueError`` unless the policy's oracle returns super arms of the environment's oracle."""
    family = getattr(environment, "oracle", None)
    if not isinstance(family, Oracle) or family is learner.oracle or not family.has_membership:
        return
    answer = learner.oracle.solve(np.array(environment.means), np.random.default_rng(0))
    if not family.is_feasible(answer):
        raise ValueError(
            f"policy.oracle must return super arms of the environment's oracle, {shown(family)}, got"
            f" {shown(answer.tolist())} from {shown(learner.oracle)}"
        )


def _checked(check: Any, name: str, learner: Any, environment: Environment) -> None:
    """Run a check and add the name of the learner to its error."""
    try:
        check(learner, environment)
    except (TypeError, ValueError) as error:
        raise type(error)(f"learners[{name!r}]: {error}") from None
