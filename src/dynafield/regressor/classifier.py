"""Sparse logistic regression by training a diagonal network."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dynafield.problem.checks import flag, integer, seed_of, unmasked
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
    """A linear classifier for two classes: a diagonal network trained on the logistic loss.

    "auto" chooses by the logistic loss of new data, as every training run estimates it from itself
    (`learning_path`). Training does not converge if the classes can be separated without error, so that
    `t_max` is "auto" or a number. The intercept is the weight of a constant feature.

    Parameters
    ----------
    alpha : float, list of float or "auto", default "auto"
        Initial scale of the layers; "auto" chooses one of six.
    lam : float or list of float, default 0
        Weight decay.
    depth : int or list of int, default 2
        Number of layers.
    t_max : float or "auto", default "auto"
        Training time, in the units of gradient flow; "auto" stops where the estimated loss is least.
    standardize : bool, default True
        Whether columns are scaled to variance 1/d. False: X is used as it is.
    fit_intercept : bool, default True
        Whether X is centred and an intercept is fitted.
    probes : int, default 8
        Number of random directions by which losses are estimated, ≥ 2.
    random_state : int, default 0
        Seed of these directions.

    Attributes
    ----------
    coef_, intercept_ : array (1, d), array (1,)
        The linear model, in the units of X.
    classes_ : array (2,)
        The classes.
    t_, train_loss_ : array (k,)
        Training times, and the mean loss at these.
    coef_path_ : array (k, d)
        The coefficients along training.
    stop_, n_iter_ : float, int
        The time at which `coef_` are taken, and its index in `t_`.
    alpha_, lam_, depth_
        The values that were chosen.
    alphas_, lams_, depths_ : array (m,)
        Those of all candidates.
    estimated_test_loss_, estimated_test_loss_se_ : array (m,)
        Estimated loss of every candidate at its stop, and its standard error.
    estimated_test_error_, estimated_test_error_se_ : array (m,)
        Estimated fraction of wrong labels, and its standard error.
    path_ : LearningPath
        Training of the best candidate, on scaled data.
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
        """Train on samples of two classes.

        Parameters
        ----------
        X : array (n, d)
            Samples by features.
        y : array (n,)
            Labels, of two different values.

        Returns
        -------
        DiagonalNetworkClassifier
            The estimator itself.
        """
        candidates = read_candidates(self.alpha, self.lam, self.depth)
        t_max = read_time(self.t_max, auto_only=True)
        assert t_max is not None
        probes, seed = integer("probes", self.probes, 2), seed_of("random_state", self.random_state)
        standardize = flag("standardize", self.standardize)
        fit_intercept = flag("fit_intercept", self.fit_intercept)
        unmasked("X", X)
        unmasked("y", y)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, place = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            words = "Only binary classification is supported" if len(self.classes_) > 2 else "Only one class"
            raise ValueError(f"{words}: y must have two classes, got {len(self.classes_)} class(es)")
        d = X.shape[1]
        centre = X.mean(axis=0) if fit_intercept else np.zeros(d)
        scale = column_scale(X) if standardize else np.ones(d)
        inputs = scaled(X, centre, scale)
        if fit_intercept:
            inputs = np.column_stack([inputs, np.ones(len(X))])
        networks = candidates.networks(1.0)
        labels = np.where(place == 1, 1.0, -1.0)
        choice = choose(inputs, labels, networks, with_logistic_loss, t_max, probes, seed, False)
        self.take(choice, scale, centre)
        return self

    def take(self, choice: Choice, scale: np.ndarray, centre: np.ndarray) -> None:
        """Keep what the choice among candidates has found, in the units of X.

        Parameters
        ----------
        choice : Choice
            All candidates, the best of them and its stop.
        scale : array (d,)
            What columns were divided by.
        centre : array (d,)
            What was subtracted from them.
        """
        self.keep(choice, ("test_loss", "test_error"))
        path, d = choice.path, len(scale)
        self.train_loss_, self.coef_path_ = path.train_loss, path.weights[:, :d] / scale
        coef = self.coef_path_[choice.place]
        constant = path.weights[choice.place, d] if self.fit_intercept else 0.0
        self.coef_, self.intercept_ = coef[None], np.array([constant - centre @ coef])

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs: logarithms of the odds of the second class.

        Parameters
        ----------
        X : array (m, d)
            Samples by features.

        Returns
        -------
        array (m,)
            Outputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_[0] + self.intercept_[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes.

        Parameters
        ----------
        X : array (m, d)
            Samples by features.

        Returns
        -------
        array (m, 2)
            Probabilities, in the order of `classes_`.
        """
        second = expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class.

        Parameters
        ----------
        X : array (m, d)
            Samples by features.

        Returns
        -------
        array (m,)
            Labels.
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(int)]


def with_logistic_loss(net: Any) -> Any:
    """The network, trained on the logistic loss."""
    return diagonal_flow(net, loss=logistic_flow())
