r"""Marching through time, block after block, with the past frozen.

In every block the new rows of the kernels are a fixed point: paths make rows, rows drive
paths. The iteration is accelerated; if it does not settle, the block is too long. What the rows
and the paths are is the members' business; a step of discrete training is a block that settles
at once.
"""

import abc
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.numerics.acceleration import Anderson

__all__ = ["Accuracy", "March", "Means", "Member", "Step", "Sweep", "TooLargeError", "UnsettledError", "room"]

CHUNK = {"cpu": 1280, "gpu": 40960}
"""Paths solved at once: what the caches of a processor hold, or what fills an accelerator."""
SIZES = np.array([24, 40, 64, 96, 144, 216, 320, 480, 640])
"""Numbers of nodes that arrays have room for: few, so that compiled code is used again."""


def room(nodes: int) -> int:
    """The next larger of a few numbers of nodes."""
    fitting = SIZES[nodes <= SIZES]
    return int(fitting[0]) if len(fitting) else int(np.ceil(nodes / 1000) * 1000)


class Means(NamedTuple):
    """What a member may use: share of its paths that carry tangents (at least one chunk), and bytes.

    `chunk` paths are solved at once, `joined` times as many where they carry no tangents.
    """

    share: float
    memory: float
    chunk: int
    joined: int = 1

    @classmethod
    def of_device(cls, share: float, memory: float, chunk: int | None = None, joined: int = 1) -> "Means":
        """Chunks that suit the device in use; `chunk` and `joined` are for a processor."""
        backend = jax.default_backend()
        if chunk is not None and backend == "cpu":
            return cls(share, memory, chunk, joined)
        return cls(share, memory, CHUNK.get(backend, CHUNK["gpu"]))

    def carrying(self, paths: int, capacity: int) -> float:
        """Number of paths that carry tangents, up to whole chunks."""
        affordable = (self.memory / (8.0 * capacity) - 4 * paths) / (1.5 * capacity)
        return float(max(min(paths, self.chunk), min(self.share * paths, affordable)))

    def bytes(self, paths: int, capacity: int) -> float:
        """Memory of so many paths, with the room their sweeps take."""
        return 8.0 * capacity * (4 * paths + 1.5 * self.carrying(paths, capacity) * capacity)


class Accuracy(NamedTuple):
    """When an iteration has settled: change of rows, of U relative to itself unless faint; sweeps allowed.

    The relative part is waived after `patience` sweeps.
    """

    absolute: float
    relative: float
    faint: float = 1e-4
    sweeps: int = 150
    patience: int = 30

    def met(self, moved: float, turned: float, count: int) -> bool:
        """Whether changes of rows and of U after some sweeps are small enough."""
        return moved < self.absolute and (turned < self.relative or count >= self.patience)

    @property
    def smallest(self) -> float:
        """Noise that is too small to matter."""
        return max(2e-8, 0.01 * self.absolute * min(1.0, 10 * self.relative))


class UnsettledError(Exception):
    """A block whose iteration does not converge."""


class TooLargeError(SolveError):
    """A march that outgrows the memory it was given."""


class Sweep(NamedTuple):
    """What a sweep over all paths makes of the rows that drove it.

    `moved` and `turned` are the distances that Accuracy is about; `sound` says that all is finite,
    `lost` that some path was not solved.
    """

    made: Any
    moved: float
    turned: float
    sound: bool = True
    lost: bool = False


class Step(NamedTuple):
    """A block that is solved but not yet kept: rows driving the paths, rows they make."""

    drive: Any
    made: Any
    sweeps: int


class Member(abc.ABC):
    """One problem with one sample of paths, somewhere on its way.

    Rows are any object with `flat()`, one vector, and `like(vector)`, its inverse.
    """

    @property
    @abc.abstractmethod
    def nodes(self) -> int:
        """Nodes that are known."""

    @property
    @abc.abstractmethod
    def capacity(self) -> int:
        """Nodes there is room for."""

    @abc.abstractmethod
    def begin(self, length: float) -> Any:
        """Prepare the next block; a first guess of its rows."""

    @abc.abstractmethod
    def measure(self) -> Float[np.ndarray, " m"]:
        """Weights of the entries of the rows that make their errors comparable."""

    @abc.abstractmethod
    def sweep(self, rows: Any) -> Any:
        """Start to solve all paths for given rows; the device may still be at work."""

    @abc.abstractmethod
    def judge(self, rows: Any, sums: Any, accuracy: Accuracy) -> Sweep:
        """What the sweep made."""

    @abc.abstractmethod
    def keep(self, step: Step) -> None:
        """Make the solved block part of the past; the last sweep was driven by `step.drive`."""

    @abc.abstractmethod
    def enlarge(self, capacity: int) -> None:
        """Room for more nodes."""

    @abc.abstractmethod
    def bytes(self, capacity: int) -> float:
        """Memory with room for so many nodes."""

    @abc.abstractmethod
    def turns(self, made: Any) -> list[tuple[Float[np.ndarray, "s1 m"], float]]:
        """Vectors over the last node and the new block whose smoothness in time matters, with scales."""

    @abc.abstractmethod
    def first_length(self) -> float:
        """A first block: short beside the fastest relaxation and the first unit of movement."""

    @abc.abstractmethod
    def longest(self) -> float:
        """No block may be longer."""


class March:
    """Several members on one grid of time, of at most `largest` nodes."""

    def __init__(self, members: list[Any], accuracy: Accuracy, stages: int, memory: float, largest: int):
        self.members: list[Member] = members
        self.accuracy = accuracy
        self.stages = stages
        self.memory = memory
        self.largest = largest
        self.edges = [0.0]

    @property
    def time(self) -> float:
        """Time reached."""
        return self.edges[-1]

    @property
    def nodes(self) -> int:
        """Nodes that are known."""
        return 1 + self.stages * (len(self.edges) - 1)

    def attempt(self, length: float) -> list[Step]:
        """Solve the next block for all members, or raise UnsettledError."""
        rows = [member.begin(length) for member in self.members]
        helpers = [Anderson(member.measure()) for member in self.members]
        done: dict[int, Step] = {}
        for count in range(1, self.accuracy.sweeps + 1):
            sums = {k: m.sweep(rows[k]) for k, m in enumerate(self.members) if k not in done}
            for k, found in sums.items():
                swept = self.members[k].judge(rows[k], found, self.accuracy)
                if not swept.sound:
                    raise UnsettledError(self.where(length))
                if self.accuracy.met(swept.moved, swept.turned, count):
                    if swept.lost:
                        raise UnsettledError(self.where(length))
                    done[k] = Step(rows[k], swept.made, count)
                    continue
                rows[k] = swept.made.like(helpers[k].next(rows[k].flat(), swept.made.flat()))
            if len(done) == len(self.members):
                return [done[k] for k in range(len(self.members))]
        raise UnsettledError(self.where(length))

    def where(self, length: float) -> str:
        """The block that is being solved, in words."""
        return f"between t={self.time:.6g} and {self.time + length:.6g}"

    def keep(self, end: float, steps: list[Step]) -> None:
        """Make a solved block, which ends at `end`, part of the past."""
        for member, step in zip(self.members, steps, strict=True):
            member.keep(step)
        self.edges.append(end)

    def make_room(self) -> None:
        """Larger arrays when the next block would not fit."""
        if self.nodes + self.stages <= self.members[0].capacity:
            return
        if self.nodes + self.stages > self.largest:
            raise SolveError(
                f"more than {self.largest} nodes of time are needed beyond t={self.time:.6g}: "
                "take a larger tol (or rtol, or none), or a smaller t_max"
            )
        larger = min(room(self.nodes + self.stages), self.largest)
        needs = sum(member.bytes(larger) for member in self.members)
        if needs > self.memory:
            raise TooLargeError(
                f"{larger} nodes of time need {needs / 1e9:.2g} GB beyond t={self.time:.6g}, "
                "more than memory_gb allows: take more of it, or a larger tol"
            )
        for member in self.members:
            member.enlarge(larger)
