"""Folders that tests need."""

import os
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parent.parent
#: For a process that imports what tests import.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", SUPPORT)))}
#: Real graphs and published instances, beside a checkout; tests that need one skip where it is missing.
DATA = ROOT.parent / "shared" / "data"
