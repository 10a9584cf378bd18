"""The loop of pure exploration: replications of an explorer on an environment."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.certificates.certificate import Certificate, certificate
from cmab.environment import Environment, changes
from cmab.explorer import AnyExplorer, Explorer
from cmab.feedback import Ticket
from cmab.goals import BestSuperArm
from cmab.results._columns import IDENTIFIED, gathered
from cmab.results.identification import Identification
from cmab.running._bars import shown_bar
from cmab.running._parallel import Prefer, in_workers
from cmab.running._referee import check_answer, check_declared
from cmab.running.compiled_exploration import Watch, compiled_exploration, explore_compiled
from cmab.seeding import Purpose, Seed, root, stream
from cmab.validation import arm_indices, check_jobs, integer, shown

#: The limit of samples for explorers without a bound of their own.
DEFAULT_CAP = 10**9
_MOST = 2**62
_LONG = 10**7  # samples that take minutes in Python


class Run(NamedTuple):
    """The result of one replication."""

    replication: int
    arms: IntArray
    samples: int
    correct: bool
    stopped: bool
    certified: bool
    seconds: float
    path: str
    certificate: Certificate | None = None


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
        without a bound of their own (`Explorer.is_bounded`). Such a run warns after many samples, and at the
        limit.
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
    # Compiled runs release the interpreter lock, and threads do not need copies of the instance.
    prefer: Prefer = "threads" if compiled_exploration(explorer, environment) else "processes"
    runs = sorted(_runs(run, replications, n_jobs, prefer, progress), key=lambda r: r.replication)
    return collect(type(explorer).__name__, runs, judged=explorer.goal is not None)


def collect(explorer: str, runs: Sequence[Run], *, judged: bool = True) -> Identification:
    """Return one result for all runs, in their order."""
    found = gathered(IDENTIFIED, [run._asdict() for run in runs])
    certificates = [run.certificate for run in runs if run.certificate is not None]
    counts = [certificate.counts for certificate in certificates]
    known = np.array(counts, np.int64) if counts else None
    return Identification(explorer=explorer, judged=judged, **found, counts=known, certificates=certificates)


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


def _runs(
    run: partial[Run], replications: int, n_jobs: int, prefer: Prefer, progress: bool | None
) -> Iterator[Run]:
    with shown_bar(progress, total=replications, unit=" runs") as bar:
        if n_jobs == 1 or replications == 1:
            for index in range(replications):
                yield run(index)
                if bar is not None:
                    bar.update()
            return
        sent = dict(zip(("explorer", "environment"), run.args, strict=False))
        for result in in_workers(run, range(replications), n_jobs, prefer=prefer, sent=sent):
            if bar is not None:
                bar.update()
            yield result


def explore(
    explorer: AnyExplorer,
    environment: Environment,
    seed: np.random.SeedSequence,
    max_samples: int | None,
    replication: int,
    *,
    certify: bool = False,
) -> Run:
    """Play one replication. If `max_samples` is None and the rule may never stop, the limit is `DEFAULT_CAP`.

    If `certify` is true, the result contains the certificate.
    """
    # Streams are keyed by purpose and replication, so all explorers share the stream of outcomes.
    state, rng = explorer.initial_state(), stream(seed, Purpose.LEARNER, replication)
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    watch = Watch(type(explorer).__name__)
    if max_samples is None and not explorer.is_bounded:
        max_samples = watch.cap = DEFAULT_CAP
    counts: IntArray | None = None
    samples = explore_compiled(explorer, environment, state, rng, coins, max_samples, watch)
    path = "python" if samples is None else "compiled"
    if samples is None:
        counts = np.zeros(explorer.n_arms, np.int64)
        samples = _explore(explorer, environment, state, rng, coins, max_samples, watch, counts)
    # Without samples there is no recommendation.
    arms = explorer.recommend(state) if samples else np.empty(0, np.int64)
    correct = (
        explorer.goal is not None and bool(samples) and explorer.goal.is_correct(arms, environment.means)
    )
    seconds = time.perf_counter() - started
    ends = explorer.is_done(state), explorer.is_certified(state)
    if not ends[0]:
        watch.give_up(samples)
    proof = certificate(explorer, state, arms=arms, counts=counts) if certify else None
    return Run(replication, arms, samples, correct, *ends, seconds, path, proof)


def _explore(
    explorer: AnyExplorer,
    environment: Environment,
    state: object,
    rng: np.random.Generator,
    coins: np.random.Generator,
    max_samples: int | None,
    watch: Watch,
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
        check_answer("sample", feedback, environment.support)
        explorer.update(state, feedback, Ticket(steps, arms, pulls), rng)
        samples, steps = samples + len(arms) * pulls, steps + 1
        counts[arms] += pulls
        watch.see(samples, _LONG)
    return samples
