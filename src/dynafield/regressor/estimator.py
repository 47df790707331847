"""Sparse linear regression by training a diagonal network."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dynafield.endpoints.minimizers import minimizer
from dynafield.problem.checks import flag, integer, one_real, seed_of, unmasked
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
    weight decay (at depth 2 training converges to the lasso); `t_max` stops training early. Columns are
    scaled to variance 1/d, so that `alpha`, `lam` and `t_max` mean what they mean in the theory.

    With ``alpha="auto"`` and ``t_max="auto"`` initial scale and stopping time are chosen to make the test
    error least, as every training run estimates it from itself (`learning_path`): no folds, and no data held
    back. A list of values of `alpha`, `lam` or `depth` is chosen from in the same way.

    Parameters
    ----------
    alpha : float, list of float or "auto", default 0.1
        Initial scale of the layers; "auto" chooses one of six, in units of the labels.
    lam : float or list of float, default 0
        Weight decay.
    depth : int or list of int, default 2
        Number of layers.
    t_max : float, "auto" or None, default None
        Training time, in the units of gradient flow. None trains until convergence, "auto" stops where the
        estimated test error is least.
    tol : float, default 1e-4
        With `t_max=None`, training has converged if the weights change by less than this, relatively, while
        time grows by a quarter, and no layer grows any more. With weight decay and depth 2 the limit is the
        lasso, which is solved directly: training is followed for a bounded time, and the last weights are the
        limit.
    standardize : bool, default True
        Whether columns are scaled to variance 1/d. False: X is used as it is.
    fit_intercept : bool, default True
        Whether X and y are centred and an intercept is fitted.
    probes : int, default 8
        Number of random directions by which test errors are estimated, ≥ 2.
    random_state : int, default 0
        Seed of these directions.

    Attributes
    ----------
    coef_, intercept_ : array (d,), float
        The linear model, in the units of X and y.
    t_, train_error_ : array (k,)
        Training times, and the mean squared residual at these.
    coef_path_ : array (k, d)
        The coefficients along training.
    stop_, n_iter_ : float, int
        The time at which `coef_` are taken, and its index in `t_`.
    converged_ : bool
        Whether training had converged by then.
    n_features_in_ : int
        Number of columns.
    alpha_, lam_, depth_
        The values that were used or chosen.
    alphas_, lams_, depths_ : array (m,)
        Those of all candidates, if there was a choice.
    estimated_test_error_, estimated_test_error_se_ : array (m,)
        Estimated test error of every candidate at its stop, and its standard error.
    path_ : LearningPath
        Training of the best candidate, on scaled data.
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
        """Train on samples.

        Parameters
        ----------
        X : array (n, d)
            Samples by features.
        y : array (n,)
            Targets.

        Returns
        -------
        DiagonalNetworkRegressor
            The estimator itself.
        """
        candidates = read_candidates(self.alpha, self.lam, self.depth)
        t_max = read_time(self.t_max, candidates.several)
        tol = one_real("tol", self.tol, lambda x: (x >= 1e-9) & (x < 1), "one number from 1e-9 to 1")
        probes, seed = integer("probes", self.probes, 2), seed_of("random_state", self.random_state)
        standardize = flag("standardize", self.standardize)
        fit_intercept = flag("fit_intercept", self.fit_intercept)
        unmasked("X", X)
        unmasked("y", y)
        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=float)
        d = X.shape[1]
        centre, level = (X.mean(axis=0), y.mean()) if fit_intercept else (np.zeros(d), 0.0)
        scale = column_scale(X) if standardize else np.ones(d)
        inputs, labels = scaled(X, centre, scale), y - level
        size = float(np.sqrt(np.mean(labels**2)))
        networks = candidates.networks(size or 1.0)
        chosen = candidates.several or isinstance(t_max, str)
        if chosen and t_max is not None and size > 0 and np.any(inputs.T @ labels):
            self.take_best(choose(inputs, labels, networks, None, t_max, probes, seed, fit_intercept))
        else:
            self.take_one(inputs, labels, networks[0], None if isinstance(t_max, str) else t_max, tol)
        self.coef_path_ = self.coef_path_ / scale
        self.coef_ = self.coef_path_[self.n_iter_]
        self.intercept_ = float(level - centre @ self.coef_)
        return self

    def take_best(self, choice: Choice) -> None:
        """Keep what the choice among several candidates has found.

        Parameters
        ----------
        choice : Choice
            All candidates, the best of them and its stop.
        """
        self.keep(choice, ("test_error",))
        self.train_error_, self.coef_path_ = choice.path.train_error, choice.path.weights
        self.converged_ = False

    def take_one(self, inputs: np.ndarray, labels: np.ndarray, net: Any, t_max: Any, tol: float) -> None:
        """Train one network, to a given time or to convergence, and keep the result.

        Parameters
        ----------
        inputs : array (n, d)
            Scaled samples.
        labels : array (n,)
            Centred targets.
        net : DiagonalNetwork
            The network.
        t_max : float or None
            Training time. None: until convergence.
        tol : float
            As in the estimator.
        """
        convex = net.lam > 0 and net.depth == 2
        end = minimizer(inputs, labels, net).w if convex else None
        done = train_one(inputs, labels, net, t_max, tol, end)
        if t_max is None and end is not None:
            error = np.append(done.train_error[:-1], np.mean((inputs @ end - labels) ** 2))
            done = done._replace(w=end, train_error=error, converged=True)
        if t_max is None and not done.converged:
            warnings.warn(
                f"training had not converged at t = {done.t[-1]:.3g}: give t_max, or a larger tol or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.t_, self.train_error_, self.converged_ = done.t, done.train_error, done.converged
        self.coef_path_ = np.vstack([done.weights[:-1], done.w])
        self.n_iter_, self.stop_ = len(done.t) - 1, float(done.t[-1])
        self.alpha_, self.lam_, self.depth_ = float(net.alpha), float(net.lam), net.depth

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the linear model.

        Parameters
        ----------
        X : array (m, d)
            Samples by features.

        Returns
        -------
        array (m,)
            Predictions, in the units of y.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + self.intercept_
