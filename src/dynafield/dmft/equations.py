r"""What one row computes: coordinates, and data [eq:flow_general].

Both kinds of rows have one form. A drive y moves a state Y, \(Y = Y_b + A\,r(y, Y)\) on the nodes of a block,
and the state makes outputs o. Coordinates have \(Y = \theta\), \(r = p\), \(o = w\); data have
\(Y = f = y\), \(o = \ell\). Shapes inside: a state has k entries, an output c, a drive c.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from dynafield.problem.model import Datum, Model

__all__ = ["CoordinateRow", "DataRow", "Feature", "MovingRow", "Row"]


class Row(eqx.Module):
    """One row of either kind."""

    model: Model

    @property
    def outputs(self) -> int:
        """c, the number of outputs."""
        return self.model.outputs

    @property
    @abc.abstractmethod
    def states(self) -> int:
        """k, the number of entries of a state."""

    @abc.abstractmethod
    def output(self, state: Any, facts: Any, t: Any) -> Any:
        """What a state sends to the other side."""

    @abc.abstractmethod
    def rate(self, drive: Any, state: Any, facts: Any, t: Any) -> Any:
        """How a drive moves a state."""

    @abc.abstractmethod
    def admissible(self, step: Any, state: Any) -> Any:
        """A Newton step that does not go too far."""


class Feature(NamedTuple):
    """Facts of a coordinate: its target w*, and the standard deviation √s of its feature."""

    target: Any
    scale: Any

    @property
    def teacher(self) -> Any:
        """√s w*, what the teacher makes of it."""
        return self.scale * self.target


class CoordinateRow(Row):
    r"""A coordinate: output \(\sqrt s(Hw + bw^*)\); H = 1, b = 0 where data are sampled [eq:linear_data].

    A feature of variance s sends \(\sqrt s\,w\) and feels \(\sqrt s\,g\) [eq:scaled_rows].
    """

    slope: Any
    to_teacher: Any

    @property
    def states(self) -> int:
        """k, the number of entries of θ."""
        return self.model.states

    def output(self, state: Any, facts: Any, t: Any) -> Any:
        """The output o(θ)."""
        w = self.model.w(state.reshape(self.model.state_shape), t).reshape(-1)
        return facts.scale * (self.slope @ w) + self.to_teacher * facts.teacher

    def rate(self, drive: Any, state: Any, facts: Any, t: Any) -> Any:
        """The velocity p(g, θ)."""
        theta = state.reshape(self.model.state_shape)
        return self.model.p(facts.scale * drive.reshape(self.model.channels), theta, t).reshape(-1)

    def sums(self, integral: Any, count: Any) -> Any:
        """A of a block, for every entry of the state: here that of time for all of them."""
        return integral[:, :, None]

    def admissible(self, step: Any, state: Any) -> Any:
        """A Newton step that does not go too far."""
        shape = self.model.state_shape
        return self.model.admissible(step.reshape(shape), state.reshape(shape)).reshape(-1)


class MovingRow(CoordinateRow):
    """A coordinate with its velocity as part of the state, where many steps are one block [eq:heavy_ball]."""

    inertia: Any
    looks_ahead: bool = eqx.field(static=True)

    @property
    def states(self) -> int:
        """The number of entries of θ and its velocity m together."""
        return 2 * self.model.states

    def sums(self, integral: Any, count: Any) -> Any:
        """Sums over steps for θ, over their number for the velocity."""
        k = self.model.states
        return jnp.concatenate([jnp.repeat(x[:, :, None], k, axis=2) for x in (integral, count)], axis=2)

    def output(self, state: Any, facts: Any, t: Any) -> Any:
        """The output o(θ)."""
        return super().output(state[: self.model.states], facts, t)

    def rate(self, drive: Any, state: Any, facts: Any, t: Any) -> Any:
        """How a step moves θ, per unit of time, and the velocity."""
        theta, velocity = jnp.split(state, 2)
        rate = super().rate(drive, theta, facts, t)
        after = self.inertia * velocity + rate
        move = self.inertia * after + rate if self.looks_ahead else after
        return jnp.concatenate([move, after - velocity])

    def admissible(self, step: Any, state: Any) -> Any:
        """A Newton step that does not go too far with θ."""
        k = self.model.states
        return jnp.concatenate([super().admissible(step[:k], state[:k]), step[k:]])


class DataRow(Row):
    """A datum: its state is f, which is the drive itself; its output is ℓ."""

    @property
    def states(self) -> int:
        """c, the number of entries of f."""
        return self.model.outputs

    def output(self, state: Any, facts: Any, t: Any) -> Any:
        """The output ℓ(f)."""
        return self.model.ell(state.reshape(self.model.channels), Datum(*facts), t).reshape(-1)

    def rate(self, drive: Any, state: Any, facts: Any, t: Any) -> Any:
        """f is the drive itself."""
        return drive

    def admissible(self, step: Any, state: Any) -> Any:
        """Every Newton step is allowed."""
        return step

    def measures(self, state: Any, facts: Any, t: Any) -> Any:
        """Loss and error of a datum."""
        return self.model.measures(state.reshape(self.model.channels), Datum(*facts), jnp.asarray(t))
