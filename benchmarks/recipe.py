"""The published recipe for dynamical mean-field equations, as users write it today, at depth 2 and λ = 0.

For gradient flow, or for gradient descent on (u, v) with step dt.

Uniform Euler steps, plain Monte Carlo paths and a damped global iteration over the whole window, as in Roy et al.
(2019), Mignacco et al. (2020) and codes since. A sweep draws Gaussian paths with the current C_f, integrates them and
their tangents ∂w(t)/∂z(s), and averages C_w and R_w anew. Choices in its favour:

- Random numbers are fixed across sweeps and enter through a Cholesky factor, so that a sweep is a causal map of the
  kernels and the iteration converges. The fastest is then no damping at all: `damping=0` takes about 10 sweeps to
  t = 20 where the usual 0.5 takes more than 20.
- It stops once a sweep changes C_w by less than about an eighth of the Monte Carlo error.
- The share of paths with each target is exact (stratified), so that C_w(0, 0) has no error.
- Tangents are in single precision, in batches of paths that stay near the cache, and their memory integral is a
  product of matrices for all but the current block of steps. One thread: more lose on a busy machine.
- On the grid the equations are exact for gradient descent with step dt: the error is of Euler alone.
"""

import numpy as np
from threadpoolctl import threadpool_limits

BLOCK, BATCH = 32, 64


def tangents(advance, R_f, D):
    """∂w(k)/∂(z(s)/δ) of a batch of paths into D, over k, s and path, which is zero for k ≤ s.

    `advance` takes a step k and the memory integral of all earlier tangents, and fills row k + 1.
    """
    steps, batch = D.shape[0] - 1, D.shape[2]
    for start in range(0, steps, BLOCK):
        stop = min(start + BLOCK, steps)
        past = np.zeros((stop - start, stop, batch), np.float32)
        for s in range(0, start, BLOCK):
            old = D[s:start, s : s + BLOCK].reshape(start - s, -1)
            past[:, s : s + BLOCK] = (R_f[start:stop, s:start] @ old).reshape(stop - start, -1, batch)
        for k in range(start, stop):
            memory = past[k - start, :k]
            if k > start:
                recent = D[start:k, :k].reshape(k - start, -1)
                memory += (R_f[k, start:k] @ recent).reshape(k, batch)
            advance(k, memory, D)


def flow(z, target, R_f, delta, alpha, dt):
    """Euler paths of w - w* driven by z, in the mirror coordinate, and a step of their tangents."""
    points, batch = z.shape
    error = np.empty((points, batch))
    error[0] = -target
    slope, gain = np.empty((2, points - 1, batch), np.float32)
    for k in range(points - 1):
        w = error[k] + target
        speed = np.sqrt(w * w + alpha**4)
        g = z[k] / delta + error[k] - R_f[k, :k] @ error[:k]
        error[k + 1] = error[k] - dt * speed * g
        slope[k] = 1.0 - dt * (w / speed * g + speed)
        gain[k] = dt * speed

    def advance(k, memory, D):
        memory *= gain[k]
        np.multiply(D[k, :k], slope[k], out=D[k + 1, :k])
        D[k + 1, :k] += memory
        D[k + 1, k] = -gain[k]

    return error, advance


def descent(z, target, R_f, delta, alpha, dt):
    """Paths of gradient descent on (u, v) at depth 2 with step dt, and a step of their tangents."""
    points, batch = z.shape
    error, u, v = np.empty((3, points, batch))
    error[0], u[0], v[0] = -target, alpha, alpha
    g = np.empty((points - 1, batch))
    for k in range(points - 1):
        g[k] = z[k] / delta + error[k] - R_f[k, :k] @ error[:k]
        u[k + 1], v[k + 1] = u[k] * (1 - dt / 2 * g[k]), v[k] * (1 + dt / 2 * g[k])
        error[k + 1] = (u[k + 1] ** 2 - v[k + 1] ** 2) / 2 - target
    u, v, g = (x.astype(np.float32) for x in (u, v, g))
    of_u, of_v = np.zeros((2, points, batch), np.float32)

    def advance(k, memory, D):
        force = np.empty((k + 1, batch), np.float32)
        np.subtract(D[k, :k], memory, out=force[:k])
        force[k] = 1.0
        of_u[: k + 1] = of_u[: k + 1] * (1 - dt / 2 * g[k]) - dt / 2 * u[k] * force
        of_v[: k + 1] = of_v[: k + 1] * (1 + dt / 2 * g[k]) + dt / 2 * v[k] * force
        D[k + 1, : k + 1] = u[k + 1] * of_u[: k + 1] - v[k + 1] * of_v[: k + 1]

    return error, advance


def sweep(integrate, C_f, R_f, noise, target, weight, delta, alpha, dt):
    """C_w and R_w averaged over paths that are driven by the given kernels."""
    points, paths = noise.shape
    jitter = 1e-12 * np.max(np.diag(C_f)) * np.eye(points)
    factor = np.sqrt(delta) * np.linalg.cholesky(C_f + jitter)
    C_w, R_w = np.zeros((points, points)), np.zeros((points, points))
    single = R_f.astype(np.float32)
    D = np.zeros((points, points, BATCH), np.float32)
    for i in range(0, paths, BATCH):
        part = slice(i, i + BATCH)
        error, advance = integrate(factor @ noise[:, part], target[part], R_f, delta, alpha, dt)
        C_w += (error * weight[part]) @ error.T
        if error.shape[1] < BATCH:
            D = np.zeros((points, points, error.shape[1]), np.float32)
        tangents(advance, single, D)
        R_w -= D @ weight[part].astype(np.float32) / delta
    return C_w, R_w


@threadpool_limits.wrap(limits=1)
def recipe(delta, sigma, p, alpha, t_max, dt, paths, sweeps, damping=0.5, seed=0, integrate=flow):
    """Times, train error, test error and sweeps used; damping is the share of the old kernels that is kept."""
    points = round(t_max / dt) + 1
    noise = np.random.default_rng(seed).standard_normal((points, paths))
    ones = min(max(round(p * paths), 1), paths - 1)
    target = np.repeat([1.0, 0.0], [ones, paths - ones])
    weight = np.repeat([p / ones, (1.0 - p) / (paths - ones)], [ones, paths - ones])
    C_w, R_w = np.full((points, points), p), np.zeros((points, points))
    used, change = 0, np.inf
    while used < sweeps and change > 0.2 / np.sqrt(paths):
        V = np.linalg.inv(np.eye(points) + R_w)
        C_f = V @ (C_w + sigma**2) @ V.T
        fresh = sweep(integrate, C_f, np.eye(points) - V, noise, target, weight, delta, alpha, dt)
        change = np.max(np.abs(fresh[0] - C_w)) / p
        C_w, R_w = (damping * old + (1.0 - damping) * new for old, new in zip((C_w, R_w), fresh, strict=True))
        used += 1
    V = np.linalg.inv(np.eye(points) + R_w)
    train = np.einsum("ij,jk,ik->i", V, C_w + sigma**2, V, optimize=True)
    return dt * np.arange(points), train, np.diag(C_w) + sigma**2, used
