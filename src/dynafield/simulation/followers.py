"""What follows a training run to learn from it: its response, copies without a datum, other weights."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.numerics import chebyshev
from dynafield.problem.updates import Update
from dynafield.simulation import own_data
from dynafield.simulation.left_out import Ramps, Response, left_out_outputs
from dynafield.simulation.own_data import FlowSteps, Given, Outputs, Shift

__all__ = ["Copies", "OtherWeights", "Probes", "Stretch", "Tangents", "size_of"]

MARGIN = 1.5
"""Rates of copies may exceed by this factor what their steps were made for."""
TRIES = 4
"""Times that a stretch is tried with more stages."""
MOST_LEVERAGE = 4.0
"""Leverages are taken to be this many times their mean at most: beyond, they are those of single entries of
X, to which training responds otherwise."""


class Stretch(NamedTuple):
    """Training between two times: its steps, the state before and after them, and what is seen after."""

    rule: Update | None
    steps: Any
    before: Any
    after: Any
    start: float
    end: float
    seen: Outputs
    moved: float


class Tangents:
    """Derivatives of the state along shifts of what data send back, several side by side."""

    def __init__(self, given: Given, state: Any, shift: Float[np.ndarray, "n m"]):
        self.given, self.shift = given, shift
        self.columns = jax.tree.map(lambda x: jnp.zeros((*jnp.shape(x), shift.shape[1])), state)

    def follow(self, stretch: Stretch, shift: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
        """Derivatives of outputs after a stretch in which shifts go to new values."""
        shifts = jax.tree.map(jnp.asarray, Shift(self.shift, shift, stretch.start, stretch.end))
        self.columns = own_data.responses(
            self.given, stretch.rule, stretch.steps, stretch.before, self.columns, shifts
        )
        self.shift, t = shift, np.asarray(stretch.end)
        return np.asarray(own_data.output_tangents(self.given, stretch.after[0], self.columns[0], t))


class Probes:
    """The response of training to random ramps, and outputs without the part that is a datum's own."""

    def __init__(self, given: Given, count: int, seed: int, seen: Outputs):
        self.given, self.count = given, count
        self.leverage = leverages(given)
        self.ramps = Ramps(len(given.y), count, given.intercept, seed)
        self.ramps.add(size_of(seen.ell))
        self.f: list[np.ndarray] = []
        self.ell: list[np.ndarray] = []
        self.rows: list[tuple[np.ndarray, np.ndarray]] = []
        self.take(seen, np.zeros((len(given.y), count)))

    def take(self, seen: Outputs, tangents: Float[np.ndarray, "n m"]) -> None:
        """What is seen now, and derivatives of outputs along the ramps."""
        self.rows.append(self.ramps.response(tangents, seen.slope, self.leverage))
        self.f.append(seen.f)
        self.ell.append(seen.ell)

    def response(self, length: int | None = None) -> Response:
        """Rows of the response as triangular matrices over times and ramps, one for each probe."""
        rows = self.rows[:length]
        full = [np.zeros((len(rows), len(rows), self.count)) for _ in range(2)]
        for k, row in enumerate(rows):
            for matrix, part in zip(full, row, strict=True):
                matrix[k, : k + 1] = part
        return Response(*full)

    def own_part_removed(
        self, response: Response, f: np.ndarray, ell: np.ndarray, left: int | None = None
    ) -> Float[np.ndarray, "k n"]:
        """Outputs, or changes of them, without what each datum has sent back itself; by all probes but one
        where it is said."""
        intercept = len(self.given.y) if self.given.intercept else 0
        return left_out_outputs(f, ell, self.leverage, *response.without(left, intercept))

    def outputs_without(self, response: Response, left: int | None = None) -> Float[np.ndarray, "k n"]:
        """Outputs on all data as if each had been left out."""
        length = len(response.of_outputs)
        return self.own_part_removed(response, np.stack(self.f[:length]), np.stack(self.ell[:length]), left)

    def left_out(self) -> Float[np.ndarray, " n"]:
        """Outputs as if each datum had been left out, at the present time."""
        return self.outputs_without(self.response())[-1]


class Copies:
    """The same training without one datum each, for all data side by side."""

    def __init__(self, given: Given, state: Any):
        n = len(given.y)
        self.given, self.t = given, 0.0
        self.weights = jnp.asarray((1.0 - np.eye(n)) * (n / (n - 1)))
        self.states = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[..., None], n, -1), state)
        vectors = np.random.default_rng(0).standard_normal(self.states[0].shape)
        self.modes, rates = own_data.stiffness_of_copies(
            given, self.states[0], np.zeros(()), jnp.asarray(vectors), self.weights
        )
        self.rate = float(jnp.max(rates))

    def follow(self, stretch: Stretch) -> None:
        """Take the same steps; those of a flow in more stages where a copy is stiffer than the run itself."""
        steps, before, flow = stretch.steps, self.states, isinstance(stretch.steps, FlowSteps)
        after = before
        for _ in range(TRIES):
            if flow:
                steps = in_more_stages(stretch.steps, self.rate)
            after = own_data.copies(self.given, stretch.rule, steps, before, self.weights)
            if not flow:
                break
            modes, rates = own_data.stiffness_of_copies(
                self.given, after[0], np.asarray(stretch.end), self.modes, self.weights
            )
            found = float(jnp.max(rates))
            if found <= MARGIN * self.rate:
                self.modes, self.rate = modes, found
                break
            self.rate = 2 * found if np.isfinite(found) else 4 * self.rate
        if not all(bool(jnp.all(jnp.isfinite(part))) for part in jax.tree.leaves(after)):
            raise SolveError(
                f"training without one of the data diverged before t={stretch.end:g}: take a smaller step, "
                "or exact=False"
            )
        self.states, self.t = after, stretch.end

    def left_out(self) -> Float[np.ndarray, " n"]:
        """Outputs of all copies on the datum that each has not seen."""
        places = np.arange(len(self.given.y))
        out = own_data.own_outputs(self.given, self.states[0], self.weights, places, np.asarray(self.t))
        return np.asarray(out)


def in_more_stages(steps: FlowSteps, rate: float) -> FlowSteps:
    """The same steps, stable up to a rate of decay."""
    if not np.isfinite(rate):
        return steps
    known = np.asarray(steps.stages.count)
    counts = [max(int(k), chebyshev.stages_needed(MARGIN * rate * float(h)))
              for k, h in zip(known, np.asarray(steps.h), strict=True)]  # fmt: skip
    if np.all(counts == known):
        return steps
    table = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *map(chebyshev.stages, counts))
    return steps._replace(stages=table)


class OtherWeights:
    """How outputs would change if some data counted more and others less [eq:multipliers].

    A datum that counts for nothing no longer sends back what it would if it were left out: it is this, not
    its residual, that other weights shift.
    """

    def __init__(self, given: Given, count: int, seed: int, left_out: np.ndarray):
        n = len(given.y)
        signs = np.random.default_rng([seed, n, count, 1]).choice([-1.0, 1.0], size=(n, count))
        self.given, self.multipliers = given, signs - signs.mean(axis=0)
        self.wanted = [self.shift(left_out, 0.0)]
        self.shifts = [self.wanted[0]]
        self.changes = [np.zeros((n, count)) - self.level(self.shifts[0])]

    def shift(self, left_out: np.ndarray, t: float) -> Float[np.ndarray, "n m"]:
        """The shift of what data send back."""
        return self.multipliers * np.asarray(own_data.sent_back(self.given, left_out, np.asarray(t)))[:, None]

    def level(self, shift: np.ndarray) -> np.ndarray:
        """The part of a shift that the intercept takes at once."""
        return shift.mean(axis=0) if self.given.intercept else np.zeros(shift.shape[1])

    def next_shift(self) -> Float[np.ndarray, "n m"]:
        """The shift at the end of the next stretch, without its level: extrapolated, since times have equal
        ratios and outputs without a datum are not known before."""
        known = self.wanted
        self.shifts.append(known[-1] if len(known) < 3 else 2 * known[-1] - known[-2])
        return self.shifts[-1] - self.level(self.shifts[-1])

    def take(self, tangents: Float[np.ndarray, "n m"], left_out: np.ndarray, t: float) -> None:
        """Derivatives of outputs along the shift now, and outputs as if each datum had been left out."""
        self.changes.append(tangents - self.level(self.shifts[-1]))
        self.wanted.append(self.shift(left_out, t))


def leverages(given: Given) -> Float[np.ndarray, " n"]:
    """Squared lengths of the rows of X, around their mean with an intercept, relative to their average."""
    X = np.asarray(given.X)
    squares = np.einsum("nd,nd->n", X, X)
    if given.intercept:
        centre = X.mean(axis=0)
        squares = squares - 2 * X @ centre + centre @ centre
    mean = float(np.mean(squares))
    return np.clip(squares / mean, 0.0, MOST_LEVERAGE) if mean > 0 else np.ones(len(X))


def size_of(values: np.ndarray) -> float:
    """Root mean square of the values."""
    return float(np.sqrt(np.mean(values**2)))
