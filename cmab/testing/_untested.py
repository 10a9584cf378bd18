"""The properties that no check tests, for each kind of object, as reports and the documentation list them."""

from __future__ import annotations

SHARED = (
    "Faults that occur in less than about one of a thousand calls, or only after more rounds than a run has.",
    "Faults for larger or other parameters than those of the checked object.",
    "Files, databases, networks and devices that a class uses, and platforms other than this one.",
)
ORACLE = (
    "Whether the family is the intended one, unless `super_arms` or `is_feasible` describes it.",
    "The guarantee alpha on families that are too large to enumerate, apart from better sets near an answer.",
    "The times that calls take, and the worst case of a search.",
    "Infinite means, reports to `feedback_of`, and names given by `named`.",
)
POLICY = (
    "Regret bounds. A policy must learn in two simple worlds and, if it claims optimism, keep its claim.",
    "Policies that declare `learns=False`, and learning from contexts of real data.",
    "Confidence radii, and late and rare states, if a state has other parts than counts, sums and means.",
    "Sums that `update` learns without reading `feedback.pulls`. A session rejects them.",
)
ENVIRONMENT = (
    "Errors of a mean or reward that are smaller than the report states.",
    "Super arms that are not passed to the checks.",
    "Laws of outcomes beyond their means, variances and tails, and the agreement of rounds with pulls.",
    "Dependence between outcomes of one round, which is allowed.",
    "The use of resources apart from its averages, and the laws of contexts.",
)
EXPLORER = (
    "Error rates between delta and the rate that the report states.",
    "Wrong answers of explorers without a `goal`, and error rates of explorers without `delta`.",
    "The number of samples, and whether the explorer stops on harder problems than those that were tried.",
)
