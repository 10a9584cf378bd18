"""Published experiments as commands ``cmab reproduce NAME``: rows, a page of claims and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from instances.experiments._experiment import Experiment, reproduce
from instances.experiments._rows import Row
from instances.experiments.aggregate import AGGREGATE_REGRET
from instances.experiments.best_k import LIL_RAND_LUCB
from instances.experiments.best_super_arm import BEST_SUPER_ARM
from instances.experiments.carousels import CAROUSELS
from instances.experiments.cascading import CASCADING_BANDITS
from instances.experiments.fixed_budget import FIXED_BUDGET
from instances.experiments.joint_optima import JOINT_OPTIMA
from instances.experiments.lucb_halving import LUCB_HALVING
from instances.experiments.network_features import NETWORK_FEATURES
from instances.experiments.offline_learning import OFFLINE_LEARNING
from instances.experiments.regret_certificate import REGRET_CERTIFICATE
from instances.experiments.semi_bandits import SEMI_BANDITS
from instances.experiments.shifting_means import SHIFTING_MEANS
from instances.experiments.sleeping_arms import SLEEPING_ARMS
from instances.experiments.track_and_stop import TRACK_AND_STOP
from instances.experiments.twenty_instances import TWENTY_INSTANCES
from instances.experiments.two_sets import TWO_SETS

__all__ = [
    "aggregate_regret",
    "best_super_arm",
    "carousels",
    "cascading_bandits",
    "fixed_budget",
    "joint_optima",
    "lil_rand_lucb",
    "lucb_halving",
    "network_features",
    "offline_learning",
    "regret_certificate",
    "semi_bandits",
    "shifting_means",
    "sleeping_arms",
    "track_and_stop",
    "twenty_instances",
    "two_sets",
]

_TEXT = """{about}

Parameters
----------
quick : bool
    {sizes}
rng : int
    Seed of all randomness
n_jobs : int
    Worker processes, -1 for all cores
out : Path, optional
    Folder for the stored runs, the table, the page of claims and the figures. Stored runs are not repeated
"""


def _command(experiment: Experiment) -> Callable[..., Iterator[Row]]:
    """Return the command of an experiment; it first prints the expected minutes on two cores."""

    def command(
        *, quick: bool = False, rng: int = 0, n_jobs: int = -1, out: Path | None = None
    ) -> Iterator[Row]:
        return reproduce(experiment, quick=quick, rng=rng, n_jobs=n_jobs, out=out)

    # The command line takes the help and the options from the name, docstring and signature of the function.
    made: Any = command
    made.__doc__ = _TEXT.format(about=experiment.about, sizes=experiment.sizes)
    made.__name__ = made.__qualname__ = experiment.name.replace("-", "_")
    made.experiment, made.minutes = experiment, experiment.minutes
    return command


lil_rand_lucb = _command(LIL_RAND_LUCB)
aggregate_regret = _command(AGGREGATE_REGRET)
best_super_arm = _command(BEST_SUPER_ARM)
fixed_budget = _command(FIXED_BUDGET)
lucb_halving = _command(LUCB_HALVING)
track_and_stop = _command(TRACK_AND_STOP)
twenty_instances = _command(TWENTY_INSTANCES)
semi_bandits = _command(SEMI_BANDITS)
two_sets = _command(TWO_SETS)
joint_optima = _command(JOINT_OPTIMA)
shifting_means = _command(SHIFTING_MEANS)
cascading_bandits = _command(CASCADING_BANDITS)
network_features = _command(NETWORK_FEATURES)
sleeping_arms = _command(SLEEPING_ARMS)
regret_certificate = _command(REGRET_CERTIFICATE)
carousels = _command(CAROUSELS)
offline_learning = _command(OFFLINE_LEARNING)
