"""General flows: closed forms, the specialized solver, two ways to the same answer, finite models."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df
from dynafield.numerics.spectra import MarchenkoPastur

SPARSE = df.Task(0.5, 0.1, df.Bernoulli(0.1))
LABELS = df.Task(2.0, 0.5, df.Gaussian(1.0))
CURVES = ("train_loss", "train_error", "test_loss", "test_error")


def agree(curves, t, other, errors, share=3.0, tol=0.0):
    """Distance of curves at t from other values, in units of both estimated errors, all below `share`."""
    at = curves.at(t)
    for name, value in other.items():
        error = np.hypot(getattr(at, f"{name}_se"), errors.get(name, 0.0)) + tol
        gap = np.abs(getattr(at, name) - value)
        assert np.all(gap <= share * error + 1e-12), (name, np.max(gap / error))


@pytest.fixture(scope="module")
def regression():
    """Linear regression: no weight decay, from zero."""
    return df.solve(SPARSE, df.models.ridge_flow(), 20.0, tol=2e-3)


def test_linear_regression_is_the_lazy_network(regression):
    """At α = 1 the tangent model of a network of depth 2 is linear regression: Marchenko–Pastur averages."""
    t = np.array([0.1, 0.5, 2.0, 8.0, 20.0])
    exact = df.theory.lazy_curves(SPARSE, df.DiagonalNetwork(1.0), t)
    values = {"train_error": exact.train_error, "test_error": exact.test_error}
    agree(regression, t, values, {})
    at = regression.at(t)
    for name, value in values.items():
        assert np.max(np.abs(getattr(at, name) - value)) < 2e-3 * 0.11
    np.testing.assert_allclose(regression.train_loss, regression.train_error / 2, rtol=1e-12)
    kernel = df.theory.lazy_curves(SPARSE, df.DiagonalNetwork(1.0), regression.t)
    assert np.max(np.abs(regression.C_ell - kernel.C_f)) < 1e-2 * 0.11
    overlap = 0.1 - regression.overlap * regression.norm * np.sqrt(0.1)  # E[w*(w* - w)] = ρ² ∫ e^{-xt}
    law = MarchenkoPastur(0.5)
    decay = [0.1 * law.average(lambda x, s=s: np.exp(-x * s)) for s in regression.t]
    assert np.max(np.abs(overlap - decay)) < 2e-3 * 0.11


@pytest.mark.slow
def test_ridge_regression_at_long_times():
    lam, law = 0.3, MarchenkoPastur(0.5)
    curves = df.solve(SPARSE, df.models.ridge_flow(lam), 40.0, tol=2e-3)
    bias = law.average(lambda x: (lam / (x + lam)) ** 2)
    variance = law.average(lambda x: x / (x + lam) ** 2)
    exact = 0.1 * bias + 0.01 / 0.5 * variance + 0.01
    assert curves.test_error[-1] == pytest.approx(exact, abs=2e-3 * 0.11)
    assert abs(curves.test_error[-1] - exact) < 3 * curves.test_error_se[-1]


@pytest.mark.parametrize(
    ("sides", "trainer"),
    [
        ("closed", df.GradientFlow()),
        pytest.param("sampled", df.GradientFlow(), marks=pytest.mark.slow),
        pytest.param("closed", df.HeavyBall(0.25, 0.5), marks=pytest.mark.slow),
        pytest.param("sampled", df.HeavyBall(0.25, 0.5), marks=pytest.mark.slow),
    ],
)
def test_diagonal_networks_agree_with_the_specialized_solver(sides, trainer):
    """The closed and the sampled side of the data, which is the heuristic form of the theory."""
    net = df.DiagonalNetwork(0.6, 0.05)
    tol, t = (1e-2, [0.5, 1.0, 2.0, 5.0]) if sides == "closed" else (5e-3, [0.5, 1.0, 2.0, 5.0, 10.0])
    special = df.solve(SPARSE, net, t[-1], tol=tol, trainer=trainer)
    flow = df.models.diagonal_flow(net, None if sides == "closed" else False)
    general = df.solve(SPARSE, flow, t[-1], tol=tol, trainer=trainer, seed=1)
    at = special.at(t)
    values = {name: getattr(at, name) for name in ("train_error", "test_error")}
    errors = {name: getattr(at, f"{name}_se") for name in values}
    agree(general, t, values, errors, share=4.0)  # bars of six replicas: beyond three in a few of a hundred
    for name, value in values.items():
        assert np.max(np.abs(getattr(general.at(t), name) - value)) < 2 * tol * 0.11


@pytest.mark.slow
def test_mini_batches_agree_with_their_closed_form():
    net, trainer = df.DiagonalNetwork(0.6), df.SGD(0.5, 0.4)
    special = df.solve(SPARSE, net, 10.0, tol=5e-3, trainer=trainer)
    general = df.solve(SPARSE, df.models.diagonal_flow(net), 10.0, tol=1e-2, trainer=trainer, seed=1)
    for name in ("train_error", "test_error"):
        gap = np.abs(getattr(general, name) - getattr(special, name))
        error = np.hypot(getattr(general, f"{name}_se"), getattr(special, f"{name}_se"))
        assert np.mean(gap <= 3 * error + 1e-12) > 0.9
        assert np.max(gap) < 1.5e-2 * 0.11


@pytest.mark.slow
def test_truncation_is_not_felt_inside_it():
    grid = [0, 0.5, 1.0, 1.5, 2.0]
    plain, cut = (
        df.solve(SPARSE, df.models.diagonal_flow(net), 2.0, tol=1e-2, grid=grid, points=512)
        for net in (df.DiagonalNetwork(0.5), df.models.TruncatedDiagonalNetwork(0.5, M=30.0))
    )
    np.testing.assert_allclose(cut.test_error, plain.test_error, rtol=1e-10)


@pytest.mark.slow
def test_truncation_that_is_felt_agrees_with_the_specialized_solver():
    tight, trainer = df.models.TruncatedDiagonalNetwork(0.5, M=0.6), df.GradientDescent(0.5)
    special = df.solve(SPARSE, tight, 8.0, tol=5e-3, trainer=trainer)
    general = df.solve(SPARSE, df.models.diagonal_flow(tight), 8.0, tol=5e-3, trainer=trainer, seed=1)
    loose = df.solve(SPARSE, df.DiagonalNetwork(0.5), 8.0, tol=5e-3, trainer=trainer)
    for name in ("train_error", "test_error"):
        gap = np.abs(getattr(general, name) - getattr(special, name))
        assert np.max(gap) < 1e-2 * 0.11
        assert np.max(np.abs(getattr(loose, name) - getattr(special, name))) > 2e-2 * 0.11


@pytest.mark.slow
def test_stein_and_differentiation_agree():
    """The response to the teacher by either way, for labels that can be differentiated."""

    def flow(differentiable):
        return df.Flow(
            w=lambda theta: theta,
            ell=lambda f, datum: jnp.tanh(f - jnp.tanh(datum.f_star) - datum.xi),
            p=lambda g, theta: -g,
            theta0=0.0,
            differentiable=differentiable,
        )

    trainer = df.GradientDescent(0.5)
    stein, slope = (
        df.solve(LABELS, flow(d), 5.0, tol=1e-2, trainer=trainer, points=4096) for d in (False, True)
    )
    for name in CURVES:
        gap = np.abs(getattr(stein, name) - getattr(slope, name))
        error = np.hypot(getattr(stein, f"{name}_se"), getattr(slope, f"{name}_se"))
        assert np.all(gap <= 4 * error + 1e-12), name
        assert np.max(gap) < 2e-3 * getattr(stein, name)[0]


@pytest.mark.slow
def test_labels_that_jump_need_no_sampled_data_if_the_loss_is_squared():
    """Least squares for labels sign(f* + ξ), with the data closed and sampled."""

    def flow(linear):
        return df.Flow(
            w=lambda theta: theta,
            ell=lambda f, datum: f - jnp.sign(datum.f_star + datum.xi),
            p=lambda g, theta: -g,
            theta0=0.0,
            error=lambda f, datum: 0.5 * (1.0 - jnp.sign(f * (datum.f_star + datum.xi))),
            linear=linear,
        )

    trainer = df.GradientDescent(0.25)
    closed, sampled = (
        df.solve(LABELS, flow(linear), 4.0, tol=5e-3, trainer=trainer, seed=seed)
        for seed, linear in enumerate((True, False))
    )
    for name in CURVES:
        gap = np.abs(getattr(closed, name) - getattr(sampled, name))
        error = np.hypot(getattr(closed, f"{name}_se"), getattr(sampled, f"{name}_se"))
        assert np.mean(gap <= 3 * error + 1e-12) > 0.9, name
        assert np.max(gap) < 1e-2 * getattr(closed, name)[0], name
    # E[y f*] = √(2/π) ρ²/√(ρ² + σ²) turns w towards the teacher in the first step
    first = 0.25 * np.sqrt(2 / np.pi / 1.25)
    assert closed.overlap[1] * closed.norm[1] == pytest.approx(first, rel=1e-3)
    assert closed.test_error[-1] < 0.35 < closed.test_error[0]


@pytest.mark.slow
def test_channels_do_not_mix_unless_told_to():
    """Two copies of linear regression, the second twice as fast."""
    pair = df.Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: f - datum.f_star - datum.xi,
        p=lambda g, theta: -g * jnp.array([1.0, 2.0]),
        theta0=[0.0, 0.0],
    )
    curves = df.solve(SPARSE, pair, 3.0, tol=5e-3, trainer=df.GradientDescent(0.15))
    assert curves.overlap.shape == (2, 21)
    assert curves.C_w.shape == (2, 21, 2, 21)
    slow = df.solve(SPARSE, df.models.ridge_flow(), 3.0, tol=5e-3, trainer=df.GradientDescent(0.15))
    fast = df.solve(SPARSE, df.models.ridge_flow(), 6.0, tol=5e-3, trainer=df.GradientDescent(0.3))
    for k, one in enumerate((slow, fast)):
        assert np.max(np.abs(curves.norm[k] - one.norm)) < 5e-3 * np.sqrt(0.1)
        assert np.max(np.abs(curves.overlap[k, 1:] - one.overlap[1:])) < 5e-3
    np.testing.assert_allclose(curves.train_error, slow.train_error + fast.train_error, atol=1e-2 * 0.22)


def test_functions_of_time(regression):
    """A rate 1/(1 + t) is linear regression in the time log(1 + t)."""
    flow = df.Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: f - datum.f_star - datum.xi,
        p=lambda g, theta, t: -g / (1.0 + t),
        theta0=0.0,
    )
    curves = df.solve(SPARSE, flow, 20.0, tol=1e-2, seed=3)
    t = np.array([0.5, 2.0, 8.0, 20.0])
    same = regression.at(np.log1p(t))
    values = {name: getattr(same, name) for name in ("train_error", "test_error")}
    agree(curves, t, values, {name: getattr(same, f"{name}_se") for name in values}, share=4.0)


def test_no_teacher_and_a_random_start():
    """Nothing but noise to fit: w from N(0, 1), closed form by Marchenko–Pastur averages."""
    task, law = df.Task(2.0, 0.5, df.Discrete([0.0], [1.0])), MarchenkoPastur(2.0)
    curves = df.solve(task, df.models.ridge_flow(theta0=df.Gaussian(1.0)), 4.0, tol=5e-3)
    t = np.array([0.0, 0.5, 1.0, 4.0])
    start = np.array([law.average(lambda x, s=s: np.exp(-2 * x * s)) for s in t])
    noise = np.array([law.average(lambda x, s=s: (1 - np.exp(-x * s)) ** 2 / x) for s in t])
    exact = start + 0.25 / 2.0 * noise + 0.25
    assert np.max(np.abs(curves.at(t).test_error - exact)) < 5e-3 * 1.25
    agree(curves, t, {"test_error": exact}, {}, tol=1e-4)
    assert np.all(curves.overlap == 0)


@pytest.mark.slow
def test_a_flow_that_blows_up_says_when():
    flow = df.Flow(
        w=lambda theta: theta, ell=lambda f, datum: f - datum.f_star, p=lambda g, theta: theta**2, theta0=1.0
    )
    early = df.solve(SPARSE, flow, 3.0, tol=1e-2, points=64, throw=False)
    assert re.search(r"beyond t=(0\.9|1)", early.status)
    assert not early.complete
    assert 0.5 < early.t[-1] < 1.01
    trainer = df.GradientDescent(0.1)
    with pytest.raises(df.SolveError, match=r"blew up in step 1[0-9] "):
        df.solve(SPARSE, flow, 3.0, tol=1e-2, trainer=trainer)
    with pytest.raises(df.SolveError, match=r"could not be followed beyond|diverged"):
        df.simulate(SPARSE, flow, 3.0, d=50, runs=1)


@pytest.fixture(scope="module")
def logistic():
    """Fifteen steps of logistic regression, in theory and in finite models."""
    trainer = df.GradientDescent(1.0)
    return df.compare(LABELS, df.models.logistic_flow(0.05), 15.0, d=400, runs=8, tol=1e-2, trainer=trainer)


def test_logistic_regression_in_finite_models(logistic):
    """Within 4 standard errors and a bias of order 1/d."""
    for name in CURVES:
        gap, error = logistic.difference(name), logistic.standard_error(name)
        assert np.all(np.abs(gap) < 4 * error + 2.0 * logistic.runs.mean(name)[0] / 400), name
    at = logistic.curves.overlap[np.round(logistic.t).astype(int)]
    spread = 4 * np.std(logistic.runs.overlap, axis=0) / np.sqrt(8) + 2 / 400
    assert np.all(np.abs(np.mean(logistic.runs.overlap, axis=0) - at) < spread)


def test_observables_and_laws(logistic):
    curves = logistic.curves
    t = curves.t[-1]
    square, error = curves.observable(lambda theta, w_star: theta**2, t)
    assert abs(square - curves.norm[-1] ** 2) < 4 * error + 1e-3
    loss, error = curves.data_observable(
        lambda f, datum: jnp.where(f * (datum.f_star + datum.xi) > 0, 0.0, 1.0), t
    )
    assert abs(loss - curves.train_error[-1]) < 4 * error + 1e-3
    theta, w_star = curves.law(t).sample(4000, seed=1)
    cosine = np.mean(theta * w_star) / np.sqrt(np.mean(theta**2) * np.mean(w_star**2))
    assert cosine == pytest.approx(curves.overlap[-1], abs=4 / np.sqrt(4000))
    f, datum = curves.data_law(t).sample(4000, seed=1)
    assert np.std(datum.f_star) == pytest.approx(1.0, abs=4 / np.sqrt(8000))
    assert f.shape == (4000,)


def test_results_are_saved_and_drawn(logistic, tmp_path):
    for result in (logistic.curves, logistic.runs):
        again = df.load(result.save(tmp_path / "flow.nc"))
        assert type(again) is type(result)
        assert again.net.name == "logistic regression, λ=0.05"
        np.testing.assert_array_equal(again.test_error, result.test_error)
        np.testing.assert_array_equal(again.overlap, result.overlap)
        assert again.trainer == result.trainer
        assert "logistic regression" in repr(again)
        ax = result.plot()
        assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["test", "train"]
        assert "logistic regression, λ=0.05" in ax.figure.get_suptitle().replace("\n", " ")
    left, right = logistic.plot().figure.axes
    assert (left.get_xlabel(), right.get_ylabel()) == ("training time t", "test error")
    assert (len(left.containers), len(right.containers)) == (4, 1)  # networks: both errors, and their key
    with pytest.raises(df.InputError, match="multiple of the step"):
        logistic.curves.at(0.3)


def test_numbers_of_a_flow_may_be_arrays(tmp_path):
    """Several δ and λ at once are what each is alone, in files too; every datum kept has its f."""
    task, lam = df.Task([[0.8], [2.0]], 0.5, df.Bernoulli(0.3)), np.array([0.05, 0.2, 0.8])
    several = df.solve(task, df.models.logistic_flow(lam), 2.0, tol=2e-2, preview=True)
    assert several.test_loss.shape == (2, 3, len(several.t))
    assert np.shape(several.f) == (*np.shape(several.f_star), len(several.t))
    one = df.Task(2.0, 0.5, task.prior), df.models.logistic_flow(0.2)
    alone = df.solve(*one, 2.0, tol=2e-2, grid=several.edges, preview=True)
    gap = np.abs(several.test_loss[1, 1] - alone.test_loss)
    assert np.all(gap < 3 * np.hypot(several.test_loss_se[1, 1], alone.test_loss_se) + 1e-12)
    again = df.load(several.save(tmp_path / "several.nc"))
    np.testing.assert_array_equal(again.train_loss, several.train_loss)
    assert again.net.numbers()["lam"].shape == (3,)
    assert several[1, 1].law(1.0).theta.ndim == 1
    last, error = several[1, 1].data_observable(one[1].loss, 2.0)
    assert abs(last - several.train_loss[1, 1, -1]) < 4 * error


def test_an_error_that_jumps_at_the_start_is_not_smeared(logistic_flow):
    """With f(0) = 0 half of the signs are wrong at t = 0, and many fewer right after."""
    t = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 1.5])
    error, bars = logistic_flow.at(t).test_error, logistic_flow.at(t).test_error_se
    assert error[0] == 0.5
    assert error[1] < 0.3
    assert np.all(np.diff(error) <= 2 * bars[1:])  # it falls slowly, as far as signs of sampled data can tell
    # right after the start w is along the gradient of t = 0, E[w*]δ + noise: cosine in closed form
    delta, noise = 2.0, 0.5
    slope = np.sqrt(2 / np.pi) / np.sqrt(1 + noise**2)  # E[y f*] by 1/ρ²
    cosine = slope / np.sqrt(slope**2 + 1 / delta) / np.sqrt(1 + noise**2)
    assert error[1] == pytest.approx(
        np.arccos(cosine) / np.pi, abs=4 * logistic_flow.at(1e-3).test_error_se[0]
    )


@pytest.fixture(scope="module")
def logistic_flow():
    """Gradient flow of logistic regression."""
    return df.solve(df.Task(2.0, 0.5, df.Gaussian(1.0)), df.models.logistic_flow(0.01), 12.0, tol=1e-2)


def test_stages_of_a_flow_are_measured(logistic_flow):
    """The fall of the loss, and the best stops; closed forms are of diagonal networks only."""
    found = df.phases(logistic_flow)
    assert [stage.name for stage in found] == ["crossover"]
    first, last = logistic_flow.train_loss[[0, -1]]
    half = logistic_flow.at(found["half_time"].value).train_loss[0]
    assert half == pytest.approx(0.5 * (first + last), rel=1e-3)
    assert found["best_test_loss"].value == pytest.approx(np.min(logistic_flow.test_loss), abs=2e-3)
    assert found["best_stop_loss"].low < 9.08 < found["best_stop_loss"].high  # tol = 1e-3
    assert logistic_flow.phases().plot().get_title().startswith("between the limits: Gaussian(std=1.0)")
    assert df.phases(SPARSE, df.models.logistic_flow())[0].label == "eq:flow_general"
    assert df.phases(SPARSE, df.models.diagonal_flow(df.DiagonalNetwork(10.0, 0.2)))[0].name == "lazy"


def test_a_direction_dropped_before_may_come_back():
    """Clipped residuals on sparse targets: what was dropped grows beside what is left, and is kept then."""
    both = df.compare(SPARSE, df.models.huber_flow(0.1), 3.0, d=400, runs=6, tol=2e-2, t_eval=[0.3, 1.0, 3.0])
    assert both.curves.status == "finished"
    for name in CURVES:
        gap, error = both.difference(name), both.standard_error(name)
        assert np.all(np.abs(gap) < 4 * error + 2.0 * both.curves.at(0.0).test_error[0] / 400), name


FINITE = {
    "ridge": (SPARSE, df.models.ridge_flow(0.1), df.GradientFlow(), 10.0),
    "logistic": (LABELS, df.models.logistic_flow(0.1), df.GradientFlow(), 10.0),
    "logistic heavy": (LABELS, df.models.logistic_flow(0.1), df.HeavyBall(0.25, 0.8), 10.0),
    "logistic batches": (LABELS, df.models.logistic_flow(0.1), df.SGD(0.5, 0.3), 10.0),
    "huber": (LABELS, df.models.huber_flow(1.0, 0.1, df.GaussBernoulli(0.1, 5.0)), df.GradientFlow(), 10.0),
    "phase retrieval": (
        df.Task(4.0, 0.0, df.Gaussian(1.0)),
        df.models.phase_retrieval_flow(0.5),
        df.GradientFlow(),
        5.0,
    ),
    "depth 3": (SPARSE, df.models.diagonal_flow(df.DiagonalNetwork(0.5, 0.05, 3)), df.GradientFlow(), 10.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("inputs", ["gaussian", "binary"])
@pytest.mark.parametrize("name", FINITE)
def test_finite_models_of_growing_dimension(name, inputs):
    """Means within 4 standard errors and a bias that shrinks like 1/d; binary inputs give the same curves.

    Eight runs hardly tell their spread: that of 24 smaller ones does, which shrinks like d^(-1/2).
    """
    task, flow, trainer, t_max = FINITE[name]
    times = np.array([0.5, 1.0, 2.0, 5.0, 10.0])
    times = times[times <= t_max]
    curves = df.solve(task, flow, t_max, tol=3e-3, trainer=trainer)
    spread = {}
    for d, seeds in ((200, 24), (600, 8)):
        runs = df.simulate(task, flow, t_max, d=d, runs=seeds, t_eval=times, trainer=trainer, inputs=inputs)
        for curve in CURVES:
            spread.setdefault(curve, runs.standard_deviation(curve))
            gap = runs.mean(curve) - getattr(curves.at(times), curve)
            error = spread[curve] * np.sqrt(200 / d / seeds)
            error = np.hypot(error, getattr(curves.at(times), f"{curve}_se"))
            assert np.all(np.abs(gap) < 4 * error + 4 * getattr(curves, curve)[0] / d), (d, curve)


def test_a_network_trained_on_another_loss():
    """The logistic loss on a diagonal network: theory and finite networks, ten steps."""
    task, net = df.Task(2.0, 0.3, df.Bernoulli(0.2)), df.DiagonalNetwork(0.6)
    flow = df.models.diagonal_flow(net, loss=df.models.logistic_flow())
    trainer = df.GradientDescent(0.5)
    curves = df.solve(task, flow, 5.0, tol=2e-2, trainer=trainer)
    runs = df.simulate(task, flow, 5.0, d=300, runs=8, t_eval=[5.0], trainer=trainer)
    gap = curves.at([5.0]).test_loss[0] - runs.mean("test_loss")[0]
    assert abs(gap) < 4 * np.hypot(runs.standard_error("test_loss")[0], curves.at([5.0]).test_loss_se[0])
    with pytest.raises(df.InputError, match="loss must be a model with one channel"):
        df.models.diagonal_flow(net, loss="logistic")
