"""Published experiments, as ``cmab reproduce NAME`` runs them: rows, a page of claims, a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from instances.experiments._experiment import Experiment, reproduce
from instances.experiments._explorations import Row
from instances.experiments.aggregate import AGGREGATE_REGRET
from instances.experiments.best_k import LIL_RAND_LUCB
from instances.experiments.carousels import CAROUSELS
from instances.experiments.cascading import CASCADING_BANDITS
from instances.experiments.fixed_budget import FIXED_BUDGET
from instances.experiments.joint_optima import JOINT_OPTIMA
from instances.experiments.lucb_halving import LUCB_HALVING
from instances.experiments.network_features import NETWORK_FEATURES
from instances.experiments.offline_learning import OFFLINE_LEARNING
from instances.experiments.semi_bandits import SEMI_BANDITS
from instances.experiments.shifting_means import SHIFTING_MEANS
from instances.experiments.sleeping_arms import SLEEPING_ARMS
from instances.experiments.track_and_stop import TRACK_AND_STOP
from instances.experiments.twenty_instances import TWENTY_INSTANCES
from instances.experiments.two_sets import TWO_SETS

__all__ = [
    "aggregate_regret",
    "carousels",
    "cascading_bandits",
    "fixed_budget",
    "joint_optima",
    "lil_rand_lucb",
    "lucb_halving",
    "network_features",
    "offline_learning",
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
    Workers, -1 for all cores
out : Path, optional
    Folder for the store, the table, the page of claims and the figures; what is stored is not run again
"""


def _command(
    experiment: Experiment, about: str, *, sizes: str, minutes: dict[bool, float]
) -> Callable[..., Iterator[Row]]:
    """Return the command of an experiment; it announces how many minutes it takes on two cores."""

    def command(
        *, quick: bool = False, rng: int = 0, n_jobs: int = -1, out: Path | None = None
    ) -> Iterator[Row]:
        return reproduce(experiment, quick=quick, rng=rng, n_jobs=n_jobs, out=out)

    # The command line reads a function's name, docstring and signature for its help and its options.
    made: Any = command
    made.__doc__ = _TEXT.format(about=about, sizes=sizes)
    made.__name__ = made.__qualname__ = experiment.name.replace("-", "_")
    made.experiment, made.minutes = experiment, minutes
    return command


lil_rand_lucb = _command(
    LIL_RAND_LUCB,
    "Figures 1 and 2 of lil'RandLUCB's paper: samples to the stop against the number of arms.",
    sizes="At most 100 arms and 50 runs; otherwise to 1,000 arms with 100 runs",
    minutes={True: 0.5, False: 20},
)
aggregate_regret = _command(
    AGGREGATE_REGRET,
    "Figures 1 to 4 of AdaptiveTopK's paper: failures against the budget, for a thousand arms.",
    sizes="Two data sets, one k, 50 runs; otherwise four, three and 200",
    minutes={True: 1, False: 20},
)
fixed_budget = _command(
    FIXED_BUDGET,
    "UGapEb, UCB-E, Successive Rejects, Sequential Halving and uniform on seven problems.",
    sizes="One problem, 400 runs; otherwise seven with 1,000",
    minutes={True: 0.3, False: 2},
)
lucb_halving = _command(
    LUCB_HALVING,
    "LUCB1, Halving and both in a row on the instances of LUCB's lower bound, as the tolerance shrinks.",
    sizes="12 and 40 arms, three tolerances, 20 runs; otherwise 120 arms and a fourth one too, 50 runs",
    minutes={True: 1, False: 4},
)
track_and_stop = _command(
    TRACK_AND_STOP,
    "Garivier and Kaufmann's Table 1: samples of Track-and-Stop, KL-LUCB and two races on coins.",
    sizes="200 runs, rarer plans; otherwise 1,000 runs",
    minutes={True: 0.7, False: 4},
)
twenty_instances = _command(
    TWENTY_INSTANCES,
    "Samples of every rule with confidence over T* ln(1/delta): k best arms, paths, matchings, trees, sets.",
    sizes="Ten instances, 10 runs; otherwise twenty with 100",
    minutes={True: 1, False: 15},
)
semi_bandits = _command(
    SEMI_BANDITS,
    "Regret of CUCB, KL-CUCB, BC-UCB and Thompson rules: CL-SG's comparison, and small variances.",
    sizes="10,000 rounds, 5 runs; otherwise 100,000 rounds, 50 runs",
    minutes={True: 0.2, False: 6},
)
two_sets = _command(
    TWO_SETS,
    "Two disjoint super arms of k arms: Thompson sampling with independent draws, one a round, or boosted.",
    sizes="Three sizes, 10 runs; otherwise eight with 40",
    minutes={True: 0.5, False: 5},
)
joint_optima = _command(
    JOINT_OPTIMA,
    "ESCB and AESCB, optimistic for a super arm as a whole, and CUCB on paths, matchings and spanning trees.",
    sizes="500 rounds, 2 runs; otherwise 10,000 with 8",
    minutes={True: 0.5, False: 8},
)
shifting_means = _command(
    SHIFTING_MEANS,
    "HYBRID, Thompson sampling, CUCB and FTPL where means stay, and where an adversary shifts them.",
    sizes="3,000 rounds, 3 runs; otherwise 20,000 with 4",
    minutes={True: 0.5, False: 3},
)
cascading_bandits = _command(
    CASCADING_BANDITS,
    "Table 1 of Cascading Bandits: lists of which a user clicks the first item that attracts.",
    sizes="Three rows of the table, 5 runs; otherwise nine with 20",
    minutes={True: 0.5, False: 3},
)
network_features = _command(
    NETWORK_FEATURES,
    "Influence on networks whose arcs have features, given or computed: IMLinUCB, CUCB, epsilon-greedy.",
    sizes="200 people, 150 rounds, 3 networks of each kind; otherwise 400, 300 and 8",
    minutes={True: 0.7, False: 4},
)
sleeping_arms = _command(
    SLEEPING_ARMS,
    "CL-SG's comparison where each arm is there in half of the rounds, against the best of what is there.",
    sizes="2,000 rounds, 3 runs; otherwise 10,000 with 20",
    minutes={True: 0.7, False: 10},
)
carousels = _command(
    CAROUSELS,
    "Lists of 12 playlists for users of nine segments, a day at a time: rules by segment, and by features.",
    sizes="60 playlists, 2,000 users, 3 runs; otherwise 100, 10,000 and the published users",
    minutes={True: 0.6, False: 6},
)
offline_learning = _command(
    OFFLINE_LEARNING,
    "Offline learning, Figures 1a, 2 and 3a: lists and caches chosen from a log of 4 to 1,024 rounds.",
    sizes="Two sizes of a log, 20 runs; otherwise five with 400",
    minutes={True: 0.2, False: 5},
)
