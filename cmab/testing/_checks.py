"""What all conformance checks share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray


@dataclass(frozen=True)
class Check:
    """One named check, ready to run.

    Attributes
    ----------
    name : str
        What is checked, and of which class: ``"TopK-guarantee"``.
    run : callable
        Raises ``AssertionError`` if the subject fails.

    Examples
    --------
    >>> from cmab.testing import oracle_checks
    >>> from oracles import TopK
    >>> for check in oracle_checks(TopK(5, k=2)):
    ...     check.run()
    """

    name: str
    run: Callable[[], None]


def named_checks(prefix: str, subject: Any, checks: Sequence[Callable[[Any], None]]) -> list[Check]:
    """Return one `Check` of `subject` for each function, named ``prefix-function``."""
    names = [check.__name__.removeprefix("_").removeprefix("check_") for check in checks]
    return [
        Check(f"{prefix}-{name}", partial(check, subject)) for name, check in zip(names, checks, strict=True)
    ]


def parametrize_with_checks(*checks: Iterable[Check]) -> Any:
    """Return a pytest decorator that makes one item, with a readable id, of each check.

    Parameters
    ----------
    *checks : iterable of Check
        What `oracle_checks`, `environment_checks` and `policy_checks` return.

    Examples
    --------
    >>> from cmab.testing import oracle_checks, parametrize_with_checks
    >>> from oracles import TopK
    >>> @parametrize_with_checks(oracle_checks(TopK(5, k=2)))
    ... def test_my_oracle(check):
    ...     check.run()
    """
    import pytest

    items = [pytest.param(check, id=check.name) for group in checks for check in group]
    return pytest.mark.parametrize("check", items)


def pickled(value: object) -> bytes:
    """Return `value` pickled as worker processes get it: classes from notebooks and tests go by value."""
    import cloudpickle

    data: bytes = cloudpickle.dumps(value)
    return data


def require(condition: object, fault: str, message: str, *values: object) -> None:
    """Raise ``AssertionError`` with the fault's name unless `condition` holds (also under ``python -O``).

    `message` is a format string: writing arrays out takes longer than most checks, so it waits for a fault.
    """
    if not condition:
        raise AssertionError(f"{fault}: {message.format(*values)}")


def require_same(first: AnyArray, second: AnyArray, fault: str, what: str, *values: object) -> None:
    """Raise unless two answers are equal; `what` is a format string."""
    if not np.array_equal(first, second):
        raise AssertionError(f"{fault}: {what.format(*values)} gave {second} instead of {first}")


def require_mean(fault: str, what: str, sample: FloatArray, claimed: float) -> None:
    """Compare a sample mean with its claim; a true claim fails with probability below 1e-6.

    Seven standard errors, and twenty parts in n of the range for samples too rare or too small for the
    normal law; samples of fewer than 30 say nothing and pass.
    """
    n = len(sample)
    if n < 30:
        return
    spread = float(np.ptp(sample))
    margin = 7 * float(sample.std()) / math.sqrt(n) + 20 * (spread if spread > 0 else 1.0) / n + 1e-9
    mean = float(sample.mean())
    require(
        abs(mean - claimed) <= margin,
        fault,
        "{} average {:.6g} over {}, claimed {:.6g}",
        what,
        mean,
        n,
        claimed,
    )


def binomial_tail(failures: int, trials: int, probability: float) -> float:
    """Return the probability of at least `failures` failures in `trials` of the given probability."""
    from scipy.special import bdtrc

    return float(bdtrc(failures - 1, trials, probability)) if failures > 0 else 1.0
