"""A round of ModelPolicy with gradient boosting on 10^4 arms, compared with `predict` in the same run.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/model_rounds.py [ARMS] [FEATURES]. It needs scikit-learn. The
table has the least processor time of 20 calls in milliseconds: of `predict` alone, and of `select` with a
context.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from cmab import Context, Feedback, ModelPolicy, Session
from oracles import TopK

CALLS = 20


def least(*works: Callable[[], object]) -> list[float]:
    """Return the least processor time of a call of each function in milliseconds; the calls alternate."""
    times = np.empty((CALLS, len(works)))
    for row in times:
        for j, work in enumerate(works):
            start = time.process_time_ns()
            work()
            row[j] = time.process_time_ns() - start
    return list(times.min(axis=0) / 1e6)


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    arms, d = [*given, *(10_000, 20)[len(given) :]]
    rng = np.random.default_rng(0)
    rows = rng.random((arms, d))
    print(f"{arms:,} arms, {d} features, k = 10; milliseconds")
    print(f"{'exploration':12} {'predict':>8} {'select':>8} {'ratio':>6}")
    for exploration in ("none", "mixture", "bootstrap", "epsilon"):
        policy = ModelPolicy(
            TopK(arms, 10), HistGradientBoostingRegressor(), exploration=exploration, epsilon=0.0, members=2
        )
        session, context = Session(policy, rng=0), Context(features=rows)
        for _ in range(60):
            ticket = session.ask(context)
            session.tell(Feedback(ticket, rng.random(10)), ticket)
        model = session.state.models(policy.estimator, policy._added)[-1]
        coins = np.random.default_rng(0)
        bare, ours = least(
            lambda model=model: model.predict(rows),
            lambda session=session, context=context, coins=coins: session.policy.select(
                session.state, coins, context
            ),
        )
        print(f"{exploration:12} {bare:8.2f} {ours:8.2f} {ours / bare:6.2f}", flush=True)


if __name__ == "__main__":
    main()
