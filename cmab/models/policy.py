"""ModelPolicy: any estimator of the scikit-learn convention behind any oracle."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab import declared
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.feedback import Feedback, check_arrays
from cmab.linear.features import checked_features
from cmab.models import estimators
from cmab.models._refits import learn_more, refit
from cmab.models.background import Finish
from cmab.models.blending import blended
from cmab.models.history import History
from cmab.models.priors import Priors
from cmab.models.rules import (
    ARTIFICIAL,
    BLENDED,
    DRAWN,
    ENSEMBLES,
    EXPLORATIONS,
    UNCUT,
    Exploration,
    check_exploration,
    drawn_values,
    gap_chances,
)
from cmab.models.state import Added, ModelState
from cmab.models.warned import shown_once
from cmab.oracle import Oracle
from cmab.policy import Policy, best_within, refuse_parts
from cmab.propensities import available_in, chance_within, uniform_chance
from cmab.ticket import Ticket
from cmab.validation import arm_indices, shown

_KNOWN = ("available", "features", "values", "costs")
#: Ties between predictions are broken by random numbers up to this fraction of the length of the support.
_TIE = 1e-9
#: Without a support, differences of this fraction of the largest number are rounding errors.
_ROUNDING = 1e-12


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
    therefore use about ``(1 + 1 / growth) n`` rows to learn from n rows. If the estimator has
    ``partial_fit``, the models also learn each round between two fits. Before the first fit, the policy plays
    the oracle's answer to uniformly random means.

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
    exploration : {"mixture", "history", "bootstrap", "priors", "deviation", "joint", "optimism", "gap", \
"epsilon", "none"}
        How the policy explores; see Notes. The default was chosen by measurement.
    blend : bool
        Whether predictions are weighted means of those of the model and of a ridge regression (only for the
        same explorations as `members`, except ``"priors"``, and if the estimator has no ``partial_fit``); see
        Notes.
    members : int
        The number of models of the ensemble (``"mixture"``, ``"history"``, ``"bootstrap"``, ``"priors"``).
    epsilon : float
        For ``"epsilon"``: the probability of a random super arm, in [0, 1].
    deviation_factor : float
        For ``"deviation"`` and ``"optimism"``: the factor of the standard deviations, at least 0.
    draws : int
        For ``"deviation"``: the number of normal draws of each arm, of which the best is used.
    max_rows : int
        The largest number of rows that a fit uses.
    forget : {"oldest", "random"}
        Which rows are dropped beyond `max_rows`: the oldest (a window), or rows chosen uniformly at random
        (a reservoir).
    growth : float
        The relative growth of the number of observed rows before the next fit, above 0.
    background : bool
        Whether a worker process fits the models. The policy plays the last models until half of the rows
        before the next fit were observed, and then waits for the new models if they are not ready. The
        choices therefore do not depend on the speed of the machine.
    support : tuple of float or None
        Interval to which predictions are clipped. For ``"deviation"``, ``"joint"`` and ``"optimism"``, the
        numbers of arms are clipped only if the oracle needs it. With None, outcomes may be any numbers.

    Raises
    ------
    TypeError
        If the estimator has no ``fit`` or no ``predict``, or lacks a method that the exploration needs.
    ValueError
        If a parameter is out of its range, the oracle of ``"gap"`` does not choose single arms, or features
        have a wrong shape or are not finite. In `select`, if predictions have a wrong shape or are not
        finite.

    Warns
    -----
    RuntimeWarning
        If ``fit`` raises an exception, or if its model cannot predict. The policy then keeps the models of
        the last successful fit, and repeats the fit when the data have grown again. The same warning of the
        estimator itself is shown once for each policy.

    Notes
    -----
    The explorations are:

    - ``"bootstrap"``: Thompson sampling from an ensemble. Each row counts Poisson(1) times for each member.
      Each round uses the predictions of one member, which is drawn uniformly (Eckles and Kaptein 2014; Oza
      and Russell 2001 for the weights).
    - ``"history"``: the same, and each member also has artificial rows with random outcomes, so that members
      differ where little was observed (Osband and Van Roy 2015). The outcomes are the ends of the support,
      or if it is None, the extremes of the observed outcomes.
    - ``"mixture"``: with probability 1/2 the predictions of one further model, which is fitted to all rows as
      they are, and otherwise ``"history"`` (ours).
    - ``"priors"``: each member also adds a fixed random function to its predictions, and is fitted to the
      remaining differences (Osband, Aslanides and Cassirer 2018). It needs a regressor.
    - ``"deviation"``: one model. The oracle receives independent normal numbers with the means and
      `deviation_factor` times the standard deviations of ``predict(X, return_std=True)``, for example of a
      Gaussian process. With several `draws` of each arm, it receives the best of them. With
      `NetworkRegressor` and ``gradients="all"`` this is CN-TS (Hwang et al. 2023).
    - ``"optimism"``: one model. The oracle receives the means plus `deviation_factor` times these
      deviations. With `NetworkRegressor` and ``gradients="all"`` this is CN-UCB.
    - ``"joint"``: one model. The oracle receives one joint draw ``sample_y(X, random_state=seed)``, for
      example of a Gaussian process. With `NetworkRegressor` this is neural-linear (Riquelme et al. 2018).
    - ``"gap"``: one model, and for oracles of single arms. An arm whose prediction is worse by a gap g has
      the probability ``1 / (n + gamma g)`` (SquareCB, Foster and Rakhlin 2020).
    - ``"epsilon"``: one model, and a random super arm with probability `epsilon`.
    - ``"none"``: one model without exploration.

    If `blend` is True, the weight of the ridge regression is the one with the least squared error on rows
    that the bootstrap left out (stacked regression, Breiman 1996). Where the truth is linear, the policy
    therefore loses little to linear policies, and elsewhere the model has nearly all the weight.

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
    D. Foster, A. Rakhlin: Beyond UCB: Optimal and efficient contextual bandits with regression oracles, ICML
    2020. T. Hwang, K. Chai, M.-H. Oh: Combinatorial Neural Bandits, ICML 2023.
    I. Osband, J. Aslanides, A. Cassirer: Randomized prior functions for deep reinforcement learning, NeurIPS
    2018.
    I. Osband, B. Van Roy: Bootstrapped Thompson Sampling and Deep Exploration, arXiv:1507.00300 (2015).
    N. C. Oza, S. Russell: Online Bagging and Boosting, AISTATS 2001.
    C. Riquelme, G. Tucker, J. Snoek: Deep Bayesian Bandits Showdown, ICLR 2018. All from memory.
    """

    oracle: Oracle
    estimator: Any
    features: ArrayLike | None = None
    _: KW_ONLY
    exploration: Exploration = field(default="mixture", metadata=declared.one_of(*EXPLORATIONS))
    blend: bool = field(default=True, metadata=declared.flag())
    members: int = field(default=5, metadata=declared.integer(1))
    epsilon: float = field(default=0.1, metadata=declared.real(0.0, 1.0))
    deviation_factor: float = field(default=1.0, metadata=declared.real(0.0))
    draws: int = field(default=1, metadata=declared.integer(1))
    max_rows: int = field(default=10_000, metadata=declared.integer(10))
    forget: Literal["oldest", "random"] = field(
        default="oldest", metadata=declared.one_of("oldest", "random")
    )
    growth: float = field(default=0.2, metadata=declared.real(0.0, inside=True))
    background: bool = field(default=False, metadata=declared.flag())
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=declared.interval(optional=True))
    #: The number of artificial rows of each member of ``"history"``.
    _artificial: ClassVar[int] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        estimators.check_estimator("estimator", self.estimator)
        check_exploration(self.exploration, self.estimator, self.oracle)
        if self.features is not None:
            own = np.array(checked_features("features", self.features, self.oracle.n_arms, None, math.inf))
            own.setflags(write=False)
            object.__setattr__(self, "features", own)

    @property
    def dimension(self) -> int | None:
        """The number of columns of `features`; None if only contexts have features."""
        return None if self.features is None else int(np.shape(self.features)[1])

    @property
    def _models(self) -> int:
        """The number of fitted models."""
        if self.exploration == "mixture":
            return 1 + self.members
        return self.members if self.exploration in ENSEMBLES else 1

    @property
    def _shares(self) -> FloatArray:
        """The probability with which a round uses each model."""
        if self.exploration == "mixture":
            return np.array([0.5, *[0.5 / self.members] * self.members])
        return np.full(self._models, 1.0 / self._models)

    @property
    def _added(self) -> Added:
        if self.exploration == "priors":
            return Priors(self.support)
        if self.exploration not in ARTIFICIAL:
            return None
        together = getattr(self.estimator, "joint_columns", 0)
        return History(self._artificial, self.support, int(self.exploration == "mixture"), together)

    @property
    def _finish(self) -> Finish:
        # Between two fits, the line and the share would stay as they are while the model learns.
        may_blend = self.blend and not estimators.can_fit_more(self.estimator)
        return blended if may_blend and self.exploration in BLENDED else None

    def _fitted(self, state: ModelState) -> list[Any]:
        """Return the models of the last fit."""
        with shown_once(self):
            return state.models(self.estimator, self._added, self._finish)

    def initial_state(self, rng: np.random.Generator | None = None) -> ModelState:
        first = max(10, 2 * min(self.oracle.max_size, 50))
        return ModelState.empty(self._models, first, self.dimension or 0)

    def _check_state(self, state: ModelState) -> None:
        if not isinstance(state, ModelState):
            raise ValueError(f"state must be a ModelState, got {shown(state)}")
        had, has = state.rows.shape[1], self.dimension
        if state.weights.shape[1] != self._models or (had and has and had != has):
            raise ValueError(
                f"state must be one of {self._models} members and {has or had} features, got"
                f" {state.weights.shape[1]} members and {had} features"
            )

    def select(self, state: ModelState, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the best available super arm for the predictions of one model.

        Raises
        ------
        ValueError
            If features are missing, or differ in number from those of earlier rounds; if predictions have a
            wrong shape or are not finite; if no super arm is available; or if the context has values or costs
            but rewards are not sums.
        """
        is_sum = self.oracle.is_linear and self.exploration != "gap"
        refuse_parts(self, context, _KNOWN if is_sum else _KNOWN[:2])
        return best_within(self.oracle, self.indices(state, rng, context), context, rng)

    def indices(
        self, state: ModelState, rng: np.random.Generator, context: Context | None = None
    ) -> FloatArray:
        """Return the numbers that the oracle receives for the base arms, shape (n_arms,).

        Parameters
        ----------
        state : ModelState
            The current state.
        rng : numpy.random.Generator
            The random stream of the policy.
        context : Context, optional
            The context of the round.
        """
        self._check_state(state)
        rows = self._features_in(state, context)
        models = self._fitted(state)
        low, high = self.support or (0.0, 1.0)
        is_random = self.exploration == "epsilon" and rng.random() < self.epsilon
        if not models or is_random:
            return low + (high - low) * rng.random(len(rows))
        model = models[int(rng.choice(len(models), p=self._shares))] if len(models) > 1 else models[0]
        values = self._drawn(model, rows, context, rng)
        if self.exploration == "gap":
            chances = self._gap_chances(state, values, context)
            return np.where(np.arange(len(rows)) == rng.choice(len(rows), p=chances), self.oracle.sign, 0.0)
        return self._without_ties(values, rng)

    def _gap_chances(self, state: ModelState, values: FloatArray, context: Context | None) -> FloatArray:
        """Return the probability of each arm; 0 if it is not available."""
        low, high = self.support or (float(values.min()), float(values.max()))
        free = available_in(self.oracle, context)
        chances = np.zeros(len(values))
        scaled = self._clipped(values) * (self.oracle.sign / max(high - low, 1e-300))
        chances[free] = gap_chances(scaled[free], state.fitted)
        return chances

    def _drawn(
        self, model: Any, rows: FloatArray, context: Context | None, rng: np.random.Generator
    ) -> FloatArray:
        """Return the predictions for the rows, only of available base arms if entries are base arms."""
        free: Any = slice(None)
        if context is not None and context.available is not None and self.oracle.is_linear:
            free = np.flatnonzero(context.available)
        # Entries that are not available keep this number, which no super arm uses.
        found = np.full(len(rows), 0.0 if self.support is None else float(self.support[0]))
        if not len(rows[free]):
            return found
        factor = self.deviation_factor * self.oracle.sign
        with shown_once(self):
            found[free] = drawn_values(self.exploration, model, rows[free], rng, factor, self.draws)
        return found

    def _without_ties(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the values, clipped to the support, with ties broken at random."""
        rounded = self._clipped(values)
        noise: FloatArray = rng.random(len(values))
        noise *= self._tie(rounded)
        noise += rounded
        return noise

    def _clipped(self, values: FloatArray) -> FloatArray:
        low, high = self.support or (0.0, 0.0)
        # A model without outcomes predicts nan.
        values[np.isnan(values)] = (low + high) / 2.0
        # Differences of the size of the random numbers are ties.
        tie = self._tie(values)
        if tie > 0.0:
            np.divide(values, tie, out=values)
            np.rint(values, out=values)
            values *= tie
        if self.support is not None:
            np.clip(values, *self._limits(low, high - tie), out=values)
        return values

    def _limits(self, low: float, high: float) -> tuple[float, float]:
        """Return the limits of the numbers of base arms. Cutting optimistic numbers would make them equal."""
        if self.exploration in UNCUT and self.oracle.is_linear:
            return min(low, float(getattr(self.oracle, "least_mean", low))), math.inf
        return low, high

    def _tie(self, values: FloatArray) -> float:
        if self.support is None:
            # One huge number must not make all others equal, so the spread is that of the middle half.
            spread = float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
            return max(_TIE * spread, _ROUNDING * float(np.abs(values).max(initial=0.0)))
        return _TIE * (self.support[1] - self.support[0])

    def propensity(self, state: ModelState, super_arm: IntArray, context: Context | None) -> float | None:
        """Return the probability of a super arm, or None if it is unknown.

        It is known if the super arms are all sets of k base arms, the exploration is neither ``"deviation"``
        nor ``"joint"``, and the context has neither values nor costs. It needs the predictions of all
        members.
        """
        uniform = uniform_chance(self.oracle, super_arm, context)
        models = self._fitted(state)
        if uniform is None or not models:
            return uniform
        if getattr(self.oracle, "uniform_size", None) is None:  # ties would need all orders
            return None
        if self.exploration in DRAWN:
            return None
        rows, free = self._features_in(state, context), available_in(self.oracle, context)
        unused = np.random.default_rng(0)
        if self.exploration == "gap":
            values = self._drawn(models[0], rows, context, unused)
            return float(self._gap_chances(state, values, context)[super_arm].sum())
        chances = [
            chance_within(
                self._clipped(self._drawn(model, rows, context, unused)),
                len(super_arm),
                super_arm,
                free,
                self.oracle.sign,
            )
            for model in models
        ]
        epsilon = self.epsilon if self.exploration == "epsilon" else 0.0
        return epsilon * uniform + (1.0 - epsilon) * float(self._shares @ np.array(chances))

    def update(
        self,
        state: ModelState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Add the observed base arms to the data, and fit the models if it is time.

        The features are those of the ticket's context, or those of the policy if the context has none.
        """
        if not isinstance(feedback, Feedback):
            raise ValueError(f"feedback must be a Feedback(arms, outcomes), got {shown(feedback)}")
        check_arrays(feedback)
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
        rows = self._features_in(state, None if ticket is None else ticket.context)[arms]
        is_many = self._models > 1
        counts = rng.poisson(1.0, (len(rows), self._models)) if is_many else np.ones((len(rows), 1), np.int64)
        if self.exploration == "mixture":
            counts[:, 0] = 1
        state.append(rows, feedback.outcomes, counts.astype(np.int64), rng.random(len(rows)))
        with shown_once(self):
            if not refit(self, state, rng) and state.fitted and estimators.can_fit_more(self.estimator):
                learn_more(self, state)

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
