"""The regret loop: many replications of a policy against an environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.certificates.certify import Certify
from cmab.environment import Environment, changes
from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policies.adaptive import learner_for
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
from cmab.validation import as_array, check_jobs, integer, shown

#: The largest number of rounds of a run. Up to this number, all integers are exact as floats.
LONGEST = 2**53


class SimulationInterrupted(KeyboardInterrupt):
    """Exception for Ctrl-C during `simulate`, with the results so far in `partial`.

    Attributes
    ----------
    partial : Simulation
        Results of the replications that were played completely or in part. Values after the last played round
        are ``nan``.

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


def simulate(
    policy: AnyPolicy | Oracle,
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
    certify: Certify | None = None,
) -> Simulation:
    """Simulate replications of a policy on an environment and return their rewards and regret.

    Parameters
    ----------
    policy : Policy or Oracle
        The learner. It only receives feedback and never the environment itself. For an oracle, it is
        `AdaptiveCTS` with the support of the environment, or with [0, 1] if that is not bounded.
    environment : Environment
        The instance.
    horizon : int
        Number of rounds of each replication.
    replications : int
        Number of independent replications.
    checkpoints : sequence of int, optional
        Rounds to record, as increasing integers in ``1..horizon``. If omitted, all rounds are recorded for a
        horizon of at most 1,000, and about 200 log-spaced rounds for a longer horizon.
    rng : int, SeedSequence, Generator or None
        Seed. The same seed gives the same numbers for any `n_jobs`, and gives all policies the same
        streams of the environment (common random numbers).
    n_jobs : int
        Number of workers, or -1 for all cores. The workers are threads if policy, oracle and environment are
        compiled, and processes otherwise.
    progress : bool, optional
        Whether to show a progress bar on standard error. If omitted, a run of more than a second shows a bar
        on a terminal or in a notebook, unless the environment variable ``CMAB_QUIET`` is set.
    batch : int
        Number of rounds per batch. The policy receives the feedback of all rounds of a batch after its last
        round. Feedback that would arrive after the horizon is lost.
    delay : int or callable, optional
        Number of rounds by which feedback is delayed, or a function ``delay(t, rng)`` that returns this
        number for round t. `rng` is a stream that is the same for all policies. The result must depend only
        on t and `rng`; a run calls the function again for some rounds to check this. None (the default) and
        0 mean no delay. Runs with delays or with batches of several rounds use the Python loop.
    certify : Certify, optional
        The options of a certificate of the regret at each checkpoint, such as ``Certify(delta=0.05)``. The
        certificates use the statistics of the policy and not the true means. They do not change the run.

    Returns
    -------
    Simulation
        Cumulative rewards and regret at the checkpoints, and the calls and time of the oracle.

    Raises
    ------
    ValueError
        If a number is out of range, if oracle and environment have different numbers of base arms, if the
        `support` of the policy does not fit the outcomes, if the declarations or results of the environment
        are invalid (such as outcomes outside its `support`), or if its means or optimum change during the
        run. If `certify` is given, also if rounds differ or feedback is late, and as in `regret_bound`.
    TypeError
        If `policy` or `environment` is not an instance of its class, or if `policy` is an explorer without an
        oracle.
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
    learner: AnyPolicy = learner_for(policy, getattr(environment, "support", None))
    check_fit(learner, environment)
    arrival = Arrival(batch, delay)
    if certify is not None:
        certify = certify.fitted(learner, environment.support)
        if changes(environment) or environment.context is not None or not arrival.is_at_once:
            raise ValueError(
                "certify must be None if rounds differ or feedback is late, because the bound is for equal"
                f" rounds with feedback, got {certify}"
            )
    benchmark(learner.oracle, finite_or_nan("environment.optimum", environment.optimum))
    rounds = check_rounds(checkpoints, horizon)
    compiled = compiled_run(learner, environment) if arrival.is_at_once else None
    run = partial(replicate_group, learner, environment, rounds, root(rng), arrival=arrival, certify=certify)
    together = groups(learner, environment, replications, n_jobs, arrival, certify)
    records: dict[int, Record] = {}
    finish = partial(_collect, learner, environment, rounds, records)
    try:
        # Compiled replications release the interpreter lock, and threads do not need copies of the instance.
        prefer: Prefer = "threads" if compiled and compiled.oracle else "processes"
        for group, played in _played(run, together, n_jobs, prefer, progress, int(rounds[-1])):
            records |= zip(group, played, strict=True)
            # A worker process returns Ctrl-C as a record instead of an exception.
            if played[0].interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise SimulationInterrupted(finish()) from None
    return finish()


def check_fit(policy: AnyPolicy, environment: Environment) -> None:
    """Check that a policy fits an environment.

    Raises
    ------
    TypeError
        If `policy` or `environment` is not an instance of its class, or the policy has no oracle.
    ValueError
        If the numbers of base arms differ, the support, means or context of the environment are invalid, or
        the support of the policy does not fit the outcomes.
    """
    check_policy_instance(policy)
    if isinstance(policy, Explorer) and not hasattr(policy, "oracle"):
        raise TypeError(
            f"policy must have an oracle, got {type(policy).__name__} without one; use identify for explorers"
        )
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be an Environment, got {shown(environment)}")
    if policy.oracle.n_arms != environment.n_arms:
        raise ValueError(
            "policy.oracle and environment must have the same number of base arms, got"
            f" {policy.oracle.n_arms} and {environment.n_arms}"
        )
    check_declared(environment)
    check_context(environment, policy.oracle)
    check_support(policy, environment)


def default_checkpoints(horizon: int) -> IntArray:
    """Return all rounds if `horizon` is at most 1,000, and about 200 log-spaced rounds otherwise."""
    if horizon <= 1000:
        return np.arange(1, horizon + 1)
    # Several early points round to the same integer.
    return np.unique(np.round(np.geomspace(1, horizon, 200)).astype(np.int64))


def check_rounds(checkpoints: Sequence[int] | IntArray | None, horizon: int) -> IntArray:
    """Return `checkpoints` (the default ones for None) as an array; raise ``ValueError`` if invalid."""
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
    """Yield groups of replications with their records, as they finish."""
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
    """Return the optimum per round. If rounds differ, return the mean over the played rounds."""
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
    certified = [r.proved_optima for r in ordered if r.proved_optima is not None]
    return Simulation(
        policy=type(policy).__name__,
        proved_optima=np.array(certified) if certified else None,
        states=[r.state for r in ordered],
        super_arms=[r.super_arm for r in ordered],
        certificates=[r.certificates for r in ordered] if any(r.certificates for r in ordered) else [],
        **gathered(SIMULATED, list(map(vars, ordered)), **common),
    )
