"""100,000 random runs with budgets, none of which is overspent.

PYTHONPATH=.:tests:tests/support python tests/benchmarks/overspending.py [runs] [seed]
"""

import sys
import time

from tests.cmab.policies.test_budgets import check_never_overspent

if __name__ == "__main__":
    runs, seed = (int(word) for word in (*sys.argv[1:], *("100000", "1")[len(sys.argv) - 1 :]))
    started = time.process_time()
    check_never_overspent(runs, seed)
    print(f"{runs:,} runs, none overspent: {time.process_time() - started:.0f} s of processor time")
