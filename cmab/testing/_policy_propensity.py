"""Check of policies: stated propensities agree with the frequencies of the super arms."""

from __future__ import annotations

import math

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject

_ROUNDS = 20
_DRAWS = 400
_COMPARED = 8


def check_propensity(subject: Subject) -> Finding:
    """Check that `propensity` returns the probability with which `select` chooses a super arm.

    A super arm of probability p is chosen in a share of n draws that differs from p by more than
    ``6 sqrt(p (1 - p) / n) + 12 / n`` with probability below 1e-7 (Bernstein's inequality).
    """
    policy, context = subject.policy, subject.place.context
    rng = np.random.default_rng((23, subject.rng))
    compared = 0
    for rounds in (0, _ROUNDS):
        state = policy.initial_state(rng)
        list(subject.game(policy, subject.environment, subject.rng, state, rounds))
        first = np.array(subject.select(policy, state, np.random.default_rng(0)))
        if policy.propensity(state, first, context) is None:
            continue
        counts: dict[tuple[int, ...], int] = {tuple(first.tolist()): 0}
        for number in range(_DRAWS):
            drawn = tuple(subject.select(policy, state, np.random.default_rng((number, 24))).tolist())
            counts[drawn] = counts.get(drawn, 0) + 1
        for names in sorted(counts, key=lambda names: -counts[names])[:_COMPARED]:
            chance, share = policy.propensity(state, np.array(names), context), counts[names] / _DRAWS
            if chance is None:
                continue
            text = "propensity of super arm {} after {} rounds must be in [0, 1], got {}"
            require(0.0 <= chance <= 1.0, "propensity", text, names, rounds, chance)
            slack = 6.0 * math.sqrt(chance * (1.0 - chance) / _DRAWS) + 12.0 / _DRAWS
            text = "propensity of super arm {} after {} rounds is {:.4g}, but its share of {} draws is {:.4g}"
            close = abs(chance - share) <= slack
            require(close, "propensity", text, names, rounds, chance, _DRAWS, share)
            compared += 1
    if not compared:
        return Finding("not tried: the policy states no propensity")
    return Finding(f"{compared} super arms, {_DRAWS} draws each", false_alarm=compared * 1e-7)
