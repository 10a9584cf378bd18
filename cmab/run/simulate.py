"""Simulation: replications of a policy on an environment, with their regret."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.certificate import Certify
from cmab.compiled import expecting
from cmab.environment import Environment, changes
from cmab.explorer import Explorer
from cmab.feedback import Context
from cmab.oracle import Oracle
from cmab.policies.adaptive import learner_for
from cmab.policy import AnyPolicy, check_policy_instance
from cmab.run.loops import Delay, Mail, Tick, compiled_run, finite_or_nan, play_compiled, play_in_python
from cmab.run.results import Simulation, benchmark, joined
from cmab.run.workers import ended_by_signals, progress_bar, replicated
from cmab.seeding import Purpose, Seed, root, stream
from cmab.validation import as_array, check_jobs, check_vector, integer, real, real_array, shown

#: The largest number of rounds of a run. Up to this number, all integers are exact as floats.
LONGEST = 2**53


class SimulationInterrupted(KeyboardInterrupt):
    """Exception for Ctrl-C or SIGTERM during `simulate`, with the results so far in `partial`.

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
        super().__init__(partial_result)
        self.partial = partial_result

    def __str__(self) -> str:
        return "interrupted; the finished rounds are in .partial"


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
        on t and `rng`. None (the default) and 0 mean no delay. Runs with delays or with batches of several
        rounds use the Python loop.
    certify : Certify, optional
        The options of a certificate of the regret at each checkpoint, such as ``Certify(delta=0.05)``. The
        certificates use the statistics of the policy and not the true means. They do not change the run.

    Returns
    -------
    Simulation
        Cumulative rewards and regret at the checkpoints, and the time of the oracle.

    Raises
    ------
    ValueError
        If a number is out of range, if oracle and environment have different numbers of base arms, if the
        `support` of the policy does not fit the outcomes, or if the declarations or results of the
        environment are invalid (such as outcomes outside its `support`). If `certify` is given, also if
        rounds differ or feedback is late, and as in `regret_bound`.
    TypeError
        If `policy` or `environment` is not an instance of its class, or if `policy` is an explorer without an
        oracle.
    ChildProcessError
        If a worker process died.
    SimulationInterrupted
        On Ctrl-C or SIGTERM, with the partial result.

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
    batch = integer("batch", batch, 1)
    if delay is not None and not callable(delay):
        delay = integer("delay, which may be a function of (t, rng),", delay, 0)
    is_late = batch > 1 or bool(delay)
    if certify is not None:
        certify = certify.fitted(learner, environment.support)
        if changes(environment) or environment.context is not None or is_late:
            raise ValueError(
                "certify must be None if rounds differ or feedback is late, because the bound is for equal"
                f" rounds with feedback, got {certify}"
            )
    rounds = check_rounds(checkpoints, horizon)
    run = partial(
        replicate, learner, environment, rounds, root(rng), batch=batch, delay=delay, certify=certify
    )
    found: dict[int, Simulation] = {}
    try:
        last, is_alone = int(rounds[-1]), n_jobs == 1 or replications == 1
        with (
            ended_by_signals(),
            expecting(replications * last),
            progress_bar(progress, total=replications * last, unit=" rounds", unit_scale=True) as bar,
        ):
            if is_alone and bar is not None:
                run = partial(run, tick=bar.update)
            # Compiled replications release the interpreter lock, and threads need no copies.
            threads = not is_late and _is_compiled(learner, environment)
            for number, result in replicated(run, replications, n_jobs, threads=threads):
                found[number] = result
                if bar is not None and not is_alone:
                    bar.update(last)
    except KeyboardInterrupt as stopped:
        parts = [found[number] for number in sorted(found)]
        parts += [stopped.partial] if isinstance(stopped, SimulationInterrupted) else []
        if not parts:
            raise
        raise SimulationInterrupted(joined(parts)) from None
    return joined([found[number] for number in range(replications)])


def replicate(
    policy: AnyPolicy,
    environment: Environment,
    rounds: IntArray,
    seed: np.random.SeedSequence,
    replication: int,
    *,
    batch: int = 1,
    delay: Delay = None,
    certify: Certify | None = None,
    tick: Tick = None,
) -> Simulation:
    """Return the result of one replication. After Ctrl-C, raise ``SimulationInterrupted`` with its rounds."""
    # Each purpose has its own stream, so draws of the policy do not change the outcomes.
    learner, coins, of_rounds = (
        stream(seed, purpose, replication)
        for purpose in (Purpose.LEARNER, Purpose.ENVIRONMENT, Purpose.ROUNDS)
    )
    state = policy.initial_state(learner)
    started = time.perf_counter()
    # Create the forms for each replication, because kernels contain buffers.
    is_late = batch > 1 or bool(delay)
    compiled = None if is_late else compiled_run(policy, environment)
    record = _blank(policy, environment, rounds, compiled.path if compiled else "python")
    options: dict[str, Any] = {"certify": certify, "tick": tick}
    try:
        if compiled:
            play_compiled(compiled, policy, state, (learner, coins), record, **options)
        else:
            mail = Mail(batch, delay, stream(seed, Purpose.DELAYS, replication)) if is_late else None
            play_in_python(
                policy, environment, state, (learner, coins, of_rounds), record, mail=mail, **options
            )
    except KeyboardInterrupt:
        raise SimulationInterrupted(_ended(record, policy, state, started)) from None
    except Exception as error:
        error.add_note(f"in replication {replication} of {type(policy).__name__}")
        raise
    return _ended(record, policy, state, started)


def _blank(policy: AnyPolicy, environment: Environment, rounds: IntArray, path: str) -> Simulation:
    """Return a result of one replication without values."""

    def unknown() -> FloatArray:
        return np.full((1, len(rounds)), np.nan)

    oracle = policy.oracle
    return Simulation(
        policy=type(policy).__name__,
        rounds=rounds,
        expected_rewards=unknown(),
        rewards=unknown(),
        oracle_seconds=np.full(1, np.nan),
        seconds=np.zeros(1),
        optimum=environment.optimum,
        alpha=oracle.alpha,
        beta=oracle.beta,
        sense=oracle.sense,
        path=path,
        optima=unknown() if changes(environment) else None,
    )


def _ended(record: Simulation, policy: AnyPolicy, state: Any, started: float) -> Simulation:
    """Return the result with the values that are known at the end."""
    record.seconds[0] = time.perf_counter() - started
    record.change_points.append(np.array(getattr(state, "restarts", ()), np.int64))
    left = getattr(policy, "budgets_left", None)
    record.budgets_left.append(np.empty(0) if left is None else np.array(left(state), np.float64))
    if record.optima is None:
        return record
    return replace(record, optimum=float(record.optima[0, -1] / record.rounds[-1]))


def _is_compiled(policy: AnyPolicy, environment: Environment) -> bool:
    compiled = compiled_run(policy, environment)
    return compiled is not None and compiled.oracle is not None


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
    if not environment.has_rounds:
        raise ValueError(
            f"environment must be an environment of rounds such as SemiBandit({shown(environment)}, oracle),"
            " got the base arms alone, which only explorers sample"
        )
    if policy.oracle.n_arms != environment.n_arms:
        raise ValueError(
            "policy.oracle and environment must have the same number of base arms, got"
            f" {policy.oracle.n_arms} and {environment.n_arms}"
        )
    check_declared(environment)
    context = environment.context
    if context is not None:
        if not isinstance(context, Context):
            raise ValueError(f"environment.context must be a Context or None, got {shown(context)}")
        context.check(policy.oracle.n_arms, policy.oracle.n_choices)
    check_support(policy, environment)
    _check_optimum(policy, environment)


def _check_optimum(policy: AnyPolicy, environment: Environment) -> None:
    """Raise unless the optimum gives a regret; warn if it is unknown for a reason that has a remedy."""
    optimum = finite_or_nan("environment.optimum", environment.optimum)
    benchmark(policy.oracle, optimum)
    oracle = getattr(environment, "oracle", None)
    if math.isnan(optimum) and isinstance(oracle, Oracle) and not oracle.is_exact:
        warnings.warn(
            f"the regret is unknown, because the oracle of the environment, {type(oracle).__name__}, is"
            " approximate: give the environment an exact oracle of the same super arms, and the policy the"
            " approximate one",
            UserWarning,
            stacklevel=4,
        )


def check_rounds(checkpoints: Sequence[int] | IntArray | None, horizon: int) -> IntArray:
    """Return `checkpoints` as an array; raise ``ValueError`` if they are invalid.

    For None, return all rounds if `horizon` is at most 1,000, and about 200 log-spaced rounds otherwise.
    """
    if checkpoints is None:
        if horizon <= 1000:
            return np.arange(1, horizon + 1)
        # Several early points round to the same integer.
        return np.unique(np.round(np.geomspace(1, horizon, 200)).astype(np.int64))
    rounds = as_array("checkpoints", checkpoints)
    listed = rounds.ndim == 1 and rounds.size > 0 and rounds.dtype.kind in "iu"
    if not listed or (np.diff(rounds) <= 0).any() or rounds[0] < 1 or rounds[-1] > horizon:
        raise ValueError(
            f"checkpoints must be increasing integers in [1, {horizon}], got {shown(checkpoints)}"
        )
    return rounds.astype(np.int64)


def check_declared(environment: Environment) -> None:
    """Raise ``ValueError`` unless `support`, `sigma` and `means` of an environment are valid."""
    try:
        low, high = (_real_or_infinite("environment.support", end) for end in environment.support)
    except (TypeError, ValueError):
        low, high = math.inf, -math.inf
    if not low <= high or low == math.inf or high == -math.inf:
        raise ValueError(
            f"environment.support must be two numbers (low, high) with low <= high, which may be infinite,"
            f" got {shown(environment.support)}"
        )
    if _real_or_infinite("environment.sigma", environment.sigma) < 0.0:
        raise ValueError(f"environment.sigma must not be negative, got {environment.sigma}")
    means: Any = environment.means
    if not isinstance(means, np.ndarray):
        raise ValueError(f"environment.means must be a numpy array, got {shown(means)}")
    check_vector("environment.means", real_array("environment.means", means), environment.n_arms)


def check_support(policy: AnyPolicy, environment: Environment) -> None:
    """Raise ``ValueError`` unless the outcomes of an environment fit the support of a policy.

    They fit if they lie in the support, or if all means lie in it and sigma is at most half its length. The
    confidence radii and caps of the policy require this.
    """
    if policy.support is None or not policy.learns:
        return
    (low, high), (least, most) = policy.support, environment.support
    # Outcomes in the support satisfy all confidence intervals.
    if low <= least and most <= high:
        return
    # By Hoeffding's lemma, outcomes in [low, high] are sub-Gaussian with sigma (high - low) / 2. Others with
    # this sigma and means in the interval, such as Gaussian outcomes, have the same deviations.
    slack, means = 1e-12 * (high - low), np.asarray(environment.means)
    if (
        environment.sigma > (high - low) / 2 + slack
        or not ((means >= low - slack) & (means <= high + slack)).all()
    ):
        raise ValueError(
            f"environment must have outcomes in [{low:g}, {high:g}], the support of {type(policy).__name__},"
            f" or means in it and a sigma of at most {(high - low) / 2:g}; got outcomes in [{least:g},"
            f" {most:g}], means from {means.min():g} to {means.max():g}, sigma {environment.sigma:g}."
            f" Set the support of the policy to an interval that fits"
        )


def _real_or_infinite(name: str, value: Any) -> float:
    """Return `value` as a float; raise ``ValueError`` if it is ``nan``."""
    return float(value) if isinstance(value, float | np.floating) and math.isinf(value) else real(name, value)
