"""The path equation in a block: order of collocation, and tangents against differences."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dynafield.dmft.diagonal import Problem
from dynafield.dmft.march import Means
from dynafield.dmft.mirror import make_member
from dynafield.dmft.paths import Rows, commit, extrapolated, sweep
from dynafield.dmft.sampling import Sample

MEANS = Means(share=1.0, memory=1e9, chunk=128)
MEMORY = 0.7  # R(t, s) = MEMORY exp(-(t - s)), so that m = R g obeys m' = MEMORY g - m


def sample(targets, dims):
    count = len(targets)
    normals = np.zeros((dims, count))
    normals[0] = 1.0  # the noise is what the rows say
    return Sample(np.array(targets), np.full(count, 1 / count), np.zeros(count, bool), normals)


def noise(t):
    return 0.4 * np.cos(1.3 * t) + 0.2 * t


def march(problem, stages, blocks, t_max, targets):
    """Layers at t_max by collocation with frozen noise and frozen memory."""
    size = 1 + stages * blocks
    member = make_member(problem, sample(targets, size), size, stages, 1e-12, MEANS)
    length = t_max / blocks
    whole = np.zeros((size, size))
    for b in range(blocks):  # integration of the memory's equation by the same rule
        rows = slice(1 + stages * b, 1 + stages * (b + 1))
        if b:
            whole[rows, : rows.start] = whole[rows.start - 1, : rows.start]
        whole[rows, rows] = length * member.rule.weights
    memory = MEMORY * np.linalg.solve(np.eye(size) + whole, whole)
    paths, kernels = member.chunks[0], member.kernels
    for b in range(blocks):
        rows = slice(1 + stages * b, 1 + stages * (b + 1))
        times = length * (b + member.rule.nodes)
        driving = np.zeros((stages, size))
        driving[:, 0] = noise(times)
        past = np.where(np.arange(size) < rows.start, memory[rows], 0.0)
        given = Rows(driving, np.zeros((stages, size)), past, memory[rows, rows])
        block = member.block(length)
        outcome, _ = sweep(problem.depth, paths, block, given, extrapolated(paths, block))
        paths = commit(paths, block, outcome, np.zeros((stages, size)), np.zeros((stages, stages)))
        kernels.nodes += stages
    a, b = (np.asarray(x)[: len(targets)] for x in (paths.a, paths.b))
    return weight(problem.depth, problem.alpha, a, b)


def weight(depth, alpha, a, b):
    """w of the two layers, written anew."""
    if depth == 2:
        return alpha**2 * (np.exp(a) - np.exp(b)) / 2
    return (a ** (-depth / (depth - 2)) - b ** (-depth / (depth - 2))) / depth


def reference(problem, t_max, targets):
    """The same by an integrator of another kind."""
    depth, alpha, lam = problem.depth, problem.alpha, problem.lam

    def rates(t, state, target):
        a, b, m = state
        g = weight(depth, alpha, a, b) - target + noise(t) - m
        if depth == 2:
            return [-g - lam, g - lam, MEMORY * g - m]
        half = (depth - 2) / 2
        return [half * (g + lam * a), half * (-g + lam * b), MEMORY * g - m]

    first, found = 0.0 if depth == 2 else alpha ** (2 - depth), []
    for target in targets:
        options = dict(args=(target,), rtol=1e-12, atol=1e-13)
        a, b, _ = solve_ivp(rates, (0, t_max), [first, first, 0.0], **options).y[:, -1]
        found.append(weight(depth, alpha, a, b))
    return np.array(found)


@pytest.mark.parametrize(("depth", "lam", "alpha"), [(2, 0.0, 0.6), (2, 0.2, 0.6), (3, 0.15, 0.8)])
@pytest.mark.parametrize("stages", [2, 3])
def test_order_at_block_ends_is_2s_minus_1(depth, lam, alpha, stages):
    problem = Problem(1.0, 0.1, alpha, lam, depth)
    targets, t_max = [0.0, 1.0, -0.5], 2.0
    exact = reference(problem, t_max, targets)
    blocks = {2: (16, 32), 3: (5, 10)}[stages]
    errors = [np.linalg.norm(march(problem, stages, n, t_max, targets) - exact) for n in blocks]
    order = np.log2(errors[0] / errors[1])
    assert errors[1] > 1e-10  # of the rule, not of the reference
    assert order == pytest.approx(2 * stages - 1, abs=0.3)


def test_tangents_are_derivatives_of_paths():
    problem, stages, size = Problem(0.7, 0.1, 0.5, 0.1, 2), 3, 7
    rng = np.random.default_rng(0)
    kernels_noise = rng.standard_normal((2, stages, 1)) * 0.4
    inner = [0.1 * rng.standard_normal((stages, stages)) for _ in range(2)]
    past = 0.1 * rng.standard_normal((stages, 1 + stages))

    def run(shift):
        """Weights on the nodes when the gradient is shifted by `shift` at each node."""
        member = make_member(problem, sample([0.3], size), size, stages, 1e-12, MEANS)
        paths, weights, rates = member.chunks[0], [], []
        for b in range(2):
            driving = np.zeros((stages, size))
            rows = slice(1 + stages * b, 1 + stages * (b + 1))
            response = np.zeros((stages, size))
            if b:
                response[:, : 1 + stages] = past
            # (1 + R) g = x + η + (1 + R) shift
            driving[:, 0] = kernels_noise[b, :, 0] + shift[rows] + inner[b] @ shift[rows] + response @ shift
            block = member.block(0.6)
            given = Rows(driving, np.zeros((stages, size)), response, inner[b])
            outcome, _ = sweep(2, paths, block, given, extrapolated(paths, block))
            before = paths
            paths = commit(paths, block, outcome, np.zeros((stages, size)), np.zeros((stages, stages)))
            del before
            rates.append(np.asarray(outcome.tangent)[:, 0])
            weights.append(np.asarray(outcome.phi)[:, 0] + (weights[-1][-1] if b else 0.0))
            member.kernels.nodes += stages
        return np.concatenate(weights), np.concatenate(rates)

    _, tangent = run(np.zeros(size))
    eps = 1e-6
    for node in range(1, size):
        shift = np.zeros(size)
        shift[node] = eps
        up, down = run(shift)[0], run(-shift)[0]
        assert -(up - down) / (2 * eps) == pytest.approx(tangent[:, node], abs=1e-8)
