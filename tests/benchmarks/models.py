"""ModelPolicy against linear policies on data sets that scikit-learn contains.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/models.py [ROUNDS] [SEEDS] [TREES] [TASKS]. It needs
scikit-learn. TASKS are words of the names of the tasks to run, by default all.

Each round offers 20 random rows of a data set, and a policy chooses 3 of them. The outcome of a row is 1 if
it belongs to the wanted classes (for `diabetes`: its target, scaled to [0, 1]). The table has the mean reward
of a round with its standard error over the seeds, and the paired difference of `ModelPolicy` with a random
forest to the best linear policy of each task, in percent of its reward, with an interval of 95 % by Student's
distribution.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy import stats
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cmab import C2UCB, CombLinTS, Context, Feedback, ModelPolicy, RandomPolicy, Session
from oracles import TopK

ARMS, SIZE = 20, 3
ORACLE = TopK(ARMS, SIZE)


def tasks() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the features and the outcomes of the rows of each task."""
    digits, wine, iris = datasets.load_digits(), datasets.load_wine(), datasets.load_iris()
    cancer, diabetes = datasets.load_breast_cancer(), datasets.load_diabetes()
    target = diabetes.target - diabetes.target.min()
    return {
        "digits: even": (digits.data, digits.target % 2 == 0),
        "digits: prime": (digits.data, np.isin(digits.target, (2, 3, 5, 7))),
        "iris: versicolor": (iris.data, iris.target == 1),
        "wine: second": (wine.data, wine.target == 1),
        "cancer: benign": (cancer.data, cancer.target == 1),
        "diabetes": (diabetes.data, target / target.max()),
    }


def for_linear(rows: np.ndarray) -> np.ndarray:
    """Return standardised rows with a constant, of norm at most 1."""
    spread = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    standard = np.hstack([standard, np.full((len(rows), 1), np.sqrt(rows.shape[1]) / 2)])
    return standard / np.linalg.norm(standard, axis=1).max()


def play(policy: object, rows: np.ndarray, outcomes: np.ndarray, rounds: int, seed: int) -> float:
    """Return the mean reward of a round. All policies meet the same rows."""
    session, drawn, total = Session(policy, rng=seed), np.random.default_rng((1, seed)), 0.0
    for _ in range(rounds):
        offered = drawn.choice(len(rows), ARMS, replace=False)
        context = None if isinstance(policy, RandomPolicy) else Context(features=rows[offered])
        ticket = session.ask(context)
        told = outcomes[offered[ticket.super_arm]]
        session.tell(Feedback(ticket, told), ticket)
        total += told.sum()
    return total / rounds


def gain(mine: np.ndarray, other: np.ndarray) -> str:
    """Return the mean paired difference in percent of the mean of the other, with an interval of 95 %."""
    percent, n = 100.0 * (mine - other) / other.mean(), len(mine)
    half = stats.t.ppf(0.975, n - 1) * percent.std(ddof=1) / np.sqrt(n)
    return f"{percent.mean():+.1f} % +- {half:.1f}"


def main() -> None:
    given = [int(word) for word in sys.argv[1:4]]
    rounds, seeds, trees = [*given, *(400, 6, 30)[len(given) :]]
    wanted = sys.argv[4:] or [""]
    print(f"{rounds} rounds, {seeds} seeds, {SIZE} of {ARMS} rows, {trees} trees")
    for name, (rows, values) in tasks().items():
        if not any(word in name for word in wanted):
            continue
        outcomes, linear = values.astype(float), for_linear(rows)
        d = linear.shape[1]
        forest = RandomForestRegressor if name == "diabetes" else RandomForestClassifier
        policies: dict[str, tuple[Callable[[], object], np.ndarray]] = {
            "random": (lambda: RandomPolicy(ORACLE), rows),
            "CombLinTS": (lambda d=d: CombLinTS(ORACLE, dimension=d), linear),
            "C2UCB(radius=0.5)": (lambda d=d: C2UCB(ORACLE, dimension=d, radius=0.5), linear),
            "ModelPolicy": (lambda forest=forest: ModelPolicy(ORACLE, forest(trees)), rows),
        }
        found = {
            label: np.array([play(make(), given, outcomes, rounds, seed) for seed in range(seeds)])
            for label, (make, given) in policies.items()
        }
        shown = ", ".join(
            f"{label} {got.mean():.3f} ({got.std(ddof=1) / np.sqrt(seeds):.3f})"
            for label, got in found.items()
        )
        best = max(("CombLinTS", "C2UCB(radius=0.5)"), key=lambda label: found[label].mean())
        print(f"{name}: {shown}; against {best} {gain(found['ModelPolicy'], found[best])}", flush=True)


if __name__ == "__main__":
    main()
