"""Carousels: the users met, the published data where they are, verdicts by intervals."""

import gzip
import os

import numpy as np
import pytest
from places import DATA

from cmab import ArmStatistics
from cmab.testing import check_environment
from instances.experiments import carousels
from oracles import RankedTopK

CELL = carousels.cells(quick=True)[0] | {"playlists": 14, "horizon": 40, "batch": 10}
NAMES = ["random", "ETC-seg-explore", "KL-UCB-seg", "ETC-seg-exploit", "TS-lin-naive", "TS-lin-pessimistic"]
NAMES += ["greedy-seg-exploit", "TS-seg-naive", "greedy-seg-explore", "TS-seg-pessimistic"]


def verdicts(regrets):
    """The verdicts on three replications, close to each other."""
    told = [
        [{"learner": name, "regret": x + 0.01 * run} for name, x in zip(NAMES, regrets, strict=True)]
        for run in range(3)
    ]
    return [verdict for _, verdict in carousels.claims(carousels.CAROUSELS.sum_up(CELL, told))]


def test_verdicts_go_by_intervals():
    published = verdicts([1.3**n for n in range(10, 0, -1)])
    assert len(published) == 14 and set(published) == {True}
    assert set(verdicts([1.3**n for n in range(10)])) == {False}
    assert set(verdicts([1.0] * 10)) == {None}


@pytest.mark.slow
def test_both_forms_of_the_arms_meet_the_same_users():
    parts = carousels.world(CELL, np.random.default_rng(0))
    pairs, playlists = (carousels.Carousels(*parts, by_segment=flag) for flag in (True, False))
    for t in range(1, 20):
        one = pairs.in_round(t, np.random.default_rng(t))
        other = playlists.in_round(t, np.random.default_rng(t))
        available = one.context.available
        assert available.sum() == 14 and one.means[~available].sum() == 0
        assert one.means[available].tolist() == other.means.tolist()
        assert one.optimum == pytest.approx(other.optimum)
        features = other.context.features
        logits = parts[2] + (parts[1] * features[:, :-1]).sum(axis=1)
        assert other.means == pytest.approx(1 / (1 + np.exp(-logits))) and (features[:, -1] == 1).all()
    # With streams less rare, so that a fifth of a second sees some.
    often = carousels.Carousels(parts[0], parts[1], parts[2] + 4.0, by_segment=False)
    check_environment(often, [range(12), range(2, 14)])


def test_what_was_shown_less_comes_first():
    stats = ArmStatistics.empty(5)
    stats.counters[:], stats.means[:] = [0, 3, 2, 9, 9], [0.0, 0.0, 0.5, 0.1, 0.2]
    first = carousels.ShownFirst(RankedTopK(5, 2), least=3).indices(stats, np.random.default_rng(0))
    assert np.argsort(-first).tolist() == [0, 2, 4, 3, 1]
    greedy = carousels.ShownFirst(RankedTopK(5, 2))
    assert np.argsort(-greedy.indices(stats, np.random.default_rng(0))).tolist() == [0, 2, 4, 3, 1]


@pytest.mark.slow
def test_a_replication_is_the_same_again():
    told = carousels.play(CELL, np.random.SeedSequence(5), 1)
    assert sorted(row["learner"] for row in told) == sorted(NAMES)
    assert told == carousels.play(CELL, np.random.SeedSequence(5), 1)


def test_users_around_the_published_ones(monkeypatch):
    """The centres of the segments have the published probabilities."""
    if not (DATA / "deezer_attraction.csv.gz").exists():
        pytest.skip(f"the published users are not in {DATA}")
    monkeypatch.setitem(os.environ, "CMAB_DATA", str(DATA))
    assert [cell["users"] for cell in carousels.cells(quick=False)] == ["synthetic", "Deezer's nine"]
    cell = CELL | {"users": "Deezer's nine", "playlists": 862}
    place = carousels.Carousels(*carousels.world(cell, np.random.default_rng(0)), by_segment=False)
    with gzip.open(carousels.published(), "rt") as file:
        chances = np.loadtxt(file, delimiter=",")[:, 1:]
    found = place.chances(place.centres)
    assert np.sort(found, axis=1) == pytest.approx(np.sort(chances, axis=1), abs=1e-9)
