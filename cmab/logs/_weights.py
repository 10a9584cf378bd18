"""Importance weights of logged rounds, and errors for logs that cannot give them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.logs._choices import Choices
from cmab.logs._rewards import in_words
from cmab.logs.log import LoggedRound
from cmab.validation import shown

#: The number of standard errors from which probabilities count as wrong.
TOO_FAR = 5.0

_COLUMN = {"set": "propensity", "position": "by_position", "prefix": "by_prefix"}


def weights_of(
    kind: str, rounds: list[LoggedRound], targets: list[Choices], loggers: list[Choices] | None
) -> tuple[FloatArray, FloatArray]:
    """Return the ratios of the target's to the log's probabilities of the logged sets, entries or prefixes.

    Returns
    -------
    weights, chances : FloatArray, shape (n, 1) or (n, k)
        The ratios, and the probabilities of the logged choices under the logging policy.

    Raises
    ------
    ValueError
        If a logging probability is missing or 0, or the target may play a choice that the log cannot contain.
    """
    if kind != "set" and any(choices.are_sets for choices in [*targets, *(loggers or [])]):
        raise ValueError("target and logging must have tuples for an estimate by position, got frozensets")
    if kind == "set" and any(choices.are_sets for choices in [*targets, *(loggers or [])]):
        targets = [choices.by_set for choices in targets]
        loggers = loggers and [choices.by_set for choices in loggers]
    wanted = [_chances(kind, row, choices) for row, choices in zip(rounds, targets, strict=True)]
    if loggers is None:
        had = [_logged(kind, row) for row in rounds]
        _refuse_unseen(kind, rounds, targets)
    else:
        had = [_chances(kind, row, choices) for row, choices in zip(rounds, loggers, strict=True)]
        _refuse_impossible(kind, rounds, targets, loggers)
    bad = [
        row.number
        for row, chances in zip(rounds, had, strict=True)
        if chances is None or not min(chances) > 0
    ]
    if bad:
        where = f"{_COLUMN[kind]} of the log" if loggers is None else "logging"
        raise ValueError(
            f"{where} must give the logged choices probabilities above 0, but does not in {in_words(bad)};"
            " Campaign(..., propensity_draws=200) logs those of any policy"
        )
    chances = np.array(had, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.array(wanted) / chances, chances


def _chances(kind: str, row: LoggedRound, choices: Choices) -> list[float]:
    names = row.names
    if kind == "set":
        return [choices.of(names)]
    if kind == "position":
        return [choices.by_position.get(place, 0.0) for place in enumerate(names)]
    return [choices.by_prefix.get(names[: k + 1], 0.0) for k in range(len(names))]


def _logged(kind: str, row: LoggedRound) -> list[float] | None:
    """Return the probabilities in the log; for a list of one entry, the kinds of probability are equal."""
    given: Any = {"set": row.propensity, "position": row.by_position, "prefix": row.by_prefix}[kind]
    if given is None and len(row.names) == 1:
        given = row.propensity
    if given is None:
        return None
    return [given] if isinstance(given, float | int) else list(given)


def largest_weights(kind: str, targets: list[Choices], loggers: list[Choices]) -> FloatArray:
    """Return, by position, the largest weight that is possible in any of the rounds."""
    found: dict[int, float] = {}
    for target, logger in {(id(a), id(b)): (a, b) for a, b in zip(targets, loggers, strict=True)}.values():
        if kind == "set" and (target.are_sets or logger.are_sets):
            target, logger = target.by_set, logger.by_set
        had = _support(kind, logger)
        for key, chance in _support(kind, target).items():
            place = 0 if kind == "set" else key[0] if kind == "position" else len(key) - 1
            found[place] = max(found.get(place, 0.0), chance / had[key])
    return np.array([found[place] for place in sorted(found)])


def _support(kind: str, choices: Choices) -> Mapping[Any, float]:
    if kind == "set":
        return choices.chances
    return choices.by_position if kind == "position" else choices.by_prefix


def _refuse_impossible(
    kind: str, rounds: list[LoggedRound], targets: list[Choices], loggers: list[Choices]
) -> None:
    """Raise ``ValueError`` if the target may play a choice that the logging policy cannot."""
    checked = set()
    for row, target, logger in zip(rounds, targets, loggers, strict=True):
        if (id(target), id(logger)) in checked:
            continue
        checked.add((id(target), id(logger)))
        if gone := set(_support(kind, target)) - set(_support(kind, logger)):
            first = next(iter(sorted(gone, key=repr)))
            raise ValueError(
                f"target must play only super arms that logging may, got also {shown(first)}"
                f"{f' and {len(gone) - 1} more' * (len(gone) > 1)} in {in_words([row.number])}"
            )


def _refuse_unseen(kind: str, rounds: list[LoggedRound], targets: list[Choices]) -> None:
    """Raise ``ValueError`` if the target plays names that no round shows."""
    different = {id(choices): choices for choices in targets}.values()
    if kind == "set":
        seen: set[Any] = {name for row in rounds for name in row.names}
        wanted: set[Any] = {name for choices in different for key in choices.chances for name in key}
        where = "in no round"
    else:
        seen = {place for row in rounds for place in enumerate(row.names)}
        wanted = {place for choices in different for place in choices.by_position}
        where = "in no round at its position"
    if gone := sorted(wanted - seen, key=repr):
        names = [place if kind == "set" else place[1] for place in gone]
        raise ValueError(
            f"target must play only names that the log shows, got {shown(names)}, which are {where};"
            " pass the probabilities of the logging policy as logging"
        )


def z_of_mean(weights: FloatArray) -> FloatArray:
    """Return for each column the difference of the mean weight from 1, its expectation, in standard errors.

    The variance is taken about 1, not about the mean. If the propensities are correct, this estimate is
    equally good, and it is not 0 if all weights are equal. If the mean is above 1, the variance is the mean
    of ``w**2 - 1``, which has the same expectation and is larger: weights that are all a little above 1 can
    be correct if a rare choice was not played. The absolute value of the result is at most the square root of
    the number of rounds.
    """
    gaps = weights - 1.0
    gaps[np.abs(gaps) < 1e-12] = 0.0
    unit = np.abs(gaps).max(axis=0).clip(min=1.0)  # scaling keeps the ratio, and squares stay finite
    return _z(gaps / unit, 0, unit)


def _z(gaps: FloatArray, others: int, unit: FloatArray | float) -> FloatArray:
    """Return z for gaps to 1 in a given unit; `others` is the number of further gaps of -1."""
    total = gaps.sum(axis=0) - others / unit
    # w**2 - 1 = (w - 1)**2 + 2 (w - 1)
    squares = (gaps**2).sum(axis=0) + others / unit / unit + 2.0 * np.maximum(total, 0.0) / unit
    far: FloatArray = np.divide(total, np.sqrt(squares), out=np.zeros_like(total), where=squares > 0.0)
    return far


def refuse_improbable(kind: str, rounds: list[LoggedRound], chances: FloatArray) -> None:
    """Raise ``ValueError`` if a choice was played much more often than its probabilities predict.

    For any choice, the indicator that it is played, divided by its probability, has an expectation of at most
    1. So this test detects a column that is wrong for some choices, even if the mean weight of the target
    does not. If the probabilities are correct and the same in each round, 5 standard errors are exceeded with
    probability at most 3e-7, as computed for up to 1e5 rounds.
    """
    n = len(rounds)
    played: dict[Hashable, list[float]] = {}
    for row, given in zip(rounds, chances, strict=True):
        for k, chance in enumerate(given):
            keys = {"set": row.names, "position": (k, row.names[k]), "prefix": row.names[: k + 1]}
            played.setdefault(keys[kind], []).append(chance)
    for key, found in played.items():
        # The indicator over p is 1/p in rounds that played the choice and 0 elsewhere. Unit: the largest 1/p.
        inverses = 1.0 / np.maximum(found, 1e-300)
        unit = float(inverses.max())
        z = float(_z((inverses - 1.0) / unit, n - len(found), unit))
        if z > TOO_FAR:
            name = key[1] if kind == "position" and isinstance(key, tuple) else key
            raise ValueError(
                f"probabilities of the log must agree with its choices, got {shown(name)} played"
                f" {len(found)} times, {z:.3g} standard errors more often than they predict"
            )
