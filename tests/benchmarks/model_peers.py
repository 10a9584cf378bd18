"""Slates of 3 of the 10 labels of digits: ModelPolicy against linear policies and other libraries.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/model_peers.py [ROUNDS] [SEEDS] [NAMES]. It needs
scikit-learn. Lines of mabwiser and bayesianbandits appear if these packages can be imported.

In each round a digit arrives (its 64 pixels are the context). The policy shows three labels, and each shown
label has the outcome 1 if it is the class of the digit. The arms are the labels, because mabwiser and
bayesianbandits have one model for each arm and the same context for all. The table has the mean reward of a
round with its standard error over the seeds, and the processor time of a round in milliseconds.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge

from cmab import C2UCB, CombLinTS, Context, Feedback, ModelPolicy, Session
from oracles import TopK

LABELS, SIZE = 10, 3
Learner = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray, np.ndarray, np.ndarray], None]]


def ours(policy: Any, rows: Callable[[np.ndarray], np.ndarray], seed: int) -> Learner:
    """Return how a policy of this library asks and tells."""
    session, open_tickets = Session(policy, rng=seed), []

    def ask(x: np.ndarray) -> np.ndarray:
        open_tickets.append(session.ask(Context(features=rows(x))))
        return open_tickets[-1].super_arm

    def tell(x: np.ndarray, arms: np.ndarray, told: np.ndarray) -> None:
        ticket = open_tickets.pop()
        session.tell(Feedback(ticket, told), ticket)

    return ask, tell


def pairs(x: np.ndarray) -> np.ndarray:
    """Return one row for each label: its indicators and the pixels."""
    return np.hstack([np.eye(LABELS), np.tile(x, (LABELS, 1))])


def same(x: np.ndarray) -> np.ndarray:
    """Return the pixels for each label, for policies with one parameter for each label."""
    return np.tile(np.append(x, 4.0) / 16.0, (LABELS, 1))


def products(x: np.ndarray) -> np.ndarray:
    """Return one row for each label: the pixels in the columns of this label, for one linear model."""
    return np.kron(np.eye(LABELS), np.append(x, 4.0)[None] / 16.0)


def with_mabwiser(rule: Any, seed: int) -> Learner:
    """Return how mabwiser asks, by the three largest expectations, and tells, one arm at a time."""
    from mabwiser.mab import MAB

    mab, begun = MAB(list(range(LABELS)), rule, seed=seed), []

    def ask(x: np.ndarray) -> np.ndarray:
        if not begun:
            return np.arange(SIZE)
        found = mab.predict_expectations([x / 16.0])
        return np.argsort([-found[label] for label in range(LABELS)])[:SIZE]

    def tell(x: np.ndarray, arms: np.ndarray, told: np.ndarray) -> None:
        learn = mab.partial_fit if begun else mab.fit
        learn(decisions=arms.tolist(), rewards=told.tolist(), contexts=[(x / 16.0).tolist()] * len(arms))
        begun.append(True)

    return ask, tell


def with_bayesianbandits(seed: int) -> Learner:
    """Return how bayesianbandits asks (`top_k`) and tells, one arm at a time."""
    from bayesianbandits import Arm, ContextualAgent, NormalRegressor, ThompsonSampling

    arms_of = [Arm(label, learner=NormalRegressor(alpha=1.0, beta=4.0)) for label in range(LABELS)]
    agent = ContextualAgent(arms_of, ThompsonSampling(), random_seed=seed)

    def ask(x: np.ndarray) -> np.ndarray:
        (chosen,) = agent.pull(np.append(x, 4.0)[None] / 16.0, top_k=SIZE)
        return np.array(chosen)

    def tell(x: np.ndarray, arms: np.ndarray, told: np.ndarray) -> None:
        for label, outcome in zip(arms.tolist(), told.tolist(), strict=True):
            agent.select_for_update(label).update(np.append(x, 4.0)[None] / 16.0, np.array([outcome]))

    return ask, tell


def learners(seed: int) -> Iterator[tuple[str, Callable[[], Learner]]]:
    """Yield the name of each learner and how it is made."""
    oracle, groups = TopK(LABELS, SIZE), list(range(LABELS))
    yield "ModelPolicy, forest", lambda: ours(ModelPolicy(oracle, RandomForestClassifier(30)), pairs, seed)
    yield "ModelPolicy, ridge", lambda: ours(ModelPolicy(oracle, Ridge()), products, seed)
    options = {"dimension": 65, "groups": groups, "norm": 8.0}
    yield "CombLinTS", lambda: ours(CombLinTS(oracle, **options), same, seed)
    yield "C2UCB", lambda: ours(C2UCB(oracle, radius=0.5, **options), same, seed)
    try:
        from mabwiser.mab import LearningPolicy

        yield "mabwiser, LinUCB", lambda: with_mabwiser(LearningPolicy.LinUCB(alpha=0.5), seed)
        yield "mabwiser, LinTS", lambda: with_mabwiser(LearningPolicy.LinTS(alpha=0.5), seed)
    except ImportError as error:
        print(f"mabwiser: {error}")
    try:
        import bayesianbandits  # noqa: F401

        yield "bayesianbandits, linear TS", lambda: with_bayesianbandits(seed)
    except ImportError as error:
        print(f"bayesianbandits: {error}")


def play(learner: Learner, rounds: int, seed: int) -> tuple[float, float]:
    """Return the mean reward and the processor time in milliseconds of a round. All meet the same digits."""
    ask, tell = learner
    digits, total = load_digits(), 0.0
    order, start = (
        np.random.default_rng((1, seed)).permutation(len(digits.data))[:rounds],
        time.process_time(),
    )
    for number in order:
        x = digits.data[number]
        arms = ask(x)
        told = (np.asarray(arms) == digits.target[number]).astype(float)
        tell(x, np.asarray(arms), told)
        total += float(told.sum())
    return total / rounds, 1e3 * (time.process_time() - start) / rounds


def main() -> None:
    warnings.simplefilter("ignore")
    given = [int(word) for word in sys.argv[1:3]]
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    rounds, seeds = [*given, *(200, 3)[len(given) :]]
    print(f"{rounds} rounds, {seeds} seeds, {SIZE} of {LABELS} labels; random: {SIZE / LABELS:.2f}")
    for place, (name, _) in enumerate(list(learners(0))):
        if not any(word in name for word in wanted.split(",")):
            continue
        found = np.array([play(list(learners(s))[place][1](), rounds, s) for s in range(seeds)])
        error = found[:, 0].std(ddof=1) / np.sqrt(seeds)
        print(f"{name:28} {found[:, 0].mean():.3f} ({error:.3f})  {found[:, 1].mean():8.2f} ms", flush=True)


if __name__ == "__main__":
    main()
