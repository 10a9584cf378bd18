"""A plain driver of explorers, for tests: asks, pulls, tells, counts."""

import numpy as np

from cmab import Feedback


def explore(explorer, environment, rng, max_samples=10**12):
    """Run to the stopping rule; return the arms and the samples taken, as the environment counts them."""
    state, samples, steps = explorer.initial_state(), 0, 0
    while not explorer.is_done(state) and samples < max_samples:
        arms = explorer.select(state, rng)
        pulls = np.full(len(arms), explorer.pulls(state))
        assert len(arms)
        assert pulls.min() >= 1
        sums, squares = environment.pull_many(arms, pulls, rng)
        explorer.update(state, Feedback(arms, sums, pulls=pulls, squares=squares))
        samples, steps = samples + int(pulls.sum()), steps + 1
        assert steps < 1_000_000, "a livelock is a failure"
    return explorer.recommend(state), samples


def errors(explorer, environment, is_right, runs, seed=0):
    """Return how many of `runs` end with a wrong answer."""
    rng = np.random.default_rng(seed)
    return sum(not is_right(explore(explorer, environment, rng)[0]) for _ in range(runs))
