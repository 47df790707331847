"""One side of the theory: rows in a block, projections, new directions, and S against tangents."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynafield as df
from dynafield.dmft import newton
from dynafield.dmft.equations import CoordinateRow, Feature
from dynafield.dmft.refine import refine
from dynafield.dmft.results.responses import jacobians, linear_block, local
from dynafield.dmft.rows import Rows, Sampled, committed, factored, projected
from dynafield.dmft.solve import checked
from dynafield.numerics.collocation import radau

solve_rows = eqx.filter_jit(newton.solve_rows)  # compiled once for all blocks
project, commit, localize = (eqx.filter_jit(f) for f in (projected, committed, local))
TARGETS = np.array([0.0, 1.0, -0.5])
MEMORY = 0.7  # R(t, s) = MEMORY exp(-(t - s)), so that m = R g obeys m' = MEMORY g - m


def noise(t):
    return 0.4 * np.cos(1.3 * t) + 0.2 * t


FEATURE = Feature(jnp.array([0.3]), jnp.ones(1))
LONG = 1e3  # times for which networks of depth 3 with weight decay need both layers as coordinates


def row_of(net, until=1.0):
    model = jax.tree.map(jnp.asarray, net.in_flow(until))
    return CoordinateRow(model, jnp.eye(1), -jnp.ones(1))


def marched(net, stages, blocks, t_max, until):
    """w at t_max by collocation under a given noise, with a given response within and between blocks."""
    row, rule, length = row_of(net, until), radau(stages), t_max / blocks
    start = jnp.asarray(np.asarray(net.in_flow(until).start.rows(np.zeros((3, 0)), TARGETS)).reshape(3, -1).T)
    memory, weight = np.zeros(3), jnp.full(3, 1 / 3)
    for b in range(blocks):
        times = length * (b + rule.nodes)
        # m = m_b e + M g with m' = MEMORY g - m by the same rule; (1 + M) g = x + noise - m_b e
        free = np.linalg.inv(np.eye(stages) + length * rule.weights)
        M = MEMORY * free @ (length * rule.weights)
        inner = np.linalg.inv(np.eye(stages) + M)
        carried = np.outer(free @ np.ones(stages), memory)
        known = inner @ (noise(times)[:, None] - carried)
        guess = jnp.tile(start[None], (stages, 1, 1))
        solved = solve_rows(
            row, Feature(jnp.asarray(TARGETS), jnp.ones(3)), weight, jnp.asarray(times),
            jnp.asarray(length * rule.weights)[:, :, None], start, jnp.asarray(known)[:, None],
            jnp.asarray(inner), guess, 1e-12,
        )  # fmt: skip
        g = known + inner @ np.asarray(solved.outputs)[:, 0]
        memory = (carried + M @ g)[-1]
        start = solved.states[-1]
    return np.asarray(solved.outputs)[-1, 0] + TARGETS


def exact(net, t_max):
    """The same by another integrator, for the layers themselves."""
    depth, found = net.depth, []

    def rates(t, state, target):
        u, v, m = state
        g = (u**depth - v**depth) / depth - target + noise(t) - m
        down, up = u ** (depth - 1) * g + net.lam * u, v ** (depth - 1) * g - net.lam * v
        return [-down / 2, up / 2, MEMORY * g - m]

    for target in TARGETS:
        y = solve_ivp(rates, (0, t_max), [net.alpha, net.alpha, 0.0], args=(target,), rtol=1e-12, atol=1e-13)
        u, v, _ = y.y[:, -1]
        found.append((u**depth - v**depth) / depth)
    return np.array(found)


@pytest.mark.parametrize(
    ("stages", "depth", "lam", "alpha", "until"),
    [
        (2, 2, 0.0, 0.6, 1.0),
        (3, 2, 0.0, 0.6, 1.0),
        (3, 2, 0.2, 0.6, 1.0),
        (3, 3, 0.15, 0.8, 1.0),
        (3, 3, 0.15, 0.8, LONG),
        (3, 5, 0.15, 0.9, 1.0),
    ],
)
def test_order_at_block_ends_is_2s_minus_1(stages, depth, lam, alpha, until):
    net = df.DiagonalNetwork(alpha, lam, depth)
    wanted, blocks = exact(net, 2.0), {2: (16, 32), 3: (5, 10)}[stages]
    errors = [np.linalg.norm(marched(net, stages, n, 2.0, until) - wanted) for n in blocks]
    assert errors[1] > 1e-10  # of the rule, not of the reference
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * stages - 1, abs=0.3)


def test_a_linearized_block_is_the_derivative_of_a_block():
    row, rule, rng = row_of(df.DiagonalNetwork(0.8, 0.1, 3), LONG), radau(3), np.random.default_rng(0)
    times, integral = jnp.asarray(0.6 * rule.nodes), jnp.asarray(0.6 * rule.weights)
    inner = jnp.asarray(np.eye(3) + 0.1 * rng.standard_normal((3, 3)))
    start = jnp.full((2, 1), 1 / 0.8)
    known = 0.4 * rng.standard_normal((3, 1, 1))

    def run(shift, before=start):
        guess = jnp.tile(before[None], (3, 1, 1))
        given = jnp.asarray(known + shift[:, None, None])
        facts, weight = FEATURE, jnp.ones(1)
        return solve_rows(row, facts, weight, times, integral[:, :, None], before, given, inner, guess, 1e-12)

    solved = run(np.zeros(3))
    at = localize(row, FEATURE, times, jnp.asarray(known), inner, solved.states)
    linear = linear_block(at, np.asarray(integral), np.asarray(inner))
    for j in range(3):
        bump = 1e-6 * np.eye(3)[j]
        slope = (run(bump).outputs - run(-bump).outputs)[:, 0, 0] / 2e-6
        assert linear.output_by_drive[:, j, 0] == pytest.approx(np.asarray(slope), abs=1e-8)
    for k in range(2):
        bump = 1e-6 * jnp.eye(2)[k][:, None]
        ends = [run(np.zeros(3), start + sign * bump).states[-1] for sign in (1, -1)]
        assert linear.state_by_state[:, k, 0] == pytest.approx(
            np.asarray(ends[0] - ends[1])[:, 0] / 2e-6, abs=1e-8
        )
    assert solved.response == pytest.approx(linear.output_by_drive[:, :, 0], abs=1e-8)


def blank(n=64, room=8, still=0.3):
    rng = np.random.default_rng(3)
    side = Sampled(jnp.full(n, 1 / n), None, jnp.asarray(1.0), jnp.array([[still]]))
    zeros = jnp.zeros((1, n))
    normals = jnp.asarray(rng.standard_normal((room, n)))
    rows = Rows(zeros, zeros, zeros, side.still, jnp.zeros((room, n)), jnp.zeros((room, 1)), normals,
                jnp.zeros((), int), jnp.zeros((1, room)), jnp.zeros((1, room)))  # fmt: skip
    return rows, side, rng


def test_outputs_are_their_projections():
    """o = Fq on rows that move and on those that stand still; the basis is orthonormal over both."""
    rows, side, rng = blank()
    for _ in range(5):
        output = jnp.asarray(rng.standard_normal((1, 64)))
        F, _, gram = project(rows, side, output, rows.count)
        left = output - F @ rows.basis
        still = side.still - F @ rows.still_basis
        direct = (left * side.weight) @ left.T + still @ still.T
        assert gram == pytest.approx(np.asarray(direct), rel=1e-6)
        rows = commit(rows, side, rows.state, output, 1e-6).rows
        assert rows.F @ rows.basis == pytest.approx(np.asarray(output), abs=1e-12)
        assert rows.F @ rows.still_basis == pytest.approx(0.3, abs=1e-12)
    products = (rows.basis * side.weight) @ rows.basis.T + rows.still_basis @ rows.still_basis.T
    assert products[:5, :5] == pytest.approx(np.eye(5), abs=1e-12)
    assert int(rows.count) == 5


def test_dependent_and_zero_outputs_make_no_directions():
    """Pivots are the largest remainders: a channel of zeros, wherever it stands, hides no other."""
    rng = np.random.default_rng(0)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        base = rng.standard_normal((2, 50))
        outputs = np.stack([base[0], np.zeros(50), base[1], base[0] - 2 * base[1]])[order]
        gram = outputs @ outputs.T / 50
        factor, place = (np.asarray(x) for x in factored(jnp.asarray(gram), jnp.full(4, 1e-6), True))
        assert np.sum(place < 4) == 2
        assert factor @ factor.T == pytest.approx(gram, abs=1e-12)
        assert np.all(factor[:, place == 4] == 0)


def test_no_room_for_directions_is_seen():
    rows, side, rng = blank(room=2)
    for _ in range(2):
        rows = commit(rows, side, rows.state, jnp.asarray(rng.standard_normal((1, 64))), 1e-6).rows
    third = commit(rows, side, rows.state, jnp.asarray(rng.standard_normal((1, 64))), 1e-6)
    assert bool(third.crowded)
    assert int(third.rows.count) == 2
    assert np.array_equal(third.rows.basis, rows.basis)


PROBLEMS = {
    "flow": (df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5), df.GradientFlow(), 5.0),
    "steps": (df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5), df.HeavyBall(0.25, 0.5), 5.0),
    "sampled": (
        df.Task(2.0, 0.5, df.Gaussian(1.0)),
        df.models.logistic_flow(0.1),
        df.GradientDescent(0.5),
        5.0,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_projections_are_responses_seen_through_directions(name):
    """S = 𝓡F: E[o ζ] of the sample against derivatives by shifts on other rows, for both sides."""
    task, net, trainer, t_max = PROBLEMS[name]
    order = checked(task, net, t_max, 1e-2, None, trainer, 2048, None, 0, 4.0, preview=True)
    ensemble = refine(order, lambda *a, **k: None).ensemble
    gaps = []
    for replica in ensemble.replicas[0]:
        made = jacobians(order.equations, order.problems[0], replica, ensemble.plan, ensemble.edges)
        S, F = replica.on_nodes("S_w"), replica.on_nodes("F_ell")
        gaps.append(np.max(np.abs(S - made.coordinates @ F)) / np.max(np.abs(S)))
        if not order.equations.closed:
            S, F = replica.on_nodes("S_ell")[:, 1:], replica.on_nodes("F_w")[:, 1:]  # labels jump in f*
            gaps.append(np.max(np.abs(S - made.data @ F)) / np.max(np.abs(S)))
    assert np.max(gaps) < 0.02  # both are averages over samples; a missing factor or node is of order one
