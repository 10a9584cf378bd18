"""ModelPolicy: any estimator of the scikit-learn convention behind any oracle."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from cmab import parameters as declared
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.linear import checked_features
from cmab.oracle import Oracle
from cmab.policies import estimators
from cmab.policies.estimators import ModelError, Task
from cmab.policy import Policy, best_within, refuse_parts
from cmab.propensities import available_in, chance_within, uniform_chance
from cmab.validation import arm_indices

_KNOWN = ("available", "features", "values", "costs")
#: Ties between predictions are broken by random numbers up to this fraction of the length of the support.
_TIE = 1e-9
#: Without a support, differences of this fraction of the largest number are rounding errors.
_ROUNDING = 1e-12
# More rows than a session ever observes; a very large growth would overflow.
_FARTHEST = 2.0**62

Exploration = Literal["mixture", "epsilon", "none"]


class Fitted:
    """The fitted models of a state, or None before they are needed for the first time.

    The models depend only on the arrays of the state. Pickles, files and comparisons of a state therefore
    omit them, and copies of a state share them.

    Parameters
    ----------
    before : list
        The models of the fit before, which are used if this fit fails.
    """

    def __init__(self, before: list[Any] | None = None) -> None:
        self.models: list[Any] | None = None
        self.before: list[Any] = before or []
        #: Why the fit failed; None if it did not.
        self.error: str | None = None

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
    seeds : IntArray, shape (members,)
        The seeds of the last fit.
    fitted : int
        The number of rows of the last fit, which are the first rows; 0 before the first fit.
    seen : int
        The number of rows observed in all rounds.
    due : int
        The value of `seen` from which the models are fitted again.
    rounds : int
        The number of rounds with feedback.
    """

    rows: FloatArray
    outcomes: FloatArray
    weights: IntArray
    seeds: IntArray
    fitted: int
    seen: int
    due: int
    rounds: int = 0

    def __post_init__(self) -> None:
        self._fitted = Fitted()

    def check(self, _: Self) -> None:
        """Prepare a state that was read from a file for its first fit."""
        self._fitted = Fitted()

    def __repr__(self) -> str:
        return (
            f"ModelState(rows={len(self.rows)}, seen={self.seen}, fitted={self.fitted}, rounds={self.rounds})"
        )

    def append(self, rows: FloatArray, outcomes: FloatArray, weights: IntArray) -> None:
        """Add the rows of one round."""
        self.rows = np.concatenate([self.rows.reshape(len(self.rows), rows.shape[1]), rows])
        self.outcomes = np.concatenate([self.outcomes, outcomes])
        self.weights = np.concatenate([self.weights, weights])
        self.seen += len(rows)

    def keep(self, kept: Any) -> None:
        """Drop all rows except `kept`, an index."""
        self.rows, self.outcomes, self.weights = self.rows[kept], self.outcomes[kept], self.weights[kept]


@dataclass(frozen=True, eq=False, repr=False)
class ModelPolicy(Policy[ModelState]):
    """A policy that predicts the mean of each base arm by a model of the user, and explores.

    Use this policy if means depend on features in a way that a model of yours predicts and a linear model
    does not. For linear means, use `CombLinTS`.

    The model is any estimator of the scikit-learn convention. Each row of its data is one observed base arm
    in one round: the features of the arm in this round, and its outcome. The oracle receives one prediction
    for each base arm.

    The state contains the data, and the models are a function of the data and of recorded seeds. The models
    are fitted again when the number of observed rows has grown by the fraction `growth`. All fits together
    therefore use about ``(1 + 1 / growth) n`` rows to learn from n rows. Before the first fit, the policy
    plays the oracle's answer to uniformly random means.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    estimator : object
        An estimator with ``fit(X, y)``, and ``predict(X)`` or ``predict_proba(X)``. With ``predict_proba``,
        the mean is the probability of class 1, and outcomes must lie between 0 and 1. An outcome y
        is the label 1 with probability y in each fit (as in Agrawal and Goyal 2012). If ``fit`` has an
        argument `sample_weight`, the policy uses it. The estimator is copied and never changed. Each
        parameter named `random_state` is replaced by a seed of the policy's own randomness.
    features : array_like, shape (n_arms, d), optional
        Features of the arms, for all rounds whose context has no features.
    exploration : {"mixture", "epsilon", "none"}
        How the policy explores; see Notes. The default was chosen by measurement.
    members : int
        The number of models of the ensemble of ``"mixture"``.
    epsilon : float
        For ``"epsilon"``: the probability of a random super arm, in [0, 1].
    max_rows : int
        The largest number of rows that a fit uses. Older rows are dropped.
    growth : float
        The relative growth of the number of observed rows before the next fit, above 0.
    support : tuple of float or None
        Interval to which predictions are clipped. With None, outcomes may be any numbers.

    Raises
    ------
    TypeError
        If the estimator has no ``fit`` or no ``predict``.
    ValueError
        If a parameter is out of its range, or features have a wrong shape or are not finite. In `select`, if
        predictions have a wrong shape or are not finite.

    Warns
    -----
    RuntimeWarning
        If ``fit`` raises an exception, or if its model cannot predict. The policy then keeps the models of
        the last successful fit, and repeats the fit when the data have grown again.

    Notes
    -----
    The explorations are:

    - ``"mixture"``: with probability 1/2 the predictions of a model that is fitted to all rows, and otherwise
      those of a random member of an ensemble (ours). Each row counts Poisson(1) times for each member
      (Eckles and Kaptein 2014; Oza and Russell 2001). Each member also has artificial rows with random
      outcomes, so that members differ where little was observed (Osband and Van Roy 2015). The outcomes are
      the ends of the support, or if it is None, the extremes of the observed outcomes. All predictions are
      weighted means with those of a ridge regression. Its weight is the one with the least squared error on
      rows that the bootstrap left out (stacked regression, Breiman 1996). Where the truth is linear, the
      policy therefore loses little to linear policies, and elsewhere the model has nearly all the weight.
    - ``"epsilon"``: one model, and a random super arm with probability `epsilon`.
    - ``"none"``: one model without exploration.

    Equal predictions, which are usual for trees, are ordered at random.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Context, Feedback, ModelPolicy, Session
    >>> from oracles import TopK
    >>> class Mean:                                     # any estimator of scikit-learn works as well
    ...     def fit(self, X, y, sample_weight=None):
    ...         self.mean = np.average(y, weights=sample_weight)
    ...     def predict(self, X):
    ...         return np.full(len(X), self.mean)
    >>> session = Session(ModelPolicy(TopK(5, k=2), Mean()), rng=0)
    >>> ticket = session.ask(Context(features=np.eye(5)))
    >>> session.tell(Feedback(ticket, [1.0, 0.0]))
    >>> session.state
    ModelState(rows=2, seen=2, fitted=0, rounds=1)

    References
    ----------
    S. Agrawal, N. Goyal: Analysis of Thompson sampling for the multi-armed bandit problem, COLT 2012.
    L. Breiman: Stacked regressions, Machine Learning 24 (1996).
    D. Eckles, M. Kaptein: Thompson sampling with the online bootstrap, arXiv:1410.4009 (2014).
    I. Osband, B. Van Roy: Bootstrapped Thompson Sampling and Deep Exploration, arXiv:1507.00300 (2015).
    N. C. Oza, S. Russell: Online Bagging and Boosting, AISTATS 2001.
    """

    oracle: Oracle
    estimator: Any
    features: ArrayLike | None = None
    _: KW_ONLY
    exploration: Exploration = field(default="mixture", metadata=declared.one_of(*get_args(Exploration)))
    members: int = field(default=5, metadata=declared.integer(1))
    epsilon: float = field(default=0.1, metadata=declared.real(0.0, 1.0))
    max_rows: int = field(default=10_000, metadata=declared.integer(10))
    growth: float = field(default=0.2, metadata=declared.real(0.0, inside=True))
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=declared.interval(optional=True))
    #: The number of artificial rows of each member.
    _artificial: ClassVar[int] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        estimators.check_estimator("estimator", self.estimator)
        if self.features is not None:
            own = np.array(checked_features("features", self.features, self.oracle.n_arms, None, math.inf))
            own.setflags(write=False)
            object.__setattr__(self, "features", own)

    @property
    def _n_models(self) -> int:
        """The number of fitted models."""
        return 1 + self.members if self.exploration == "mixture" else 1

    @property
    def _shares(self) -> FloatArray:
        """The probability with which a round uses each model."""
        if self.exploration == "mixture":
            return np.array([0.5, *[0.5 / self.members] * self.members])
        return np.ones(1)

    def initial_state(self, rng: np.random.Generator | None = None) -> ModelState:
        first, n = max(10, 2 * min(self.oracle.max_size, 50)), self._n_models
        d = 0 if self.features is None else int(np.shape(self.features)[1])
        arrays = np.zeros((0, d)), np.zeros(0), np.zeros((0, n), np.int64), np.zeros(n, np.int64)
        return ModelState(*arrays, fitted=0, seen=0, due=first)

    # Fits ----------------------------------------------------------------------------------------------

    def _models(self, state: ModelState) -> list[Any]:
        """Return the models of the last fit, which is made when they are needed for the first time.

        If it fails, they are those of the fit before.
        """
        fitted = state._fitted
        if fitted.models is None:
            try:
                fitted.models = self._fit(state) if state.fitted else []
            except ModelError as error:
                last = "the models of the last fit that succeeded" if fitted.before else "random super arms"
                fitted.models, fitted.error = fitted.before, str(error)
                warnings.warn(
                    f"{error}. The policy continues with {last}, and repeats the fit after {state.due}"
                    " observed rows. The observations are kept",
                    RuntimeWarning,
                    stacklevel=4,
                )
            fitted.before = []
        return fitted.models

    def failure(self, state: ModelState) -> str | None:
        """Return why the last fit failed, or None."""
        return state._fitted.error

    def _fit(self, state: ModelState) -> list[Any]:
        """Return models that are fitted to the rows of the last fit, a model for each seed."""
        tasks: list[Task] = []
        kept = slice(0, state.fitted)
        for member, seed in enumerate(state.seeds.tolist()):
            data = state.rows[kept], state.outcomes[kept], state.weights[kept, member]
            if member:
                more: Any = {"size": self._artificial, "ends": self.support}
                data = estimators.with_artificial_rows(*data, **more, seed=seed)
            tasks.append((self.estimator, *data, seed))
        models = [estimators.fit(*task) for task in tasks]
        return estimators.blended(tasks, models) if self.exploration == "mixture" else models

    def _refit(self, state: ModelState, rng: np.random.Generator) -> None:
        """Describe a fit to the last `max_rows` rows, which is made when its models are needed."""
        step = max(1, math.ceil(min(self.growth * min(state.seen, self.max_rows), _FARTHEST)))
        state.due = state.seen + step
        state.keep(slice(max(0, len(state.rows) - self.max_rows), None))
        state.seeds, state.fitted = rng.integers(2**31 - 1, size=len(state.seeds)), len(state.rows)
        last = state._fitted
        state._fitted = Fitted(last.before if last.models is None else last.models)

    # Choices -------------------------------------------------------------------------------------------

    def select(self, state: ModelState, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the best available super arm for the predictions of one model."""
        refuse_parts(self, context, _KNOWN if self.oracle.is_linear else _KNOWN[:2])
        return best_within(self.oracle, self.indices(state, rng, context), context, rng)

    def indices(
        self, state: ModelState, rng: np.random.Generator, context: Context | None = None
    ) -> FloatArray:
        """Return the numbers that the oracle receives for the base arms, shape (n_arms,)."""
        rows, models = self._features_in(state, context), self._models(state)
        low, high = self.support or (0.0, 1.0)
        is_random = self.exploration == "epsilon" and rng.random() < self.epsilon
        if not models or is_random:
            return low + (high - low) * rng.random(len(rows))
        model = models[int(rng.choice(len(models), p=self._shares))] if len(models) > 1 else models[0]
        rounded = self._clipped(self._predicted(model, rows, context))
        return rounded + rng.random(len(rounded)) * self._tie(rounded)

    def _predicted(self, model: Any, rows: FloatArray, context: Context | None) -> FloatArray:
        """Return the predictions for the rows, only of available base arms if entries are base arms."""
        free: Any = slice(None)
        if context is not None and context.available is not None and self.oracle.is_linear:
            free = np.flatnonzero(context.available)
        # Entries that are not available keep this number, which no super arm uses.
        found = np.full(len(rows), 0.0 if self.support is None else float(self.support[0]))
        if len(rows[free]):
            found[free] = estimators.predict(model, rows[free])
        return found

    def _clipped(self, values: FloatArray) -> FloatArray:
        """Return the numbers within the support, and equal if they differ by no more than a tie."""
        low, high = self.support or (0.0, 0.0)
        # A model without outcomes predicts nan.
        values = np.where(np.isnan(values), (low + high) / 2.0, values)
        tie = self._tie(values)
        values = np.rint(values / tie) * tie if tie > 0.0 else values
        if self.support is None:
            return values
        return np.clip(values, low, high - tie)

    def _tie(self, values: FloatArray) -> float:
        if self.support is None:
            # One huge number must not make all others equal, so the spread is that of the middle half.
            spread = float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
            return max(_TIE * spread, _ROUNDING * float(np.abs(values).max(initial=0.0)))
        return _TIE * (self.support[1] - self.support[0])

    def propensity(self, state: ModelState, super_arm: IntArray, context: Context | None) -> float | None:
        """Return the probability of a super arm, or None if it is unknown.

        It is known if the super arms are all sets of k base arms, and the context has neither values nor
        costs. It needs the predictions of all members.
        """
        uniform = uniform_chance(self.oracle, super_arm, context)
        models = self._models(state)
        if uniform is None or not models:
            return uniform
        # If the super arms are not all sets of k arms, ties would need all orders.
        if getattr(self.oracle, "_uniform_size", None) is None:
            return None
        rows, free = self._features_in(state, context), available_in(self.oracle, context)
        chances = []
        for model in models:
            values = self._clipped(self._predicted(model, rows, context))
            chances.append(chance_within(values, len(super_arm), super_arm, free, self.oracle._sign))
        epsilon = self.epsilon if self.exploration == "epsilon" else 0.0
        return epsilon * uniform + (1.0 - epsilon) * float(self._shares @ np.array(chances))

    def update(
        self,
        state: ModelState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Add the observed base arms to the data. If a fit is due, the next choice makes it.

        The features are those of the ticket's context, or those of the policy if the context has none.
        """
        if feedback.pulls is not None:
            raise ValueError(
                "feedback.pulls must be None for ModelPolicy, which needs each outcome separately"
            )
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        estimators.check_labels(self.estimator, feedback.outcomes)
        rng = np.random.default_rng((state.seen, state.rounds)) if rng is None else rng
        state.rounds += 1
        if not len(arms):
            return
        rows, n = self._features_in(state, None if ticket is None else ticket.context)[arms], self._n_models
        counts = rng.poisson(1.0, (len(rows), n)).astype(np.int64)
        counts[:, 0] = 1  # the first model is fitted to all rows
        state.append(rows, feedback.outcomes, counts)
        if state.seen >= state.due:
            self._refit(state, rng)

    def _features_in(self, state: ModelState, context: Context | None) -> FloatArray:
        told = None if context is None else context.features
        rows: Any = self.features if told is None else told
        if rows is None:
            raise ValueError("context must have features for ModelPolicy, got none")
        shape = self.oracle.n_arms, state.rows.shape[1] or rows.shape[1]
        if rows.shape != shape:
            raise ValueError(
                f"context.features must have shape {shape} (one row for each base arm, and as many columns as"
                f" in earlier rounds), got {rows.shape}"
            )
        return rows  # type: ignore[no-any-return]
