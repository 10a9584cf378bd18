"""The check that counts, sums and means in the state of an explorer contain each outcome once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab._watched import watched
from cmab.testing._own_credit import require_own_credit, require_pulls, sums_of
from cmab.testing._roles import Change, parts_of, roles_of

Request = Any  # a `Reported` of `_explorer_reports`, which imports this module


def check_parts(subject: Any, requests: Sequence[Request], support: tuple[float, float]) -> str:
    """Check the counts, sums and means of each arm in a state of any class. Return which parts these are."""
    n_arms, changes, seen = subject.explorer.n_arms, list[Change](), np.zeros(subject.explorer.n_arms)
    for one in requests:
        told = one.feedback
        after = one.learned(subject, told)
        changes.append(Change(parts_of(one.state, n_arms), parts_of(after, n_arms), told, seen.copy()))
        seen[told.arms] += one.ticket.pulls
    known = require_own_credit(changes, support)
    if not known or any(one.ticket.pulls > 1 for one in requests):
        return known
    changes = [change for change in changes if change.is_change]
    last, arms = requests[-1], np.sort(requests[-1].feedback.arms)
    told, read = watched(sums_of(arms, np.full(len(arms), 3), support), ("pulls", "squares"))
    try:
        after = last.learned(subject, told)
    except (ValueError, TypeError, NotImplementedError):
        return known
    change = Change(parts_of(last.state, n_arms), parts_of(after, n_arms), told, changes[-1].seen)
    if "pulls" in read:
        require_pulls(roles_of(changes, support), change, read, support, "conservation")
    return known
