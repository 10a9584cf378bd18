"""The schedule of fits of a model policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.models.background import Task, begin, fit_all
from cmab.models.estimators import ModelError
from cmab.models.rules import UNCUT, drawn_values
from cmab.models.state import ModelState
from cmab.models.warned import warn

if TYPE_CHECKING:
    from cmab.models.policy import ModelPolicy

# More rows than a session ever observes; a very large growth would overflow.
_FARTHEST = 2.0**62


def refit(policy: ModelPolicy, state: ModelState, rng: np.random.Generator) -> bool:
    """Begin a fit if it is due, and use the models of a fit if it is time. Return whether models changed.

    The models of a fit in the background are used after half of the rows until the next fit, and not as soon
    as they are ready. The choices therefore do not depend on the speed of the machine.
    """
    changed = state.begun > 0 and state.seen >= state.use_from and _use(policy, state)
    if state.seen < state.due or state.begun:
        return changed
    step = max(1, math.ceil(min(policy.growth * min(state.seen, policy.max_rows), _FARTHEST)))
    state.next_seeds = rng.integers(2**31 - 1, size=len(state.seeds))
    state.begun, state.due, state.use_from = len(state.rows), state.seen + step, state.seen
    if policy.background:
        state.use_from += (step + 1) // 2
        state.set_later(begin(_tasks(policy, state, _kept(policy, state)), policy._finish))
        return changed
    return _use(policy, state) or changed


def _use(policy: ModelPolicy, state: ModelState) -> bool:
    """Use the models of the fit that was begun, or keep the last models if it failed."""
    kept, n = _kept(policy, state), state.begun
    state.begun = 0
    try:
        models = state.take_later()
        if models is None:
            models = fit_all(_tasks(policy, state, kept), policy._finish)
        _check_draws(policy, models, state.rows[kept[:2]])
    except ModelError as error:
        _keep_last(policy, state, error)
        return False
    state.keep(np.concatenate([kept, np.arange(n, len(state.rows))]))
    state.seeds, state.fitted, state.ends = state.next_seeds.copy(), len(kept), np.zeros(0, np.int64)
    state.set_models(models)
    return True


def _tasks(policy: ModelPolicy, state: ModelState, kept: IntArray) -> list[Task]:
    """Return the arguments of the next fits, to the rows `kept`."""
    return state.fits(policy.estimator, policy._added, kept, state.next_seeds)


def _check_draws(policy: ModelPolicy, models: list[Any], rows: FloatArray) -> None:
    """Raise ``ModelError`` if a model has no usable deviations or draws."""
    if policy.exploration in UNCUT:
        for model in models:
            drawn_values(policy.exploration, model, rows, np.random.default_rng(0), 1.0, 1)


def _kept(policy: ModelPolicy, state: ModelState) -> IntArray:
    """Return the indices of the rows of the fit that was begun, in increasing order."""
    n, most = state.begun, policy.max_rows
    if n <= most:
        return np.arange(n)
    if policy.forget == "oldest":
        return np.arange(n - most, n)
    return np.sort(np.argpartition(state.keys[:n], most)[:most])


def learn_more(policy: ModelPolicy, state: ModelState) -> None:
    """Learn the rows since the last fit by ``partial_fit``."""
    if len(state.rows) >= 2 * policy.max_rows:
        return
    models = policy._fitted(state)
    start, end = int(state.ends[-1]) if len(state.ends) else state.fitted, len(state.rows)
    try:
        state.set_models(state.fit_more(models, start, end))
    except ModelError as error:
        _keep_last(policy, state, error)
        return
    state.ends = np.append(state.ends, end)


def _keep_last(policy: ModelPolicy, state: ModelState, error: ModelError) -> None:
    """Warn, and bound the memory although no rows were dropped by a successful fit."""
    used = int(state.ends[-1]) if len(state.ends) else state.fitted
    if len(state.rows) > used + policy.max_rows and not state.begun:
        state.keep(np.r_[:used, len(state.rows) - policy.max_rows : len(state.rows)])
    last = f"the models of the last fit, to {state.fitted} rows" if state.fitted else "random super arms"
    warn(
        f"{error}. The policy continues with {last}, and repeats the fit after {state.due} observed rows."
        " The observations are kept",
        state.due,
    )
