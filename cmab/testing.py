"""Conformance checks for oracles, policies, explorers and environments; our own tests run them too.

Each check raises ``AssertionError`` and says what was expected and what came.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.session import Session

_TOLERANCE = 1e-9


def check_oracle(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    trials: int = 50,
    rng: int = 0,
) -> None:
    """Check that `oracle` keeps its promises on random, tied and degenerate means.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms, for an exhaustive check of ``alpha`` and ``beta``.
    low, high : float
        Range of the means that the oracle accepts.
    trials : int
        Number of random means.
    rng : int
        Seed.

    Raises
    ------
    AssertionError
        At the first fault: form of the answer, infeasible, changed its input, not deterministic, another
        answer on a repeated call or after pickling, or too far from the optimum. The fault ``guarantee``
        is raised with probability below 1e-6 for an oracle that keeps its promise.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(n_arms=5, k=2), super_arms=combinations(range(5), 2))
    """
    family = None if super_arms is None else [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
    twin: Oracle = pickle.loads(pickle.dumps(oracle))
    shortfalls = []
    problems = list(_means(oracle.n_arms, low, high, trials, np.random.default_rng(rng)))
    for means in problems:
        super_arm = _solve(oracle, means)
        _same(super_arm, _solve(oracle, means), "determinism: the same means and generator state")
        _same(super_arm, _solve(twin, means), "pickling: a pickled copy")
        if family is not None:
            shortfalls.append(_shortfall(oracle, family, super_arm, means))
    first = problems[0]
    _same(_solve(oracle, first), _solve(twin, first), "memory: the first problem after many others")
    if family is not None:
        _check_guarantee(oracle, shortfalls)


def _means(
    n_arms: int, low: float, high: float, trials: int, rng: np.random.Generator
) -> Iterable[FloatArray]:
    """Yield means: constant ones, one arm above the others, few distinct values, and uniform ones."""
    for value in (high, low, (low + high) / 2):
        yield np.full(n_arms, value)
    for arm in rng.permutation(n_arms)[:5]:
        yield np.where(np.arange(n_arms) == arm, high, low)
    for _ in range(trials):
        yield rng.choice(np.linspace(low, high, 4), n_arms)
        yield rng.uniform(low, high, n_arms)


def _solve(oracle: Oracle, means: FloatArray) -> IntArray:
    """Solve one problem and check the form of the answer."""
    given = means.copy()
    answer = oracle.solve(given, np.random.default_rng(7))
    name = type(oracle).__name__
    assert np.array_equal(given, means), f"input: {name}.solve must leave its means unchanged"
    assert isinstance(answer, np.ndarray), (
        f"form: {name}.solve must return an array, got {type(answer).__name__}"
    )
    assert answer.ndim == 1, f"form: a super arm must be 1-D, got shape {answer.shape}"
    assert answer.size == 0 or answer.dtype.kind in "iu", (
        f"form: a super arm holds integers, got {answer.dtype}"
    )
    assert len(np.unique(answer)) == len(answer), f"form: a super arm must not repeat entries, got {answer}"
    inside = answer.size == 0 or (answer.min() >= 0 and answer.max() < oracle.n_choices)
    assert inside, f"form: entries must lie in range({oracle.n_choices}), got {answer}"
    assert oracle.is_feasible(answer), f"feasibility: {name}.is_feasible refuses its own answer {answer}"
    assert len(oracle.labels(answer)) == len(answer), "labels: there must be one for each entry"
    return answer


def _same(first: IntArray, second: IntArray, what: str) -> None:
    assert np.array_equal(first, second), f"{what} gave {second} instead of {first}"


def _shortfall(oracle: Oracle, family: list[IntArray], super_arm: IntArray, means: FloatArray) -> bool:
    """Return whether the answer is worse than alpha times the optimum over `family`."""
    members = {tuple(sorted(arm.tolist())) for arm in family}
    assert tuple(sorted(super_arm.tolist())) in members, (
        f"feasibility: {super_arm} is not one of the super arms"
    )
    values = [oracle.expected_reward(arm, means) for arm in family]
    value = oracle.expected_reward(super_arm, means)
    slack = _TOLERANCE * (1.0 + abs(value))
    if oracle.sense == "max":
        return value < oracle.alpha * max(values) - slack
    return value > oracle.alpha * min(values) + slack


def _check_guarantee(oracle: Oracle, shortfalls: list[bool]) -> None:
    """Binomial test of the declared beta, at level 1e-6; a single shortfall condemns beta = 1."""
    failures, trials = sum(shortfalls), len(shortfalls)
    tail = sum(
        math.comb(trials, i) * (1 - oracle.beta) ** i * oracle.beta ** (trials - i)
        for i in range(failures, trials + 1)
    )
    assert failures == 0 or tail >= 1e-6, (
        f"guarantee: {failures} of {trials} answers are worse than alpha={oracle.alpha} times the optimum,"
        f" which beta={oracle.beta} does not allow"
    )


def check_environment(
    environment: Environment, super_arms: Iterable[ArrayLike], *, draws: int = 4000
) -> None:
    """Check that an environment's feedback has the means and rewards that it claims.

    Parameters
    ----------
    environment : Environment
        The environment to check.
    super_arms : iterable of array_like
        Some feasible super arms.
    draws : int
        Rounds played with each.

    Raises
    ------
    AssertionError
        If an outcome leaves the support, the feedback or the rewards do not have the means that are claimed
        (each comparison fails with probability below 1e-6 when they do), the same generator state gives
        another round, or a super arm is worth more than the optimum.

    Examples
    --------
    >>> from cmab.testing import check_environment
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> check_environment(SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), TopK(3, k=2)), [[0, 1], [1, 2]])
    """
    rng = np.random.default_rng(11)
    for entries in super_arms:
        super_arm = np.array(list(entries), np.int64)  # type: ignore[arg-type]
        first = environment.play(super_arm, np.random.default_rng(3))
        again = environment.play(super_arm, np.random.default_rng(3))
        _same(first.arms, again.arms, "determinism: the same generator state")
        assert np.array_equal(first.outcomes, again.outcomes), (
            "determinism: the same generator state, new outcomes"
        )
        rounds = [environment.play(super_arm, rng) for _ in range(draws)]
        _check_rewards(environment, super_arm, np.array([f.reward for f in rounds]))
        _check_outcomes(environment, rounds)
    _check_pulls(environment, draws, rng)


def _check_rewards(environment: Environment, super_arm: IntArray, rewards: FloatArray) -> None:
    claimed = environment.expected_reward(super_arm)
    _check_mean(f"reward of {super_arm.tolist()}", rewards, claimed)
    assert not claimed > environment.optimum + 1e-9 or _is_cost(environment), (
        f"optimum: {super_arm} is worth {claimed}, more than the optimum {environment.optimum}"
    )


def _is_cost(environment: Environment) -> bool:
    return getattr(getattr(environment, "oracle", None), "sense", "max") == "min"


def _check_outcomes(environment: Environment, rounds: list[Feedback]) -> None:
    arms = np.concatenate([f.arms for f in rounds])
    outcomes = np.concatenate([f.outcomes for f in rounds])
    low, high = environment.support
    assert outcomes.size == 0 or (outcomes.min() >= low and outcomes.max() <= high), (
        "support: an outcome leaves it"
    )
    for arm in np.unique(arms)[:50]:
        _check_mean(f"outcomes of arm {arm}", outcomes[arms == arm], environment.means[arm])


def _check_pulls(environment: Environment, draws: int, rng: np.random.Generator) -> None:
    for arm in range(min(environment.n_arms, 5)):
        pulled = environment.pull(np.full(draws, arm), rng)
        _check_mean(f"pulls of arm {arm}", pulled, environment.means[arm])
        sums, squares = environment.pull_many(np.array([arm]), np.array([draws]), rng)
        scale = max(float(pulled.std()), 1e-12)
        assert abs(sums[0] / draws - environment.means[arm]) <= 7 * scale / math.sqrt(draws) + 1e-9, (
            "pull_many: sum"
        )
        assert squares[0] >= sums[0] ** 2 / draws - 1e-6, "pull_many: squares"


def _check_mean(what: str, sample: FloatArray, claimed: float) -> None:
    """Compare a sample mean with its claim: 7 standard errors, more where the sample is degenerate."""
    n = len(sample)
    if n < 30:
        return
    margin = 7 * float(sample.std()) / math.sqrt(n) + 20 * float(np.ptp(sample)) / n + 1e-9
    if np.ptp(sample) == 0.0:
        margin = 20.0 / n + 1e-9
    mean = float(sample.mean())
    assert abs(mean - claimed) <= margin, f"{what}: mean {mean:.6g} over {n} draws, claimed {claimed:.6g}"


def check_policy(policy: AnyPolicy, environment: Environment, *, rounds: int = 50, rng: int = 0) -> None:
    """Check that a policy keeps state and parameters apart, and can be saved and resumed.

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        Something to play against.
    rounds : int
        Rounds to play.
    rng : int
        Seed.

    Raises
    ------
    AssertionError
        If `select` changes the state, the same seed gives another run, a fresh state remembers an old run,
        or a session that was saved and loaded plays another future.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    """
    played = _play(policy, environment, rounds, rng)
    for a, b in zip(played, _play(policy, environment, rounds, rng), strict=True):
        _same(a, b, "determinism: the same seed")
    session = Session(policy, rng=rng)
    coins = np.random.default_rng(rng)
    for step in range(rounds):
        if step == rounds // 2:
            session = _resumed(session)
        before = pickle.dumps(session.state)
        ticket = session.ask()
        assert pickle.dumps(session.state) == before, "state: select must leave it unchanged"
        _same(ticket.super_arm, played[step], "resuming: a saved and loaded session")
        session.tell(environment.play(ticket.super_arm, coins))


def _play(policy: AnyPolicy, environment: Environment, rounds: int, rng: int) -> list[IntArray]:
    session = Session(policy, rng=rng)
    coins = np.random.default_rng(rng)
    played = []
    for _ in range(rounds):
        ticket = session.ask()
        session.tell(environment.play(ticket.super_arm, coins))
        played.append(ticket.super_arm)
    return played


def _resumed(session: Session[Any]) -> Session[Any]:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.npz"
        session.save(file)
        return Session.load(file, session.policy)


__all__ = ["check_environment", "check_oracle", "check_policy"]
