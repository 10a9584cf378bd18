"""Many learners on one environment, with common random numbers, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.oracle import Oracle
from cmab.policies.baselines import Clairvoyant
from cmab.policy import AnyPolicy
from cmab.results.comparison import Comparison
from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.policy_comparison import PolicyComparison
from cmab.running import identification, simulation
from cmab.seeding import Seed, root
from cmab.spelling import names_arguments
from cmab.validation import check_jobs, integer, shown


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during `compare`; what was finished by then is in `partial`.

    Attributes
    ----------
    partial : Comparison
        Of the learners that were finished.

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
@names_arguments
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
    """Play all learners on one environment, with the same coins for all of them.

    Parameters
    ----------
    learners : mapping of str to Policy, or of str to Explorer
        By the names that tables and figures show. The same object may stand there twice.
    environment : Environment
        The instance.
    horizon : int, optional
        Rounds of each replication: `simulate` plays policies. Without it, `identify` runs explorers, which
        stop by themselves.
    replications : int
        Number of independent replications; replication r meets the same coins for all, so that learners are
        compared within it.
    checkpoints : sequence of int, optional
        Rounds to record, as `simulate` takes them.
    rng : int, SeedSequence, Generator or None
        Seed. With a number, each result is what `simulate` or `identify` gives for it.
    n_jobs : int
        Workers, -1 for all cores; the numbers are the same.
    max_samples : int, optional
        Most samples of a replication of an explorer, as `identify` takes it.
    progress : bool, optional
        Whether to show a progress bar for each learner, as for `simulate`.

    Returns
    -------
    PolicyComparison or ExplorerComparison
        Tables, tests and a picture.

    Raises
    ------
    ValueError
        If there is no learner, a name is none, oracles differ in sense, or one of them answers what is no
        super arm of the environment; and where `simulate` or `identify` refuses a learner, which is named.
    TypeError
        If `learners` is no mapping, or holds explorers and policies.
    ComparisonInterrupted
        On Ctrl-C, once a learner is finished; its `partial` compares those that are.

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
    # One root for all: the streams of the environment are keyed below it by replication alone.
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
        raise ValueError(f"max_samples is for explorers, without a horizon; got {max_samples} with {horizon}")
    _check_policies(named, environment)
    run = partial(
        simulation.simulate, environment=environment, horizon=horizon, checkpoints=checkpoints, **common
    )
    told = [name for name, learner in named.items() if isinstance(learner, Clairvoyant)]
    return _compared(named, run, partial(PolicyComparison, environment=repr(environment), informed=told))


def _compared(
    named: Mapping[str, Any], run: Callable[[Any], Any], make: Callable[[dict[str, Any]], Comparison[Any]]
) -> Comparison[Any]:
    """Run one after the other; what Ctrl-C leaves unfinished loses nothing that was finished."""
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
    """Return the learners, refused unless they are some, by names."""
    if not isinstance(learners, Mapping):
        raise TypeError(f'learners must be a mapping such as {{"CUCB": CUCB(oracle)}}, got {shown(learners)}')
    if not learners:
        raise ValueError("learners must hold one at least, got none")
    if strange := [name for name in learners if not isinstance(name, str) or not name.strip()]:
        raise ValueError(f"learners must have names, which are texts, got {shown(strange[0])}")
    return dict(learners)


def _declared(named: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Return a parameter of those explorers that have it."""
    values = {name: getattr(each, parameter, None) for name, each in named.items()}
    return {name: value for name, value in values.items() if value is not None}


def _check_explorers(named: Mapping[str, Any], environment: Environment, checkpoints: object) -> None:
    for name, learner in named.items():
        if hasattr(learner, "oracle") and not isinstance(learner, Explorer):
            raise TypeError(
                f"learners[{name!r}] must be an Explorer where no horizon is given, got"
                f" {type(learner).__name__}: give the horizon for policies"
            )
        _checked(identification.check_fit, name, learner, environment)
    if checkpoints is not None:
        raise ValueError(f"checkpoints are for policies, with a horizon; got {shown(checkpoints)}")


def _check_policies(named: Mapping[str, Any], environment: Environment) -> None:
    # All before any: a fault in the last learner must not come after hours.
    for name, learner in named.items():
        _checked(simulation.check_fit, name, learner, environment)
        _checked(_check_family, name, learner, environment)
    senses = {name: learner.oracle.sense for name, learner in named.items()}
    if len(set(senses.values())) > 1:
        raise ValueError(f"learners must have oracles of one sense, got {senses}")


def _check_family(learner: AnyPolicy, environment: Environment) -> None:
    """Refuse an oracle whose answer for the true means is no super arm of the environment's oracle."""
    family = getattr(environment, "oracle", None)
    if not isinstance(family, Oracle) or family is learner.oracle or not family.has_membership:
        return
    answer = learner.oracle.solve(np.array(environment.means), np.random.default_rng(0))
    if not family.is_feasible(answer):
        raise ValueError(
            f"policy.oracle must choose super arms of the environment's oracle, {shown(family)}, got"
            f" {shown(answer.tolist())} from {shown(learner.oracle)}"
        )


def _checked(check: Any, name: str, learner: Any, environment: Environment) -> None:
    """Check, and say which of the learners was refused."""
    try:
        check(learner, environment)
    except (TypeError, ValueError) as error:
        raise type(error)(f"learners[{name!r}]: {error}") from None
