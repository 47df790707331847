"""The limit of training on given data, solved directly; message passing and its state evolution."""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.endpoints.evolution import state_evolution
    from dynafield.endpoints.message_passing import amp
    from dynafield.endpoints.minimizers import basis_pursuit, minimizer

__all__ = ["amp", "basis_pursuit", "minimizer", "state_evolution"]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.endpoints.evolution": ("state_evolution",),
        "dynafield.endpoints.message_passing": ("amp",),
        "dynafield.endpoints.minimizers": ("basis_pursuit", "minimizer"),
    },
)
