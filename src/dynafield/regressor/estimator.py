"""Sparse linear regression by training a diagonal network."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dynafield.problem.checks import integer, one_real
from dynafield.regressor.choosing import (
    Choice,
    WithPath,
    choose,
    column_scale,
    forget,
    read_candidates,
    read_time,
    scaled,
)
from dynafield.simulation.fit import train_one

__all__ = ["DiagonalNetworkRegressor"]


class DiagonalNetworkRegressor(WithPath, RegressorMixin, BaseEstimator):
    """A linear model fitted by gradient flow of a diagonal network.

    Small `alpha` favours few large coefficients, large `alpha` many small ones; `lam` is
    weight decay (at depth 2 the lasso in the end); `t_max` stops training early. Columns are
    scaled to variance 1/d, so that `alpha`, `lam` and `t_max` mean what they mean in the theory.

    With ``alpha="auto"`` and ``t_max="auto"`` initial scale and stopping time are chosen where the test
    error is least that every training run estimates of itself (`learning_path`): no folds, and no data
    held back. Several values of `alpha`, `lam` or `depth`, as a list, are chosen from in the same way.

    Parameters
    ----------
    alpha
        Initial scale of the layers; "auto" for one of six, in units of the labels.
    lam
        Weight decay.
    depth
        Number of layers.
    t_max
        Training time; None to train until it has ended, "auto" to stop where the estimate is least.
    tol
        With t_max=None, the relative change of the weights, while time grows by a quarter and no layer grows
        any more, that counts as the end.
    standardize
        Whether columns are scaled to variance 1/d (if not, X is used as it is).
    fit_intercept
        Whether X and y are centred and an intercept is fitted.
    probes
        Random directions by which test errors are estimated.
    random_state
        Their seed, an integer.

    After `fit`: ``coef_`` and ``intercept_``, the linear model in the units of X and y;
    ``t_`` and ``train_error_``, the mean squared residual along training; ``coef_path_``, the coefficients
    along it; ``stop_``, the time at which ``coef_`` are taken, and ``n_iter_``, its place in ``t_``;
    ``converged_``, whether training had ended by then; ``n_features_in_``, the number of columns. Where
    something was chosen: ``alpha_``, ``lam_``, ``depth_``; ``alphas_``, ``lams_``, ``depths_`` of all
    candidates, with ``estimated_test_error_`` and ``estimated_test_error_se_`` of each at its stop; and
    ``path_``, the `LearningPath` of the best, on scaled data.
    """

    def __init__(
        self,
        alpha: Any = 0.1,
        lam: Any = 0.0,
        depth: Any = 2,
        t_max: Any = None,
        tol: Any = 1e-4,
        standardize: Any = True,
        fit_intercept: Any = True,
        probes: Any = 8,
        random_state: Any = 0,
    ):
        self.alpha = alpha
        self.lam = lam
        self.depth = depth
        self.t_max = t_max
        self.tol = tol
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.probes = probes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "DiagonalNetworkRegressor":
        """Train on samples X with targets y."""
        candidates = read_candidates(self.alpha, self.lam, self.depth)
        t_max = read_time(self.t_max, candidates.several)
        tol = one_real("tol", self.tol, lambda x: (x >= 1e-9) & (x < 1), "one number from 1e-9 to 1")
        probes, seed = integer("probes", self.probes, 2), integer("random_state", self.random_state, 0)
        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=float)
        d = X.shape[1]
        centre, level = (X.mean(axis=0), y.mean()) if self.fit_intercept else (np.zeros(d), 0.0)
        scale = column_scale(X) if self.standardize else np.ones(d)
        inputs, labels = scaled(X, centre, scale), y - level
        size = float(np.sqrt(np.mean(labels**2)))
        networks = candidates.networks(size or 1.0)
        chosen = candidates.several or isinstance(t_max, str)
        if chosen and t_max is not None and size > 0 and np.any(inputs.T @ labels):
            fit_intercept = bool(self.fit_intercept)
            self.take_best(choose(inputs, labels, networks, None, t_max, probes, seed, fit_intercept))
        else:
            self.take_one(inputs, labels, networks[0], None if isinstance(t_max, str) else t_max, tol)
        self.coef_path_ = self.coef_path_ / scale
        self.coef_ = self.coef_path_[self.n_iter_]
        self.intercept_ = float(level - centre @ self.coef_)
        return self

    def take_best(self, choice: Choice) -> None:
        """What the choice among several has found."""
        self.keep(choice, ("test_error",))
        self.train_error_, self.coef_path_ = choice.path.train_error, choice.path.weights
        self.converged_ = False

    def take_one(self, inputs: np.ndarray, labels: np.ndarray, net: Any, t_max: Any, tol: float) -> None:
        """Train one network, to a time or to its end."""
        done = train_one(inputs, labels, net, t_max, tol)
        if t_max is None and not done.converged:
            warnings.warn(
                f"training had not ended at t = {done.t[-1]:.3g}: give t_max, or a larger tol or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.t_, self.train_error_, self.converged_ = done.t, done.train_error, done.converged
        self.coef_path_ = np.vstack([done.weights[:-1], done.w])
        self.n_iter_, self.stop_ = len(done.t) - 1, float(done.t[-1])
        self.alpha_, self.lam_, self.depth_ = float(net.alpha), float(net.lam), net.depth

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the linear model."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + self.intercept_
