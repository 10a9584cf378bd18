"""Replay: the reward of a policy while it learns, from the rounds in which it agrees with a log."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from cmab._ask_tell import names_of
from cmab.arrays import FloatArray
from cmab.campaign.names import Names
from cmab.feedback import Context, Feedback
from cmab.logs._choices import Choices, Target, choices_of
from cmab.logs._rewards import in_words, told_rounds, whole_rewards
from cmab.logs.log import Log, LoggedRound, outcomes_of
from cmab.logs.off_policy import OffPolicyEstimate, estimate
from cmab.policy import Policy, check_policy_instance
from cmab.seeding import Seed, root
from cmab.session import Session
from cmab.validation import real, shown


def replay_value(
    log: Log, target: Policy[Any] | Target, *, rng: Seed = 0, level: float = 0.95
) -> OffPolicyEstimate:
    """Estimate the reward of a policy while it learns, from the rounds in which it agrees with the log.

    In each round the policy chooses a super arm. If it is the logged one, the policy receives the outcomes,
    and the round counts. Otherwise the round is skipped, and the policy learns nothing from it. If the log
    chose all super arms with the same probability in every round, independently of earlier rounds, the rounds
    that count have the same distribution as those of a campaign of the policy itself (Li et al., Theorem 1).
    The value is the mean reward of the first `effective_size` rounds of such a campaign. A policy that learns
    earns less in these rounds than later.

    Parameters
    ----------
    log : Log
        Rounds of a policy that played all super arms with the same probability, which is their `propensity`.
    target : Policy, mapping or callable
        The policy; the names of its oracle must be those of the log. Or probabilities in the form of
        `off_policy_value`, from which a super arm is drawn in each round. Super arms are compared as sets if
        rewards are sums (`Oracle.is_linear`), and as lists for other oracles.
    rng : int, numpy.random.Generator or None
        The seed of the policy's randomness, or of the draws.
    level : float
        The confidence level of the interval, in (0, 1). It is Student's interval for rounds of one
        distribution.

    Returns
    -------
    OffPolicyEstimate
        The estimate. Its weights are the agreements (0 or 1) divided by the propensity.

    Raises
    ------
    ValueError
        If propensities are missing or differ; if fewer than two rounds agree; or if the number of agreements
        is more than 5 standard errors away from the number that the propensity predicts.
    TypeError
        If an argument has a wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import CUCB, read_log, replay_value
    >>> from oracles import TopK
    >>> rng = np.random.default_rng(0)
    >>> item = rng.integers(3, size=900)
    >>> sold = rng.random(900) < np.array([0.2, 0.5, 0.8])[item]
    >>> table = {"item": item.tolist(), "sold": sold.astype(int).tolist(), "p": [1 / 3] * 900}
    >>> found = replay_value(read_log(table, "item", outcome="sold", propensity="p"), CUCB(TopK(3, k=1)))
    >>> 0.5 < found.value < 0.8, found.rounds
    (True, 900)

    References
    ----------
    L. Li, W. Chu, J. Langford, X. Wang: Unbiased Offline Evaluation of Contextual-bandit-based News Article
    Recommendation Algorithms, WSDM 2011, Algorithm 2 and Theorem 1 (from memory).
    """
    rounds = told_rounds(log)
    level = real("level", level, 0.0, 1.0, inside=True)
    chance = _common_chance(rounds)
    rewards = whole_rewards(rounds)
    if isinstance(target, type):
        check_policy_instance(target)
    if isinstance(target, Policy):
        agreed = _agreements_of(target, log, rounds, rng)
    else:
        agreed = _drawn(choices_of("target", target, rounds), rounds, rng)
    if agreed.sum() < 2:
        raise ValueError(f"target must agree with at least two rounds of the log, got {int(agreed.sum())}")
    weights = agreed[:, None] / chance
    return replace(estimate("replay", weights, rewards, level, self_normalised=True), method="replay")


def _common_chance(rounds: list[LoggedRound]) -> float:
    chances = [row.propensity for row in rounds]
    if missing := [row.number for row in rounds if not row.propensity]:
        raise ValueError(f"propensity must be known and above 0, but it is not in {in_words(missing)}")
    known = np.array(chances, np.float64)
    if np.ptp(known) > 1e-9 * known.max():
        raise ValueError(
            "propensity must be the same in all rounds of a replay, got"
            f" {shown(sorted(set(known.tolist())))}; off_policy_value accepts different ones"
        )
    return float(known[0])


def _agreements_of(policy: Policy[Any], log: Log, rounds: list[LoggedRound], rng: Seed) -> FloatArray:
    session = Session(policy, rng)
    oracle = policy.oracle
    own, own_arms = names_of(oracle)
    choices = Names("entry of a super arm", own, oracle.is_undirected)
    arms = Names("base arm", own_arms, oracle.is_undirected)
    agreed = np.zeros(len(rounds))
    for i, row in enumerate(rounds):
        ticket = session.ask(_context_for(row, log, choices, arms))
        wanted: list[Hashable] = oracle.labels(ticket.super_arm)
        played = [choices.form_of(name) for name in row.names]
        if wanted == played or (oracle.is_linear and set(wanted) == set(played)):
            seen = outcomes_of(row, arms)
            session.tell(Feedback(seen.arms, seen.outcomes, reward=row.reward), ticket)
            agreed[i] = 1.0
        else:
            session.cancel(ticket)
    return agreed


def _context_for(row: LoggedRound, log: Log, choices: Names, arms: Names) -> Context | None:
    """Return the context of a round, with its rows in the order of the policy's oracle."""
    if row.context is None:
        return None
    parts = {}
    for part in row.context.parts:
        names, known = (choices, log.choices) if part == "available" else (arms, log.arms)
        rows = {names.form_of(name): i for i, name in enumerate(known)}
        if missing := [name for name in names.own if name not in rows]:
            raise ValueError(f"context.{part} of the log must have all names, but lacks {shown(missing)}")
        parts[part] = getattr(row.context, part)[[rows[name] for name in names.own]]
    return Context(**parts)


def _drawn(targets: list[Choices], rounds: list[LoggedRound], rng: Seed) -> FloatArray:
    """Return 1 for each round in which a random super arm agrees, which has the target's probability."""
    uniform = np.random.default_rng(root(rng)).random(len(rounds))
    chances = np.array([choices.of(row.names) for choices, row in zip(targets, rounds, strict=True)])
    return (uniform < chances).astype(np.float64)
