"""The state of a model policy: the rows that it has observed. Its models are a function of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.models.background import Finish, Later, Task, fit_all
from cmab.models.estimators import fit_more
from cmab.models.history import History
from cmab.models.priors import Priors
from cmab.statistics import count
from cmab.validation import shown

#: What the members of an ensemble have in addition to the data.
Added = History | Priors | None


class Fitted:
    """The fitted models of a state, or None after the state was read from a file or pickle.

    The models depend only on the arrays of the state. Pickles, files and comparisons of a state therefore
    omit them, and copies of a state share them.
    """

    def __init__(self, models: list[Any] | None = None) -> None:
        self.models = models

    def __reduce__(self) -> tuple[Any, ...]:
        return Fitted, ()

    def __deepcopy__(self, _: object) -> Self:
        return self


@dataclass(eq=False, repr=False)
class ModelState:
    """The kept rows with their outcomes, and the description of the last fit.

    Attributes
    ----------
    rows : FloatArray, shape (n, d)
        Features of the kept rows, oldest first; one row for each observed base arm in a round.
    outcomes : FloatArray, shape (n,)
        Their outcomes.
    weights : IntArray, shape (n, members)
        How often each row counts in the fit of each member.
    keys : FloatArray, shape (n,)
        A random number for each row. A reservoir keeps the rows with the smallest numbers.
    seeds : IntArray, shape (members,)
        The seeds of the last fit.
    fitted : int
        The number of rows of the last fit, which are the first rows; 0 before the first fit.
    ends : IntArray, shape (n_updates,)
        The numbers of rows after each ``partial_fit`` since the last fit.
    seen : int
        The number of rows observed in all rounds.
    due : int
        The value of `seen` from which the models are fitted again.
    rounds : int
        The number of rounds with feedback.
    begun : int
        The number of rows of a fit that was begun and is not used yet, which are the first rows; 0 for none.
    use_from : int
        The value of `seen` from which the models of this fit are used.
    next_seeds : IntArray, shape (members,)
        The seeds of this fit.
    """

    rows: FloatArray
    outcomes: FloatArray
    weights: IntArray
    keys: FloatArray
    seeds: IntArray
    fitted: int
    ends: IntArray
    seen: int
    due: int
    rounds: int = 0
    begun: int = 0
    use_from: int = 0
    next_seeds: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self._fitted, self._later = Fitted([]), Later()
        if not len(self.next_seeds):
            self.next_seeds = np.zeros_like(self.seeds)

    @classmethod
    def empty(cls, members: int, first: int, dimension: int = 0) -> Self:
        """Return the state before the first round. The models are first fitted after `first` rows."""
        numbers = np.zeros(0, np.int64)
        return cls(
            np.zeros((0, dimension)),
            np.zeros(0),
            np.zeros((0, members), np.int64),
            np.zeros(0),
            np.zeros(members, np.int64),
            0,
            numbers,
            0,
            first,
        )

    def __repr__(self) -> str:
        return (
            f"ModelState(rows={len(self.rows)}, seen={self.seen}, fitted={self.fitted}, rounds={self.rounds})"
        )

    def append(self, rows: FloatArray, outcomes: FloatArray, weights: IntArray, keys: FloatArray) -> None:
        """Add the rows of one round."""
        if not len(self.rows):
            self.rows = np.empty((0, rows.shape[1]))
        self.rows = np.concatenate([self.rows, rows])
        self.outcomes = np.concatenate([self.outcomes, outcomes])
        self.weights = np.concatenate([self.weights, weights])
        self.keys = np.concatenate([self.keys, keys])
        self.seen += len(rows)

    def keep(self, kept: Any) -> None:
        """Drop all rows except `kept`, an index."""
        self.rows, self.outcomes = self.rows[kept], self.outcomes[kept]
        self.weights, self.keys = self.weights[kept], self.keys[kept]

    def models(self, estimator: Any, added: Added = None, finish: Finish = None) -> list[Any]:
        """Return the models of the last fit; after loading, fit them again to the same rows.

        Parameters
        ----------
        estimator : object
            The estimator.
        added : History or Priors, optional
            The artificial outcomes or the prior functions of the members.
        finish : callable, optional
            Changes the models after their fits; see `cmab.models.background.fit_all`.
        """
        if self._fitted.models is None:
            self._fitted.models = self._fit_again(estimator, added, finish)
        return self._fitted.models

    def set_models(self, models: list[Any]) -> None:
        """Replace the models."""
        self._fitted = Fitted(models)

    def fits(self, estimator: Any, added: Added, kept: Any, seeds: IntArray) -> list[Task]:
        """Return the arguments of the fits of all members to the rows `kept`, an index."""
        tasks = []
        for j, seed in enumerate(seeds.tolist()):
            parts, member = (self.rows[kept], self.outcomes[kept], self.weights[kept, j]), estimator
            if added is not None and j >= added.first:
                parts, member = added.added(*parts, seed), added.around(estimator, seed)
            tasks.append((member, *parts, seed))
        return tasks

    def set_later(self, later: Later) -> None:
        """Set the models that a worker process fits."""
        self._later = later

    def take_later(self) -> list[Any] | None:
        """Return the models of the worker process, and wait for it; None if there is none."""
        later, self._later = self._later, Later()
        return later.models()

    def fit_more(self, models: list[Any], start: int, end: int) -> list[Any]:
        """Return models that were also fitted to the rows from `start` to `end` by ``partial_fit``."""
        rows, outcomes, weights = self.rows[start:end], self.outcomes[start:end], self.weights[start:end]
        # The seed is that of the last fit plus the number of the row, also after loading.
        seeds = (self.seeds + start).tolist()
        return [fit_more(model, rows, outcomes, weights[:, j], seeds[j]) for j, model in enumerate(models)]

    def _fit_again(self, estimator: Any, added: Added, finish: Finish) -> list[Any]:
        if not self.fitted:
            return []
        models = fit_all(self.fits(estimator, added, np.arange(self.fitted), self.seeds), finish)
        for start, end in zip([self.fitted, *self.ends.tolist()], self.ends.tolist(), strict=False):
            models = self.fit_more(models, start, end)
        return models

    def check(self, fresh: Self) -> None:
        """Raise ``ValueError`` if no feedback leads to this state. Prepare it for use after loading."""
        n, members = len(self.rows), fresh.weights.shape[1]
        shapes = {"outcomes": (n,), "weights": (n, members), "keys": (n,), "seeds": (members,)}
        shapes["next_seeds"] = (members,)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {getattr(self, name).shape}")
        for name in ("fitted", "seen", "due", "rounds", "begun", "use_from"):
            count(name, getattr(self, name))
        if not (np.isfinite(self.rows).all() and np.isfinite(self.outcomes).all()):
            raise ValueError("rows and outcomes must be finite")
        if (self.weights < 0).any() or (self.weights > 2**20).any():
            raise ValueError("weights must be in [0, 2^20]")
        ends = [self.fitted, *self.ends.tolist()]
        if ends != sorted(ends) or ends[-1] > n or (self.seeds < 0).any() or self.begun > n:
            raise ValueError(
                f"fitted and ends must increase up to {n}, and begun be at most {n}, got {shown(ends)},"
                f" {self.begun}"
            )
        if n > self.seen or self.rounds > self.seen + 2**40:
            raise ValueError(f"seen must be at least {n} (the number of kept rows), got {self.seen}")
        self._fitted, self._later = Fitted(), Later()
