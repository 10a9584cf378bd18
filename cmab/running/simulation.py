"""The regret loop: many replications of a policy against an environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.policy import AnyPolicy, check_policy_instance
from cmab.results._columns import SIMULATED, gathered
from cmab.results.regret import benchmark
from cmab.results.simulation import Simulation
from cmab.running._arrivals import Arrival, Delay
from cmab.running._bars import shown_bar
from cmab.running._batched_replications import groups, replicate_group
from cmab.running._compiled_rounds import compiled_run
from cmab.running._parallel import Prefer, in_workers
from cmab.running._referee import check_context, check_declared, check_support, finite_or_nan
from cmab.running._replication import Record
from cmab.seeding import Seed, root
from cmab.spelling import names_arguments
from cmab.validation import as_array, check_jobs, integer, shown

#: Most rounds of a run: up to here all round numbers are exact as floats.
LONGEST = 2**53


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during `simulate`; what was finished by then is in `partial`.

    Attributes
    ----------
    partial : Simulation
        Results of the replications that were played, ``nan`` after the round they reached.

    Examples
    --------
    >>> from cmab import SimulationInterrupted
    >>> try:
    ...     pass  # result = simulate(...)
    ... except SimulationInterrupted as stopped:
    ...     result = stopped.partial
    """

    def __init__(self, partial_result: Simulation) -> None:
        super().__init__("interrupted; the finished rounds are in .partial")
        self.partial = partial_result


@names_arguments
def simulate(
    policy: AnyPolicy,
    environment: Environment,
    horizon: int,
    *,
    replications: int = 1,
    checkpoints: Sequence[int] | IntArray | None = None,
    rng: Seed = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    batch: int = 1,
    delay: Delay = None,
) -> Simulation:
    """Play `policy` against `environment` for `horizon` rounds, many times.

    Parameters
    ----------
    policy : Policy
        The learner; it never sees the environment.
    environment : Environment
        The instance.
    horizon : int
        Rounds of each replication.
    replications : int
        Number of independent replications.
    checkpoints : sequence of int, optional
        Rounds to record, increasing, in ``1..horizon``. Every round up to 1,000 rounds, and 200 log-spaced
        ones beyond, if left out.
    rng : int, SeedSequence, Generator or None
        Seed. The same seed gives the same numbers for any `n_jobs`, and gives all policies the same
        environment streams (common random numbers).
    n_jobs : int
        Workers, -1 for all cores: threads on the compiled path, processes on the others.
    progress : bool, optional
        Whether to show a progress bar on standard error. If omitted, a run of more than a second shows one on
        a terminal and in a notebook, unless the environment variable ``CMAB_QUIET`` is set.
    batch : int
        Rounds after which feedback is told, all of theirs together. What is not told by the last round is
        never told.
    delay : int or callable, optional
        How many rounds later the feedback of a round is told, or ``delay(t, rng)`` that says so of round t,
        drawn from a stream that is the same for all policies, and with nothing of its own that moves: a run
        asks it for some rounds again. None, the default, and 0 mean at once; other delays, and batches of
        several rounds, are played by the Python loop.

    Returns
    -------
    Simulation
        Cumulative rewards and regret at the checkpoints, and what the oracle cost.

    Raises
    ------
    ValueError
        If a number is out of its range, the oracle's and the environment's arms differ in number, the
        policy's `support` does not fit the outcomes, or the environment declares or answers what cannot
        be, such as outcomes outside its own `support`, or changes its means or its optimum during the run.
    TypeError
        If policy or environment is none, for instance a class, or the policy an explorer without an oracle.
    ChildProcessError
        If a worker process died.
    SimulationInterrupted
        On Ctrl-C, with the partial result.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=5, k=2)
    >>> arms = BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3])
    >>> result = simulate(CUCB(oracle), SemiBandit(arms, oracle), horizon=200, replications=3, rng=0)
    >>> result.regret.shape
    (3, 200)
    """
    horizon = integer("horizon", horizon, 1, LONGEST)
    replications = integer("replications", replications, 1)
    check_jobs(n_jobs)
    check_fit(policy, environment)
    arrival = Arrival(batch, delay)
    benchmark(policy.oracle, finite_or_nan("environment.optimum", environment.optimum))
    rounds = check_rounds(checkpoints, horizon)
    compiled = compiled_run(policy, environment) if arrival.is_at_once else None
    run = partial(replicate_group, policy, environment, rounds, root(rng), arrival=arrival)
    together = groups(policy, environment, replications, n_jobs, arrival)
    records: dict[int, Record] = {}
    finish = partial(_collect, policy, environment, rounds, records)
    try:
        # Compiled replications release the interpreter lock: threads then need no copies of the instance.
        prefer: Prefer = "threads" if compiled and compiled.oracle else "processes"
        for group, played in _played(run, together, n_jobs, prefer, progress, int(rounds[-1])):
            records |= zip(group, played, strict=True)
            # In a process of its own, Ctrl-C comes back as a record rather than as an exception.
            if played[0].interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise SimulationInterrupted(finish()) from None
    return finish()


def check_fit(policy: AnyPolicy, environment: Environment) -> None:
    """Refuse a policy and an environment that do not belong together.

    Raises
    ------
    TypeError
        If one of them is none.
    ValueError
        If the base arms differ in number, the environment's support or means are none, its context is none
        of the oracle's arms, or the policy's support does not fit the outcomes.
    """
    check_policy_instance(policy)
    if isinstance(policy, Explorer) and not hasattr(policy, "oracle"):
        raise TypeError(
            f"policy must have an oracle; {type(policy).__name__} has none: identify runs explorers"
        )
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be an Environment, got {shown(environment)}")
    if policy.oracle.n_arms != environment.n_arms:
        raise ValueError(
            f"policy.oracle and environment must have the same base arms, got {policy.oracle.n_arms}"
            f" and {environment.n_arms}"
        )
    check_declared(environment)
    check_context(environment, policy.oracle)
    check_support(policy, environment)


def default_checkpoints(horizon: int) -> IntArray:
    """Return every round up to 1,000 rounds, and about 200 log-spaced ones beyond."""
    if horizon <= 1000:
        return np.arange(1, horizon + 1)
    # Early ones round to the same number.
    return np.unique(np.round(np.geomspace(1, horizon, 200)).astype(np.int64))


def check_rounds(checkpoints: Sequence[int] | IntArray | None, horizon: int) -> IntArray:
    """Return `checkpoints` as an array, the default ones for None; refuse what is not increasing."""
    if checkpoints is None:
        return default_checkpoints(horizon)
    rounds = as_array("checkpoints", checkpoints)
    listed = rounds.ndim == 1 and rounds.size > 0 and rounds.dtype.kind in "iu"
    if not listed or (np.diff(rounds) <= 0).any() or rounds[0] < 1 or rounds[-1] > horizon:
        raise ValueError(
            f"checkpoints must be increasing integers in [1, {horizon}], got {shown(checkpoints)}"
        )
    return rounds.astype(np.int64)


def _played(
    run: partial[list[Record]],
    together: list[list[int]],
    n_jobs: int,
    prefer: Prefer,
    progress: bool | None,
    horizon: int,
) -> Iterable[tuple[list[int], list[Record]]]:
    """Yield groups of replications with their records as they finish."""
    total = sum(map(len, together)) * horizon
    with shown_bar(progress, total=total, unit=" rounds", unit_scale=True) as bar:
        if n_jobs == 1 or len(together) == 1:
            for group in together:
                yield group, run(group, bar.update if bar is not None else None)
            return
        sent = dict(zip(("policy", "environment"), run.args, strict=False))
        for group, played in in_workers(partial(_named, run), together, n_jobs, prefer=prefer, sent=sent):
            if bar is not None:
                bar.update(len(group) * horizon)
            yield group, played


def _named(run: partial[list[Record]], group: list[int]) -> tuple[list[int], list[Record]]:
    return group, run(group)


def mean_optimum(environment: Environment, rounds: IntArray, optima: FloatArray | None) -> float:
    """Return the optimum of a round; where rounds differ, the mean of those that were played."""
    return environment.optimum if optima is None else float(np.mean(optima[..., -1] / rounds[-1]))


def _collect(
    policy: AnyPolicy, environment: Environment, rounds: IntArray, records: dict[int, Record]
) -> Simulation:
    ordered = [records[index] for index in sorted(records)]
    kept = [r.optima for r in ordered if r.optima is not None]
    common = {
        "rounds": rounds,
        "optimum": mean_optimum(environment, rounds, np.array(kept) if kept else None),
        **{name: getattr(policy.oracle, name) for name in ("alpha", "beta", "sense")},
        "path": ordered[0].path if ordered else "python",
    }
    return Simulation(
        policy=type(policy).__name__,
        states=[r.state for r in ordered],
        super_arms=[r.super_arm for r in ordered],
        **gathered(SIMULATED, list(map(vars, ordered)), **common),
    )
