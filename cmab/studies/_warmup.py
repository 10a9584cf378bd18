"""Compiling the rules of the demos and of common explorers before the first run."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from cmab.running.identification import identify
from cmab.running.simulation import simulate
from cmab.session import Session
from cmab.studies import _registry
from cmab.studies.study import Study

_ROUNDS = 20
# The means are far apart, so that each rule stops early.
_EXPLORING = {"arms": {"environment": {"class": "BernoulliArms", "means": [0.05, 0.95, 0.05]}}}
_EXPLORERS = ("LUCB1", "LUCBPlusPlus", "LilRandLUCB")


def warm_up() -> Iterator[tuple[str, float]]:
    """Compile each rule, or load it from the cache, and yield its name and the seconds."""
    for name in _registry.entries("demos"):
        demo = getattr(_registry.load("demos", name), "demo", None)
        if demo is None:
            continue
        start = perf_counter()
        plan = demo.study({}, horizon=_ROUNDS, replications=2, rng=0).plan
        for (instance, _), policy in plan.policies.items():
            environment = plan.problems[instance]
            simulate(policy, environment, _ROUNDS, replications=2, rng=0)
            session = Session(policy, rng=0)
            ticket = session.ask()
            session.tell(environment.play(ticket.super_arm, np.random.default_rng(0)), ticket)
            session.ask()
        yield f"demo {name}", perf_counter() - start
    known = _registry.entries("explorers")
    for name in (name for name in _EXPLORERS if name in known):
        start = perf_counter()
        explorers = {name: {"class": name, "k": 1, "delta": 0.1}}
        plan = Study({"instances": _EXPLORING, "explorers": explorers}).plan
        identify(plan.explorations["arms", name], plan.problems["arms"], rng=0, max_samples=100_000)
        yield f"explorer {name}", perf_counter() - start
