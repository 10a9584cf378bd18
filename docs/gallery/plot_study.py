"""
A study
=======

A study describes a comparison by classes and arguments: instances, learners and replications. It stores each
result when it is finished, and plays only the missing ones when it runs again. `study.comparisons` returns the
same objects as `compare`.
"""

import tempfile

import matplotlib.pyplot as plt

from cmab import CTS, CUCB, Study
from instances import BernoulliArms, SemiBandit
from oracles import TopK

ads = {
    "class": SemiBandit,
    "arms": {"class": BernoulliArms, "means": [0.4, 0.9, 0.1, 0.7, 0.3, 0.8, 0.2, 0.5]},
    "oracle": {"class": TopK, "n_arms": 8, "k": 3},
}
learners = {f"CUCB {factor}": {"class": CUCB, "radius_factor": factor} for factor in (0.25, 1.0)}
with tempfile.TemporaryDirectory() as folder:
    study = Study(
        f"{folder}/study.sqlite",
        instances={"ads": ads},
        learners={**learners, "Thompson": CTS},
        horizon=1000,
        replications=10,
    )
    study.run()
    comparison = study.comparisons()["ads"]
print(comparison.table())

# %%
# The bands contain the mean with 95 % confidence.

comparison.plot()
plt.show()
