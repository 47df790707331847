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
        """Names of the axes of a field, without those of vectors if the functions of the flow return
        numbers.

        Parameters
        ----------
        over : tuple of str
            Axes of the field besides those of parameters.
        count : int
            Number of axes that its values have besides these.

        Returns
        -------
        tuple of str
            Names.
        """
        return over if len(over) == count else tuple(axis for axis in over if axis not in OPTIONAL)
