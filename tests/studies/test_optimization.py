"""The best training: against dense sweeps, other ways to find it, and finite networks."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli.main import app
from dynafield.records import files
from dynafield.studies.optimization import RANGES
from dynafield.studies.searches import Search, Seen, searched

NOISY = df.Task(0.5, 0.3, df.Bernoulli(0.1))
NET = df.DiagonalNetwork(1.0)


@pytest.fixture(scope="module")
def end():
    """The best α in the limit of training."""
    return df.optimize(NOISY, NET)


def test_the_best_alpha_is_not_the_smallest_one(end):
    """δ = .5, σ = .3: the counterexample to `smaller α generalizes better`."""
    found = end
    alphas = found.best["alpha"] + np.linspace(-0.032, 0.031, 64)
    swept = df.fixed_point(NOISY, df.DiagonalNetwork(alphas)).test_error
    assert found.best["alpha"] == pytest.approx(alphas[np.argmin(swept)], abs=1e-3)
    assert found.value == pytest.approx(swept.min(), rel=1e-6)
    assert found.value < df.fixed_point(NOISY, df.DiagonalNetwork(0.02)).test_error - 0.02
    assert found.boundary[0] == ""
    beside = found.best["alpha"] * np.exp([-0.02, 0.0, 0.02])
    near = df.fixed_point(NOISY, df.DiagonalNetwork(beside)).test_error
    assert found.curvature[0, 0] == pytest.approx((near[0] - 2 * near[1] + near[2]) / 0.02**2, rel=1e-3)
    assert found.network().alpha == found.best["alpha"]


def test_optima_of_many_tasks_and_their_boundary(tmp_path):
    """Without noise smaller is better; with much of it there is a best α, which grows with the noise."""
    task = df.Task(0.5, np.array([0.0, 0.2, 0.5]), df.Bernoulli(0.1))
    found = df.optimize(task, NET)
    assert found.boundary[:, 0].tolist() == ["lower", "", ""]
    assert np.all(np.diff(found.best["alpha"]) > 0)
    found.save(tmp_path / "best.nc")
    again = df.load(tmp_path / "best.nc")
    assert again.over == ("alpha",)
    np.testing.assert_array_equal(again.best["alpha"], found.best["alpha"])
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"label noise $\sigma$", "best α")
    inside = ax.lines[1].get_ydata()
    np.testing.assert_array_equal(inside, found.best["alpha"][1:])
    assert "δ = 0.5, λ = 0, depth 2" in ax.get_title().replace("\n", " ")


@pytest.mark.parametrize("delta", [0.2, 0.5])
def test_the_linear_model_is_best_for_targets_with_light_tails(delta):
    """E w*⁴ against 3 (E w*²)²: Bernoulli(p) changes at p = 1/3, whatever δ and σ."""
    for share, end in ((0.32, ""), (0.35, "upper")):
        found = df.optimize(df.Task(delta, 0.3, df.Bernoulli(share)), NET)
        assert found.boundary[0] == end, share


def test_every_scale_is_as_good_with_more_data_than_dimensions():
    """δ > 1, λ = 0: least squares, whatever α."""
    found = df.optimize(df.Task(2.0, 0.3, df.Bernoulli(0.1)), NET)
    assert found.boundary[0] == "any"
    assert found.value == pytest.approx(0.09 * 2.0, rel=1e-6)
    assert np.isinf(found.place_se[0])
    assert "all are equally good" in str(found)


def test_tasks_over_two_axes_are_drawn_as_a_map():
    delta, sigma = np.linspace(0.3, 0.9, 5)[:, None], np.linspace(0.0, 0.4, 5)[None]
    found = df.optimize(df.Task(delta, sigma, df.Bernoulli(0.1)), NET, "lam")
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "label noise $\\sigma$",
        "samples per dimension $\\delta = n/d$",
    )
    drawn = np.concatenate([mesh.get_array().compressed() for mesh in ax.collections])
    assert np.sort(drawn[drawn != 1.0]) == pytest.approx(
        np.sort(found.best["lam"][found.boundary[..., 0] == ""])
    )
    assert len(drawn) == 25


def test_the_best_weight_decay_at_the_end():
    found = df.optimize(NOISY, NET, "lam")
    lams = np.geomspace(0.1, 2.0, 400)
    swept = df.fixed_point(NOISY, df.DiagonalNetwork(1.0, lams)).test_error
    assert found.best["lam"] == pytest.approx(lams[np.argmin(swept)], rel=0.01)
    assert found.value <= swept.min() * (1 + 1e-8)


CURVES = dict(t_max=1.0, tol=5e-2)
"""How curves are solved: a single one has error bars far below its tolerance, which bounds six replicas."""


@pytest.fixture(scope="module")
def swept():
    """Curves of nine α, of other random points than those of any search."""
    return df.solve(NOISY, df.DiagonalNetwork(np.geomspace(0.4, 1.2, 9)), **CURVES, seed=1)


@pytest.fixture(scope="module")
def at_time():
    """The best α for the last time."""
    return df.optimize(NOISY, NET, "alpha", "time", bounds={"alpha": (0.4, 1.2)}, **CURVES)


def test_the_best_scale_at_a_time_and_at_its_best_stop(swept, at_time):
    """Against a dense sweep of curves."""
    alphas = np.ravel(swept.net.alpha)
    last, error = swept.test_error[:, -1], np.max(swept.test_error_se[:, -1])
    assert abs(at_time.value - last.min()) < 3 * (at_time.value_se + error)
    allowed = alphas[last < last.min() + 4 * (at_time.value_se + error)]
    assert allowed.min() <= at_time.best["alpha"] <= allowed.max()
    assert at_time.boundary[0] == ""
    stop = df.optimize(NOISY, NET, "alpha", "best_stop", bounds={"alpha": (0.8, 1.2)}, **CURVES)
    within = swept.test_error[alphas > 0.79]
    assert abs(stop.value - within.min()) < 3 * (stop.value_se + error)
    assert stop.value <= within[:, -1].min() + 2 * error
    assert 0 < stop.best["t"] < 1.0
    ax = stop.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("α", "test error at its best stop")
    assert ax.lines[-1].get_xydata().tolist() == [[stop.best["alpha"], stop.value]]


def test_the_time_to_reach_an_error_and_a_function_of_the_record(swept, at_time):
    options = dict(bounds={"alpha": (0.4, 1.2)}, **CURVES)
    level = 0.178
    found = df.optimize(NOISY, NET, "alpha", "reach", error=level, **options)
    reached = df.solve(NOISY, found.network(), **CURVES, seed=1).at(found.value)
    assert abs(reached.test_error[0] - level) < 6 * reached.test_error_se[0]  # sqrt(2) of four errors
    t = np.linspace(0.0, 1.0, 1001)
    first = [t[np.argmax(one <= level)] for one in swept.at(t).test_error if np.any(one <= level)]
    assert found.value < np.min(first) + 4 * found.value_se
    own = df.optimize(NOISY, NET, "alpha", lambda curves: curves.test_error[-1], **options)
    assert own.value == pytest.approx(at_time.value, abs=3 * at_time.value_se)
    assert np.isnan(own.value_se)


def test_error_bars_of_the_best_place():
    """A bowl whose slopes are off by noise of known size: the place found is off as much as it says."""
    bend, best = np.array([[3.0, 1.0], [1.0, 0.5]]), np.array([0.3, -0.4])
    rng, size, ends = np.random.default_rng(0), np.array([0.02, 0.01]), np.array([2.0, 2.0])
    scores = []
    for _ in range(60):
        noise = size * rng.standard_normal(2)

        def value(x, noise=noise):
            return 1.0 + 0.5 * np.einsum("...a,ab,...b", x - best, bend, x - best) + x @ noise

        def see(x, noise=noise, value=value):
            return Seen(value(x), 1e-3, bend @ (x - best) + noise, size)

        found = searched(Search(see, value, -ends, ends))
        assert found.curvature == pytest.approx(bend, rel=1e-6)
        scores.append((found.point - best) / found.errors)
    assert 0.75 < np.std(scores) < 1.3
    assert np.max(np.abs(scores)) < 4


@pytest.mark.parametrize("edge", [0.02, 0.1])
def test_the_best_place_is_found_beside_an_edge_where_training_blows_up(edge):
    """Steps are best not far below the size at which they blow up: a search that jumps across comes back.

    Values scatter by less than their error bar, which ends a search whose moves have become tiny.
    """

    def value(x):
        bowl = 0.002 * np.cosh(3 * x[..., 0]) + 1e-5 * (np.floor(1e5 * x[..., 0]) % 2)
        return np.where(x[..., 0] > edge, np.inf, bowl)

    def see(x):
        return Seen(float(value(x)), 3e-5, 0.006 * np.sinh(3 * x), np.full(1, 3e-5))

    found = searched(Search(see, value, np.array([-1.4]), np.array([1.0])))
    assert abs(found.point[0]) < 0.1  # there the bowl is higher by 9e-5
    assert found.seen.value < 0.002 + 6e-5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(over=("alpha", "lam")), "alone"),
        (dict(over=("alpha", "step"), trainer=df.GradientDescent(0.5)), "alone"),
        (
            dict(over="step", objective="reach", t_max=1.0, error=0.1, trainer=df.GradientDescent(0.5)),
            "counted",
        ),
        (dict(over="beta"), "over must name some of alpha, lam"),
        (dict(objective="least"), "one of end, time"),
        (dict(objective="time"), "t_max must be given"),
        (dict(objective="reach", t_max=1.0), "error must be given"),
        (dict(bounds={"alpha": (2.0, 1.0)}), "increasing"),
        (dict(objective="reach", error=1e-6, bounds={"alpha": (0.4, 1.2)}, t_max=0.1, tol=5e-2), "no finite"),
    ],
)
def test_refusals(options, words):
    with pytest.raises((df.InputError, df.SolveError), match=words):
        df.optimize(NOISY, NET, **options)


def test_the_command_line(end):
    ran = CliRunner().invoke(app, ["optimize", "--sigma", "0.3", "--alpha", "1", "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)["result"]
    assert told["place"][0] == pytest.approx(end.best["alpha"], rel=1e-6)
    table = CliRunner().invoke(app, ["optimize", "--sigma", "0,0.3", "--over", "lam"])
    assert "best_lam" in table.stdout
    assert "lower" in table.stdout


def test_a_study_of_best_scales(end, tmp_path):
    """One row per task, beside the axes; an end of the range is told."""
    study = {
        "task": {"delta": [0.5, 2.0], "sigma": [0.0, 0.3], "prior": "bernoulli:0.1"},
        "network": {"alpha": 1.0},
        "best_alpha": {},
    }
    data = df.sweep(df.studies.Study.make(study), tmp_path, progress=False)
    lazy = df.optimize(df.Task(2.0, np.array([0.0, 0.3]), df.Bernoulli(0.1)), NET)
    low, _ = RANGES["alpha"]
    assert data["best_alpha"].values.ravel() == pytest.approx(
        [low, end.best["alpha"], *lazy.best["alpha"]], rel=1e-9
    )
    smallest = df.fixed_point(df.Task(0.5, 0.0, df.Bernoulli(0.1)), df.DiagonalNetwork(low)).test_error
    assert data["best_alpha_test_error"].values.ravel() == pytest.approx(
        [smallest, end.value, *lazy.value], rel=1e-9
    )
    assert data["best_alpha_boundary"].values.ravel().tolist() == ["lower", "", "any", "any"]
    names = {"best_alpha", "best_alpha_boundary", "best_alpha_test_error", "best_alpha_error"}
    assert set(data.data_vars) == names
    for path in (tmp_path / "batches").glob("*.nc"):  # as written before the variables were renamed
        batch = files.read(path).rename(
            {"best_alpha": "best_alpha_best_alpha", "best_alpha_test_error": "best_alpha_best_test_error"}
        )
        files.write(batch, "Batch", path)
    xr.testing.assert_identical(df.sweep(df.studies.Study.make(study), tmp_path, progress=False), data)


def test_a_schedule_found_by_derivatives_beats_constant_steps_in_networks():
    """Twelve steps from α = .1; L-BFGS-B on four knots has found this schedule (docs/best_training.md)."""
    task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.1)
    knots = np.log([1.442, 1.428, 1.543, 1.113])
    best = np.exp(np.interp(np.linspace(0, 1, 12), np.linspace(0, 1, 4), knots))

    def trained(steps):
        options = dict(trainer=df.GradientDescent(steps), t_eval=[float(np.sum(steps))])
        return df.simulate(task, net, float(np.sum(steps)), d=800, runs=64, **options).test_error[:, -1]

    ours = trained(best)
    for step in (1.25, 1.35, 1.45):  # 1.35 is the best by theory; from 1.9 on training blows up
        gain = trained(np.full(12, step)) - ours  # on the same data
        assert np.mean(gain) > 3 * np.std(gain, ddof=1) / np.sqrt(len(gain)), step


def test_a_decay_schedule_beats_constant_decay_in_networks():
    """`optimize` has found knots .097, .010, .695 for α = .3, t = 10 (docs/best_training.md)."""
    knots = jnp.array([0.097, 0.010, 0.695])

    def p(g, theta, t):
        return -theta * (jnp.array([g, -g]) + jnp.interp(t, jnp.array([0.0, 5.0, 10.0]), knots)) / 2

    flow = df.Flow(
        lambda theta: (theta[0] ** 2 - theta[1] ** 2) / 2,
        lambda f, datum: f - datum.f_star - datum.xi,
        p,
        theta0=[0.3, 0.3],
    )

    def trained(net):
        return df.simulate(NOISY, net, 10.0, d=200, runs=32, t_eval=[10.0]).test_error[..., -1]

    constant = trained(df.DiagonalNetwork(0.3, np.array([0.3, 0.42, 0.55])))  # .42 is the best by theory
    gain = constant - trained(flow)  # on the same data
    assert np.all(np.mean(gain, axis=-1) > 3 * np.std(gain, axis=-1, ddof=1) / np.sqrt(32))


@pytest.mark.parametrize("trainer", [df.GradientDescent(1.0), df.HeavyBall(1.0, 0.3)])
def test_the_best_step_for_a_number_of_steps(trainer):
    """Six steps of every size; large ones blow up, which is no reason to stop looking."""
    task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.3)
    options = dict(t_max=6.0, tol=1e-2, bounds={"step": (0.4, 4.0)})
    found = df.optimize(task, net, "step", "time", trainer=trainer, **options)
    best, errors = found.best["step"], {}
    for size in best * np.array([0.9, 1.0, 1.1]):
        curve = df.solve(task, net, 6 * size, tol=5e-3, trainer=trainer.with_step(float(size)))
        errors[size] = curve.test_error[-1]
    assert min(errors, key=errors.get) == best
    assert found.value == pytest.approx(errors[best], abs=3 * found.value_se)
    assert np.isinf(found.scan_value).any()
