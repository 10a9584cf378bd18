"""The check that the compiled forms of an environment agree with its methods."""

from __future__ import annotations

import numpy as np

from cmab.compiled import compiled_form
from cmab.environment import round_key
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject

_SEEDS, _ARMS = 40, 50
# Number of rounds with the reversed super arm.
_TURNED = 5
_SLACK = 1e-9


def check_compiled(subject: Subject) -> Finding:
    """Check that the compiled forms give the same rounds, expected rewards and pulls as the methods."""
    environment = subject.environment
    tried = []
    if compiled_form(environment) is not None:
        for super_arm in subject.super_arms:
            for seed in subject.timed(range(_SEEDS), 0.01):
                _compare_round(subject, np.array(super_arm, np.int64), seed)
            for seed in range(_TURNED):
                _compare_round(subject, np.array(super_arm[::-1], np.int64), seed)
        tried.append("rounds")
    form = compiled_form(environment, "pull_kernel")
    if form is not None and subject.first_pulls:
        for arm in subject.arms[:_ARMS].tolist():
            rng, other = (np.random.default_rng((21, arm)) for _ in range(2))
            for number in range(_SEEDS):
                here = float(environment.pull(np.array([arm]), rng)[0])
                there = float(form.function(arm, form.integers, form.reals, other))
                text = "pull {} of arm {} gave {} in the method, but {} in the compiled form"
                require(here == there, "compiled", text, number, arm, here, there)
        tried.append("pulls")
    return Finding(" and ".join(tried) or "not tried: the environment has no compiled form")


def _compare_round(subject: Subject, super_arm: np.ndarray, seed: int) -> None:
    place, form = subject.environment, compiled_form(subject.environment)
    shown = place.play(super_arm.copy(), np.random.default_rng(seed))
    arms, outcomes = np.empty(place.n_arms, np.int64), np.empty(place.n_arms)
    totals, key = np.zeros(2), round_key(np.random.default_rng(seed))
    n = form.function(
        super_arm.copy(), len(super_arm), key, form.integers, form.reals, arms, outcomes, totals
    )
    here = dict(zip(shown.arms.tolist(), shown.outcomes.tolist(), strict=True))
    there = dict(zip(arms[:n].tolist(), outcomes[:n].tolist(), strict=True))
    text = "a round of {} with seed {} showed {} in the method, but {} in the compiled form"
    same = here.keys() == there.keys() and all(abs(here[arm] - there[arm]) <= _SLACK for arm in here)
    require(same, "compiled", text, super_arm, seed, here, there)
    value = float(place.expected_reward(super_arm.copy()))
    for what, one, other in (("reward", shown.reward, totals[0]), ("expected reward", value, totals[1])):
        text = "a round of {} with seed {} has {} {} in the method, but {} in the compiled form"
        near = abs(one - other) <= _SLACK * (1 + abs(one)) or np.isnan(one)
        require(near, "compiled", text, super_arm, seed, what, one, other)
