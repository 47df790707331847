"""The limit of training and its speed: fixed points, rates, their trade-off."""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.theory.infinite_data import infinite_data_curves, infinite_data_paths
    from dynafield.theory.lazy import lazy_curves
    from dynafield.theory.search import search_phase

__all__ = ["infinite_data_curves", "infinite_data_paths", "lazy_curves", "search_phase"]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.theory.infinite_data": ("infinite_data_curves", "infinite_data_paths"),
        "dynafield.theory.lazy": ("lazy_curves",),
        "dynafield.theory.search": ("search_phase",),
    },
)
