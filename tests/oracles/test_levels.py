"""Refusals of allocations, cascades with costs, and families of which one arm must succeed."""

from refusals import refused

from oracles import AtLeastOne, CostAwareCascade, LevelAllocation, TopK

test_bad_input_is_refused = refused(
    (lambda: LevelAllocation([], 1), "costs must have at least one line"),
    (lambda: LevelAllocation({"a": []}, 1), r"costs\['a'\] must be different costs, at least one"),
    (lambda: LevelAllocation({"a": [1, 1]}, 1), r"costs\['a'\] must be different costs"),
    (lambda: LevelAllocation({"a": [-1]}, 1), r"costs\['a'\]"),
    (lambda: LevelAllocation([[1]], -1), "budget must be a finite number"),
    (lambda: CostAwareCascade([0.1, -0.1]), r"costs must be finite in \[0, inf\), got -0.1"),
    (lambda: CostAwareCascade([0.1], value=0), "value must be"),
    (lambda: AtLeastOne(TopK(3, k=1, sense="min")), "family must be a linear oracle"),
)
