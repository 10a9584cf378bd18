"""Confidence bounds for a whole super arm against bounds for each arm, on paths, matchings and trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np

from cmab import CTS, CUCB, ESCB, LinearOracle, LogRadius
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, stream
from instances.arms import BernoulliArms, SemiBandit
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_learners
from instances.experiments._rows import Row, Verdicts, by_name, less_regret, mean_regrets, regrets, replicated
from oracles import BruteForce

GOOD, BAD = 0.7, 0.5


class Searched(BruteForce):
    """A list of super arms with the `solve_root` of `LinearOracle`, which uses the tolerance."""

    solve_root = LinearOracle.solve_root

    def __init__(self, n_arms: int, super_arms: Sequence[IntArray]) -> None:
        super().__init__(n_arms, super_arms)
        self._members = np.array([np.isin(np.arange(n_arms), arms) for arms in super_arms], np.float64)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        """Return the best super arm that satisfies the constraints, without checks because of their cost."""
        wanted, unwanted = np.asarray(include), np.asarray(exclude)
        left = np.all(self._members[:, wanted], axis=1) & ~np.any(self._members[:, unwanted], axis=1)
        best = int(np.argmax(np.where(left, self._members @ means, -np.inf)))
        return self.super_arms[best] if left[best] else None


def learners(family: BruteForce) -> dict[str, AnyPolicy]:
    """Return the learners with the logarithms of the theorems, and with ln t / 2 as published."""
    return {
        "CUCB": CUCB(family),
        "ESCB": ESCB(family),
        # In the authors' code, CUCB has the radius sqrt(ln t / 2T), and ESCB the root of the sum of its
        # squares.
        "CUCB, ln t": CUCB(family, LogRadius(coefficient=0.5)),
        "ESCB, ln t": ESCB(family, loglog=0.0),
        "AESCB, ln t": ESCB(Searched(family.n_arms, family.super_arms), loglog=0.0, tolerance=None),
        "CTS": CTS(family),
    }


def cells(quick: bool) -> list[Row]:
    """Return the families of super arms.

    Examples
    --------
    >>> from instances.experiments.joint_optima import cells
    >>> cells(quick=True)[0]
    {'family': 'paths', 'horizon': 500}
    """
    return [{"family": name, "horizon": 500 if quick else 10_000} for name in ("paths", "matchings", "trees")]


def family_of(name: str) -> BruteForce:
    """Return the paths through 4 x 4 crossings, perfect matchings of K_4,4 or spanning trees of K_5."""
    import networkx as nx

    if name == "matchings":
        return BruteForce(16, [[4 * i + j for i, j in enumerate(order)] for order in permutations(range(4))])
    if name == "trees":
        edges = list(nx.complete_graph(5).edges)
        parts: list[tuple[tuple[int, ...], Any]] = [
            (arms, nx.Graph([edges[arm] for arm in arms])) for arms in combinations(range(10), 4)
        ]
        return BruteForce(10, [arms for arms, part in parts if len(part) == 5 and nx.is_connected(part)])
    streets: Any = nx.DiGraph()
    for i, j in nx.grid_2d_graph(4, 4):
        streets.add_edges_from(((i, j), end) for end in ((i + 1, j), (i, j + 1)) if max(end) < 4)
    number = {edge: arm for arm, edge in enumerate(streets.edges)}
    ways = nx.all_simple_edge_paths(streets, (0, 0), (3, 3))
    return BruteForce(len(number), [[number[edge] for edge in way] for way in ways])


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon; the arms of one super arm have a larger mean."""
    family, labels = family_of(cell["family"]), stream(seed, Purpose.ENVIRONMENT, replication)
    means = np.full(family.n_arms, BAD)
    means[family.solve(labels.random(family.n_arms), labels)] = GOOD
    place = SemiBandit(BernoulliArms(means), family)
    return regrets(learners(family), place, cell["horizon"], rng=replicated(seed, replication))


def claims(rows: list[Row]) -> Verdicts:
    """Return whether the rules for whole super arms have less regret than CUCB, for every family."""
    verdicts: Verdicts = []
    pairs = [("ESCB", "CUCB"), ("ESCB, ln t", "CUCB, ln t"), ("AESCB, ln t", "CUCB, ln t")]
    for (name,), table in by_name(rows, "family", name="learner").items():
        verdicts += less_regret(table, pairs, name)
    return verdicts


JOINT_OPTIMA = Experiment(
    name="joint-optima",
    title="Confidence bounds for a whole super arm, and for each arm",
    about="ESCB and AESCB, with confidence bounds for whole super arms, and CUCB on paths, matchings and"
    " spanning trees.",
    sizes="500 rounds and 2 runs instead of 10,000 and 8",
    minutes={True: 0.5, False: 8},
    replications={True: 2, False: 8},
    cells=cells,
    play=play,
    sum_up=mean_regrets,
    claims=claims,
    draw=lambda rows, out: draw_learners(rows, "family", out / "regret"),
)
