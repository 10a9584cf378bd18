"""Planning the number of samples of explorers from a guess of the means."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from cmab.confidence.kl import bernoulli_divergence
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.goals import ExploreM
from cmab.results.identification import Identification
from cmab.results.sample_plan import SamplePlan
from cmab.running.identification import check_fit, identify
from cmab.seeding import Seed, root
from cmab.theory.best_k_time import best_k_time
from cmab.theory.characteristic_time import characteristic_time, gaussian_divergence
from cmab.theory.lower_bounds import least_best_k_samples
from cmab.validation import listed, real, shown

#: Largest number of pairs of arms for which the characteristic time of the best k takes less than a second.
_MOST_PAIRS = 500


def plan(
    explorers: Mapping[str, AnyExplorer] | AnyExplorer,
    environment: Environment,
    *,
    deltas: Sequence[float] | None = None,
    replications: int = 100,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool = False,
) -> SamplePlan:
    """Estimate the number of samples of explorers if a guess of the means is true.

    The result has the mean samples from simulations, and a lower bound on the samples of any rule.

    Parameters
    ----------
    explorers : mapping of str to Explorer, or Explorer
        Explorers with a `delta`, by the names that tables and figures show.
    environment : Environment
        The guess, such as ``BernoulliArms([0.5, 0.45, 0.4])``. Use the smallest gaps that you want to detect.
    deltas : sequence of float, optional
        Error probabilities to try, each in (0, 1). They replace the `delta` of each explorer.
    replications : int
        Number of runs of each explorer and delta.
    rng : int, SeedSequence, Generator or None
        Seed.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    max_samples : int, optional
        Largest number of samples of a run, as in `identify`.
    progress : bool
        Whether to show a progress bar for each explorer and delta.

    Returns
    -------
    SamplePlan
        The numbers of samples, with tables and a plot of samples by delta.

    Raises
    ------
    TypeError
        If `explorers` is neither an explorer nor a mapping.
    ValueError
        If `explorers` is empty, if an explorer has no `delta`, or if `identify` raises.

    Examples
    --------
    >>> from cmab import LUCB1, LilRandLUCB, plan
    >>> from instances import BernoulliArms
    >>> rules = {"LUCB1": LUCB1(4, k=1, delta=0.1), "lil'RandLUCB": LilRandLUCB(4, k=1, delta=0.1)}
    >>> found = plan(rules, BernoulliArms([0.7, 0.5, 0.4, 0.3]), deltas=(0.1, 0.01), replications=20, rng=0)
    >>> [row["explorer"] for row in found.rows()]
    ['LUCB1', 'LUCB1', "lil'RandLUCB", "lil'RandLUCB"]
    """
    named = {type(explorers).__name__: explorers} if isinstance(explorers, Explorer) else explorers
    if not isinstance(named, Mapping):
        raise TypeError(f"explorers must be an Explorer or a mapping of names to them, got {shown(named)}")
    if not named:
        raise ValueError("explorers must have at least one entry, got none")
    # Check all explorers first, because a run may take hours.
    rules = {name: _by_delta(name, each, deltas) for name, each in named.items()}
    for each in named.values():
        check_fit(each, environment)
    least = {
        name: {delta: least_samples(rule, environment, delta) for delta, rule in own.items()}
        for name, own in rules.items()
    }
    seed = root(rng)

    def run(rule: AnyExplorer) -> Identification:
        return identify(
            rule,
            environment,
            replications=replications,
            rng=seed,
            n_jobs=n_jobs,
            max_samples=max_samples,
            progress=progress,
        )

    return SamplePlan(
        environment=repr(environment),
        results={name: {delta: run(rule) for delta, rule in own.items()} for name, own in rules.items()},
        least=least,
    )


def _by_delta(name: str, explorer: AnyExplorer, deltas: Sequence[float] | None) -> dict[float, AnyExplorer]:
    """Return the explorer for each delta."""
    own = getattr(explorer, "delta", None)
    if not isinstance(own, float):
        raise ValueError(f"explorers[{name!r}] must have a delta, got {shown(explorer)}")
    if deltas is None:
        return {own: explorer}
    if not dataclasses.is_dataclass(explorer):
        raise ValueError(
            f"explorers[{name!r}] must be a dataclass if deltas are given, got {shown(explorer)}"
        )
    chances = listed("deltas", deltas, "numbers in (0, 1)")
    if not chances:
        raise ValueError("deltas must have at least one entry, got none")
    tried = sorted((real("deltas", delta, 0.0, 1.0, inside=True) for delta in chances), reverse=True)
    return {delta: dataclasses.replace(explorer, delta=delta) for delta in tried}


def least_samples(explorer: AnyExplorer, environment: Environment, delta: float) -> float | None:
    """Return a lower bound on the mean samples of any rule with this goal, or None if it is unknown."""
    goal, means = explorer.goal, environment.means
    if not isinstance(goal, ExploreM) or goal.epsilon > 0.0:
        return None
    scale, divergence = 1.0, bernoulli_divergence
    low, high = environment.support
    if (low, high) == (-float("inf"), float("inf")):
        scale, divergence = environment.sigma**2, gaussian_divergence
    elif (low, high) != (0.0, 1.0):
        return None
    k, evidence = goal.k, bernoulli_divergence(delta, max(delta, 1.0 - delta))
    order = sorted(means, reverse=True)
    if order[k - 1] == order[k]:
        return float("inf")
    if k == 1:
        return scale * characteristic_time(means, divergence=divergence)[1] * evidence
    if k * (len(means) - k) <= _MOST_PAIRS:
        return scale * best_k_time(means, k, divergence=divergence)[1] * evidence
    return scale * least_best_k_samples(means, k, delta=delta, divergence=divergence)
