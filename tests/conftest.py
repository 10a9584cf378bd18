"""Settings of the whole suite."""

import os
import signal
import sys
import time
import zlib
from collections import defaultdict

import pytest
from hypothesis import settings

# The first call of a kernel compiles; fixed examples, so that a failure on one machine is one everywhere.
settings.register_profile("cmab", deadline=None, derandomize=True)
settings.load_profile("cmab")

# What is compiled takes its time in every fresh checkout: no news, and not in what tests compare.
os.environ["CMAB_QUIET"] = "1"

# A suite that a shell started in the background ignores Ctrl-C, and so would the processes that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


#: Of a test with more parameters than this, one in twelve runs; the others run every night.
MANY, SHARE = 20, 12


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Choose these parameters by their names, so that every class and every check keeps some of them.

    A command that names single parameters runs them. The tests of the house are quick, and run whole.
    """
    groups = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and "house" not in item.path.parts:
            groups[item.path, item.cls, item.originalname].append(item)
    for group in groups.values():
        if len(group) > MANY:
            for item in group:
                if zlib.crc32(item.name.encode()) % SHARE:
                    item.add_marker(pytest.mark.many)


def pytest_runtest_setup():
    """Skip the tests that have not begun at this time, in seconds since 1970."""
    if time.time() > float(os.environ.get("CMAB_TESTS_UNTIL", "inf")):
        pytest.skip("the time of this run is over")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Modules that a test wrote into its folder leave with it: later tests would hash their changed files."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    result = yield
    if folder is not None:
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
    return result
