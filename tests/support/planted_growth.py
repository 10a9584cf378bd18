"""Environments that give the right answers and keep something of each round."""

from functools import cache

import numpy as np
from planted_environments import MEANS, Links
from planted_oracles import Fault

from cmab import round_key
from cmab.compiled import keyed_uniforms

_LOG = []


class RemembersKeys(Links):
    """Keeps the outcomes of all rounds in a table, by the key of the round."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def play(self, super_arm, rng):
        key = round_key(rng)
        if key not in self.known:
            self.known[key] = (keyed_uniforms(key, np.arange(len(MEANS))) < MEANS) * 1.0
        return self.shown(super_arm, self.known[key][super_arm], rng)


class LogsRounds(Links):
    """Writes each round into a list of the module."""

    def shown(self, arms, outcomes, rng):
        _LOG.append((arms, outcomes))
        return super().shown(arms, outcomes, rng)


@cache
def _outcomes(key):
    return (keyed_uniforms(key, np.arange(len(MEANS))) < MEANS) * 1.0


class CachedRounds(Links):
    """Calls a function with a cache without a limit."""

    def play(self, super_arm, rng):
        return self.shown(super_arm, _outcomes(round_key(rng))[super_arm], rng)


class RecentRounds(Links):
    """Sound: keeps the outcomes of the last fifty rounds."""

    def __init__(self):
        super().__init__()
        self._known = {}

    def play(self, super_arm, rng):
        key = round_key(rng)
        if key not in self._known:
            self._known[key] = (keyed_uniforms(key, np.arange(len(MEANS))) < MEANS) * 1.0
            if len(self._known) > 50:
                self._known.pop(next(iter(self._known)))
        return self.shown(super_arm, self._known[key][super_arm], rng)


SOUND = [RecentRounds]
FAULTS = [Fault(RemembersKeys, "growth"), Fault(LogsRounds, "growth"), Fault(CachedRounds, "growth")]
