"""Studies of many problems at once, which may use several engines."""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.studies.grokking_times import grokking
    from dynafield.studies.regimes import regime_map
    from dynafield.studies.scaling import scaling_law
    from dynafield.studies.study import Study

__all__ = ["Study", "grokking", "regime_map", "scaling_law"]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.studies.grokking_times": ("grokking",),
        "dynafield.studies.regimes": ("regime_map",),
        "dynafield.studies.scaling": ("scaling_law",),
        "dynafield.studies.study": ("Study",),
    },
)
