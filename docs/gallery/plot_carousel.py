"""
A carousel of 8 films, with a model of your own
===============================================

A carousel shows 8 of 300 films, at most 2 of a genre, and only films that are available. We first log random
carousels, whose propensities are known. From the log alone, we train gradient boosting, and estimate the clicks
of the carousels that it would show, by position. Then the same estimator learns online, in `ModelPolicy`,
against a linear policy on the same rounds. Viewers like one genre in the evening and another one at noon,
and click rarely at the last positions, so the truth is not linear. The viewers are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from cmab import (
    C2UCB,
    Context,
    Feedback,
    Log,
    LoggedRound,
    ModelPolicy,
    RandomPolicy,
    Session,
    off_policy_value,
)
from cmab.plotting import style
from oracles.lists import Slate

FILMS, POSITIONS, GENRES = 300, 8, 6
draw = np.random.default_rng(0)
genre, age = np.arange(FILMS) % GENRES, draw.random(FILMS)
carousel = Slate(FILMS, POSITIONS, groups=genre.tolist(), quotas=2)
examination = 0.9 ** np.arange(POSITIONS)
ESTIMATOR = HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=10)


def features(hour):
    """Return the features of all pairs of a film and a position: genres, age, hour, position."""
    own = np.column_stack([np.eye(GENRES)[genre], age, np.full(FILMS, hour)])
    return carousel.pair_features(own, examination)


def chances(hour):
    """Return the probability of a click on each pair; the model does not know this function."""
    liked = np.where(genre == int(hour * GENRES), 0.6, 0.1) + 0.3 * ((age < 0.3) == (hour > 0.5))
    return np.outer(liked, examination).ravel()


def round_of(rng):
    """Return the hour of a round, its context and the probabilities of clicks."""
    hour, in_stock = rng.random(), rng.random(FILMS) < 0.8
    return hour, Context(carousel.available(in_stock), features(hour)), chances(hour)


# %%
# The log. Without quotas, a random carousel shows each available film at each position with the same
# probability, one over the number of available films.

rng, catalogue = np.random.default_rng(1), Slate(FILMS, POSITIONS)
logger, rounds, contexts = RandomPolicy(catalogue), [], []
for number in range(5000):
    hour, context, clicks = round_of(rng)
    shown = logger.select(logger.initial_state(), rng, Context(context.available))
    told = (rng.random(POSITIONS) < clicks[shown]).astype(float)
    names = tuple(map(int, shown // POSITIONS))
    known = (POSITIONS / context.available.sum(),) * POSITIONS
    outcomes = dict(zip(names, told.tolist(), strict=True))
    rounds.append(LoggedRound(number, "told", names, outcomes, told.sum(), by_position=known))
    contexts.append((hour, context, shown, told))

# %%
# Training on the first thousand rounds, evaluation on the others. The estimate by position (``"iips"``) uses
# only what the log contains. The simulated viewers tell how good it is.

first = 1000
X = np.vstack([context.features[shown] for _, context, shown, _ in contexts[:first]])
model = ESTIMATOR.fit(X, np.concatenate([told for *_, told in contexts[:first]]))


def best_carousel(number):
    context = contexts[number][1]
    means = model.predict_proba(context.features)[:, 1]
    return carousel.solve_within(means, context.available, np.random.default_rng(0))


chosen = {number: best_carousel(number) for number in range(first, len(rounds))}
found = off_policy_value(
    Log(rounds[first:]), lambda row: {tuple((chosen[row.number] // POSITIONS).tolist()): 1.0}, method="iips"
)
truth = np.mean([chances(contexts[number][0])[arms].sum() for number, arms in chosen.items()])
logged = np.mean([row.reward for row in rounds[first:]])
print(f"logged {logged:.2f}, estimated {found}, true {truth:.2f}")

# %%
# Online. Each policy meets the same rounds and learns from its own clicks.

policies = {
    "gradient boosting": ModelPolicy(carousel, ESTIMATOR, members=3),
    "linear (C2UCB)": C2UCB(carousel, dimension=GENRES + 3, norm=2.0, radius=0.5),
}
rewards = {}
for name, policy in policies.items():
    rng, coins = np.random.default_rng(2), np.random.default_rng(3)
    session, rewards[name] = Session(policy, rng=0), []
    for _ in range(150):
        hour, context, clicks = round_of(rng)
        ticket = session.ask(context)
        told = (coins.random(POSITIONS) < clicks[ticket.super_arm]).astype(float)
        session.tell(Feedback(ticket, told), ticket)
        rewards[name].append(clicks[ticket.super_arm].sum())

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.2), width_ratios=(1, 1.6))
    low, high = found.interval
    left.errorbar(0, found.value, yerr=[[found.value - low], [high - found.value]], fmt="o", capsize=3)
    left.scatter([1, 2], [truth, logged], marker="s", color="#D55E00")
    left.set_xticks([0, 1, 2], ["estimated\nfrom the log", "true", "logged\n(random)"])
    left.set(ylabel="Clicks of a round", xlim=(-0.5, 2.5), title="Boosting, off-policy")
    left.set_ylim(bottom=0.0)
    for name, values in rewards.items():
        right.plot(np.cumsum(values) / np.arange(1, len(values) + 1), label=name)
    right.axhline(logged, color="grey", linestyle=":", label="random")
    right.set(xlabel="Round", ylabel="Mean clicks so far", title="Online")
    right.legend()
plt.show()
