"""Training runs of finite versions of a flow, as a result."""

import dataclasses
from typing import Any, ClassVar

from dynafield.records.flows import FlowRecord
from dynafield.records.record import quantity
from dynafield.simulation.runs import CURVE, RunsRecord

__all__ = ["FlowRuns"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FlowRuns(RunsRecord, FlowRecord):
    """Finite flows trained on independent data sets: runs, then channels, then times."""

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
