"""Derivatives of learning curves: against differences with the same points, closed forms, and each other."""

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.differentiation.tangents import Direction, Setting, curve_tangents, shifted
from dynafield.dmft.ensemble import march_along
from dynafield.dmft.march import FINE
from dynafield.dmft.refine import first_plan
from dynafield.dmft.rules import StepTime
from dynafield.dmft.solve import checked

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
GROUPS = df.Task(0.5, 0.1, df.Gaussian(1.0), df.data.Spectrum.groups([(0.1, 4.0), (0.9, 0.5)]))
NET, LOGISTIC = df.DiagonalNetwork(0.5, 0.01), df.models.logistic_flow(lam=0.1)
SAME = dict(tol=1e-2, points=256, preview=True)
"""With three derivatives of a network at this number of points, most tests run the same two programs.

The task of groups has strata of 128 and 256 rows, too.
"""

BLOCKS = np.array([0.0, 0.1, 0.3, 0.8, 2.0, 5.0])
CLOCK = 0.2 * np.arange(11)
BLOCKS_OF_STEPS = 0.05 * np.array([0, 1, 2, 3, 9, 15])
PROBLEMS = {
    "flow": (TASK, NET, BLOCKS, None, ("delta", "sigma", "lam")),
    "deep": (TASK, df.DiagonalNetwork(0.7, 0.01, 3), BLOCKS, None, ("delta", "alpha", "lam")),
    "steps": (TASK, NET, CLOCK, df.HeavyBall(0.2, 0.5), ("alpha", "step", ("step", 3))),
    "blocks of steps": (
        TASK,
        NET,
        BLOCKS_OF_STEPS,
        df.HeavyBall(0.05, 0.5),
        ("alpha", "step", ("step", 12)),
    ),
    "batches": (TASK, NET, CLOCK[:6], df.SGD(0.2, 0.5), ("alpha", "sigma", "step")),
    "sampled data": (TASK, LOGISTIC, BLOCKS, None, ("delta", "sigma", "lam")),
    "heat": (TASK, NET, None, df.GradientFlow(temperature=0.01).in_steps(1.0, 6), ("alpha", "lam")),
    "spectrum": (GROUPS, NET, BLOCKS, None, ("delta", "alpha", "lam")),
}
SOLVED = ("flow", "steps", "sampled data", "spectrum")
"""What tests below solve, too: the code of their marches is compiled in any case."""


def case(kind):
    """A setting with its plan and directions."""
    task, net, grid, trainer, names = PROBLEMS[kind]
    end, trainer = 1.0 if grid is None else grid[-1], trainer or df.GradientFlow()
    points = 512 if kind in ("batches", "heat") else 256  # the least with noise in so many steps
    order = checked(task, net, end, 1e-2, None, trainer, points, grid, 0, None, preview=False)
    plan = first_plan(order)
    plan = plan._replace(seeds=plan.seeds[:1], epsilons=plan.epsilons[:1])
    directions = [Direction(*((name,) if isinstance(name, str) else name)) for name in names]
    return Setting(order.equations, order.problems[0], order.edges), plan, directions


@pytest.mark.parametrize("kind", PROBLEMS)
def test_tangents_are_limits_of_differences_with_the_same_points(kind):
    """The numbers of a march are moved by ±h, everything else being the same: points, grid, rotations."""
    setting, plan, directions = case(kind)

    def tangents(one: Setting) -> tuple:
        return curve_tangents(one.equations, one.problem, plan, 0, one.edges, directions)

    values, slopes = tangents(setting)
    if kind in SOLVED:
        found = march_along(setting.equations, [setting.problem], plan, setting.edges, lambda *_: None, 1)
        assert found.health == FINE
        march = found.replicas[0][0].on_nodes("curves")
        np.testing.assert_allclose(values, march, rtol=1e-12, atol=1e-14)
    smooth = [0, 1, 2, 3, 5] if values.shape[1] > 3 else [0, 1, 2]  # the share of wrong signs jumps
    h = 1e-5  # with longer ones directions come and go at the edge of being dropped
    for slope, one in zip(slopes, directions, strict=True):
        up, down = (tangents(shifted(setting, one, by))[0] for by in (h, -h))
        found, expected = slope[:, smooth], ((up - down) / (2 * h))[:, smooth]
        size = np.max(np.abs(expected), axis=0)
        # differences of second order
        assert np.all(np.abs(found - expected) < 1e-6 * size + 1e-10), one


def test_slopes_in_blocks_of_steps_are_those_of_single_steps():
    """At the times that both have, from steps into blocks: values, too.

    A step inside a block is a kink there, which three nodes know to 5 %.
    """
    setting, plan, directions = case("blocks of steps")
    time = setting.equations.time
    single = Setting(
        dataclasses.replace(setting.equations, time=StepTime(time.clock, time.kind, False)),
        setting.problem,
        time.clock,
    )
    both = [curve_tangents(*one[:2], plan, 0, one.edges, directions) for one in (setting, single)]
    at = time.numbers(time.nodes(setting.edges))
    assert at.tolist() == [0, 1, 2, 3, *at[4:-1], 15]
    (value, slopes), (exact, exact_slopes) = both
    pairs = zip((value, *slopes), (exact, *exact_slopes), (1e-2, 1e-2, 1e-2, 0.1), strict=True)
    for blocks, steps, allowed in pairs:
        assert np.all(np.abs(blocks - steps[at]) < allowed * np.max(np.abs(steps), axis=0))


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
            assert np.max(error) < 0.04 * size


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
    start, h = dict(delta=0.5, sigma=0.1, alpha=0.6), 1e-4
    found = df.solve(TASK, df.DiagonalNetwork(0.6), 400.0, **SAME).derivatives(*start)
    moved = [start | {name: start[name] + by} for name in start for by in (h, -h)]
    delta, sigma, alpha = (np.array([one[name] for one in moved]) for name in start)
    ends = df.fixed_point(df.Task(delta, sigma, TASK.prior), df.DiagonalNetwork(alpha)).test_error
    for name, up, down in zip(start, ends[::2], ends[1::2], strict=True):
        value, error = found[name].test_error[-1], found[name].test_error_se[-1]
        slope = float(up - down) / (2 * h)
        assert abs(value - slope) < 4 * error, name
        assert error < 0.05 * abs(slope)


def test_many_problems_are_differentiated_together():
    """Those of a ready-made flow, in steps, whose times are the same: each as alone."""
    options = SAME | dict(trainer=df.GradientDescent(0.2))
    ridge, prior = df.models.ridge_flow(lam=0.2), df.Gaussian(1.0)
    found = df.solve(df.Task(np.array([0.5, 2.0]), 0.3, prior), ridge, 2.0, **options).derivative("delta")
    assert found.test_error.shape == (2, len(found.t))
    alone = df.solve(df.Task(2.0, 0.3, prior), ridge, 2.0, **options).derivative("delta")
    np.testing.assert_allclose(found.test_error[1], alone.test_error, rtol=1e-10)
    np.testing.assert_allclose(found.test_error_se[1], alone.test_error_se, rtol=1e-6, atol=1e-12)
    assert np.max(np.abs(found.test_error[0] - found.test_error[1])) > 0.1


def test_jax_differentiates_through_solve():
    options = dict(grid=[0.0, 0.3, 1.0], points=256, preview=True)
    numbers = (0.5, 0.5, 0.1)

    def curve(alpha, delta, sigma):
        task = df.Task(delta, sigma, df.Bernoulli(0.1))
        return df.solve(task, df.DiagonalNetwork(alpha), 1.0, **options).test_error

    plain = df.solve(TASK, df.DiagonalNetwork(0.5), 1.0, **options)
    known = plain.derivatives("alpha", "delta", "sigma")
    slopes = jax.jacfwd(curve, argnums=(0, 1, 2))(*numbers)
    for slope, one in zip(slopes, known.values(), strict=True):
        np.testing.assert_allclose(slope, one.test_error, rtol=1e-12, atol=1e-14)
    value, ends = jax.value_and_grad(lambda *x: curve(*x)[-1], argnums=(0, 1, 2))(*numbers)
    assert value == pytest.approx(plain.test_error[-1], rel=1e-14)
    assert ends == pytest.approx([float(slope[-1]) for slope in slopes], rel=1e-12)
    for wrong, words in (
        (lambda: jax.jit(curve)(*numbers), "jax.jit or jax.vmap"),
        (lambda: jax.vmap(lambda a: curve(a, 0.5, 0.1))(jnp.array([0.5, 0.6])), "give an array"),
        (lambda: jax.hessian(lambda a: curve(a, 0.5, 0.1)[-1])(0.5), "first derivatives only"),
        (lambda: plain.derivative("beta"), "one of delta, sigma, alpha, lam"),
    ):
        with pytest.raises(df.InputError, match=words):
            wrong()


def test_every_step_of_a_schedule_has_a_derivative():
    sizes = np.array([0.1, 0.2, 0.4])

    def end(steps):
        trainer = df.GradientDescent(steps, 0.5)  # with momentum, as the steps above
        return df.solve(TASK, NET, jnp.sum(steps), trainer=trainer, **SAME).test_error[-1]

    slopes = jax.grad(end)(sizes)
    derivative = df.solve(TASK, NET, sizes.sum(), trainer=df.GradientDescent(sizes, 0.5), **SAME).derivative(
        "step"
    )
    assert derivative.test_error.shape == (3, 4)
    np.testing.assert_allclose(slopes, derivative.test_error[:, -1], rtol=1e-10)
    assert np.all(derivative.test_error[1, :2] == 0)  # steps to come change nothing
    moved = np.eye(3)[1] * 1e-3
    expected = (end(sizes + moved) - end(sizes - moved)) / 2e-3
    # the two samples are turned a little differently: errors of sampling, not of the derivative
    assert slopes[1] == pytest.approx(float(expected), abs=4 * derivative.test_error_se[1, -1] + 1e-3 * 0.01)
    with pytest.raises(df.InputError, match="plain number"):
        jax.grad(lambda s: jnp.sum(df.simulate(TASK, NET, 1.0, d=9, trainer=df.GradientDescent(s)).w))(0.1)


def test_what_jumps_has_no_derivative_by_sampling(tmp_path):
    """An error that jumps; of training that jumps, `test_jumps.py` asks."""
    curves = df.solve(TASK, LOGISTIC, 2.0, **SAME)
    derivative = curves.derivatives("delta", "sigma", "lam")["lam"]
    assert derivative.curves == ["train_loss", "test_loss"]
    assert derivative.test_error is None
    derivative.save(tmp_path / "slope.nc")
    again = df.load(tmp_path / "slope.nc")
    assert again.parameter == "lam"
    np.testing.assert_array_equal(again.test_loss, derivative.test_loss)
    curves.save(tmp_path / "curves.nc")
    with pytest.raises(df.InputError, match="solve them again"):
        df.load(tmp_path / "curves.nc").derivative("lam")


@pytest.mark.parametrize("first", ["jax", "dynafield"])
def test_numbers_that_jax_makes_before_the_first_call_are_double(first):
    """jax.grad(f)(0.3) makes its argument before f is called."""
    imports = "import jax, dynafield as df" if first == "jax" else "import dynafield as df, jax"
    code = f"{imports}\nprint(jax.jvp(lambda a: 1 * a, (0.3,), (1.0,))[0].dtype)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "float64"
