"""The loop of pure exploration: many replications of an explorer on an environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab._exploring import explore_compiled, open_doors
from cmab._validation import arm_indices, integer
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.seeding import Purpose, Seed, root, stream

Prefer = Literal["threads", "processes"]


@dataclass(frozen=True, eq=False)
class Identification:
    """What `identify` found. R replications.

    Attributes
    ----------
    explorer : str
        The explorer's name.
    arms : list of IntArray
        The arms named in each replication; after a capped run, only the best guess.
    samples : IntArray, shape (R,)
        Outcomes that were drawn.
    correct : BoolArray, shape (R,)
        Whether the arms meet the explorer's goal, whether or not it stopped by itself.
    stopped : BoolArray, shape (R,)
        Whether the explorer's own stopping rule (or its budget) ended the run; where false, `max_samples`
        did, and the arms carry no guarantee.
    certified : BoolArray, shape (R,)
        Whether the arms carry the guarantee that the explorer was asked for; never with a fixed budget.
    seconds : FloatArray, shape (R,)
        Wall-clock seconds.
    path : str
        Which loop ran: ``"compiled"`` or ``"python"``.

    Examples
    --------
    >>> from cmab import SequentialHalving, identify
    >>> from instances import BernoulliArms
    >>> found = identify(SequentialHalving(4, budget=400), BernoulliArms([0.9, 0.1, 0.1, 0.1]), rng=0)
    >>> found.arms, found.samples
    ([array([0])], array([400]))
    """

    explorer: str
    arms: list[IntArray]
    samples: IntArray
    correct: BoolArray
    stopped: BoolArray
    certified: BoolArray
    seconds: FloatArray
    path: str = "python"

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean samples with its 95 % interval and the replications; return the matplotlib axes."""
        from cmab.plotting import sample_bars

        return sample_bars({self.explorer: self}, ax=ax)

    def __repr__(self) -> str:
        runs = len(self.arms)
        return (
            f"Identification({self.explorer}: {runs} runs, {int(self.stopped.sum())} stopped,"
            f" {int((self.stopped & ~self.correct).sum())} of them wrong,"
            f" mean samples {self.samples.mean():.4g})"
        )

    def _repr_html_(self) -> str:
        from cmab._html import table
        from cmab._summaries import sample_rows

        return table(sample_rows({self.explorer: self}))


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


def identify(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    replications: int = 1,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool = False,
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
        are never reached where the k-th and the next mean are equal, so set it unless the gaps are known.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Identification
        Arms, samples and correctness of each replication.

    Raises
    ------
    ValueError
        If a number is out of its range, the arms differ in number, or the outcomes do not fit the noise
        that the explorer is made for.

    Examples
    --------
    >>> from cmab import SequentialHalving, identify
    >>> from instances import BernoulliArms
    >>> explorer = SequentialHalving(n_arms=3, budget=300)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.1]), replications=3, rng=0).correct
    array([ True,  True,  True])
    """
    replications = integer("replications", replications, 1)
    if max_samples is not None:
        integer("max_samples", max_samples, 1)
    check_fit(explorer, environment)
    run = partial(explore, explorer, environment, root(rng), max_samples)
    # Compiled runs release the interpreter lock: threads then need no copies of the instance.
    prefer: Prefer = "threads" if open_doors(explorer, environment) else "processes"
    runs = sorted(_runs(run, replications, n_jobs, prefer, progress), key=lambda r: r.replication)
    return collect(type(explorer).__name__, runs)


def collect(explorer: str, runs: Sequence[Run]) -> Identification:
    """Return the runs, in their order, as one result."""
    return Identification(
        explorer=explorer,
        arms=[r.arms for r in runs],
        samples=np.array([r.samples for r in runs], np.int64),
        correct=np.array([r.correct for r in runs], np.bool_),
        stopped=np.array([r.stopped for r in runs], np.bool_),
        certified=np.array([r.certified for r in runs], np.bool_),
        seconds=np.array([r.seconds for r in runs]),
        path=runs[0].path,
    )


def check_fit(explorer: AnyExplorer, environment: Environment) -> None:
    """Refuse an environment whose arms or outcomes are not those that the explorer is made for."""
    name = type(explorer).__name__
    if explorer.n_arms != environment.n_arms:
        raise ValueError(
            f"explorer and environment must have the same base arms, got {explorer.n_arms} and"
            f" {environment.n_arms}"
        )
    # Room for rounding: half a support's length may have been computed in another order.
    if explorer.sigma is not None and environment.sigma > explorer.sigma * (1.0 + 1e-12):
        raise ValueError(
            f"environment must be {explorer.sigma:g}-sub-Gaussian, the sigma of {name}, got"
            f" sigma {environment.sigma:g}"
        )
    if explorer.support is not None:
        (low, high), (least, most) = explorer.support, environment.support
        if least < low or most > high:
            raise ValueError(
                f"environment must have outcomes in [{low:g}, {high:g}], the support of {name}, got"
                f" [{least:g}, {most:g}]"
            )


def _runs(
    run: Callable[[int], Run], replications: int, n_jobs: int, prefer: Prefer, progress: bool
) -> Iterator[Run]:
    from tqdm.auto import tqdm

    with tqdm(total=replications, unit=" runs", disable=not progress) as bar:
        if n_jobs == 1 or replications == 1:
            for index in range(replications):
                yield run(index)
                bar.update()
            return
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered")
        for result in workers(delayed(run)(index) for index in range(replications)):
            bar.update()
            yield result


def explore(
    explorer: AnyExplorer,
    environment: Environment,
    seed: np.random.SeedSequence,
    max_samples: int | None,
    replication: int,
) -> Run:
    """Play one replication."""
    state, rng = explorer.initial_state(), stream(seed, Purpose.LEARNER, replication)
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    samples = explore_compiled(explorer, environment, state, rng, coins, max_samples)
    path = "python" if samples is None else "compiled"
    if samples is None:
        samples = _explore(explorer, environment, state, rng, coins, max_samples)
    arms = explorer.recommend(state)
    correct = explorer.goal is not None and explorer.goal.is_correct(arms, environment.means)
    seconds = time.perf_counter() - started
    ends = explorer.is_done(state), explorer.is_certified(state)
    return Run(replication, arms, samples, correct, *ends, seconds, path)


def _explore(
    explorer: AnyExplorer,
    environment: Environment,
    state: object,
    rng: np.random.Generator,
    coins: np.random.Generator,
    max_samples: int | None,
) -> int:
    """Sample until the rule stops or the next batch would exceed the cap; return the samples."""
    samples = 0
    while len(step := explorer.step(state, rng)):
        arms, pulls = arm_indices("arms", step, explorer.n_arms), explorer.pulls(state)
        if max_samples is not None and samples + len(arms) * pulls > max_samples:
            break
        explorer.update(state, environment.sample(arms, pulls, coins))
        samples += len(arms) * pulls
    return samples
