"""Sparse logistic regression by training a diagonal network."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dynafield.problem.checks import integer
from dynafield.problem.models import diagonal_flow, logistic_flow
from dynafield.regressor.choosing import (
    Choice,
    WithPath,
    choose,
    column_scale,
    read_candidates,
    read_time,
    scaled,
)

__all__ = ["DiagonalNetworkClassifier"]


class DiagonalNetworkClassifier(WithPath, ClassifierMixin, BaseEstimator):
    """Two classes told apart by a linear model: a diagonal network trained on the logistic loss.

    Parameters are those of `DiagonalNetworkRegressor`; "auto" chooses by the logistic loss of new data, which
    every training run estimates of itself (`learning_path`). Training has no end where the classes
    can be told apart without error, so that `t_max` is "auto" or a number. The intercept is the weight of a
    constant feature.

    After `fit`: ``coef_``, ``intercept_``, ``classes_``; ``t_``, ``train_loss_`` and ``coef_path_`` along
    training; ``stop_``, ``n_iter_``; ``alpha_``, ``lam_``, ``depth_``, ``alphas_``, ``lams_``, ``depths_``;
    ``estimated_test_loss_``, ``estimated_test_error_`` (share of wrong labels) and their standard errors, of
    all candidates at their stops; ``path_``, the `LearningPath` of the best.
    """

    def __init__(
        self,
        alpha: Any = "auto",
        lam: Any = 0.0,
        depth: Any = 2,
        t_max: Any = "auto",
        standardize: Any = True,
        fit_intercept: Any = True,
        probes: Any = 8,
        random_state: Any = 0,
    ):
        self.alpha = alpha
        self.lam = lam
        self.depth = depth
        self.t_max = t_max
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.probes = probes
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> "DiagonalNetworkClassifier":
        """Train on samples X with labels y of two classes."""
        candidates = read_candidates(self.alpha, self.lam, self.depth)
        t_max = read_time(self.t_max, auto_only=True)
        assert t_max is not None
        probes, seed = integer("probes", self.probes, 2), integer("random_state", self.random_state, 0)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, place = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            words = "Only binary classification is supported" if len(self.classes_) > 2 else "Only one class"
            raise ValueError(f"{words}: y must have two classes, got {len(self.classes_)} class(es)")
        d = X.shape[1]
        centre = X.mean(axis=0) if self.fit_intercept else np.zeros(d)
        scale = column_scale(X) if self.standardize else np.ones(d)
        inputs = scaled(X, centre, scale)
        if self.fit_intercept:
            inputs = np.column_stack([inputs, np.ones(len(X))])
        networks = candidates.networks(1.0)
        labels = np.where(place == 1, 1.0, -1.0)
        choice = choose(inputs, labels, networks, with_logistic_loss, t_max, probes, seed, False)
        self.take(choice, scale, centre)
        return self

    def take(self, choice: Choice, scale: np.ndarray, centre: np.ndarray) -> None:
        """What the choice has found, in the units of X."""
        self.keep(choice, ("test_loss", "test_error"))
        path, d = choice.path, len(scale)
        self.train_loss_, self.coef_path_ = path.train_loss, path.weights[:, :d] / scale
        coef = self.coef_path_[choice.place]
        constant = path.weights[choice.place, d] if self.fit_intercept else 0.0
        self.coef_, self.intercept_ = coef[None], np.array([constant - centre @ coef])

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs: logarithms of the odds of the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes."""
        second = expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(int)]


def with_logistic_loss(net: Any) -> Any:
    """The network, trained on the logistic loss."""
    return diagonal_flow(net, loss=logistic_flow())
