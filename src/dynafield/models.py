"""Networks and flows beyond `DiagonalNetwork` and `Flow`: ready-made models, and parts of own ones."""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.problem.model import Datum, Model
    from dynafield.problem.models import (
        diagonal_flow,
        huber_flow,
        logistic_flow,
        phase_retrieval_flow,
        ridge_flow,
    )
    from dynafield.problem.networks import Network, TruncatedDiagonalNetwork

__all__ = [
    "Datum",
    "Model",
    "Network",
    "TruncatedDiagonalNetwork",
    "diagonal_flow",
    "huber_flow",
    "logistic_flow",
    "phase_retrieval_flow",
    "ridge_flow",
]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.problem.model": ("Datum", "Model"),
        "dynafield.problem.models": (
            "diagonal_flow",
            "huber_flow",
            "logistic_flow",
            "phase_retrieval_flow",
            "ridge_flow",
        ),
        "dynafield.problem.networks": ("Network", "TruncatedDiagonalNetwork"),
    },
)
