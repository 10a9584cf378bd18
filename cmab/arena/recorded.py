"""Recorded standings: a file from which new entries get their place without playing all others again."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arena.curves import Curves, Played
from cmab.arena.standings import Standings
from cmab.arrays import FloatArray
from cmab.saving._atomic import write_bytes

_FORMAT = 1
_DIGITS = 5
#: Recorded checkpoints, as shares of the rounds.
_SHARES = (0.01, 0.03, 0.1, 0.28, 0.55, 1.0)


def write_recorded(standings: Standings, path: str | os.PathLike[str]) -> None:
    """Write standings to a compressed file.

    The file has the regrets of all replications at six checkpoints, with five digits.

    Parameters
    ----------
    standings : Standings
        The standings.
    path : path-like
        The file, which is replaced.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from cmab.arena import Standings
    >>> from cmab.arena.recorded import read_recorded, write_recorded
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_recorded(Standings((), ("CTS",), {}), Path(folder) / "recorded.json.gz")
    ...     read_recorded(Path(folder) / "recorded.json.gz").entries
    ('CTS',)
    """
    problems = []
    for problem in standings.problems:
        known = {
            e: standings.curves[problem.name, e]
            for e in standings.entries
            if (problem.name, e) in standings.curves
        }
        if not known:
            continue
        first = next(iter(known.values()))
        worth = _short(first.worth[:, _kept(first)].mean(axis=0))
        told: dict[str, Any] = asdict(problem) | {
            "rounds": first.rounds[_kept(first)].tolist(),
            "worth": worth,
        }
        told["matches"] = {
            entry: {
                "regret": [_short(row) for row in curves.regret[:, _kept(curves)]],
                "seconds": _short(np.median(curves.seconds, keepdims=True)),
            }
            for entry, curves in known.items()
        }
        problems.append(told)
    refused = [[*pair, reason] for pair, reason in standings.refused.items()]
    content = {"format": _FORMAT, "seed": standings.seed, "level": standings.level, "problems": problems}
    content |= {"entries": standings.entries, "tuned": sorted(standings.tuned), "refused": refused}
    # Without a time, equal standings give equal files.
    data = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)
    write_bytes(Path(path), data)


def read_recorded(path: str | os.PathLike[str]) -> Standings:
    """Return the standings that `write_recorded` wrote.

    Raises
    ------
    ValueError
        If the file is damaged or of another version.
    FileNotFoundError
        If the file is missing.
    """
    try:
        content = json.loads(gzip.decompress(Path(path).read_bytes()))
        if content["format"] != _FORMAT:
            raise ValueError(f"format {content['format']}")
        played, curves = [], {}
        for told in content["problems"]:
            rounds, worth = np.array(told.pop("rounds")), np.array(told.pop("worth"))
            matches = told.pop("matches")
            played.append(Played(**told))
            for entry, match in matches.items():
                regret = np.array(match["regret"], np.float64)
                seconds = np.full(len(regret), match["seconds"][0])
                curves[told["name"], entry] = Curves(
                    rounds, regret, np.tile(worth, (len(regret), 1)), seconds
                )
        refused = {(problem, entry): reason for problem, entry, reason in content["refused"]}
        numbers = content["seed"], content["level"]
        return Standings(
            tuple(played), tuple(content["entries"]), curves, refused, frozenset(content["tuned"]), *numbers
        )
    except (ValueError, KeyError, TypeError, IndexError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} must be recorded standings of this version, got {error}") from None


def joined(first: Standings, *others: Standings) -> Standings:
    """Return the standings of all entries and problems together.

    Results of later standings replace those of earlier ones. Each problem keeps the first replications that
    all its entries have. The seeds must be equal, because replications with the same number must have the
    same instance.

    Raises
    ------
    ValueError
        If seeds or levels differ, or if a problem was played with another number of rounds.
    """
    problems = {p.name: p for p in first.problems}
    entries, tuned = dict.fromkeys(first.entries), first.tuned
    curves, refused = dict(first.curves), dict(first.refused)
    for other in others:
        if (other.seed, other.level) != (first.seed, first.level):
            raise ValueError(
                f"joined standings must have the same seed and level, got {first!r} and {other!r}"
            )
        for problem in other.problems:
            known = problems.setdefault(problem.name, problem)
            if known.horizon != problem.horizon:
                raise ValueError(
                    f"{problem.name} must have the same number of rounds in joined standings, got"
                    f" {known.horizon:,} and {problem.horizon:,}; play all entries again"
                )
        entries |= dict.fromkeys(other.entries)
        tuned |= other.tuned
        curves |= other.curves
        refused |= other.refused
    cut = _cut(problems, curves)
    return replace(
        first,
        problems=tuple(problems.values()),
        entries=tuple(entries),
        curves=cut,
        refused=refused,
        tuned=tuned,
    )


def _cut(problems: Iterable[str], curves: Mapping[tuple[str, str], Curves]) -> dict[tuple[str, str], Curves]:
    """Return curves with the replications that all entries of a problem have."""
    least: dict[str, int] = {}
    for (problem, _), each in curves.items():
        least[problem] = min(least.get(problem, len(each.regret)), len(each.regret))
    return {
        pair: Curves(
            each.rounds,
            each.regret[: least[pair[0]]],
            each.worth[: least[pair[0]]],
            each.seconds[: least[pair[0]]],
        )
        for pair, each in curves.items()
        if pair[0] in {*problems}
    }


def _kept(curves: Curves) -> list[int]:
    last = int(curves.rounds[-1])
    found = {int(np.searchsorted(curves.rounds, int(share * last))) for share in _SHARES}
    return sorted({*found, *curves.ends.tolist()} & {*range(len(curves.rounds))})


def _short(values: FloatArray) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]
