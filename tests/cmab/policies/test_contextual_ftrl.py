"""ContextualFTRL: its marginals, its draws and its estimates."""

import numpy as np
import pytest
from references_policies import entropic
from scipy.stats import binom

from cmab import Context, ContextualFTRL, Feedback, Session
from cmab.policies.contextual_ftrl import entropic_marginals
from oracles import BruteForce, TopK

RNG = np.random.default_rng


@pytest.mark.parametrize(("n", "k"), [(6, 1), (6, 3), (6, 5), (6, 6), (2, 1)])
def test_marginals_minimise_losses_and_entropy(n, k):
    rng = RNG(0)
    losses = np.array([scale * rng.normal(size=n) for scale in (0.0, 0.3, 1.0, 5.0, 20.0)])
    found = entropic_marginals(losses, k)
    for row, shares in zip(losses, found, strict=True):
        assert shares == pytest.approx(entropic(row, k), abs=1e-9)
        assert shares.sum() == pytest.approx(k)


def test_an_estimate_is_the_loss_times_the_inverse_matrix():
    """The first round by hand: all coefficients are 0, so the probability of an arm is k / n."""
    policy = ContextualFTRL(TopK(4, 2), dimension=2, ridge=0.01, support=(0.0, 2.0))
    session, rows = Session(policy, rng=0), RNG(1).random((4, 2)) / 2
    ticket = session.ask(Context(features=rows))
    session.tell(Feedback(ticket, [2.0, 0.5]), ticket)
    expected = np.zeros((4, 2))
    for arm, loss in zip(ticket.super_arm, (-1.0, 0.5), strict=True):
        matrix = 0.5 * np.outer(rows[arm], rows[arm]) + 0.01 * np.eye(2)
        expected[arm] = loss * np.linalg.inv(matrix) @ rows[arm]
    assert session.state.coefficients == pytest.approx(expected)
    assert session.state.rounds == 1
    assert 1.0 < session.state.weight < 2.0


@pytest.mark.slow
def test_the_draw_has_the_marginals():
    """Counts of each arm in 4,000 draws; false alarms with probability below 1e-6 by the union bound."""
    policy, rng, n = ContextualFTRL(TopK(5, 2), dimension=2), RNG(0), 4000
    state, context = policy.initial_state(), Context(features=RNG(1).random((5, 2)) / 2)
    state.coefficients[:] = RNG(2).normal(size=(5, 2))
    chances = policy.marginals(state, context.features)
    drawn = [policy.select(state, rng, context) for _ in range(n)]
    assert {len(arms) for arms in drawn} == {2}
    counts, level = np.bincount(np.concatenate(drawn), minlength=5), 1e-6 / 10
    assert (counts >= binom.ppf(level, n, chances)).all()
    assert (counts <= binom.isf(level, n, chances)).all()


@pytest.mark.slow
def test_it_learns_which_features_favour_which_arms():
    """Two kinds of rounds with opposite best arms: 80 % right after 1,000 rounds. The seed is fixed."""
    session, rng, right = Session(ContextualFTRL(TopK(4, 2), dimension=2), rng=0), RNG(0), []
    for _ in range(1500):
        kind = int(rng.integers(2))
        ticket = session.ask(Context(features=np.tile(np.eye(2)[kind], (4, 1))))
        means = np.where((np.arange(4) < 2) == kind, 0.9, 0.1)
        right.append(means[ticket.super_arm].mean() > 0.5)
        session.tell(Feedback(ticket, (rng.random(2) < means[ticket.super_arm]).astype(float)), ticket)
    assert np.mean(right[1000:]) > 0.8


def test_what_it_refuses():
    with pytest.raises(ValueError, match="uniform_size"):
        ContextualFTRL(BruteForce(3, [[0], [1, 2]]), dimension=2)
    with pytest.raises(ValueError, match="dimension must be given"):
        ContextualFTRL(TopK(3, 1))
    with pytest.raises(ValueError, match="features"):
        ContextualFTRL(TopK(3, 1), np.full((3, 2), 2.0))
    for wrong in ({"past": 0}, {"ridge": 0.0}, {"exploration": 1.5}, {"norm": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ContextualFTRL(TopK(3, 1), dimension=2, **wrong)
    policy = ContextualFTRL(TopK(3, 1), dimension=2)
    with pytest.raises(ValueError, match="context must have features"):
        policy.select(policy.initial_state(), RNG(0))
    other = ContextualFTRL(TopK(4, 1), dimension=2).initial_state()
    with pytest.raises(ValueError, match="coefficients"):
        policy.select(other, RNG(0), Context(features=np.zeros((3, 2))))
