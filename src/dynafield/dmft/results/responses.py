r"""Responses as functions of two times, after the fact.

A solution knows \(S = \mathcal R F\), its responses seen through r directions, and no more of \(\mathcal
R\). Where the functions themselves are asked for, some rows are followed once more with all kernels frozen,
together with the derivatives of their outputs by shifts of the drive on all nodes [eq:response_shift]: of a
coordinate \(dg = \mathcal R_\ell\,dw + 1\), of a datum \(df = \mathcal R_w\,d\ell + 1\), and \(\mathcal R_w
= E[dw]/\delta\), \(\mathcal R_\ell = E[d\ell]\).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, gmres

from dynafield.dmft.ensemble import Replica
from dynafield.dmft.equations import Row
from dynafield.dmft.march import room
from dynafield.dmft.member import Nodes
from dynafield.dmft.newton import local, outputs_and_slopes, rates_and_slopes, solve_rows
from dynafield.dmft.preparation import Equations, Plan, Problem, prepared
from dynafield.dmft.rows import Rows, Sampled
from dynafield.dmft.rules import Stepping, StepTime

__all__ = ["jacobians"]

POINTS = 256
"""Points on which responses are averaged, and fewer where there are many nodes."""
NUMBERS = 2**25
"""Derivatives kept at most: nodes squared times rows."""
CLOSE = 1e-10
"""Newton steps that end the iteration of a row."""
RESIDUAL = 1e-9
"""Relative residual of the equations for the response of a block to the past."""


class Jacobians(NamedTuple):
    """Mean derivatives of outputs by drives on all nodes, of coordinates (over δ) and of data.

    `moments` are E[κ] and E[κ²] on the nodes over δ, \\(\\kappa = -o_Y r_y\\), of models with one channel.
    """

    coordinates: Float[np.ndarray, "r r"]
    data: Float[np.ndarray, "r r"]
    moments: Float[np.ndarray, "2 t"]


class Linear(NamedTuple):
    """A block of rows linearized: outputs and last state by the drive and by the state before, rows last."""

    output_by_drive: Float[np.ndarray, "b b n"]
    output_by_state: Float[np.ndarray, "b k n"]
    state_by_drive: Float[np.ndarray, "k b n"]
    state_by_state: Float[np.ndarray, "k k n"]
    kappa: Float[np.ndarray, "s n"]


@partial(jax.jit, static_argnums=0)
def followed(
    is_data: bool, row: Row, side: Sampled, start: Any, known: Any, inner: Any, times: Any, integral: Any
):
    """States on the nodes of a block under a known drive, and everything linear about them."""
    s = len(known)
    base = jnp.zeros_like(known[0]) if is_data else start
    guess = known if is_data else jnp.tile(start[None], (s, 1, 1))
    solved = solve_rows(
        row, side.facts, side.weight, times, integral[:, :, None], base, known, inner, guess, CLOSE
    )
    return solved.states, solved.outputs, local(row, side.facts, times, known, inner, solved.states)


def linear_block(at: Any, integral: np.ndarray, inner: np.ndarray) -> Linear:
    """The linearized block: \\((1 - A(r_Y + r_yTo_Y))\\,dY = dY_b + A\\,r_y\\,dy\\)."""
    slope, by_drive, by_state = (np.asarray(x) for x in (at.output_slope, at.rate_by_drive, at.rate_by_state))
    s, c, k, n = slope.shape
    T = inner.reshape(s, c, s, c)
    through = np.einsum("iacn,icjd,jdbn->niajb", by_drive, T, slope, optimize=True)
    through += np.einsum("ij,iabn->niajb", np.eye(s), by_state)
    matrix = np.eye(s * k) - np.einsum("li,niajb->nlajb", integral, through).reshape(n, s * k, s * k)
    sides = np.einsum("li,iacn->nlaic", integral, by_drive).reshape(n, s * k, s * c)
    before = np.tile(np.eye(k), (s, 1))
    solved = np.linalg.solve(matrix, np.concatenate([sides, np.tile(before, (n, 1, 1))], axis=2))
    states = solved.reshape(n, s, k, s * c + k)
    outputs = np.einsum("icbn,nibm->icmn", slope, states, optimize=True).reshape(s * c, s * c + k, n)
    last = np.moveaxis(states[:, -1], 0, -1)
    kappa = -np.einsum("icbn,ibcn->in", slope, by_drive)
    return Linear(outputs[:, : s * c], outputs[:, s * c :], last[:, : s * c], last[:, s * c :], kappa)


class Side:
    """Rows of one side on their way, with derivatives by shifts of their drive on all nodes."""

    def __init__(self, row: Row, side: Sampled, rows: Rows, size: int, is_data: bool, states: int):
        self.row, self.side, self.is_data = row, side, is_data
        self.normals, self.basis = np.asarray(rows.normals), np.array(rows.basis)
        self.count, self.state = int(rows.count), np.asarray(rows.state)
        self.weight, n = np.asarray(side.weight), self.normals.shape[1]
        self.amplitude = float(side.amplitude)
        self.past = np.zeros((size, n, size))  # outputs by shifts
        self.tangent = np.zeros((states, n, size))  # the state by shifts
        self.memory: Any = ()  # of the optimizer
        self.memory_tangent: Any = ()

    def known(self, noise: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """What is known of the drive of a block."""
        return self.amplitude * noise @ self.normals + memory @ self.basis

    def grow(self, output: np.ndarray, own: np.ndarray, make: np.ndarray) -> None:
        """Directions that outputs of a block make."""
        fresh = make @ (output - own[:, : self.count] @ self.basis[: self.count])
        kept = int(np.sum(np.any(make != 0, axis=1)))
        self.basis[self.count : self.count + kept] = fresh[:kept]
        self.count += kept

    def mean(self, derivatives: np.ndarray) -> np.ndarray:
        """The response that derivatives of outputs make."""
        return self.amplitude**2 * np.einsum("bns,n->bs", derivatives, self.weight)


class Motion(NamedTuple):
    """How coordinates move from a node: derivatives of their drive by shifts, rates, and derivatives of these
    by the drive and by the state."""

    shift: Float[np.ndarray, "c n s"]
    rate: Float[np.ndarray, "k n"]
    by_drive: Float[np.ndarray, "k c n"]
    by_state: Float[np.ndarray, "k l n"]


def kernels_for(page: Nodes, coordinates: bool) -> tuple[np.ndarray, ...]:
    """F of the other side, response to the past, response within the block, own F, and what makes
    directions."""
    mine, other, response, inner, make = (
        (page.F_w, page.F_ell, page.S_ell, page.T_ell, page.make_w)
        if coordinates
        else (page.F_ell, page.F_w, page.S_w, page.T_w, page.make_ell)
    )
    return other, response - inner @ mine, inner, mine, make


class Follower:
    """Both sides of a replica followed once more, and the responses found so far."""

    def __init__(
        self, equations: Equations, problem: Problem, replica: Replica, plan: Plan, edges: np.ndarray
    ):
        self.equations, self.replica, self.edges = equations, replica, edges
        time, c = equations.time, problem.model.outputs
        size = c * (1 + time.first_kind.stages * (len(edges) - 1))
        points = int(np.clip(2 ** int(np.log2(NUMBERS / size**2)), 32, POINTS))
        wide = replica.first.F_w.shape[-1]
        small = plan._replace(points=points, seeds=(97,), epsilons=(0.0,), room=wide)
        ready = prepared(equations, [problem], small, room(len(edges)), [(0, 0)])
        member, state = jax.tree.map(lambda x: x[0], (ready.members, ready.states))
        states = state.coordinates.state.shape[0]
        self.coordinates = Side(member.coordinate, member.coordinates, state.coordinates, size, False, states)
        self.coordinates.memory = state.optimizer
        self.coordinates.memory_tangent = jax.tree.map(lambda x: np.zeros((*x.shape, size)), state.optimizer)
        self.data = None
        if member.datum is not None:
            self.data = Side(member.datum, member.data, state.data, size, True, c)
        self.R_w, self.R_ell = np.zeros((size, size)), np.zeros((size, size))
        self.moments: list[np.ndarray] = []
        self.c, self.place = c, 0

    def run(self) -> Jacobians:
        """Node after node, or block after block."""
        motion = self.explicit(self.replica.first, 0.0)
        (pages,) = self.replica.later
        for k in range(len(self.edges) - 1):
            page = jax.tree.map(lambda x, k=k: x[k], pages)
            if isinstance(self.equations.time, StepTime):
                self.step(motion, float(self.edges[k + 1] - self.edges[k]))
                motion = self.explicit(page, float(self.edges[k + 1]))
            else:
                self.block(page, float(self.edges[k]), float(self.edges[k + 1]))
        scale = self.coordinates.amplitude**2
        return Jacobians(self.R_w, self.R_ell, scale * np.concatenate(self.moments).T)

    def one(self, side: Side, page: Nodes, times: np.ndarray, integral: np.ndarray, size: int) -> Linear:
        """One side of a block followed, its new directions kept, and what is linear about it."""
        noise, memory, inner, own, make = kernels_for(page, not side.is_data)
        c = self.c
        known = side.known(noise[-size:], memory[-size:]).reshape(size // c, c, -1)
        inner = inner[-size:, -size:]
        start = None if side.is_data else side.state
        arguments = (
            side.row,
            side.side,
            start if start is not None else known[0],
            known,
            inner,
            times,
            integral,
        )
        states, outputs, at = followed(side.is_data, *arguments)
        flat = np.asarray(outputs).reshape(size, -1)
        side.grow(flat, own[-size:], make)
        if not side.is_data:
            side.state = np.asarray(states)[-1]
        return linear_block(at, integral, inner)

    def block(self, page: Nodes, start: float, end: float) -> None:
        """A block of gradient flow."""
        block = self.equations.time.cut(np.array([start, end]))
        times, integral = block.times[0], block.integral[0]
        size = self.c * len(times)
        mine = self.one(self.coordinates, page, times, integral, size)
        theirs = None
        if self.data is not None:
            theirs = self.one(self.data, page, times, np.eye(len(times)), size)
        self.moments.append(
            np.stack([mine.kappa @ self.coordinates.weight, mine.kappa**2 @ self.coordinates.weight], 1)
        )
        self.solve(page, mine, theirs, size)

    def solve(self, page: Nodes, mine: Linear, theirs: Linear | None, size: int) -> None:
        """Responses of a block: those to the past answer each other, linearly."""
        k, here = self.place, slice(self.place, self.place + size)
        side, total = self.coordinates, len(self.R_w)
        free = np.einsum("bkn,kns->bns", mine.output_by_state, side.tangent, optimize=True)

        def by_drive(linear: Linear, drive: np.ndarray) -> np.ndarray:
            return np.einsum("bdn,dns->bns", linear.output_by_drive, drive, optimize=True)

        def driven(of: Side, rows: np.ndarray) -> np.ndarray:
            moved = np.einsum("bp,pns->bns", rows, of.past[:k], optimize=True)
            moved[:, :, here] += np.eye(size)[:, None]
            return moved

        def answered(rows: np.ndarray) -> np.ndarray:
            """Rows of R_ell, on the past and here, that rows of R_w make."""
            if theirs is None or self.data is None:
                inner = np.linalg.inv(np.eye(size) - rows[:, here])
                source = rows[:, :k] @ self.R_ell[:k]
                source[:, here] += np.eye(size)
                return inner @ source
            return self.data.mean(by_drive(theirs, driven(self.data, rows[:, :k])))

        def heard(rows: np.ndarray) -> np.ndarray:
            """Rows of R_w that rows of R_ell make."""
            return side.mean(free + by_drive(mine, driven(side, rows[:, :k])))

        def wanted(flat: np.ndarray) -> np.ndarray:
            """R_ell to the past, once around."""
            rows = np.zeros((size, total))
            rows[:, :k] = flat.reshape(size, k)
            return answered(heard(rows))[:, :k].ravel()

        rows = np.zeros((size, total))
        if k:
            constant = wanted(np.zeros(size * k))
            shape = (size * k, size * k)
            operator: Any = LinearOperator  # its own arguments are not typed
            operator = operator(shape, matvec=lambda x: x.ravel() - wanted(x.ravel()) + constant)
            solution, _ = gmres(operator, constant, x0=constant, rtol=RESIDUAL, restart=40, maxiter=5)
            rows[:, :k] = solution.reshape(size, k)
        self.R_w[here] = heard(rows)
        self.R_ell[here] = answered(self.R_w[here])
        drive = driven(side, self.R_ell[here][:, :k])
        outputs = free + by_drive(mine, drive)
        moved = np.einsum("kln,lns->kns", mine.state_by_state, side.tangent, optimize=True)
        side.tangent = moved + np.einsum("kbn,bns->kns", mine.state_by_drive, drive, optimize=True)
        side.past[here] = outputs
        if theirs is not None and self.data is not None:
            self.data.past[here] = by_drive(theirs, driven(self.data, self.R_w[here][:, :k]))
        self.place += size

    def explicit(self, page: Nodes, t: float) -> Motion:
        """A node whose state is known before its drive, and how it will move."""
        side, c, k = self.coordinates, self.c, self.place
        here, times = slice(k, k + c), np.array([t])
        noise, memory, inner, own, make = kernels_for(page, True)
        output, slope = (np.asarray(x)[0] for x in looked_at(side.row, side.side, side.state, times))
        side.grow(output, own, make)
        derivative = np.einsum("ckn,kns->cns", slope, side.tangent, optimize=True)
        side.past[here] = derivative
        self.R_w[here] = side.mean(derivative)
        if self.data is None:
            self.R_ell[here] = self.R_w[here] @ self.R_ell
            self.R_ell[here, here] += np.eye(c)
        else:
            self.data_node(page, times, here)
        force = side.known(noise, memory) + inner @ output
        drive = np.einsum("bp,pns->bns", self.R_ell[here][:, : k + c], side.past[: k + c], optimize=True)
        drive[:, :, here] += np.eye(c)[:, None]
        motion = Motion(drive, *(np.asarray(x) for x in rates_at(side.row, side.side, force, side.state, t)))
        kappa = -np.einsum("ckn,kcn->n", slope, motion.by_drive)
        self.moments.append(np.array([[kappa @ side.weight, kappa**2 @ side.weight]]))
        if not isinstance(self.equations.time, StepTime):
            side.tangent = np.zeros_like(side.tangent)
        self.place += c
        return motion

    def data_node(self, page: Nodes, times: np.ndarray, here: slice) -> None:
        """The part of the data at a node whose state is known before its drive."""
        data = self.data
        assert data is not None
        noise, memory, _, own, make = kernels_for(page, False)
        f = data.known(noise, memory)
        ell, slope = (np.asarray(x)[0] for x in looked_at(data.row, data.side, f, times))
        data.grow(ell, own, make)
        moved = np.einsum(
            "bp,pns->bns", self.R_w[here][:, : here.start], data.past[: here.start], optimize=True
        )
        moved[:, :, here] += np.eye(self.c)[:, None]
        data.past[here] = np.einsum("ckn,kns->cns", slope, moved, optimize=True)
        self.R_ell[here] = data.mean(data.past[here])

    def step(self, motion: Motion, size: float) -> None:
        """A step of discrete training, and its derivative."""
        side, rule, inertia = self.coordinates, self.equations.time.first_kind, self.equations.inertia
        assert isinstance(rule, Stepping)
        moved = np.einsum("kcn,cns->kns", motion.by_drive, motion.shift, optimize=True)
        moved += np.einsum("kln,lns->kns", motion.by_state, side.tangent, optimize=True)
        moving, staying = (side.tangent, side.memory_tangent), (side.state, side.memory)
        side.tangent, side.memory_tangent = rule.after(*moving, moved, size, inertia)
        side.state, side.memory = rule.after(*staying, motion.rate, size, inertia)


@jax.jit
def looked_at(row: Row, side: Sampled, state: Any, times: Any) -> Any:
    """Outputs of known states, and their slopes."""
    return outputs_and_slopes(row, state[None], side.facts, times)


@jax.jit
def rates_at(row: Row, side: Sampled, drive: Any, state: Any, t: Any) -> Any:
    """Rates of known states under a known drive, with derivatives by both."""
    found = rates_and_slopes(row, drive[None], state[None], side.facts, jnp.asarray(t)[None])
    return [x[0] for x in found]


def jacobians(
    equations: Equations, problem: Problem, replica: Replica, plan: Plan, edges: np.ndarray
) -> Jacobians:
    """Mean Jacobians of both sides of a replica, on rows drawn anew."""
    return Follower(equations, problem, replica, plan, edges).run()
