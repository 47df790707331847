"""What results of flows have in common: their curves, and axes that only some flows have."""

import dataclasses

from dynafield.records.timed import TimedRecord

__all__ = ["FlowRecord"]

OPTIONAL = ("channel", "channel_before", "state", "z_entry")
"""Axes that a flow has only if its functions deal in vectors, not numbers."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class FlowRecord(TimedRecord):
    """A result of a flow; `net` is the flow, or after loading from a file its name."""

    def axes_of(self, over: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Axes without those of vectors where the flow deals in numbers."""
        return over if len(over) == count else tuple(axis for axis in over if axis not in OPTIONAL)
