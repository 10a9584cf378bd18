"""The loop of pure exploration: many replications of an explorer on an environment."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment, changes
from cmab.exploration.certificates import certificate
from cmab.explorer import AnyExplorer, Explorer
from cmab.goals import BestSuperArm
from cmab.results._columns import IDENTIFIED, gathered
from cmab.results.certificate import Certificate
from cmab.results.identification import Identification
from cmab.running._bars import shown_bar
from cmab.running._parallel import Prefer, in_workers
from cmab.running._referee import check_answer, check_declared
from cmab.running.compiled_exploration import Watch, compiled_exploration, explore_compiled
from cmab.seeding import Purpose, Seed, root, stream
from cmab.spelling import names_arguments
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_jobs, integer, shown

#: Where runs of rules without a bound of their own are cut off.
DEFAULT_CAP = 10**9
_MOST = 2**62
_LONG = 10**7  # samples that take minutes in Python


class Run(NamedTuple):
    """One replication."""

    replication: int
    arms: IntArray
    samples: int
    correct: bool
    stopped: bool
    certified: bool
    seconds: float
    path: str
    certificate: Certificate | None = None


@names_arguments
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
    """Run `explorer` on `environment` until its stopping rule holds, many times.

    Parameters
    ----------
    explorer : Explorer
        The learner; it never sees the environment.
    environment : Environment
        Where base arms are sampled.
    replications : int
        Number of independent replications.
    rng : int, SeedSequence, Generator or None
        Seed; the same seed gives the same numbers for any `n_jobs`.
    n_jobs : int
        Workers, -1 for all cores: threads on the compiled path, processes on the other.
    max_samples : int, optional
        Most samples of a replication; a run that would need more is reported as not stopped. Exact goals
        are never reached where the k-th and the next mean are equal, and heuristic modes may never stop
        anywhere, so set it unless the gaps are known. Left out, it is 10**9 for rules without a bound of
        their own (`Explorer.is_bounded`), with a warning when a run has taken long and when one is cut off.
    progress : bool, optional
        Whether to show a progress bar, as for `simulate`.

    Returns
    -------
    Identification
        Arms, samples and correctness of each replication.

    Raises
    ------
    TypeError
        If `explorer` is no `Explorer` or `environment` no `Environment`.
    ValueError
        If a number is out of its range, the arms differ in number, the outcomes do not fit the noise that
        the explorer is made for, or the means its oracle; or the environment declares no support or means,
        or has an outcome outside the support that it declares.
    ChildProcessError
        If a worker process died.

    Examples
    --------
    >>> from cmab import SequentialHalving, identify
    >>> from instances import BernoulliArms
    >>> explorer = SequentialHalving(n_arms=3, budget=300)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.1]), replications=3, rng=0).correct
    array([ True,  True,  True])
    """
    replications = integer("replications", replications, 1)
    check_jobs(n_jobs)
    if max_samples is not None:
        integer("max_samples", max_samples, 1, _MOST)
    check_fit(explorer, environment)
    run = partial(explore, explorer, environment, root(rng), max_samples, certify=True)
    # Compiled runs release the interpreter lock: threads then need no copies of the instance.
    prefer: Prefer = "threads" if compiled_exploration(explorer, environment) else "processes"
    runs = sorted(_runs(run, replications, n_jobs, prefer, progress), key=lambda r: r.replication)
    return collect(type(explorer).__name__, runs, judged=explorer.goal is not None)


def collect(explorer: str, runs: Sequence[Run], *, judged: bool = True) -> Identification:
    """Return the runs, in their order, as one result."""
    found = gathered(IDENTIFIED, [run._asdict() for run in runs])
    certificates = [run.certificate for run in runs if run.certificate is not None]
    counts = [certificate.counts for certificate in certificates]
    known = np.array(counts, np.int64) if counts else None
    return Identification(explorer=explorer, judged=judged, **found, counts=known, certificates=certificates)


def check_fit(explorer: AnyExplorer, environment: Environment) -> None:
    """Refuse an environment whose arms or outcomes are not those that the explorer is made for."""
    if not isinstance(explorer, Explorer):
        raise TypeError(f"explorer must be an Explorer, got {shown(explorer)}")
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be an Environment, got {shown(environment)}")
    name = type(explorer).__name__
    if changes(environment):
        raise ValueError(
            f"environment must be the same in all rounds, got {type(environment).__name__}, which defines"
            " in_round: its best arms may differ from round to round"
        )
    if explorer.n_arms != environment.n_arms:
        raise ValueError(
            f"explorer and environment must have the same base arms, got {explorer.n_arms} and"
            f" {environment.n_arms}"
        )
    check_declared(environment)
    # Room for rounding: half a support's length may have been computed in another order.
    # Written so that a sigma or an end that is no number is refused as well.
    if explorer.sigma is not None and not environment.sigma <= explorer.sigma * (1.0 + 1e-12):
        raise ValueError(
            f"environment must be {explorer.sigma:g}-sub-Gaussian, the sigma of {name}, got"
            f" sigma {environment.sigma:g}"
        )
    if explorer.support is not None:
        (low, high), (least, most) = explorer.support, environment.support
        if not (low <= least and most <= high):
            raise ValueError(
                f"environment must have outcomes in [{low:g}, {high:g}], the support of {name}, got"
                f" [{least:g}, {most:g}]"
            )
    if isinstance(explorer.goal, BestSuperArm) and environment.means.min() < explorer.goal.oracle.least_mean:
        raise ValueError(
            f"environment must have means of at least {explorer.goal.oracle.least_mean:g}, the least mean"
            f" that the oracle of {name} takes, got {environment.means.min():g}"
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
    """Play one replication; without `max_samples`, a rule that may never stop is cut off at `DEFAULT_CAP`.

    With `certify` its certificate is made, too.
    """
    # Keyed by purpose and replication: explorers on one environment meet the same outcomes.
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
    # Without a sample there is nothing to guess from.
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
    """Sample until the rule stops or the next batch would exceed the cap; return the samples.

    Those of each arm are added to `counts`.
    """
    samples, steps = 0, 0
    while len(step := explorer.step(state, rng)):
        arms, pulls = arm_indices("arms", step, explorer.n_arms), explorer.pulls(state)
        # A batch is taken whole or not at all, as in the compiled loop.
        if max_samples is not None and samples + len(arms) * pulls > max_samples:
            break
        feedback = environment.sample(arms, pulls, coins)
        check_answer("sample", feedback, environment.support)
        explorer.update(state, feedback, Ticket(steps, arms, pulls), rng)
        samples, steps = samples + len(arms) * pulls, steps + 1
        counts[arms] += pulls
        watch.see(samples, _LONG)
    return samples
