"""The regret loop: many replications of a policy against an environment."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from cmab._fused import Doors, FusedRun, open_doors
from cmab._validation import integer
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.oracle import Sense
from cmab.policy import AnyPolicy
from cmab.regret import benchmark, cumulative_regret
from cmab.seeding import Purpose, Seed, root, stream
from cmab.session import Session

_TICK_SECONDS = 0.2
_LONGEST_CALL = 20_000_000  # arms x rounds in one compiled call: Ctrl-C and the bar wait that long


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


@dataclass(frozen=True, eq=False)
class Simulation:
    """What `simulate` recorded. R replications, C checkpoints.

    Attributes
    ----------
    policy : str
        The policy's name.
    rounds : IntArray, shape (C,)
        Rounds at which the other arrays were recorded.
    expected_rewards : FloatArray, shape (R, C)
        Cumulative expected reward of the super arms played.
    rewards : FloatArray, shape (R, C)
        Cumulative realised reward.
    oracle_calls : IntArray, shape (R,)
        Calls of the oracle.
    oracle_seconds : FloatArray, shape (R,)
        Wall-clock seconds in the oracle; ``nan`` on the compiled path, which has no clock inside.
    seconds : FloatArray, shape (R,)
        Wall-clock seconds in all.
    optimum : float
        Expected reward of the best super arm; ``nan`` if the environment does not know it.
    alpha, beta : float
        The guarantee that the policy's oracle declares.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised.
    path : str
        Which loop ran: ``"compiled"`` (policy, oracle and environment fused), ``"mixed"`` (a Python oracle
        between a compiled policy and a compiled environment) or ``"python"``. The numbers are the same.
    states : list
        Final state of the policy in each replication.
    super_arms : list of IntArray
        Last super arm of each replication.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> result = simulate(CUCB(oracle), SemiBandit(BernoulliArms([0.9, 0.2, 0.1]), oracle), 50, rng=0)
    >>> bool(result.regret[0, -1] == 50 * 0.9 - result.expected_rewards[0, -1])
    True
    """

    policy: str
    rounds: IntArray
    expected_rewards: FloatArray
    rewards: FloatArray
    oracle_calls: IntArray
    oracle_seconds: FloatArray
    seconds: FloatArray
    optimum: float
    alpha: float
    beta: float
    sense: Sense
    path: str = "python"
    states: list[Any] = field(default_factory=list, repr=False)
    super_arms: list[IntArray] = field(default_factory=list, repr=False)

    @property
    def regret(self) -> FloatArray:
        """Cumulative (alpha, beta)-approximation regret, shape (R, C): Chen et al. 2016, Definition 4."""
        per_round = self.alpha * self.beta * self.optimum
        return cumulative_regret(self.expected_rewards, self.rounds, per_round, self.sense)

    @property
    def exact_regret(self) -> FloatArray:
        """Cumulative regret against the optimum itself, shape (R, C)."""
        return cumulative_regret(self.expected_rewards, self.rounds, self.optimum, self.sense)

    @property
    def reward_per_round(self) -> FloatArray:
        """Mean expected reward of a round since the checkpoint before, shape (R, C)."""
        return np.diff(self.expected_rewards, prepend=0.0, axis=1) / np.diff(self.rounds, prepend=0)

    def __repr__(self) -> str:
        n_replications, last = self.rewards.shape[0], int(self.rounds[-1])
        final = self.regret[:, -1]
        final = final[np.isfinite(final)]
        text = f"{final.mean():.4g}" if final.size else "unknown"
        return f"Simulation({self.policy}: {n_replications} x {last} rounds, mean regret {text})"


def simulate(
    policy: AnyPolicy,
    environment: Environment,
    horizon: int,
    *,
    replications: int = 1,
    checkpoints: Sequence[int] | IntArray | None = None,
    rng: Seed = None,
    n_jobs: int = 1,
    progress: bool = False,
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
        Worker processes; -1 for all cores.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Simulation
        Cumulative rewards and regret at the checkpoints, and what the oracle cost.

    Raises
    ------
    ValueError
        If a number is out of its range, or the oracle's and the environment's arms differ in number.
    SimulationInterrupted
        On Ctrl-C, with the partial result.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=5, k=2)
    >>> arms = BernoulliArms([0.9, 0.8, 0.3, 0.2, 0.1])
    >>> result = simulate(CUCB(oracle), SemiBandit(arms, oracle), horizon=200, replications=3, rng=0)
    >>> result.regret.shape
    (3, 200)
    """
    horizon = integer("horizon", horizon, 1)
    replications = integer("replications", replications, 1)
    if policy.oracle.n_arms != environment.n_arms:
        raise ValueError(
            f"policy.oracle and environment must have the same base arms, got {policy.oracle.n_arms}"
            f" and {environment.n_arms}"
        )
    benchmark(policy.oracle, environment.optimum)
    rounds = default_checkpoints(horizon) if checkpoints is None else _checked(checkpoints, horizon)
    run = partial(_replicate, policy, environment, rounds, root(rng))
    records: dict[int, _Record] = {}
    finish = partial(_collect, policy, environment, rounds, records)
    try:
        for index, record in _records(run, replications, n_jobs, progress, int(rounds[-1])):
            records[index] = record
            if record.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise SimulationInterrupted(finish()) from None
    return finish()


def default_checkpoints(horizon: int) -> IntArray:
    """Return every round up to 1,000 rounds, and about 200 log-spaced ones beyond."""
    if horizon <= 1000:
        return np.arange(1, horizon + 1)
    return np.unique(np.round(np.geomspace(1, horizon, 200)).astype(np.int64))


def _checked(checkpoints: Sequence[int] | IntArray, horizon: int) -> IntArray:
    rounds = np.asarray(checkpoints)
    listed = rounds.ndim == 1 and rounds.size > 0 and rounds.dtype.kind in "iu"
    if not listed or (np.diff(rounds) <= 0).any() or rounds[0] < 1 or rounds[-1] > horizon:
        raise ValueError(f"checkpoints must be increasing integers in [1, {horizon}], got {checkpoints!r}")
    return rounds.astype(np.int64)


@dataclass(eq=False)
class _Record:
    """One replication."""

    expected_rewards: FloatArray
    rewards: FloatArray
    seconds: float = 0.0
    oracle_calls: int = 0
    oracle_seconds: float = 0.0
    state: Any = None
    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    interrupted: bool = False
    path: str = "python"


class _Metered:
    """Stands in for an oracle and counts the calls of `solve` and the seconds in them."""

    def __init__(self, oracle: Any) -> None:
        self._oracle = oracle
        self.calls = 0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        started = time.perf_counter()
        super_arm: IntArray = self._oracle.solve(means, rng)
        self.seconds += time.perf_counter() - started
        self.calls += 1
        return super_arm


def _replicate(
    policy: AnyPolicy,
    environment: Environment,
    rounds: IntArray,
    seed: np.random.SeedSequence,
    replication: int,
    tick: Callable[[int], object] | None = None,
) -> _Record:
    """Play one replication; Ctrl-C ends it early, with ``nan`` at the checkpoints that were not reached."""
    record = _Record(np.full(rounds.shape, np.nan), np.full(rounds.shape, np.nan))
    metered = _Metered(policy.oracle)
    learner = copy.copy(policy)
    object.__setattr__(learner, "oracle", metered)
    session = Session(learner, stream(seed, Purpose.LEARNER, replication))
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    doors = open_doors(policy, environment)
    record.path = doors.path if doors else "python"
    try:
        if doors:
            _play_compiled(doors, session, rounds, coins, record, tick)
        else:
            _play(session, environment, rounds, coins, record, tick)
    except KeyboardInterrupt:
        record.interrupted = True
    except Exception as error:
        error.add_note(f"in replication {replication} of {type(policy).__name__}")
        raise
    record.seconds = time.perf_counter() - started
    if record.path != "compiled":
        record.oracle_calls, record.oracle_seconds = metered.calls, metered.seconds
    record.state = session.state
    return record


def _play(
    session: Session[Any],
    environment: Environment,
    rounds: IntArray,
    coins: np.random.Generator,
    record: _Record,
    tick: Callable[[int], object] | None,
) -> None:
    earned, paid, value, position = 0.0, 0.0, math.nan, 0
    ticked, next_tick = 0, time.perf_counter() + _TICK_SECONDS
    previous = b"none"
    for t in range(1, int(rounds[-1]) + 1):
        ticket = session.ask()
        feedback = environment.play(ticket.super_arm, coins)
        session.tell(feedback)
        played = ticket.super_arm.tobytes()
        if played != previous:
            value, previous = environment.expected_reward(ticket.super_arm), played
        earned += value
        paid += feedback.reward
        if t == rounds[position]:
            record.expected_rewards[position], record.rewards[position] = earned, paid
            record.super_arm = ticket.super_arm
            position += 1
        if tick is not None and (t == rounds[-1] or time.perf_counter() >= next_tick):
            tick(t - ticked)
            ticked, next_tick = t, time.perf_counter() + _TICK_SECONDS


def _play_compiled(
    doors: Doors,
    session: Session[Any],
    rounds: IntArray,
    coins: np.random.Generator,
    record: _Record,
    tick: Callable[[int], object] | None,
) -> None:
    """As `_play`, with the rounds between two checkpoints in one compiled call (or several long ones)."""
    run = FusedRun(doors, session.policy.oracle, session.state, session.rng, coins)
    longest = max(1, _LONGEST_CALL // session.state.n_arms) if doors.oracle else 1000
    for position, end in enumerate(rounds):
        while session.state.rounds < end:
            step = min(longest, int(end) - session.state.rounds)
            run.play(step)
            if tick is not None:
                tick(step)
        record.rewards[position], record.expected_rewards[position] = run.earned
        record.super_arm = run.super_arm
        record.oracle_calls, record.oracle_seconds = int(end), math.nan


def _records(
    run: Callable[..., _Record], replications: int, n_jobs: int, progress: bool, horizon: int
) -> Iterable[tuple[int, _Record]]:
    """Yield (replication, record) as they finish."""
    from tqdm.auto import tqdm

    with tqdm(total=replications * horizon, unit=" rounds", disable=not progress, unit_scale=True) as bar:
        if n_jobs == 1 or replications == 1:
            for index in range(replications):
                yield index, run(index, bar.update if progress else None)
            return
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        for index, record in workers(delayed(_indexed)(run, index) for index in range(replications)):
            bar.update(horizon)
            yield index, record


def _indexed(run: Callable[..., _Record], index: int) -> tuple[int, _Record]:
    return index, run(index)


def _collect(
    policy: AnyPolicy, environment: Environment, rounds: IntArray, records: dict[int, _Record]
) -> Simulation:
    ordered = [records[index] for index in sorted(records)]
    shape = (len(ordered), rounds.shape[0])
    return Simulation(
        policy=type(policy).__name__,
        rounds=rounds,
        expected_rewards=np.array([r.expected_rewards for r in ordered]).reshape(shape),
        rewards=np.array([r.rewards for r in ordered]).reshape(shape),
        oracle_calls=np.array([r.oracle_calls for r in ordered], np.int64),
        oracle_seconds=np.array([r.oracle_seconds for r in ordered]),
        seconds=np.array([r.seconds for r in ordered]),
        optimum=environment.optimum,
        alpha=policy.oracle.alpha,
        beta=policy.oracle.beta,
        sense=policy.oracle.sense,
        path=ordered[0].path if ordered else "python",
        states=[r.state for r in ordered],
        super_arms=[r.super_arm for r in ordered],
    )
