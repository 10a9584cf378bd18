"""Published experiments, as ``cmab reproduce NAME`` runs them: rows, a page of claims, a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from instances.experiments._experiment import reproduce
from instances.experiments._explorations import Row
from instances.experiments.aggregate import AGGREGATE_REGRET
from instances.experiments.best_k import LIL_RAND_LUCB
from instances.experiments.fixed_budget import FIXED_BUDGET
from instances.experiments.lucb_halving import LUCB_HALVING

__all__ = ["aggregate_regret", "fixed_budget", "lil_rand_lucb", "lucb_halving"]

Function = TypeVar("Function", bound=Callable[..., Any])


def takes(*, quick: float, full: float) -> Callable[[Function], Function]:
    """Say how many minutes an experiment takes on two cores; the command announces it."""

    def marked(function: Function) -> Function:
        function.minutes = {True: quick, False: full}  # type: ignore[attr-defined]
        return function

    return marked


@takes(quick=0.5, full=20)
def lil_rand_lucb(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[Row]:
    """Figures 1 and 2 of lil'RandLUCB's paper: samples to the stop against the number of arms.

    Parameters
    ----------
    quick : bool
        At most 100 arms and 50 runs; otherwise to 1,000 arms with 100 runs
    seed : int
        Seed of all randomness
    jobs : int
        Workers, -1 for all cores
    out : Path, optional
        Folder for the rows, the page of claims and the figures; what it holds already is not run again
    """
    return reproduce(LIL_RAND_LUCB, quick, seed, jobs, out)


@takes(quick=1, full=20)
def aggregate_regret(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[Row]:
    """Figures 1 to 4 of AdaptiveTopK's paper: failures against the budget, for a thousand arms.

    Parameters
    ----------
    quick : bool
        Two data sets, one k, 50 runs; otherwise four, three and 200
    seed : int
        Seed of all randomness
    jobs : int
        Workers, -1 for all cores
    out : Path, optional
        Folder for the rows, the page of claims and the figures; what it holds already is not run again
    """
    return reproduce(AGGREGATE_REGRET, quick, seed, jobs, out)


@takes(quick=0.2, full=2)
def fixed_budget(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[Row]:
    """UGapEb, UCB-E, Successive Rejects, Sequential Halving and uniform on seven problems.

    Parameters
    ----------
    quick : bool
        One problem, 50 runs; otherwise seven with 1,000
    seed : int
        Seed of all randomness
    jobs : int
        Workers, -1 for all cores
    out : Path, optional
        Folder for the rows, the page of claims and the figures; what it holds already is not run again
    """
    return reproduce(FIXED_BUDGET, quick, seed, jobs, out)


@takes(quick=1, full=4)
def lucb_halving(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[Row]:
    """LUCB1, Halving and both in a row on the instances of LUCB's lower bound, as the tolerance shrinks.

    Parameters
    ----------
    quick : bool
        12 and 40 arms, three tolerances, 20 runs; otherwise 120 arms and a fourth one too, 50 runs
    seed : int
        Seed of all randomness
    jobs : int
        Workers, -1 for all cores
    out : Path, optional
        Folder for the rows, the page of claims and the figures; what it holds already is not run again
    """
    return reproduce(LUCB_HALVING, quick, seed, jobs, out)
