"""Reports with hidden outcomes in the form of a journal."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.campaign.posterior import Cascade, CascadeFeedback, Network
from cmab.campaigns._networks import Networks
from cmab.campaigns._schema import Event
from cmab.campaigns.names import Names


def listed_cascade(
    feedback: CascadeFeedback, choices: Names, arms: Names, networks: Networks
) -> dict[str, Any]:
    """Return the entry of an event: people by their places among the choices, ties by those among the arms.

    `known` has the numbers of people and ties up to the description of the network of the report, so that
    later ones are told apart. `network` has the line of this description, unless it is the last one.
    """
    cascade = feedback.cascade
    listed: dict[str, Any] = {"joined": choices.places(cascade.joined), **networks.stated()}
    if cascade.has_steps:
        listed["steps"] = cascade.steps.tolist()
    for name, numbers, names in (
        ("unseen", cascade.unseen, choices),
        ("live", cascade.live, arms),
        ("dead", cascade.dead, arms),
    ):
        if len(numbers):
            listed[name] = names.places(numbers)
    return listed


def read_cascade(
    event: Event,
    seeds: IntArray,
    network: Any,
    choices: Names,
    arms: Names,
    lacking: tuple[IntArray, IntArray],
) -> CascadeFeedback:
    """Return the feedback of an event for the present network.

    People and ties that are gone are left out. The people and ties in `lacking`, which the network did not
    have at the time of the report, took no part in the round.
    """
    listed = event["cascade"]
    joined = choices.numbers(listed["joined"])
    steps = np.array(listed.get("steps", [-1] * len(joined)), np.int64)
    there = (joined >= 0) & ~np.isin(joined, seeds)
    parts = {
        name: _present(names.numbers(listed.get(name, [])))
        for name, names in (("unseen", choices), ("live", arms), ("dead", arms))
    }
    people, ties = lacking
    cascade = Cascade(
        seeds=seeds,
        joined=joined[there],
        steps=steps[there],
        absent=np.setdiff1d(people, [*joined, *parts["unseen"]]),
        missing=np.setdiff1d(ties, [*parts["live"], *parts["dead"]]),
        **parts,
    )
    told = arms.numbers(event["arms"])
    outcomes = np.array(event["outcomes"], np.float64)[told >= 0]
    return CascadeFeedback(
        cascade,
        Network(*network),
        arms=_present(told),
        outcomes=outcomes,
        reward=float(event.get("reward", "nan")),
        has_all=True,
        is_old=True,
    )


def cascade_by_name(
    listed: dict[str, list[int]], choices: list[Hashable], arms: list[Hashable]
) -> dict[str, Any]:
    """Return the report of an event by name, in the form of the arguments of `Campaign.tell`."""
    people = [choices[place] for place in listed["joined"]]
    steps = [step if step >= 0 else None for step in listed.get("steps", [])]
    told: dict[str, Any] = {"joined": dict(zip(people, steps, strict=True)) if steps else tuple(people)}
    if "unseen" in listed:
        told["unseen"] = tuple(choices[place] for place in listed["unseen"])
    known = {arms[place]: 1 for place in listed.get("live", [])}
    known |= {arms[place]: 0 for place in listed.get("dead", [])}
    return told | ({"known": known} if known else {})


def _present(numbers: IntArray) -> IntArray:
    return numbers[numbers >= 0]
