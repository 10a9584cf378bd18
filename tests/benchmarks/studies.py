"""What a study costs over bare calls of `simulate` and `identify`: the ratio of their CPU times, in one run.

Run: python tests/benchmarks/studies.py. Each study is run into an empty folder, and the calls give the same
numbers (which is checked); best of three of both, taken in turn. Also: a run that finds everything done.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cmab import CTS, CUCB, LUCB1, Study, identify, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

N_ARMS, K, REPLICATIONS = 100, 10, 20
MEANS = np.linspace(0.9, 0.1, N_ARMS)
EASY = np.array([0.9] * K + [0.5] * (N_ARMS - K))
ENVIRONMENT = {"class": "SemiBandit", "oracle": "$oracle"}


def seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def specification(means: np.ndarray, **more: Any) -> dict[str, Any]:
    arms = {"class": "BernoulliArms", "means": means.tolist()}
    oracle = {"class": "TopK", "n_arms": N_ARMS, "k": K}
    instance = {"oracle": oracle, "environment": ENVIRONMENT | {"arms": arms}}
    return {"replications": REPLICATIONS, "instances": {"top": instance}} | more


def simulations(horizon: int) -> tuple[Study, Callable[[], Any]]:
    """Return a study of two policies, and the bare calls."""
    learners = {"CUCB": {"class": "CUCB"}, "CTS": {"class": "CTS"}}
    oracle = TopK(N_ARMS, K)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)

    def calls() -> list[Any]:
        policies = CUCB(oracle), CTS(oracle)
        return [simulate(p, environment, horizon, replications=REPLICATIONS, rng=0) for p in policies]

    return Study(specification(MEANS, horizon=horizon, learners=learners)), calls


def identifications() -> tuple[Study, Callable[[], Any]]:
    """Return a study of an explorer, and the bare call."""
    oracle = TopK(N_ARMS, K)
    environment = SemiBandit(BernoulliArms(EASY), oracle)

    def calls() -> list[Any]:
        return [identify(LUCB1(N_ARMS, K, delta=0.05), environment, replications=REPLICATIONS, rng=0)]

    return Study(specification(EASY, explorers={"LUCB": {"class": "LUCB1", "k": K, "delta": 0.05}})), calls


def compare(name: str, study: Study, calls: Callable[[], Any]) -> None:
    found, bare, whole, again = calls(), [], [], []  # the first calls compile
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            whole.append(seconds(lambda folder=folder: study.run(folder)))
            again.append(seconds(lambda folder=folder: study.run(folder)))
            stored = [*study.results(folder).values(), *study.identifications(folder).values()]
        bare.append(seconds(calls))
    for got, wanted in zip(stored, found, strict=True):
        column = "rewards" if hasattr(wanted, "rewards") else "samples"
        np.testing.assert_array_equal(getattr(got, column), getattr(wanted, column))
    extra = (min(whole) - min(bare)) / len(study.pieces)
    print(
        f"{name}: study/bare {min(whole) / min(bare):.3f}  ({min(bare):.3f} s bare, {extra * 1e3:.2f} ms more"
        f" a piece; {min(again):.3f} s when all is done)"
    )


def main() -> None:
    for horizon in (1_000, 10_000, 100_000):
        compare(f"simulations of {horizon} rounds", *simulations(horizon))
    compare("identifications", *identifications())


if __name__ == "__main__":
    main()
