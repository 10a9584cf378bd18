"""Folders that tests need."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parent.parent
#: Real graphs and published instances, beside a checkout; tests that need one skip where it is missing.
DATA = ROOT.parent / "shared" / "data"
