"""Which tests are slow: run as a plugin, it writes those above a limit of processor time to `slow_tests.txt`.

    PYTHONPATH=tests/benchmarks python -m pytest -q -m "" -p slow_tests

Processor time, with that of child processes, is the same beside other work. With compiled code in the cache,
what the first caller compiles counts for nobody. Tests that are marked by hand stay out of the file.
"""

import resource
from pathlib import Path

import pytest

LIMIT = 0.5
FILE = Path(__file__).resolve().parent.parent / "slow_tests.txt"
measured: dict[str, float] = {}


def used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = used()
    try:
        return (yield)
    finally:
        measured[item.nodeid] = used() - before


def pytest_sessionfinish():
    FILE.write_text(
        "".join(f"{name}\n" for name in sorted(measured) if measured[name] > LIMIT), encoding="utf-8"
    )
