"""What is written here beside what libraries have: integrators, the lasso, roots.

The rule of the project is to write only what is measured to be better: these tables are that measurement.
"""

import warnings

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from celer import Lasso as CelerLasso
from scipy.integrate import solve_ivp
from skglm import Lasso as SkglmLasso
from sklearn.linear_model import Lasso

import dynafield as df
from benchmarks.finite import clock, data_of, relative
from dynafield.endpoints.lasso import judge
from dynafield.numerics.roots import bracketed_newton

LARGEST_IMPLICIT = 200
"""Implicit methods factorize a matrix of twice this size at every step; beyond it they are not waited for."""


class Flow:
    """Gradient flow of (u, v) at depth 2, with its Jacobian times a vector, in NumPy and in JAX."""

    def __init__(self, data, alpha, lam):
        self.X, self.y, self.lam = data.X, data.y, lam
        self.size = data.X.shape[1] / data.X.shape[0]
        self.start = np.full(2 * data.X.shape[1], alpha)

    def rate(self, t, z, lib=np):
        """Velocity of (u, v)."""
        u, v = lib.split(z, 2)
        g = (self.X @ (0.5 * (u * u - v * v)) - self.y) @ self.X * self.size
        return -0.5 * lib.concatenate([u * (self.lam + g), v * (self.lam - g)])

    def jacobian(self, t, z):
        """Its Jacobian, which stiff methods of SciPy factorize."""
        u, v = np.split(z, 2)
        g = (self.X @ (0.5 * (u * u - v * v)) - self.y) @ self.X * self.size
        A = self.X.T @ self.X * self.size
        rows = np.concatenate([-0.5 * u, 0.5 * v])
        columns = np.concatenate([u, -v])
        return rows[:, None] * np.tile(A, (2, 2)) * columns - 0.5 * np.diag(
            np.concatenate([self.lam + g, self.lam - g])
        )

    def scipy(self, method, tol, times):
        """Weights by SciPy."""
        stiff = {"jac": self.jacobian} if method in ("BDF", "Radau") else {}
        found = solve_ivp(
            self.rate, (0.0, times[-1]), self.start, method, times, rtol=tol, atol=tol * 1e-3, **stiff
        )
        u, v = np.split(found.y.T, 2, axis=1)
        return 0.5 * (u * u - v * v)

    def diffrax(self, solver, tol, times):
        """Weights by diffrax, compiled before it is timed."""
        term = diffrax.ODETerm(lambda t, z, args: self.rate(t, z, jnp))

        @jax.jit
        def run(start):
            return diffrax.diffeqsolve(
                term, solver, 0.0, float(times[-1]), None, start, max_steps=200_000, throw=False,
                saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
                stepsize_controller=diffrax.PIDController(rtol=tol, atol=tol * 1e-3),
            ).ys  # fmt: skip

        run(self.start).block_until_ready()
        seconds, z = clock(lambda: run(self.start).block_until_ready())
        u, v = np.split(np.asarray(z), 2, axis=1)
        return seconds, 0.5 * (u * u - v * v)


def integrators():
    """One network, small or large, easy or stiff: seconds and error by `simulate` and by others, loose and tight."""
    lines = []
    times = np.array([1.0, 10.0, 50.0, 100.0])
    for d, alpha, lam in ((200, 0.5, 0.0), (200, 10.0, 0.1), (1000, 0.5, 0.0), (1000, 10.0, 0.1)):
        net, data = df.DiagonalNetwork(alpha, lam), data_of(d, 0)
        kept = dict(d=d, runs=1, t_eval=times, weights=True)
        exact = df.simulate(TASK, net, 100.0, tol=1e-11, **kept).weights[0]
        flow = Flow(data, alpha, lam)
        for tol in (1e-3, 1e-6):
            run = lambda tol=tol, net=net, kept=kept: df.simulate(TASK, net, 100.0, tol=tol, **kept)  # noqa: E731
            ours, runs = min((clock(run) for _ in range(3)), key=lambda pair: pair[0])
            rows = [("`simulate`", ours, runs.weights[0])]
            rows.append(("diffrax Tsit5", *flow.diffrax(diffrax.Tsit5(), tol, times)))
            if d <= LARGEST_IMPLICIT:
                rows.append(("diffrax Kvaerno5", *flow.diffrax(diffrax.Kvaerno5(), tol, times)))
            for method in ("BDF", "LSODA", "DOP853"):
                if d <= LARGEST_IMPLICIT or method == "DOP853":
                    rows.append(
                        (f"SciPy {method}", *clock(lambda m=method, e=tol, f=flow: f.scipy(m, e, times)))
                    )
            for name, seconds, w in rows:
                error = np.max(relative(w, exact)) if w.shape == exact.shape else np.inf
                lines.append(
                    f"| {d} | {alpha:g}, {lam:g} | {name} | {tol:g} | {seconds:.3f} s | {error:.0e} | {seconds / ours:.2g} |"
                )
    return "\n".join(lines)


TASK = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))


def lassos():
    """n = 500, d = 1000 at three λ: seconds, and how far the conditions of the minimum are violated."""
    data, lines = data_of(1000, 0), []
    X, y, d = data.X, data.y, 1000
    columns = np.asfortranarray(X)
    for lam in (0.1, 0.01, 0.001):
        net = df.DiagonalNetwork(0.5, lam)
        ours = min(clock(lambda net=net: df.endpoints.minimizer(X, y, net))[0] for _ in range(3))
        rows = [("`minimizer`", ours, df.endpoints.minimizer(X, y, net).w)]
        others = {
            "scikit-learn": Lasso(lam / d, fit_intercept=False, tol=1e-10, max_iter=100_000),
            "skglm": SkglmLasso(lam / d, fit_intercept=False, tol=1e-12),
            "celer": CelerLasso(lam / d, fit_intercept=False, tol=1e-12, max_iter=1000),
        }
        for name, model in others.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(columns, y)  # compiles, or reads its code
                seconds = min(clock(lambda m=model: m.fit(columns, y))[0] for _ in range(2))
            rows.append((name, seconds, model.coef_))
        for name, seconds, w in rows:
            lines.append(
                f"| {lam:g} | {name} | {seconds * 1e3:.0f} ms | {judge(X, y, lam, w).violation:.0e} | {seconds / ours:.2g} |"
            )
    return "\n".join(lines)


def roots():
    """10,000 steep equations sinh(k (x - c)) = 0 on [0, 1], by our search and by optimistix."""
    rng = np.random.default_rng(0)
    k, c = jnp.asarray(10 ** rng.uniform(0, 2.5, 10_000)), jnp.asarray(rng.uniform(0.1, 0.9, 10_000))
    start = jnp.full(10_000, 0.5)

    @jax.jit
    def ours(k, c):
        def f(x, carry):
            return jnp.sinh(k * (x - c)), k * jnp.cosh(k * (x - c)), carry

        return bracketed_newton(f, jnp.zeros_like(k), jnp.ones_like(k), start, None)[0]

    def theirs(solver, options):
        @jax.jit
        def run(k, c):
            def one(k, c):
                return optimistix.root_find(
                    lambda x, _: jnp.sinh(k * (x - c)),
                    solver,
                    0.5,
                    options=options,
                    max_steps=200,
                    throw=False,
                ).value

            return jax.vmap(one)(k, c)

        return run

    bracket = {"lower": 0.0, "upper": 1.0}
    functions = {
        "`bracketed_newton`": ours,
        "optimistix Newton": theirs(optimistix.Newton(1e-15, 1e-15), {}),
        "optimistix Bisection": theirs(optimistix.Bisection(1e-15, 1e-15), bracket),
    }
    lines, first = [], None
    for name, function in functions.items():
        x = np.asarray(function(k, c))
        seconds = min(clock(lambda f=function: f(k, c).block_until_ready())[0] for _ in range(5))
        first = first or seconds
        error = np.abs(x - np.asarray(c))
        found = np.mean(error < 1e-12)
        lines.append(f"| {name} | {seconds * 1e3:.1f} ms | {found:.1%} | {seconds / first:.2g} |")
    return "\n".join(lines)


def section():
    """All three tables."""
    return f"""## Ours beside libraries

Code is written here only where it is measured to be better than what libraries have; ratios are their seconds over ours.

### Integrators

Gradient flow of (u, v), δ = .5, σ = .1, Bernoulli(.1), one network, to t = 100; errors are those of w at four times, relative,
against `tol=1e-11`. SciPy's stiff method has the Jacobian in closed form; diffrax is compiled before it is timed (2 s each). The
time of `simulate` includes drawing the data and recording the curves. Implicit methods are left out at d = 1000, where each
of their steps factorizes a matrix of 2,000 rows.

| d | α, λ | | tol | time | largest error | ratio |
|---|---|---|---|---|---|---|
{integrators()}

Compiled explicit steps (Tsit5) are faster where the flow is easy, most of all for small networks: there `simulate` spends its time in
the overhead of NumPy. It is faster for stiff flows (large α, weight decay) of large networks, where one waits longest; and its
errors stay below what was asked.

### The lasso

n = 500, d = 1000, the same task. *Violation* is that of the conditions of the minimum, relative to λ. The others are asked for 1e-10
or better, and have compiled their code before.

| λ | | time | violation | ratio |
|---|---|---|---|---|
{lassos()}

Ours is exact to rounding, which the theory is compared with, and needs no library; for large λ and a few digits the others are faster.

### Roots

10,000 equations sinh(k(x - c)) = 0 on [0, 1], k from 1 to 300, all from x = .5: found to 1e-12.

| | time | found | ratio |
|---|---|---|---|
{roots()}
"""
