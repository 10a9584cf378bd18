"""
A study
=======

A study describes a comparison as data: instances, learners with a grid of parameters, and replications. It
stores each result when it is finished. `study.comparisons` returns the same objects as `compare`, and `cmab
report` writes a page.
"""

import tempfile

import matplotlib.pyplot as plt

from cmab import Study

study = Study(
    {
        "horizon": 1000,
        "replications": 10,
        "instances": {
            "ads": {
                "oracle": {"class": "TopK", "n_arms": 8, "k": 3},
                "environment": {
                    "class": "SemiBandit",
                    "oracle": "$oracle",
                    "arms": {"class": "BernoulliArms", "means": [0.4, 0.9, 0.1, 0.7, 0.3, 0.8, 0.2, 0.5]},
                },
            }
        },
        "learners": {
            "CUCB": {"class": "CUCB", "grid": {"radius_factor": [0.25, 1.0]}},
            "Thompson": {"class": "CTS"},
        },
    }
)
with tempfile.TemporaryDirectory() as folder:
    study.run(folder)
    comparison = study.comparisons(folder)["ads"]
print(comparison.table())

# %%
# The bands contain the mean with 95 % confidence.

comparison.plot()
plt.show()
