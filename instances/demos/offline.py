"""The demo of learning from a log: ``cmab demo offline``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Log, clcb, off_policy_value, read_log
from cmab.arrays import FloatArray, IntArray
from cmab.plotting import pyplot, save, style
from cmab.run.tables import write_csv
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.lists import CascadeModel
from oracles import RankedTopK

_MOST = 12
_EXPLORED = 0.5
_SIZES = (300, 1_000, 3_000, 10_000)
_LENGTH = 2


def offline(
    *, items: int = 8, replications: int = 10, rng: int = 0, out: Path | None = Path("cmab-offline")
) -> Iterator[dict[str, Any] | str]:
    """Learn a list from a log, and estimate its clicks before the first round.

    The log shows the same two items to half of the users and two random items to the others. The demo chooses
    a list from one half of the log, by lower confidence bounds (CLCB) or by plain means, and evaluates it on
    the other half. The lower bounds give the guarantee: if every item was shown now and then, plain means
    choose as well or better.

    Parameters
    ----------
    items : int
        Number of items to choose from
    replications : int
        Number of independent logs of each size
    rng : int
        Seed of all randomness
    out : Path
        Folder for the picture (PNG and PDF) and the numbers (CSV)
    """
    count = integer("items", items, _LENGTH + 1, _MOST)
    runs, seed = integer("replications", replications, 1), root(rng)
    attraction = stream(seed, Purpose.ESTIMATION, 0).uniform(0.05, 0.4, count)
    world = CascadeModel(attraction, RankedTopK(count, _LENGTH))
    usual = np.argsort(attraction)[count // 2 : count // 2 + _LENGTH]
    yield (
        f"{count} items, lists of two; clicks per user: usual list {_worth(world, usual):.3f}, best list"
        f" {world.optimum:.3f}"
    )
    rows: list[dict[str, Any]] = []
    for size in _SIZES:
        found = [_learned(world, usual, size, stream(seed, Purpose.ENVIRONMENT, run)) for run in range(runs)]
        row: dict[str, Any] = {"rounds logged": size}
        row |= {name: _mean([one[name] for one in found]) for name in found[0]}
        rows.append(row)
        yield row
    yield ""
    yield f"  CLCB, plain means  expected clicks per user of the list that each chose, mean over {runs} logs"
    yield "  lower bound        lower confidence bound of CLCB on its clicks, with probability 0.95"
    yield "  estimate, width    estimate of CLCB's clicks from the other half, and width of its interval"
    yield "  covered, refused   share of intervals that contain the truth; share of logs without an interval"
    yield ""
    last = rows[-1]
    yield (
        f"From {last['rounds logged']:,} rounds CLCB chooses a list of {last['CLCB']:.3f} clicks per user and"
        f" promises {last['lower bound']:.3f}; the other half of the log estimates {last['estimate']:.3f}."
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_csv(out / "table.csv", rows)
        _draw(rows, world, usual, out)


def _mean(values: list[float]) -> float:
    """Return the mean of the numbers that are not nan, nan if all are."""
    there = [value for value in values if not np.isnan(value)]
    return float(np.mean(there)) if there else float("nan")


def _worth(world: CascadeModel, chosen: IntArray) -> float:
    return world.oracle.expected_reward(chosen, np.asarray(world.means))


def _learned(world: CascadeModel, usual: IntArray, size: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the choices of both rules from one half of a log, and their evaluation on the other half."""
    first, second = _logged(world, usual, size, rng), _logged(world, usual, size, rng)
    seen, oracle = first.statistics(world.oracle), world.oracle
    careful = clcb(oracle, seen)
    plain = oracle.solve(np.where(seen.counts > 0, seen.means, 0.0), rng)
    worth = _worth(world, careful.super_arm)
    try:
        # A user clicks at most once. Student's interval would have too small a coverage.
        value = off_policy_value(second, {tuple(careful.super_arm.tolist()): 1.0}, reward_range=(0, 1))
    except ValueError:  # too few rounds show this list
        estimate, low, high, covered = np.nan, np.nan, np.nan, np.nan
    else:
        estimate, (low, high) = value.value, value.interval
        covered = float(low <= worth <= high)
    return {
        "CLCB": worth,
        "plain means": _worth(world, plain),
        "lower bound": careful.reward_bound,
        "estimate": estimate,
        "width": high - low,
        "covered": covered,
        "refused": float(np.isnan(estimate)),
    }


def _logged(world: CascadeModel, usual: IntArray, size: int, rng: np.random.Generator) -> Log:
    """Return a log of ``size // 2`` rounds of a rule that shows the usual list, and sometimes any list."""
    lists = np.array(list(permutations(range(world.n_arms), _LENGTH)))
    chances: FloatArray = np.full(len(lists), _EXPLORED / len(lists))
    chances[(lists == usual).all(axis=1)] += 1.0 - _EXPLORED
    columns: dict[str, list[Any]] = {"a": [], "b": [], "x": [], "y": [], "clicks": [], "p": []}
    for place in rng.choice(len(lists), size // 2, p=chances):
        shown = lists[place]
        told = world.play(shown, rng)
        x, y = [*told.outcomes.tolist(), None][:_LENGTH]
        row = (*shown.tolist(), x, y, told.reward, chances[place])
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(cell)
    return read_log(columns, ["a", "b"], outcome=["x", "y"], reward="clicks", propensity="p")


def _draw(rows: list[dict[str, Any]], world: CascadeModel, usual: IntArray, out: Path) -> None:
    sizes = [row["rounds logged"] for row in rows]
    with style():
        axes = pyplot().figure(figsize=(5.4, 3.6)).add_subplot()
        looks = {"CLCB": "-o", "plain means": "--s", "estimate": ":^", "lower bound": "-.v"}
        for name, look in looks.items():
            axes.plot(sizes, [row[name] for row in rows], look, label=name)
        for level, name in ((world.optimum, "best list"), (_worth(world, usual), "usual list")):
            axes.axhline(level, color="0.6", linewidth=0.8, linestyle=":")
            axes.annotate(
                name, (sizes[0], level), (0, 2), textcoords="offset points", fontsize=7, color="0.4"
            )
        axes.set(xscale="log", xlabel="Rounds logged", ylabel="Clicks per user")
        axes.figure.legend(loc="outside right center", frameon=False)
    save(axes, out / "picture")
