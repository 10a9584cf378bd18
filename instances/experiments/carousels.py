"""Carousels of a music service: policies by segment of the users, and policies by features of the user."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cmab import CTS, KLCUCB, Context, IndexPolicy, LogisticTS, RandomPolicy
from cmab.arrays import FloatArray
from cmab.policy import AnyPolicy
from cmab.statistics import ArmStatistics
from instances.datasets.clicks import streaming_chances
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_learners
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    less_regret,
    mean_regrets_beside,
    regrets,
    world_and_coins,
)
from instances.lists import CascadeModel
from oracles import RankedTopK

SEGMENTS, SLOTS = 9, 12
_TASTES = SEGMENTS - 1
#: Standard deviation of the users of a segment about its centre. Centres have variance 1 in each direction.
_SPREAD = 0.5
_BEST = "TS-seg-pessimistic"
_FIGURE = "Bendada et al. (2020), Figure 2"


def published() -> Path:
    """Return the path of the streaming probabilities of nine users, in the folder ``CMAB_DATA``."""
    return Path(os.environ.get("CMAB_DATA", "../shared/data")) / "deezer_attraction.csv.gz"


class Carousels(CascadeModel):
    """Users arrive one by one, each near the centre of a segment, and look through 12 playlists.

    The logit of the probability of streaming playlist i is ``bias_i + tastes_i . user``. Either the arms are
    playlists and the context has the features of the user and a 1, or the arms are pairs of a segment and a
    playlist, and the pairs of the user's segment are available.
    """

    def __init__(
        self, centres: FloatArray, tastes: FloatArray, bias: FloatArray, *, by_segment: bool
    ) -> None:
        self.centres, self.tastes, self.bias, self.by_segment = centres, tastes, bias, by_segment
        usual = self.chances(centres)
        means = usual.ravel() if by_segment else usual.mean(axis=0)
        super().__init__(means, RankedTopK(len(means), SLOTS))

    def chances(self, users: FloatArray) -> FloatArray:
        """Return the probability that each user streams each playlist."""
        chances: FloatArray = 1.0 / (1.0 + np.exp(-(self.bias + users @ self.tastes.T)))
        return chances

    def in_round(self, t: int, rng: np.random.Generator) -> CascadeModel:  # noqa: ARG002
        """Return the round of a random user."""
        segment, n = int(rng.integers(SEGMENTS)), len(self.bias)
        user = self.centres[segment] + _SPREAD * rng.standard_normal(_TASTES)
        chances = self.chances(user)
        if not self.by_segment:
            today = CascadeModel(chances, self.oracle)
            today.context = Context(features=np.tile(np.append(user, 1.0), (n, 1)))
            return today
        own = slice(segment * n, (segment + 1) * n)
        means, is_own = np.zeros(self.n_arms), np.zeros(self.n_arms, bool)
        means[own], is_own[own] = chances, True
        today = CascadeModel(means, self.oracle)
        today.context = Context(available=is_own)
        return today


def world(cell: Row, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the centres of the segments, and the tastes and biases of the playlists.

    The centres are the nine published users with random playlists of the 862. For synthetic users everything
    is drawn at random, with the spread of the published logits.
    """
    n = cell["playlists"]
    if cell["users"] == "synthetic":
        tastes = rng.standard_normal((n, _TASTES)) * 0.7 / np.sqrt(_TASTES)
        # Mean, standard deviation and long right tail of the published logits.
        return rng.standard_normal((SEGMENTS, _TASTES)), tastes, rng.gumbel(-5.7, 0.63, (n,))
    chances = streaming_chances(file=published())
    logits = np.log(chances / (1.0 - chances))[:, rng.permutation(chances.shape[1])[:n]]
    bias: FloatArray = logits.mean(axis=0)
    left, sizes, right = np.linalg.svd(logits - bias, full_matrices=False)
    # Nine points span eight directions about their mean. Centres have unit variance in each direction.
    scale = np.sqrt(SEGMENTS)
    return scale * left[:, :_TASTES], (sizes[:_TASTES, None] * right[:_TASTES]).T / scale, bias


@dataclass(frozen=True, eq=False)
class ShownFirst(IndexPolicy):
    """The rules of the paper without bounds, as in the authors' code: the best means, with random ties.

    Arms shown fewer than `least` times come first. With probability `epsilon` the choice is uniformly random.
    """

    least: int = 0
    epsilon: float = 0.0

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return the means, with larger values for arms that must still be shown."""
        ties: FloatArray = 1e-9 * rng.random(stats.n_arms)
        if rng.random() < self.epsilon:
            return ties
        behind = np.maximum(self.least - stats.counts, 0)
        return 2.0 * behind + np.where(stats.counts == 0, 1.0, stats.means) + ties


def learners(place: Carousels, horizon: int) -> dict[str, AnyPolicy]:
    """Return the learners for one form of the arms, by their names in the paper."""
    oracle = place.oracle
    displays = horizon * SLOTS / oracle.n_arms
    if place.by_segment:
        return {
            "random": RandomPolicy(oracle),
            # In the full experiment 100 and 20 displays of each playlist, as published.
            "ETC-seg-explore": ShownFirst(oracle, least=round(0.75 * displays)),
            "ETC-seg-exploit": ShownFirst(oracle, least=round(0.15 * displays)),
            "greedy-seg-explore": ShownFirst(oracle, epsilon=0.1),
            "greedy-seg-exploit": ShownFirst(oracle, epsilon=0.01),
            "KL-UCB-seg": KLCUCB(oracle),
            "TS-seg-naive": CTS(oracle),
            _BEST: CTS(oracle, 0.01, prior_weight=100.0),  # Beta(1, 99)
        }
    d, group = _TASTES + 1, np.arange(oracle.n_arms)
    priors = {"TS-lin-naive": 0.0, "TS-lin-pessimistic": -5.0}
    return {
        name: LogisticTS(
            oracle,
            dimension=d,
            norm=100.0,
            groups=group,
            prior_mean=np.append(np.zeros(_TASTES), bias),
            covariance="diagonal",
        )
        for name, bias in priors.items()
    }


def cells(quick: bool) -> list[Row]:
    """Return the populations: a synthetic one, and one around the published users if their file is found.

    Examples
    --------
    >>> from instances.experiments.carousels import cells
    >>> cells(quick=True)[0]
    {'users': 'synthetic', 'playlists': 60, 'horizon': 2000, 'batch': 20}
    """
    n, horizon = (60, 2_000) if quick else (100, 10_000)
    kinds = ["synthetic", *(["Deezer's nine"] if published().exists() and not quick else [])]
    # A hundred days. On each day, all users are served with the statistics of the days before.
    return [{"users": kind, "playlists": n, "horizon": horizon, "batch": horizon // 100} for kind in kinds]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon; all learners have the same users."""
    rng, number = world_and_coins(seed, replication)
    parts, told = world(cell, rng), list[Row]()
    for by_segment in (True, False):
        place = Carousels(*parts, by_segment=by_segment)
        rules = learners(place, cell["horizon"])
        told += regrets(rules, place, cell["horizon"], batch=cell["batch"], rng=number)
    return told


def claims(rows: list[Row]) -> Verdicts:
    """Return the published order: the pessimistic rule by segment first, KL-UCB before long exploration.

    The first rule is compared within replications, because instances differ more than rules do.
    """
    verdicts: Verdicts = []
    for (kind,), table in by_name(rows, "users", name="learner").items():
        pairs = [(_BEST, name) for name in table if name != _BEST]
        pairs += [("TS-lin-pessimistic", "TS-lin-naive"), ("TS-seg-naive", "KL-UCB-seg")]
        pairs += [("ETC-seg-exploit", "KL-UCB-seg"), ("KL-UCB-seg", "ETC-seg-explore")]
        pairs += [("ETC-seg-explore", "random")]
        verdicts += less_regret(table, pairs, kind, paired=_BEST)
    return verdicts


CAROUSELS = Experiment(
    name="carousels",
    title="Carousels of a music service",
    about="Lists of 12 playlists for users in nine segments, updated once per day: rules by segment, and"
    " rules by features.",
    sizes="60 playlists, 2,000 users, 3 runs instead of 100, 10,000 and the published users as well",
    minutes={True: 0.6, False: 6},
    replications={True: 3, False: 3},
    cells=cells,
    play=play,
    sum_up=mean_regrets_beside(_BEST),
    claims=claims,
    draw=lambda rows, out: draw_learners(rows, "users", out / "regret"),
    sources=dict.fromkeys((f"{_BEST} has less", "KL-UCB-seg", "ETC-seg-explore has less"), _FIGURE),
)
