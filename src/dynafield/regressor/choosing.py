"""Common to both estimators: scaled columns, networks to choose from, and the choice by the estimate."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from dynafield.errors import InputError
from dynafield.problem.checks import integer, one_real, real_list, shown
from dynafield.problem.model import Model
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.learning_path import learning_path
from dynafield.simulation.path_record import LearningPath

__all__ = ["Choice", "WithPath", "choose", "column_scale", "forget", "read_candidates", "read_time", "scaled"]

ALPHAS = np.geomspace(0.01, 3.0, 6)
"""Initial scales to choose from, in units in which weights are of order one."""


class Candidates(NamedTuple):
    """Networks to choose from: every α with every λ and depth; whether there is a choice at all."""

    alphas: np.ndarray
    lams: np.ndarray
    depths: list[int]
    several: bool

    def networks(self, size: float) -> list[DiagonalNetwork]:
        """All of them; automatic α are in units of layers whose weights have this size."""
        return [
            DiagonalNetwork(alpha * (size ** (1 / depth) if self.alphas is ALPHAS else 1.0), lam, depth)
            for depth in self.depths
            for lam in self.lams.tolist()
            for alpha in self.alphas.tolist()
        ]


def read_candidates(alpha: Any, lam: Any, depth: Any) -> Candidates:
    """The parameters of an estimator, each one value or several, α also "auto"; or InputError."""
    auto = isinstance(alpha, str)
    if auto and alpha != "auto":
        raise InputError(f'alpha must be a number, several, or "auto", got {shown(alpha)}')
    alphas = ALPHAS if auto else values("alpha", alpha, lambda x: x > 0, "finite and > 0")
    lams = values("lam", lam, lambda x: x >= 0, "finite and ≥ 0")
    depths = [integer("depth", one, 2) for one in (depth if isinstance(depth, (list, tuple)) else [depth])]
    if not depths:
        raise InputError("depth must be an integer ≥ 2 or several, got none")
    listed = any(np.ndim(one) > 0 for one in (alpha, lam, depth))
    return Candidates(alphas, lams, depths, auto or listed)


def values(name: str, given: Any, ok: Any, allowed: str) -> np.ndarray:
    """One number or several, as a vector."""
    return real_list(name, given, ok, f"one number {allowed}, or several")


def read_time(t_max: Any, auto_only: bool) -> float | str | None:
    """Training time: a number, None for convergence, or "auto"; None is refused where a model is chosen."""
    if isinstance(t_max, str):
        if t_max != "auto":
            raise InputError(f't_max must be a number, None or "auto", got {shown(t_max)}')
        return t_max
    if t_max is None:
        if auto_only:
            raise InputError('t_max must be "auto" or a number where a model is chosen, got None')
        return None
    return one_real("t_max", t_max, lambda x: x > 0, 'one finite number > 0, None or "auto"')


def column_scale(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """What columns are divided by to have variance 1/d; constant ones by √d."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0)
    return np.where(spread > 0, spread, 1.0) * np.sqrt(X.shape[1])


def scaled(X: Float[np.ndarray, "n d"], centre: np.ndarray, scale: np.ndarray) -> Float[np.ndarray, "n d"]:
    """Columns minus their centres, divided by their scales; constant columns become zero if centred."""
    out = (X - centre) / scale
    out[:, (np.ptp(X, axis=0) == 0) & (np.abs(centre) > 0)] = 0.0
    return out


def forget(estimator: Any) -> None:
    """Remove what an earlier fit has found."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


class Choice(NamedTuple):
    """Paths of all candidates, which is best, and where on it training is stopped."""

    networks: list[DiagonalNetwork]
    paths: list[LearningPath]
    best: int
    place: int

    @property
    def path(self) -> LearningPath:
        """The path of the best candidate."""
        return self.paths[self.best]

    def at_stop(self, name: str) -> Float[np.ndarray, " m"]:
        """A curve of every candidate at its own stop."""
        return np.array([getattr(path, name)[self.stop(path)] for path in self.paths])

    def stop(self, path: LearningPath) -> int:
        """Index at which a candidate is stopped: of its best time, or of the last if the time was given."""
        return path.best if np.isinf(path.asked) else len(path.t) - 1


def choose(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    networks: list[DiagonalNetwork],
    loss: Any,
    t_max: float | str,
    probes: int,
    seed: int,
    fit_intercept: bool,
) -> Choice:
    """Train all candidates, each made a model by `loss`, and choose the one with the least estimate."""
    end = None if isinstance(t_max, str) else t_max
    paths = []
    for net in networks:
        model: Model = net if loss is None else loss(net)
        path = learning_path(
            X, y, model, end, probes=probes, seed=seed, fit_intercept=fit_intercept, progress=False
        )
        if not path.complete:
            raise KeyboardInterrupt
        paths.append(path)
    found = Choice(networks, paths, 0, 0)
    name = "test_loss" if paths[0].by_loss else "test_error"
    best = int(np.nanargmin(found.at_stop(name)))
    return found._replace(best=best, place=found.stop(paths[best]))


class WithPath:
    """What both estimators keep of the path that was chosen."""

    def keep(self, choice: Choice, estimates: tuple[str, ...]) -> None:
        """Keep the best path, where it is stopped, and how all candidates compare.

        Parameters
        ----------
        choice : Choice
            All candidates, the best of them and its stop.
        estimates : tuple of str
            Names of the curves that are kept of all candidates.
        """
        path, net = choice.path, choice.networks[choice.best]
        self.path_, self.t_ = path, path.t
        self.n_iter_, self.stop_ = choice.place, float(path.t[choice.place])
        self.alpha_, self.lam_, self.depth_ = float(net.alpha), float(net.lam), net.depth
        self.alphas_, self.lams_, self.depths_ = (
            np.array([getattr(one, name) for one in choice.networks]) for name in ("alpha", "lam", "depth")
        )
        for name in estimates:
            setattr(self, f"estimated_{name}_", choice.at_stop(name))
            setattr(self, f"estimated_{name}_se_", choice.at_stop(f"{name}_se"))

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the coefficients along training, with the stop.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: new axes.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        from dynafield.figures.learning_path import draw_coefficients

        check_is_fitted(self)
        fitted: Any = self
        names = getattr(self, "feature_names_in_", None)
        return draw_coefficients(fitted.t_, fitted.coef_path_, fitted.n_iter_, names, "coefficient", ax)
