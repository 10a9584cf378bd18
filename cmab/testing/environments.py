"""Checks of environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.testing._checks import Check, named_checks, require, require_mean, require_same


@dataclass(frozen=True, eq=False)
class _Subject:
    environment: Environment
    super_arms: list[IntArray]
    draws: int

    @cached_property
    def rounds(self) -> list[list[Feedback]]:
        """Many rounds of each super arm."""
        rng = np.random.default_rng(11)
        return [[self.environment.play(arm, rng) for _ in range(self.draws)] for arm in self.super_arms]


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
        At the first fault: ``determinism``, ``coins``, ``support``, ``outcomes``, ``triggers`` (against
        `Environment.triggering_probabilities`, where it says something), ``rewards``, ``optimum`` or
        ``pulls``. Each statistical comparison fails with probability below 1e-6 where the claim is true.

    Examples
    --------
    >>> from cmab.testing import check_environment
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> check_environment(SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), TopK(3, k=2)), [[0, 1], [1, 2]])
    """
    for check in environment_checks(environment, super_arms, draws=draws):
        check.run()


def environment_checks(
    environment: Environment, super_arms: Iterable[ArrayLike], *, draws: int = 4000, name: str | None = None
) -> list[Check]:
    """Return the checks of `check_environment` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    environment, super_arms, draws
        As for `check_environment`.
    name : str, optional
        Begins the name of each check; the class's name if left out.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab.testing import environment_checks
    >>> from instances import BernoulliArms
    >>> environment_checks(BernoulliArms([0.2, 0.6]), [[0], [0, 1]], name="mine")[0].name
    'mine-determinism'
    """
    arms = [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
    subject = _Subject(environment, arms, draws)
    return named_checks(name or type(environment).__name__, subject, _CHECKS)


def _check_determinism(subject: _Subject) -> None:
    """The same generator state gives the same round."""
    for arm in subject.super_arms:
        first, again = (subject.environment.play(arm, np.random.default_rng(3)) for _ in range(2))
        require_same(first.arms, again.arms, "determinism", "the same generator state")
        require_same(first.outcomes, again.outcomes, "determinism", "the same generator state")


def _check_coins(subject: _Subject) -> None:
    """In the same round, two super arms see the same outcome of an arm that both observe."""
    for seed in range(20):
        seen: dict[int, float] = {}
        for super_arm in subject.super_arms:
            feedback = subject.environment.play(super_arm, np.random.default_rng(seed))
            for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
                same = seen.setdefault(arm, outcome) == outcome
                require(same, "coins", "arm {} showed {} and {} in one round", arm, outcome, seen[arm])


def _check_support(subject: _Subject) -> None:
    """Outcomes lie in the support and the feedback's arms in range."""
    low, high = subject.environment.support
    for feedback in (f for rounds in subject.rounds for f in rounds if f.arms.size):
        inside = low <= feedback.outcomes.min() and feedback.outcomes.max() <= high
        require(inside, "support", "outcomes must lie in [{}, {}], got {}", low, high, feedback.outcomes)
        in_range = feedback.arms.max() < subject.environment.n_arms
        require(
            in_range,
            "support",
            "arms must lie in range({}), got {}",
            subject.environment.n_arms,
            feedback.arms,
        )


def _check_outcomes(subject: _Subject) -> None:
    """Observed outcomes average to the claimed means, whatever triggered them."""
    arms = np.concatenate([f.arms for rounds in subject.rounds for f in rounds])
    outcomes = np.concatenate([f.outcomes for rounds in subject.rounds for f in rounds])
    for arm in np.unique(arms)[:50]:
        mean = subject.environment.means[arm]
        require_mean("outcomes", f"outcomes of arm {arm}", outcomes[arms == arm], mean)


def _check_triggers(subject: _Subject) -> None:
    """Base arms are observed as often as the environment says that super arms trigger them."""
    environment = subject.environment
    for super_arm, rounds in zip(subject.super_arms, subject.rounds, strict=True):
        chances = environment.triggering_probabilities(super_arm)
        if chances is None:
            continue
        seen = np.zeros((len(rounds), environment.n_arms))
        for row, feedback in zip(seen, rounds, strict=True):
            row[feedback.arms] = 1.0
        for arm in range(min(environment.n_arms, 50)):
            what = f"observations of arm {arm} by {super_arm.tolist()}"
            require_mean("triggers", what, seen[:, arm], float(chances[arm]))


def _check_rewards(subject: _Subject) -> None:
    """Realised rewards average to the expected reward."""
    for super_arm, rounds in zip(subject.super_arms, subject.rounds, strict=True):
        rewards = np.array([f.reward for f in rounds])
        claimed = subject.environment.expected_reward(super_arm)
        require_mean("rewards", f"rewards of {super_arm.tolist()}", rewards, claimed)


def _check_optimum(subject: _Subject) -> None:
    """No super arm is better than the optimum."""
    oracle = getattr(subject.environment, "oracle", None)
    sign = -1.0 if getattr(oracle, "sense", "max") == "min" else 1.0
    optimum = subject.environment.optimum
    for super_arm in subject.super_arms:
        value = subject.environment.expected_reward(super_arm)
        better = sign * (value - optimum) > 1e-9 * (1 + abs(optimum))
        require(not better, "optimum", "{} is worth {:.6g}, the optimum {:.6g}", super_arm, value, optimum)


def _check_pulls(subject: _Subject) -> None:
    """Single pulls, and sums of many, have the claimed means; sums of squares fit the sums."""
    environment, draws, rng = subject.environment, subject.draws, np.random.default_rng(5)
    for arm in range(min(environment.n_arms, 5)):
        mean = float(environment.means[arm])
        require_mean("pulls", f"pulls of arm {arm}", environment.pull(np.full(draws, arm), rng), mean)
        sums, squares = environment.pull_many(np.full(200, arm), np.full(200, 7), rng)
        require_mean("pulls", f"sums of pulls of arm {arm}", sums / 7, mean)
        require(
            (squares >= sums**2 / 7 - 1e-9).all(),
            "pulls",
            "squares of arm {} are less than the sums allow",
            arm,
        )


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _check_determinism,
    _check_coins,
    _check_support,
    _check_outcomes,
    _check_triggers,
    _check_rewards,
    _check_optimum,
    _check_pulls,
)
