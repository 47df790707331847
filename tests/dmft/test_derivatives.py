"""Derivatives of learning curves: against differences with the same points, closed forms, and each other."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.differentiation.tangents import Direction, Setting, curve_tangents, shifted
from dynafield.dmft.ensemble import march_along

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
NET = df.DiagonalNetwork(0.5, 0.01)
SAME = dict(tol=1e-3, points=1024)
"""With three derivatives of a network at this number of points, several tests run the same programs."""

PROBLEMS = {
    "flow": (NET, 20.0, {}, ("delta", "sigma", "alpha", "lam")),
    "deep": (df.DiagonalNetwork(0.7, 0.01, 3), 10.0, {}, ("delta", "alpha", "lam")),
    "steps": (NET, 3.0, dict(trainer=df.GradientDescent(0.2)), ("alpha", "step", ("step", 3))),
    "blocks of steps": (NET, 60.0, dict(trainer=df.HeavyBall(0.2, 0.5)), ("alpha", "step", ("step", 30))),
    "batches": (NET, 3.0, dict(trainer=df.SGD(0.2, 0.5)), ("alpha", "sigma", "step")),
    "sampled data": (df.models.logistic_flow(lam=0.1), 5.0, {}, ("delta", "sigma", "lam")),
    "heat": (NET, 1.0, dict(trainer=df.GradientFlow(temperature=0.01)), ("alpha", "lam")),
    "spectrum": (NET, 5.0, {}, ("delta", "lam")),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_tangents_are_limits_of_differences_with_the_same_points(kind):
    """The numbers of a march are moved by ±h, everything else being the same: points, grid, rotations."""
    net, end, options, names = PROBLEMS[kind]
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1), df.data.PowerLaw(1.5, 100)) if kind == "spectrum" else TASK
    curves = df.solve(task, net, end, tol=2e-2, **options)
    order, ensemble = curves.deriving.order, curves.deriving.found.ensemble
    plan = ensemble.plan._replace(seeds=ensemble.plan.seeds[:1], epsilons=ensemble.plan.epsilons[:1])
    directions = [Direction(*np.atleast_1d(name).tolist()) for name in names]
    directions = [Direction(one.name, one.place and int(one.place)) for one in directions]
    setting = Setting(order.equations, order.problems[0], ensemble.edges)
    values, slopes = curve_tangents(*setting[:2], plan, 0, setting.edges, directions)

    def march(one: Setting) -> np.ndarray:
        found = march_along(one.equations, [one.problem], plan, one.edges, lambda *_: None, 1)
        return found.replicas[0][0].on_nodes("curves")

    np.testing.assert_allclose(values, march(setting), rtol=1e-12, atol=1e-14)
    smooth = [0, 1, 2, 3, 5] if values.shape[1] > 3 else [0, 1, 2]  # the share of wrong signs jumps
    h = 1e-4
    for slope, one in zip(slopes, directions, strict=True):
        up, down = (march(shifted(setting, one, by)) for by in (h, -h))
        found, expected = slope[:, smooth], ((up - down) / (2 * h))[:, smooth]
        size = np.max(np.abs(expected), axis=0)
        # differences of second order, and directions that come and go at the edge of being dropped
        assert np.all(np.abs(found - expected) < 1e-3 * size + 1e-9), one


def test_slopes_of_a_lazy_network_are_those_of_its_closed_form():
    """α = 100 is lazy; time runs α² times faster."""
    alpha, t = 100.0, np.array([0.5, 2.0, 8.0])
    net, task = df.DiagonalNetwork(alpha), df.Task(2.0, 0.3, TASK.prior)
    found = df.solve(task, net, float(t[-1]) / alpha**2, **SAME).derivatives("delta", "sigma", "alpha")
    for name, h in (("delta", 1e-3), ("sigma", 1e-3), ("alpha", 1e-1)):

        def at(by: float, name: str = name) -> tuple[np.ndarray, np.ndarray]:
            one = df.Task(2.0 + by * (name == "delta"), 0.3 + by * (name == "sigma"), task.prior)
            lazy = df.theory.lazy_curves(
                one, df.DiagonalNetwork(alpha + by * (name == "alpha")), found[name].t
            )
            return np.asarray(lazy.test_error), np.asarray(lazy.train_error)

        for curve, up, down in zip(("test_error", "train_error"), at(h), at(-h), strict=True):
            value, error = (np.asarray(getattr(found[name], curve + end)) for end in ("", "_se"))
            expected = (up - down) / (2 * h)
            size = np.max(np.abs(expected))
            # 1e-3: the network is lazy up to α^-4, and differences are of second order
            assert np.all(np.abs(value - expected) < 3 * error + 1e-3 * size), (name, curve)
            assert np.max(error) < 0.02 * size


def test_slopes_with_much_data_are_those_of_infinite_data():
    """δ = 1e5: the error is off by 1/δ, times a few."""
    task, start = df.Task(1e5, 0.0, df.Bernoulli(0.1)), dict(alpha=0.3, lam=0.2)
    found = df.solve(task, df.DiagonalNetwork(**start), 20.0, **SAME).derivatives(*start, "delta")
    del found["delta"]
    for name, slope in found.items():
        ends = [start | {name: start[name] + by} for by in (1e-4, -1e-4)]
        up, down = (
            df.theory.infinite_data_curves(task.prior, df.DiagonalNetwork(**one), slope.t).test_error
            for one in ends
        )
        expected = (up - down) / 2e-4
        size = np.max(np.abs(expected))
        assert np.all(np.abs(slope.test_error - expected) < 3 * slope.test_error_se + 1e-4 * size), name
        assert np.max(slope.test_error_se) < 0.02 * size


def test_slopes_at_the_end_of_training_are_those_of_fixed_points():
    """Interpolation, δ = .5: at t = 400 the exponential approach is over."""
    net = df.DiagonalNetwork(0.6)
    found = df.solve(TASK, net, 400.0, **SAME).derivatives("delta", "sigma", "alpha")

    def ends(delta, sigma, alpha):
        return df.fixed_point(df.Task(delta, sigma, TASK.prior), df.DiagonalNetwork(alpha)).test_error

    expected = jax.jacfwd(ends, argnums=(0, 1, 2))(0.5, 0.1, 0.6)
    for name, slope in zip(("delta", "sigma", "alpha"), expected, strict=True):
        value, error = found[name].test_error[-1], found[name].test_error_se[-1]
        assert abs(value - slope) < 4 * error, name
        assert error < 0.05 * abs(slope)


def test_many_problems_are_differentiated_together():
    ridge, few = df.models.ridge_flow(lam=0.2), dict(tol=1e-3, points=256)
    task = df.Task(np.array([0.5, 2.0]), 0.3, df.Gaussian(1.0))
    found = df.solve(task, ridge, 4.0, **few).derivative("delta")
    assert found.test_error.shape == (2, len(found.t))
    for row, delta in enumerate((0.5, 2.0)):
        curves = df.solve(df.Task(delta, 0.3, df.Gaussian(1.0)), ridge, 4.0, **few)
        alone = curves.derivative("delta")
        error = np.hypot(found.test_error_se[row][-1], alone.test_error_se[-1])
        assert abs(found.test_error[row][-1] - alone.test_error[-1]) < 4 * error + 1e-9


def test_jax_differentiates_through_solve():
    grid = [0.0, 0.3, 1.0, 3.0]

    def curve(alpha, delta):
        task = df.Task(delta, 0.1, df.Bernoulli(0.1))
        return df.solve(task, df.DiagonalNetwork(alpha), 3.0, grid=grid, points=256).test_error

    plain = df.solve(TASK, df.DiagonalNetwork(0.5), 3.0, grid=grid, points=256)
    known = plain.derivatives("alpha", "delta")
    by_alpha, by_delta = jax.jacfwd(curve, argnums=(0, 1))(0.5, 0.5)
    np.testing.assert_allclose(by_alpha, known["alpha"].test_error, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_delta, known["delta"].test_error, rtol=1e-12, atol=1e-14)
    value, along = jax.jvp(curve, (0.5, 0.5), (2.0, 0.0))
    np.testing.assert_allclose(value, plain.test_error, rtol=1e-14)
    np.testing.assert_allclose(along, 2 * by_alpha, rtol=1e-12, atol=1e-14)
    ends = jax.grad(lambda *x: curve(*x)[-1], argnums=(0, 1))(0.5, 0.5)
    assert ends == pytest.approx((float(by_alpha[-1]), float(by_delta[-1])), rel=1e-12)
    for wrong, words in (
        (lambda: jax.jit(curve)(0.5, 0.5), "jax.jit or jax.vmap"),
        (lambda: jax.vmap(lambda a: curve(a, 0.5))(jnp.array([0.5, 0.6])), "give an array"),
        (lambda: jax.hessian(lambda a: curve(a, 0.5)[-1])(0.5), "first derivatives only"),
        (lambda: plain.derivative("beta"), "one of delta, sigma, alpha, lam"),
    ):
        with pytest.raises(df.InputError, match=words):
            wrong()


def test_every_step_of_a_schedule_has_a_derivative():
    sizes = np.linspace(0.1, 0.4, 6)

    def end(steps):
        trainer = df.GradientDescent(steps)
        return df.solve(TASK, NET, jnp.sum(steps), tol=1e-2, trainer=trainer, points=512).test_error[-1]

    slopes = jax.grad(end)(sizes)
    derivative = df.solve(
        TASK, NET, sizes.sum(), tol=1e-2, trainer=df.GradientDescent(sizes), points=512
    ).derivative("step")
    assert derivative.test_error.shape == (6, 7)
    np.testing.assert_allclose(slopes, derivative.test_error[:, -1], rtol=1e-10)
    assert np.all(derivative.test_error[3, :4] == 0)  # steps to come change nothing
    moved = np.eye(6)[2] * 1e-3
    expected = (end(sizes + moved) - end(sizes - moved)) / 2e-3
    # the two samples are turned a little differently: errors of sampling, not of the derivative
    assert slopes[2] == pytest.approx(float(expected), abs=4 * derivative.test_error_se[2, -1] + 1e-3 * 0.01)
    with pytest.raises(df.InputError, match="plain number"):
        jax.grad(lambda s: jnp.sum(df.simulate(TASK, NET, 1.0, d=9, trainer=df.GradientDescent(s)).w))(0.1)


def test_what_jumps_has_no_derivative_by_sampling(tmp_path):
    curves = df.solve(TASK, df.models.logistic_flow(lam=0.1), 2.0, tol=2e-2)
    derivative = curves.derivative("lam")
    assert derivative.curves == ["train_loss", "test_loss"]
    assert derivative.test_error is None
    derivative.save(tmp_path / "slope.nc")
    again = df.load(tmp_path / "slope.nc")
    assert again.parameter == "lam"
    np.testing.assert_array_equal(again.test_loss, derivative.test_loss)
    curves.save(tmp_path / "curves.nc")
    with pytest.raises(df.InputError, match="solve them again"):
        df.load(tmp_path / "curves.nc").derivative("lam")
    hinge = df.Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: -jnp.sign(datum.f_star) * (jnp.sign(datum.f_star) * f < 1),
        p=lambda g, theta: -g,
        theta0=0.0,
        name="hinge",
    )
    trained = df.solve(TASK, hinge, 1.0, tol=5e-2, trainer=df.GradientDescent(0.5))
    with pytest.raises(df.InputError, match="jumps"):
        trained.derivative("delta")


@pytest.mark.parametrize("first", ["jax", "dynafield"])
def test_numbers_that_jax_makes_before_the_first_call_are_double(first):
    """jax.grad(f)(0.3) makes its argument before f is called."""
    imports = "import jax, dynafield as df" if first == "jax" else "import dynafield as df, jax"
    code = f"{imports}\nprint(jax.jvp(lambda a: 1 * a, (0.3,), (1.0,))[0].dtype)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "float64"
