"""Two functions of higher layers that results use: their picture, and the stages of their curve.

Results lie below the rooms that draw and study them. They find both here, by name and when asked: nothing
else below these rooms imports them.
"""

from typing import Any

__all__ = ["draw", "stages_of"]


def draw(record: Any, ax: Any, what: str = "plot") -> Any:
    """The picture of a record that `figures` has under the name of its class."""
    from dynafield.figures.dispatch import draw_record

    return draw_record(record, ax, what)


def stages_of(curves: Any) -> Any:
    """The stages of training that a solved curve shows."""
    from dynafield.studies.phases import phases

    return phases(curves)
