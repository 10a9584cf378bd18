"""Joint optimism and shifting means: verdicts follow the rows, and the adversary is the published one."""

import math

import numpy as np
import pytest

from cmab.testing import check_environment
from instances import BernoulliArms
from instances.experiments import joint_optima, shifting_means
from oracles import TopK


def rows(cells, regrets):
    """Return a row for each cell and learner, with narrow intervals."""
    for cell in cells:
        for learner, regret in regrets.items():
            yield cell | {"learner": learner, "regret": regret, "low": 0.9 * regret, "high": 1.1 * regret}


def test_claims_of_joint_optimism_follow_the_rows():
    cells = joint_optima.cells(quick=True)
    regrets = {"CUCB": 100.0, "ESCB": 50.0, "CTS": 10.0}
    regrets |= {"CUCB, ln t": 40.0, "ESCB, ln t": 10.0, "AESCB, ln t": 12.0}
    assert all(verdict for _, verdict in joint_optima.claims(list(rows(cells, regrets))))
    failed = joint_optima.claims(list(rows(cells, regrets | {"AESCB, ln t": 200.0})))
    assert [text for text, verdict in failed if not verdict] == [
        f"{cell['family']}: AESCB, ln t has less regret than CUCB, ln t" for cell in cells
    ]


def test_claims_of_shifting_means_follow_the_rows():
    steady, shifting = ([cell] for cell in shifting_means.cells(quick=True))
    told = [
        *rows(steady, {"CTS": 8.0, "CUCB": 50.0, "LBINFV": 9.0}),
        *rows(shifting, {"CTS": 20.0, "CUCB": 200.0, "LBINFV": 12.0}),
    ]
    assert [verdict for _, verdict in shifting_means.claims(told)] == [True] * 3
    told[2] |= {"regret": 100.0, "low": 90.0, "high": 110.0}
    assert [verdict for _, verdict in shifting_means.claims(told)] == [True, True, False]
    told[-1] |= {"regret": 30.0, "low": 27.0, "high": 33.0}
    assert [verdict for _, verdict in shifting_means.claims(told)] == [False, False, False]


def test_families_are_whole():
    sizes = {
        cell["family"]: len(joint_optima.family_of(cell["family"]).super_arms)
        for cell in joint_optima.cells(True)
    }
    assert sizes == {"paths": 20, "matchings": 24, "trees": 125}  # Cayley: 5^3 trees


@pytest.mark.slow
def test_the_adversary_moves_all_means_alike():
    means = np.array([0.5625, 0.4375, 0.5625])
    place = shifting_means.ShiftingMeans(BernoulliArms(means), TopK(3, 2))
    for t in (1, 10, 1000, 19_999):
        losses = (1 - means) + (0.4375 if int(math.log(t) / math.log(1.1)) % 10 < 5 else -0.4375)
        assert np.allclose(1 - place.in_round(t, np.random.default_rng(0)).means, losses)
    check_environment(place, [[0, 1], [1, 2]])
