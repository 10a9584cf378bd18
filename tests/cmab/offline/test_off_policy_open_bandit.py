"""Off-policy values on real clicks: the Open Bandit data, where the rule to be valued was run as well."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cmab import Log, off_policy_value
from instances.datasets import open_bandit


@pytest.mark.slow
@pytest.mark.parametrize("campaign", ["men", "women", "all"])
def test_the_measured_value_lies_in_the_interval(campaign):
    """Of Thompson sampling, as often as it showed each item at each position, from the random log.

    Both intervals are of level 0.95: they overlap with far more. A wrong column is noticed.
    """
    try:
        random, thompson = open_bandit(campaign, "random"), open_bandit(campaign, "thompson")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    shown = Counter((row.facts["position"], *row.names) for row in thompson)
    totals = Counter(row.facts["position"] for row in thompson)
    shares: dict = {position: {} for position in totals}
    for (position, item), times in shown.items():
        shares[position][(item,)] = times / totals[position]
    measured = np.mean([row.reward for row in thompson])
    for normal in (False, True):
        found = off_policy_value(random, lambda row: shares[row.facts["position"]], self_normalised=normal)
        assert found.interval[0] < measured < found.interval[1]
        assert abs(found.weight_z) < 4
        assert 2000 < found.effective_size < 5000
    for factor in (0.7, 1.4):
        wrong = Log([replace(row, propensity=factor * row.propensity) for row in random])
        with pytest.raises(ValueError, match="weights must have mean 1"):
            off_policy_value(wrong, lambda row: shares[row.facts["position"]])
