"""What a policy would have earned while it learned: replay of the rounds on which it agrees with the log."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from cmab._ask_tell import names_of
from cmab.arrays import FloatArray
from cmab.campaigns.log import Log, LoggedRound, outcomes_of
from cmab.campaigns.names import Names
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.logs._choices import Choices, Target, choices_of
from cmab.logs._rewards import in_words, told_rounds, whole_rewards
from cmab.logs.off_policy import OffPolicyEstimate, estimate
from cmab.policy import Policy, check_policy_instance
from cmab.seeding import Seed, root
from cmab.session import Session
from cmab.validation import real, shown


def replay_value(
    log: Log, target: Policy[Any] | Target, *, rng: Seed = 0, level: float = 0.95
) -> OffPolicyEstimate:
    """Return what a policy earns in a round while it learns, by the rounds on which it agrees with the log.

    It is asked in each round what it would play. If that is what was played, it is told the outcomes, and the
    round counts; else the round is passed over, and nothing is learned. Where all super arms were equally
    probable in all rounds, whatever the rounds before, the rounds that count are as those of a campaign of
    its own (Li et al., Theorem 1): the value is the mean reward of its first `effective_size` rounds. A rule
    that learns earns less in these than later.

    Parameters
    ----------
    log : Log
        Rounds of a rule that played all super arms with one probability, which stands in `propensity`.
    target : Policy, mapping or callable
        The policy, whose oracle's names are those of the log; or probabilities, as `off_policy_value` takes
        them, from which a super arm is drawn in each round. Super arms agree as sets where rewards are sums
        (`Oracle.is_linear`), and as lists with other oracles.
    rng : int, numpy.random.Generator or None
        Randomness of the policy and of the draws.
    level : float
        Confidence of the interval, in (0, 1); Student's, for rounds of one distribution.

    Returns
    -------
    OffPolicyEstimate
        Its weights are the agreements over the propensity.

    Raises
    ------
    ValueError
        If propensities are missing, or not all the same; fewer than two rounds agree; or far more or fewer
        than the propensity lets expect (5 standard errors).
    TypeError
        If an argument is of another kind.

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
        raise ValueError(f"target must agree with two rounds of the log at least, got {int(agreed.sum())}")
    weights = agreed[:, None] / chance
    return replace(estimate("replay", weights, rewards, level, self_normalised=True), method="replay")


def _common_chance(rounds: list[LoggedRound]) -> float:
    chances = [row.propensity for row in rounds]
    if missing := [row.number for row in rounds if not row.propensity]:
        raise ValueError(f"propensity must be known and above 0, got none in {in_words(missing)}")
    known = np.array(chances, np.float64)
    if np.ptp(known) > 1e-9 * known.max():
        raise ValueError(
            "propensity must be the same in all rounds of a replay, got"
            f" {shown(sorted(set(known.tolist())))}: off_policy_value weights unequal ones"
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
    """Return the context of a round with its rows in the order of the policy's oracle."""
    if row.context is None:
        return None
    parts = {}
    for part in row.context.parts:
        names, known = (choices, log.choices) if part == "available" else (arms, log.arms)
        rows = {names.form_of(name): i for i, name in enumerate(known)}
        if missing := [name for name in names.own if name not in rows]:
            raise ValueError(f"log must have context.{part} of all names, got none of {shown(missing)}")
        parts[part] = getattr(row.context, part)[[rows[name] for name in names.own]]
    return Context(**parts)


def _drawn(targets: list[Choices], rounds: list[LoggedRound], rng: Seed) -> FloatArray:
    """Return where a super arm that is drawn from the target agrees: with the target's probability of it."""
    uniform = np.random.default_rng(root(rng)).random(len(rounds))
    chances = np.array([choices.of(row.names) for choices, row in zip(targets, rounds, strict=True)])
    return (uniform < chances).astype(np.float64)
