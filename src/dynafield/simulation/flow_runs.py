"""Training runs of finite versions of a flow, as a result."""

import dataclasses
from typing import Any, ClassVar

from dynafield.records.flows import FlowRecord
from dynafield.records.record import quantity
from dynafield.simulation.runs import CURVE, RunsRecord

__all__ = ["FlowRuns"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FlowRuns(RunsRecord, FlowRecord):
    """Finite versions of a flow trained on independent data sets, as `simulate` returns them.

    Axes of channels c and of states are there only if the functions of the flow return vectors.

    Attributes
    ----------
    task, net
        The problem; after loading from a file, `net` is the name of the flow and its numbers.
    t : array (k,)
        Training times.
    train_loss, test_loss : array (runs, k) or None
        Mean loss on the training data, and on fresh Gaussian data.
    train_error, test_error : array (runs, k)
        Mean error on the training data, and on fresh Gaussian data.
    overlap : array (runs, c, k) or None
        Cosine between f and the teacher's f*.
    norm : array (runs, c, k) or None
        Root mean square of f.
    theta : array (runs, d, state) or None
        θ at the last time of training.
    w_star : array (runs, d) or None
        Targets.
    variance : array (runs, d) or None
        Variances of the features; None if all are one.
    run : array of int (runs,)
        Numbers of the runs that have finished.
    stopped_at : array (runs,)
        Time at which training failed; NaN if it did not.
    trainer : GradientFlow or Steps
        How the flow was trained.
    tol : float
        Relative error in gradient flow; NaN for steps, and for runs of another program.
    inputs, targets, start : str
        Where inputs, targets and the start come from.
    n : int
        Number of samples.
    seed, asked : int
        Seed, and number of runs that were asked for.
    """

    title: ClassVar[str] = "finite versions of a flow"

    train_loss: Any = quantity("mean loss on the training data", over=CURVE, optional=True)
    train_error: Any = quantity("mean error on the training data", over=CURVE)
    test_loss: Any = quantity("mean loss on fresh Gaussian data", over=CURVE, optional=True)
    test_error: Any = quantity("mean error on fresh Gaussian data", over=CURVE)
    overlap: Any = quantity(
        "cosine between f and the teacher's", over=("run", "channel", "time"), optional=True
    )
    norm: Any = quantity("root mean square of f", over=("run", "channel", "time"), optional=True)
    theta: Any = quantity("final θ", over=("run", "feature", "state"), optional=True)
