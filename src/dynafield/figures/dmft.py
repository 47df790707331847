"""Figures of learning curves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import Band, draw_errors
from dynafield.problem.networks import Network
from dynafield.problem.trainers import Steps

if TYPE_CHECKING:
    from dynafield.dmft.curves import Curves
    from dynafield.dmft.flow_curves import FlowCurves

__all__ = ["draw_curves"]


def draw_curves(curves: "Curves | FlowCurves", ax: Any = None) -> Any:
    """Train and test error with bands of two estimated errors."""
    steps = isinstance(curves.trainer, Steps)
    t = np.asarray(curves.t)[1:] if steps else np.geomspace(1e-4 * curves.t[-1], curves.t[-1], 300)
    points = curves.at(t)
    test = Band(points.test_error, 2 * points.test_error_se)
    train = Band(points.train_error, 2 * points.train_error_se)
    how = f", {curves.trainer}" if steps else ""
    what = f"depth {curves.net.depth}" if isinstance(curves.net, Network) else curves.net.name
    title = f"infinite network, {curves.task.prior}{curves.task.inputs}, {what}{how}"
    return draw_errors(curves, t, test, train, title, ax)
