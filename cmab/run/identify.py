"""Identification: replications of an explorer on an environment, until its stopping rule holds."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled import (
    IS_COMPILING,
    STEPS,
    Arguments,
    ExplorerKernel,
    Kernel,
    Seen,
    Streams,
    compiled_form,
)
from cmab.environment import Environment, changes
from cmab.exploration.certificate import certificate
from cmab.explorer import AnyExplorer, BestSuperArm, Explorer
from cmab.feedback import Feedback, Ticket, check_outcomes
from cmab.run.loops import FIRST_ROUNDS, TICK_SECONDS
from cmab.run.results import Identification, joined
from cmab.run.simulate import check_declared
from cmab.run.workers import ended_by_signals, progress_bar, replicated, signals_wait
from cmab.seeding import Purpose, Seed, root, stream
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices, check_jobs, integer, shown

#: The limit of samples for explorers without a bound of their own.
DEFAULT_CAP = 10**9
_MOST = 2**62
_FOREVER = np.iinfo(np.int64).max // 4
# Steps per call of the compiled loop, between which signals arrive, and trees are built again.
_STEPS = 2_000_000


def identify(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    replications: int = 1,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool | None = None,
) -> Identification:
    """Run replications of an explorer on an environment until its stopping rule holds.

    Parameters
    ----------
    explorer : Explorer
        The learner. It only receives feedback and never the environment itself.
    environment : Environment
        The environment of the sampled base arms.
    replications : int
        Number of independent replications.
    rng : int, SeedSequence, Generator or None
        Seed. The same seed gives the same numbers for any `n_jobs`.
    n_jobs : int
        Number of workers, or -1 for all cores. The workers are threads if explorer and environment are
        compiled, and processes otherwise.
    max_samples : int, optional
        Largest number of samples of a replication. A run that needs more samples is reported as not stopped.
        Set this limit unless the gaps are known: if the k-th and the next mean are equal, exact goals are
        never reached, and heuristic modes may never stop. If omitted, the limit is 10**9 for explorers
        without a bound of their own (`Explorer.is_bounded`). Such a run warns at the limit.
    progress : bool, optional
        Whether to show a progress bar, as for `simulate`.

    Returns
    -------
    Identification
        Arms, samples and correctness of each replication.

    Raises
    ------
    TypeError
        If `explorer` is not an `Explorer` or `environment` not an `Environment`.
    ValueError
        If a number is out of range, if explorer and environment have different numbers of base arms, if the
        outcomes violate the `sigma` or `support` of the explorer, if a mean is too small for its oracle, if
        the declarations of the environment are invalid, or if an outcome is outside its declared support.
    ChildProcessError
        If a worker process died.

    Examples
    --------
    >>> from cmab import SAR, identify
    >>> from instances import BernoulliArms
    >>> explorer = SAR(n_arms=3, k=1, budget=300)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.1]), replications=3, rng=0).correct
    array([ True,  True,  True])
    """
    replications = integer("replications", replications, 1)
    check_jobs(n_jobs)
    if max_samples is not None:
        integer("max_samples", max_samples, 1, _MOST)
    check_fit(explorer, environment)
    run = partial(explore, explorer, environment, root(rng), max_samples, certify=True)
    # Compiled runs release the interpreter lock, and threads need no copies of the instance.
    threads = compiled_exploration(explorer, environment) is not None
    found: dict[int, Identification] = {}
    with ended_by_signals(), progress_bar(progress, total=replications, unit=" runs") as bar:
        for number, result in replicated(run, replications, n_jobs, threads=threads):
            found[number] = result
            if bar is not None:
                bar.update()
    return joined([found[number] for number in range(replications)])


def check_fit(explorer: AnyExplorer, environment: Environment) -> None:
    """Raise unless the environment satisfies the assumptions of the explorer."""
    if not isinstance(explorer, Explorer):
        raise TypeError(f"explorer must be an Explorer, got {shown(explorer)}")
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be an Environment, got {shown(environment)}")
    name = type(explorer).__name__
    if changes(environment):
        raise ValueError(
            f"environment must be the same in all rounds, got {type(environment).__name__} with in_round,"
            " whose best arms may change between rounds"
        )
    if explorer.n_arms != environment.n_arms:
        raise ValueError(
            f"explorer and environment must have the same number of base arms, got {explorer.n_arms} and"
            f" {environment.n_arms}"
        )
    check_declared(environment)
    # A tolerance for rounding, because half the length of a support may be computed in another order.
    # The conditions are written so that nan raises as well.
    if explorer.sigma is not None and not environment.sigma <= explorer.sigma * (1.0 + 1e-12):
        raise ValueError(
            f"environment must have a sigma of at most {explorer.sigma:g}, the sigma of {name}, got"
            f" {environment.sigma:g}; use an explorer with a larger sigma"
        )
    if explorer.support is not None:
        (low, high), (least, most) = explorer.support, environment.support
        if not (low <= least and most <= high):
            raise ValueError(
                f"environment must have outcomes in [{low:g}, {high:g}], the support of {name}, got"
                f" [{least:g}, {most:g}]; use an explorer with a wider support"
            )
    if isinstance(explorer.goal, BestSuperArm) and environment.means.min() < explorer.goal.oracle.least_mean:
        raise ValueError(
            f"environment must have means of at least {explorer.goal.oracle.least_mean:g}, the least mean"
            f" that the oracle of {name} accepts, got {environment.means.min():g}"
        )


def explore(
    explorer: AnyExplorer,
    environment: Environment,
    seed: np.random.SeedSequence,
    max_samples: int | None,
    replication: int,
    *,
    certify: bool = False,
) -> Identification:
    """Return the result of one replication, with its certificate if `certify` is true.

    If `max_samples` is None and the rule may never stop, the limit is `DEFAULT_CAP`.
    """
    # Streams are keyed by purpose and replication, so all explorers share the stream of outcomes.
    state, rng = explorer.initial_state(), stream(seed, Purpose.LEARNER, replication)
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    is_endless = max_samples is None and not explorer.is_bounded
    max_samples = DEFAULT_CAP if is_endless else max_samples
    counts: IntArray | None = None
    samples = explore_compiled(explorer, environment, state, rng, coins, max_samples)
    path = "python" if samples is None else "compiled"
    if samples is None:
        counts = np.zeros(explorer.n_arms, np.int64)
        samples = _explore(explorer, environment, state, rng, coins, max_samples, counts)
    # Without samples there is no recommendation.
    arms = explorer.recommend(state) if samples else np.empty(0, np.int64)
    correct = (
        explorer.goal is not None and bool(samples) and explorer.goal.is_correct(arms, environment.means)
    )
    seconds = time.perf_counter() - started
    ends = explorer.is_done(state), explorer.is_certified(state)
    if is_endless and not ends[0]:
        warnings.warn(
            f"{type(explorer).__name__} was cut off after {samples:,} samples, the default limit: the k-th"
            " and the next mean may be equal, or the mode may be heuristic. Set another limit by max_samples",
            RuntimeWarning,
            stacklevel=4,
        )
    proofs = [certificate(explorer, state, arms=arms, counts=counts)] if certify else []
    counts = proofs[0].counts if proofs else None
    return Identification(
        explorer=type(explorer).__name__,
        arms=[arms],
        samples=np.array([samples]),
        correct=np.array([correct]),
        stopped=np.array([ends[0]]),
        certified=np.array([ends[1]]),
        seconds=np.array([seconds]),
        path=path,
        judged=explorer.goal is not None,
        counts=None if counts is None else counts[np.newaxis],
        certificates=proofs,
    )


def _explore(
    explorer: AnyExplorer,
    environment: Environment,
    state: object,
    rng: np.random.Generator,
    coins: np.random.Generator,
    max_samples: int | None,
    counts: IntArray,
) -> int:
    """Sample until the rule stops or the next batch would exceed the limit; return the number of samples.

    The number of samples of each arm is added to `counts`.
    """
    samples, steps = 0, 0
    while len(step := explorer.step(state, rng)):
        arms, pulls = arm_indices("arms", step, explorer.n_arms), explorer.pulls(state)
        # A batch is sampled completely or not at all, as in the compiled loop.
        if max_samples is not None and samples + len(arms) * pulls > max_samples:
            break
        feedback = environment.sample(arms, pulls, coins)
        if not isinstance(feedback, Feedback):
            raise ValueError(
                f"environment.sample must return a Feedback(arms, outcomes), got {shown(feedback)}"
            )
        check_outcomes(feedback, environment.support, "the support that the environment declares")
        explorer.update(state, feedback, Ticket(steps, arms, pulls), rng)
        samples, steps = samples + len(arms) * pulls, steps + 1
        counts[arms] += pulls
    return samples


class CompiledExploration(NamedTuple):
    """The compiled forms of the rule and the arms of a run."""

    rule: ExplorerKernel
    arms: Kernel


def compiled_exploration(explorer: AnyExplorer, environment: Environment) -> CompiledExploration | None:
    """Return the compiled forms, or None if the explorer or the environment has only a Python form."""
    arms: Kernel | None = compiled_form(environment, "pull_kernel")
    rule: ExplorerKernel | None = compiled_form(explorer) if arms else None
    return CompiledExploration(rule, arms) if rule and arms else None


def explore_compiled(
    explorer: AnyExplorer,
    environment: Environment,
    state: Any,
    rng: np.random.Generator,
    coins: np.random.Generator,
    max_samples: int | None,
) -> int | None:
    """Continue from `state` in place; return the number of samples, or None without compiled forms."""
    compiled = compiled_exploration(explorer, environment)
    if compiled is None or not isinstance(state, ArmStatistics):
        return None
    limit, samples = _FOREVER if max_samples is None else max_samples, int(state.counts.sum())
    # Sample each arm once here, because compiled rules divide by counts, and trees need a key of each arm.
    while len(unseen := explorer.unseen(state)):
        if samples + len(unseen) > limit:
            return samples
        state.update(environment.sample(unseen, 1, coins))
        samples += len(unseen)
    clock = np.array([state.rounds, samples, limit, _STEPS])
    _loop(compiled, state, rng, coins, clock)
    state.rounds = int(clock[0])
    return int(clock[1])


def _loop(
    compiled: CompiledExploration,
    state: ArmStatistics,
    rng: np.random.Generator,
    coins: np.random.Generator,
    clock: IntArray,
) -> None:
    (loop, parameters), arms = compiled
    drawing = arms.function, Arguments(arms.integers, arms.reals)
    # The loop writes into the arrays of the state. Only the clock is copied back.
    seen, is_over = Seen(state.counters, state.means, state.deviations, clock), False
    # The memory of a rule is at the end of its last array of real parameters.
    reals = parameters[-1].reals
    scratch = reals[len(reals) - len(state.memory) :]
    scratch[:] = state.memory
    steps, expected = FIRST_ROUNDS, 0.0
    while not is_over:
        # Ctrl-C may end the compilation.
        steps = _STEPS if not IS_COMPILING or loop.prepare(expected, (*parameters, *drawing)) else steps
        clock[STEPS], started = steps, time.perf_counter()
        with signals_wait():
            is_over = loop(*parameters, *drawing, seen, Streams(rng, coins))
        # An interpreted call is followed by one of twice the length, or of the same if it takes long.
        expected = time.perf_counter() - started
        if expected < TICK_SECONDS / 2:
            steps, expected = 2 * steps, 2.0 * expected
    state.memory[:] = scratch
