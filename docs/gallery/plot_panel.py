"""
Which models to ask within a budget
===================================

Twelve models can answer a request, and a request costs at most 50 cents. The answers are checked, and one right
answer is enough, so the value of a panel is the probability that at least one model is right. This value is not a
sum, and `AtLeastOne` finds the best panel. The learner is the default one. Half-way, the best of the cheap models is
replaced by a weak one, under the same name or under a new one.

The rates of right answers and the mean costs in dollars are those of the OpenHands Index for three benchmarks:
SWE-bench (issues), SWT-bench (tests) and GAIA (questions). They are from
https://github.com/OpenHands/openhands-index-results, commit 3015ac6 of 30 June 2026. The answers are simulated:
right with this rate, and independent of each other.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, Context, Feedback, Learner, Session, SlidingWindow
from oracles import AtLeastOne, Knapsack

kinds = ["issues", "tests", "questions"]
table = {  # the rate of right answers and the mean cost, for each kind of request
    "Nemotron-3-Super": (0.620, 0.457, 0.400, 0.47, 0.33, 0.12),
    "DeepSeek-V3.2-Reasoner": (0.716, 0.536, 0.503, 0.16, 0.12, 0.06),
    "MiniMax-M2.7": (0.756, 0.691, 0.255, 0.18, 0.13, 0.22),
    "MiniMax-M3": (0.764, 0.811, 0.667, 0.17, 0.11, 0.35),
    "Kimi-K2.6": (0.746, 0.704, 0.745, 0.67, 0.33, 0.42),
    "Gemini-3-Flash": (0.746, 0.707, 0.588, 0.42, 0.30, 0.38),
    "Qwen3.6-Plus": (0.742, 0.621, 0.721, 1.54, 2.09, 0.34),
    "GPT-5.4": (0.756, 0.704, 0.824, 0.63, 0.47, 0.61),
    "Gemini-3.1-Pro": (0.768, 0.751, 0.818, 1.87, 1.62, 1.80),
    "GPT-5.5": (0.782, 0.834, 0.861, 1.52, 0.92, 0.74),
    "claude-opus-4-6": (0.768, 0.788, 0.800, 0.77, 0.43, 0.44),
    "claude-opus-4-8": (0.838, 0.843, 0.788, 0.75, 0.73, 1.17),
    "MiniMax-M3, replaced": (0.342, 0.076, 0.085, 0.17, 0.11, 0.35),  # the rates of Nemotron-3-Nano
}
names, (qualities, costs) = [*table], np.split(np.array([*table.values()]), 2, axis=1)
old, new = names.index("MiniMax-M3"), len(names) - 1
replaced = qualities.copy()
replaced[old] = qualities[new]


# Base arm 3 m + j is model m on requests of kind j. A request makes the arms of its kind available.
oracle = AtLeastOne(Knapsack(costs.ravel(), 0.5))
rounds, rng = 3_000, np.random.default_rng(1)
requests, coins = rng.integers(3, size=rounds), rng.random((rounds, costs.size))


def play(learner, is_told=False):
    """Return the probability that at least one answer was right, for each request."""
    session, values = Session(learner, rng=0), []
    for t, kind in enumerate(requests):
        is_after = t >= rounds // 2
        means = (replaced if is_after else qualities).ravel()
        available = np.zeros(qualities.shape, bool)
        available[:, kind] = True
        available[old if is_after and is_told else new] = False
        ticket = session.ask(Context(available=available.ravel()))
        session.tell(Feedback(ticket, (coins[t] < means)[ticket.super_arm].astype(float)))
        values.append(oracle.expected_reward(ticket.super_arm, means))
    return np.array(values)


runs = {
    "told of the new model": play(Learner(oracle), is_told=True),
    "not told": play(Learner(oracle)),
    "not told, window of 1,000 requests": play(SlidingWindow(CTS(oracle), window=1_000)),
}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, values in runs.items():
    axes.plot(np.arange(300, rounds + 1), np.convolve(values, np.ones(300) / 300, "valid"), label=name)
    print(f"{name}: {values[250:1500].mean():.1%} before, {values[1750:].mean():.1%} after")
for means, span in ((qualities, (0, rounds / 2)), (replaced, (rounds / 2, rounds))):
    best = []
    for kind, request in enumerate(kinds):
        asked = Knapsack(costs[:new, kind], 0.5)
        panel = AtLeastOne(asked).solve(means[:new, kind], rng)
        best.append(AtLeastOne(asked).expected_reward(panel, means[:new, kind]))
        print(f"{request}: {', '.join(names[model] for model in panel)}: {best[-1]:.1%}")
    single = np.where(costs <= 0.5, means, 0.0)[:new].max(axis=0).mean()
    axes.hlines([np.mean(best), single], *span, colors="gray", linestyles=["--", ":"])
    print(f"best panels: {np.mean(best):.1%}, best single models: {single:.1%}")
axes.set(xlabel="Requests (mean of 300)", ylabel="At least one right answer", ylim=(0.7, 1))
axes.legend(loc="lower left")
plt.show()

# %%
# Dashed: the best panels. Dotted: the best single model of each kind.
# With 50 cents, the best panels contain a right answer in 93.9 % of the requests, and the best single models in 79.2 %.
# After 250 requests, the learner reaches 93.3 %. After the replacement, the best panels reach 91.4 %. If the new model
# has a name of its own, its arms start without outcomes, and the learner reaches 91.0 %. If the name stays, the old
# outcomes mislead the learner (88.4 %), and a window helps a little (89.2 %). So give each version a name of its own.
#
# Independence is an assumption. In the published results by instance, MiniMax-M2.7 and MiniMax-M3 together solve
# 83.6 % of the issues, not 94.2 %. If the answers to your requests depend on each other as strongly, measure the
# joint rates, and state them as the reward of a `SubmodularOracle`.
