"""The contents of the pages of a campaign, computed from its events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logit

from cmab.campaign.files import value_of
from cmab.campaign.folder import CampaignFolder
from cmab.campaign.page.picture import picture_of
from cmab.campaign.progress import bound_of, by_name, different_people, draws_of, expected, reasons_of
from cmab.campaign.reports import Round, joined_ever

#: Another choice counts as better if it brings this share more.
MARGIN = 0.05
_RANGE = 0.05, 0.95
#: The factor that widens a range, and the line in log-odds that raises a chance, because the model is too
#: certain. With both, nine of ten ranges contain the truth, and a chance is the frequency with which another
#: choice is better (`tests/benchmarks/page_sentences.py`).
WIDER, ODDS = 1.45, (1.23, 0.92)


def card_of(folder: CampaignFolder, number: int, has_picture: bool = True) -> dict[str, Any]:
    """Return a round that waits for its report, with the reasons for its names and the picture."""
    rounds, graph, picture = folder.rounds(), folder.problem.graph, None
    of = rounds[number - 1]
    if graph is not None and has_picture:
        waiting = {name for each in rounds if each.state == "waiting" for name in each.names}
        picture = picture_of(graph, of.names, joined_ever(rounds), waiting)
    return {"of": of, "reasons": reasons_of(folder, of), "picture": picture}


def joined_before(rounds: Sequence[Round], of: Round) -> dict[str, int]:
    """Return the number of the last other round before `of` in which each person joined, by name."""
    told = [each for each in rounds if each.state == "reported" and each.number < of.number]
    return {name: each.number for each in told for name in (*each.names, *(each.joined or {}))}


def known_people(folder: CampaignFolder, of: Round) -> list[str]:
    """Return the direct neighbours of the people asked, in the order of the alphabet."""
    graph = folder.problem.graph
    if graph is None:
        return []
    asked = [graph.node_numbers[name] for name in of.names]
    found = np.setdiff1d(graph.heads[np.isin(graph.tails, asked)], asked).tolist()
    return sorted((str(graph.label(node)) for node in found), key=str.casefold)


def state_of(folder: CampaignFolder) -> dict[str, Any]:
    """Return the state of a campaign: rounds, people, the certificate and the next round."""
    rounds = folder.rounds()
    reported = [of for of in rounds if of.state == "reported"]
    known = [of for of in reported if not math.isnan(of.count)]
    total, following = float(sum(of.count for of in known)), next_round(folder)
    return {
        "reported": reported,
        "left_out": [of for of in rounds if of.state == "left out"],
        "in_part": len(reported) - len(known),
        "mean": total / len(known) if known else None,
        "different": different_people(rounds),
        "total": total if known else None,
        "numbers_only": sum(of.joined is None and not of.results for of in known),
        "people": by_name(folder, 100),
        "chart": known[-30:],
        "bound": bound_of(folder, following["mean"]) if reported else None,
        "next": following,
        "margin": 100 * MARGIN,
    }


def next_round(folder: CampaignFolder) -> dict[str, Any]:
    """Return the best choice by the present estimates, its expected result, and whether others can be better.

    Each draw from the posterior has a best choice of its own. ``better`` is the chance that it brings at
    least 5 % more, from the share of such draws.
    """
    oracle, rng, draws = folder.problem.oracle, np.random.default_rng(0), draws_of(folder)
    choice = folder.best()
    own, best = np.empty((2, len(draws)))
    for at, means in enumerate(draws):
        own[at], best[at] = (value_of(oracle, some, means, at) for some in (choice, oracle.solve(means, rng)))
    labels = folder.problem.names.labels
    names, n = [labels[at] for at in choice.tolist()], len(labels)
    (mean,) = expected(folder, [names])
    most = float(n) if folder.is_network else len(choice) * folder.options.largest
    low, high = mean + WIDER * (np.quantile(own, _RANGE) - own.mean())
    rare = 0.5 / len(draws)
    share = np.clip((best >= (1.0 + MARGIN) * own).mean(), rare, 1.0 - rare)
    least = float(len(choice)) if folder.is_network else 0.0
    return {
        "names": names,
        "mean": mean,
        "low": max(float(low), least),
        "high": min(float(high), most),
        "better": float(expit(ODDS[0] + ODDS[1] * logit(share))),
    }
