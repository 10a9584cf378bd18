"""The explorations of model policies: priors, joint draws, optimism, inverse gaps, and networks."""

import numpy as np
import pytest
from models import Coin, Doubtful, LeastSquares, RunningMean

from cmab import Context, Feedback, ModelPolicy, Session
from cmab.models import NetworkRegressor, PositionBased
from cmab.models.priors import WithPrior
from cmab.models.rules import gap_chances
from oracles import Knapsack, TopK
from oracles.lists import Slate


def learned(policy, rounds, means, seed=0):
    """Play rounds with the policy's own features, and return the session and the mean of the last rounds."""
    session, rng, rewards = Session(policy, rng=seed), np.random.default_rng((1, seed)), []
    for _ in range(rounds):
        ticket = session.ask()
        session.tell(Feedback(ticket, (rng.random(len(ticket)) < means[ticket.super_arm]).astype(float)))
        rewards.append(means[ticket.super_arm].mean())
    return session, float(np.mean(rewards[rounds // 2 :]))


FEATURES = np.random.default_rng(0).random((8, 3))
#: Between 0.2 and 0.9; the mean of two random arms is 0.5, the best two have more than 0.8.
MEANS = np.linspace(0.2, 0.9, 8)[np.argsort(np.argsort(FEATURES[:, 0]))]


@pytest.mark.parametrize(
    ("exploration", "estimator", "options"),
    [
        ("priors", LeastSquares(), {}),
        ("optimism", Doubtful(), {}),
        ("deviation", Doubtful(), {"deviation_factor": 0.2, "draws": 4}),
        ("joint", NetworkRegressor(16, steps=100), {}),
        ("optimism", NetworkRegressor(16, gradients="all", steps=100), {}),
        ("deviation", NetworkRegressor(16, gradients="all", steps=100), {"draws": 3}),
    ],
)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_each_finds_good_arms(exploration, estimator, options, sense):
    """The mean of 60 random pairs has a deviation of 0.021 around 0.55. The limits are 4.8 of them away."""
    means = MEANS if sense == "max" else 1.1 - MEANS
    policy = ModelPolicy(
        TopK(8, 2, sense=sense), estimator, FEATURES, exploration=exploration, members=3, **options
    )
    _, mean = learned(policy, 120, means)
    assert mean > 0.65 if sense == "max" else mean < 0.45


def test_prior_functions_differ_where_nothing_was_observed():
    """The models agree with the data, and their deviation far away is about that of the prior functions."""
    rows = np.random.default_rng(0).random((60, 2))
    told = rows[:, 0]
    models = [WithPrior(LeastSquares(1e-6), seed, 0.25).fit(rows, told) for seed in range(60)]
    near = np.array([model.predict(rows) for model in models])
    far = np.array([model.predict(rows + 30.0) - model.estimator.predict(rows + 30.0) for model in models])
    assert np.abs(near - told).mean() < 0.1
    # A sample deviation of 60 numbers has a relative error of about 0.09.
    assert 0.15 < np.median(far.std(axis=0)) < 0.35


def test_inverse_gap_weights():
    values = np.array([0.9, 0.5, 0.9, 0.1])
    chances = gap_chances(values, 100)
    assert chances.sum() == pytest.approx(1.0)
    assert chances[1] == pytest.approx(1 / (4 + 20 * 0.4))
    assert chances[0] > chances[2] == pytest.approx(1 / 4)
    assert gap_chances(np.array([0.3]), 5).tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("support", [(0.0, 1.0), None])
def test_inverse_gap_weighting_chooses_with_its_propensities(sense, support):
    """Frequencies of 2,000 draws are within six standard deviations of the propensities, which sum to 1."""
    policy = ModelPolicy(
        TopK(8, 1, sense=sense), LeastSquares(), FEATURES, exploration="gap", support=support
    )
    session, _ = learned(policy, 60, MEANS)
    context = Context(available=np.arange(8) != 3)
    chances = np.array([policy.propensity(session.state, np.array([arm]), context) for arm in range(8)])
    counts = np.zeros(8)
    for seed in range(2000):
        counts[policy.select(session.state, np.random.default_rng(seed), context)] += 1
    assert chances.sum() == pytest.approx(1.0)
    assert chances[3] == counts[3] == 0
    assert (np.abs(counts / 2000 - chances) <= 6 * np.sqrt(chances / 2000) + 1e-9).all()


@pytest.mark.parametrize(
    ("estimator", "options", "error", "words"),
    [
        (LeastSquares(), {"exploration": "joint"}, TypeError, r"sample_y\(X, random_state=seed\)"),
        (LeastSquares(), {"exploration": "optimism"}, TypeError, "return_std=True"),
        (Coin(), {"exploration": "deviation"}, TypeError, "return_std=True"),
        (Coin(), {"exploration": "priors"}, TypeError, "must be a regressor"),
        (LeastSquares(), {"exploration": "gap"}, ValueError, r"TopK\(n_arms, k=1\)"),
    ],
)
def test_unfit_estimators_and_oracles_are_refused(estimator, options, error, words):
    with pytest.raises(error, match=words):
        ModelPolicy(Knapsack([1, 2, 3], 3), estimator, **options)


def test_the_network_is_the_bayesian_regression_of_its_hidden_units():
    """Compared with the normal equations on the hidden units, and joint draws with their covariance."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.random((50, 2)), rng.random(50), rng.integers(1, 4, 50)
    network = NetworkRegressor(5, penalty=0.7).fit(X, y, sample_weight=weights)
    units = np.column_stack([network._hidden(X), np.ones(50)])
    told = y - np.average(y, weights=weights)
    precision = (units.T * weights) @ units + 0.7 * np.eye(6)
    theta = np.linalg.solve(precision, units.T @ (weights * told))
    means, deviations = network.predict(X, return_std=True)
    assert np.allclose(means - np.average(y, weights=weights), units @ theta)
    noise = np.average((told - units @ theta) ** 2, weights=weights)
    covariance = noise * units @ np.linalg.solve(precision, units.T)
    assert np.allclose(deviations**2, np.diag(covariance))
    draws = np.array([network.sample_y(X[:2], seed) for seed in range(4000)])
    # A covariance of 4,000 draws has an error of about variance / sqrt(2000).
    largest = np.diag(covariance)[:2].max()
    assert np.abs(np.cov(draws.T) - covariance[:2, :2]).max() < 6 * largest / np.sqrt(2000)


def test_the_gradients_of_the_network():
    """Compared with differences of the output with respect to each parameter."""
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.random(30)
    network = NetworkRegressor(3, gradients="all", steps=20).fit(X, y)
    slopes, found = network._slopes(X), []
    for name in ("_last", "_bias", "_first"):
        array = getattr(network, name)
        for place in np.ndindex(array.shape):
            outputs = []
            for change in (1e-6, -2e-6):
                array[place] += change
                outputs.append(network._output(X))
            array[place] += 1e-6
            found.append((outputs[0] - outputs[1]) / 2e-6)
    assert np.allclose(np.delete(slopes, 3, axis=1), np.array(found).T, atol=1e-6)
    assert (slopes[:, 3] == 1.0).all()


@pytest.mark.parametrize("examination", [None, [1.0, 0.6, 0.2]])
def test_effects_of_positions_are_learned(examination):
    """Outcomes without noise are explained exactly, up to the ridge."""
    page = Slate(20, positions=3)
    effects, own = np.array([1.0, 0.6, 0.2]), np.random.default_rng(0).random((20, 1))
    X = page.pair_features(own)
    y = np.tile(effects, 20) * (0.1 + 0.8 * np.repeat(own[:, 0], 3))
    model = PositionBased(LeastSquares(1e-9), 3, examination=examination, repeats=40).fit(X, y)
    assert np.allclose(model.effects, effects, atol=0.01)
    assert np.allclose(model.predict(X), y, atol=0.01)
    policy = ModelPolicy(page, PositionBased(LeastSquares(), 3, examination=examination), X)
    session, _ = learned(policy, 25, y)
    assert len(session.ask()) == 3


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: PositionBased(RunningMean(), 2), TypeError, "sample_weight"),
        (lambda: PositionBased(Coin(), 2), TypeError, "must be a regressor"),
        (lambda: PositionBased(LeastSquares(), 0), ValueError, "positions"),
        (lambda: PositionBased(LeastSquares(), 2, examination=[1.0, 0.0]), ValueError, "above 0"),
        (
            lambda: PositionBased(LeastSquares(), 2).fit(np.ones((3, 3)), np.ones(3)),
            ValueError,
            "pair_features",
        ),
        (lambda: NetworkRegressor(0), ValueError, "units"),
        (lambda: NetworkRegressor().set_params(rate=-1.0), ValueError, "rate"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
