"""Sparse linear regression by training a diagonal network."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dynafield.problem.checks import one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.fit import train_one

__all__ = ["DiagonalNetworkRegressor"]


class DiagonalNetworkRegressor(RegressorMixin, BaseEstimator):
    """A linear model fitted by gradient flow of a diagonal network.

    Small `alpha` favours few large coefficients, large `alpha` many small ones; `lam` is
    weight decay (at depth 2 the lasso in the end); `t_max` stops training early. Columns are
    scaled to variance 1/d, so that `alpha`, `lam` and `t_max` mean what they mean in the theory.

    Parameters: `alpha`, initial scale of the layers; `lam`, weight decay; `depth`, number of
    layers; `t_max`, training time, None to train until it has ended; `tol`, the relative
    change of the weights, while time grows by a quarter and no layer grows any more, that
    counts as the end; `standardize`, whether columns are scaled to variance 1/d (if not, X is used as it
    is); `fit_intercept`, whether X and y are centred and an intercept is fitted.

    After `fit`: ``coef_`` and ``intercept_``, the linear model in the units of X and y;
    ``t_`` and ``train_error_``, the mean squared residual along training; ``converged_``,
    whether training had ended by then; ``n_features_in_``, the number of columns.
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
    ):
        self.alpha = alpha
        self.lam = lam
        self.depth = depth
        self.t_max = t_max
        self.tol = tol
        self.standardize = standardize
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> "DiagonalNetworkRegressor":
        """Train on samples X with targets y."""
        net, t_max, tol = self.checked()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=float)
        d = X.shape[1]
        centre, level = (X.mean(axis=0), y.mean()) if self.fit_intercept else (np.zeros(d), 0.0)
        scale = np.ones(d)
        if self.standardize:
            spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0)
            scale = np.where(spread > 0, spread, 1.0) * np.sqrt(d)
        done = train_one((X - centre) / scale, y - level, net, t_max, tol)
        if t_max is None and not done.converged:
            warnings.warn(
                f"training had not ended at t = {done.t[-1]:.3g}: give t_max, or a larger tol or alpha",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = done.w / scale
        self.intercept_ = float(level - centre @ self.coef_)
        self.t_, self.train_error_, self.converged_ = done.t, done.train_error, done.converged
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the linear model."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + self.intercept_

    def checked(self) -> tuple[DiagonalNetwork, float | None, float]:
        """Network, time and tolerance, or InputError."""
        net = DiagonalNetwork(
            one_real("alpha", self.alpha, lambda x: x > 0, "one finite number > 0"),
            one_real("lam", self.lam, lambda x: x >= 0, "one finite number ≥ 0"),
            self.depth,
        )
        tol = one_real("tol", self.tol, lambda x: (x >= 1e-9) & (x < 1), "one number from 1e-9 to 1")
        if self.t_max is None:
            return net, None, tol
        return net, one_real("t_max", self.t_max, lambda x: x > 0, "one finite number > 0, or None"), tol
