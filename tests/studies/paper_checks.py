"""Each experiment's data against the engines that made them, called here in their own words."""

import numpy as np

import dynafield as df
from dynafield.studies.paper.setting import TASK, gene_inputs

NET = df.DiagonalNetwork
TIGHT = dict(rtol=1e-12, atol=1e-14)


def curves(data, which, tol, rtol=None, d=None, inputs="gaussian", infinite=True):
    """Some of the curves: networks by `simulate`, the infinite one by `solve`."""
    for k in which:
        task = df.Task(float(data["delta"][k]), TASK.sigma, TASK.prior)
        net, t = NET(float(data["alpha"][k]), float(data["lam"][k])), data["t"].values[k]
        d, seeds = data.attrs["d"] if d is None else d, data.sizes["run"]
        runs = df.simulate(task, net, t[-1], d=d, seeds=seeds, t_eval=t, inputs=inputs, progress=False)
        for name in ("train_error", "test_error"):
            np.testing.assert_allclose(data[name].values[k], getattr(runs, name), **TIGHT)
        if infinite:
            found = df.solve(task, net, t[-1], tol=tol, rtol=rtol, progress=False).at(t)
            for name in ("train_error", "test_error", "train_error_se", "test_error_se"):
                kept = name.replace("_error", "_error_theory")
                np.testing.assert_allclose(data[kept].values[k], getattr(found, name), **TIGHT)


def large_init(data, scale):
    curves(data, [0], 3e-3)
    lazy = df.lazy_curves(TASK, NET(1.0), data["lazy_time"].values)
    np.testing.assert_allclose(data["lazy_train_error"], lazy.train_error, rtol=1e-10)
    np.testing.assert_allclose(data["lazy_test_error"], lazy.test_error, rtol=1e-10)
    assert float(data["end"]) == df.fixed_point(TASK, NET(1.0, 0.2)).test_error
    stages = df.phases(TASK, NET(scale.large[1], 0.2)).stages
    assert data["stage"].values.tolist() == [s.name for s in stages]
    assert data["stage_start"].values.tolist() == [s.start for s in stages]


def rates(data, scale):
    curves(data, [3], scale.tol, rtol=0.1)
    curves(data, [7], scale.tol)
    for k in (0, 5):
        task = df.Task(float(data["delta"][k]), TASK.sigma, TASK.prior)
        alpha = float(data["alpha"][k])
        assert float(data["gamma"][k]) == df.convergence_rate(task, NET(alpha)).gamma
        d = int(data["dimension"][0])
        drawn = df.training_data(task, d, run=2)
        w = df.minimizer(drawn.X, drawn.y, NET(alpha)).w
        K = np.diag(np.sqrt(w**2 + alpha**4))
        # the flow near its end: d/dt of the error of w is -K XᵀX/δ times it
        matrix = K @ drawn.X.T @ drawn.X * d / len(drawn.y)
        values = np.sort(np.linalg.eigvals(matrix).real)
        slowest = values[0] if task.delta > 1 else values[d - len(drawn.y)]
        np.testing.assert_allclose(data["local_rate"].values[k, 0, 2], slowest, rtol=1e-6)


def fixed_points(data, scale):
    alphas = data["alpha"].values
    runs = df.simulate(
        TASK, NET(alphas), 1000.0, d=scale.d, seeds=scale.seeds, t_eval=[1000.0], progress=False
    )
    np.testing.assert_allclose(data["test_error"], runs.test_error[..., -1], **TIGHT)
    np.testing.assert_allclose(data["train_error"], runs.train_error[..., -1], **TIGHT)
    point = df.fixed_point(TASK, NET(alphas))
    np.testing.assert_array_equal(data["test_error_expected"], point.test_error)
    drawn = df.training_data(TASK, 200, gene_inputs("luad"), run=1)
    w = df.minimizer(drawn.X, drawn.y, NET(1.0)).w
    k = int(np.argmin(np.abs(alphas - 1.0)))
    if alphas[k] == 1.0:
        expected = np.mean((w - drawn.w_star) ** 2) + TASK.sigma**2
        np.testing.assert_allclose(data["real_minimizer_test_error"].values[k, 1], expected, rtol=1e-9)
    shown = df.fixed_point(TASK, NET(float(data["shown_alpha"])))
    np.testing.assert_allclose(data["density"], shown.density(data["w"].values))


def over_delta(data, scale, net):
    k = 1
    task = df.Task(float(data["delta"][k]), TASK.sigma, TASK.prior)
    runs = df.simulate(task, net, 1000.0, d=scale.d, seeds=scale.seeds, t_eval=[1000.0], progress=False)
    np.testing.assert_allclose(data["test_error"].values[k], runs.test_error[:, -1], **TIGHT)
    np.testing.assert_allclose(data["train_error"].values[k], runs.train_error[:, -1], **TIGHT)
    point = df.fixed_point(task, net)
    assert float(data["chi_w"][k]) == np.float64(point.chi_w)
    np.testing.assert_allclose(float(data["test_error_expected"][k]), point.test_error, rtol=1e-12)
    shown = df.Task(data.attrs["shown_delta"], TASK.sigma, TASK.prior)
    np.testing.assert_allclose(data["cdf"], df.fixed_point(shown, net).cdf(data["w"].values))
    drawn = df.training_data(shown, scale.d, run=2)
    np.testing.assert_allclose(
        data["minimizer_weights"].values[2], df.minimizer(drawn.X, drawn.y, net).w, rtol=1e-9, atol=1e-12
    )


def rates_theory(data, scale):
    for k, delta in enumerate((2.0, 0.5)):
        rate = df.convergence_rate(df.Task(delta, TASK.sigma, TASK.prior), NET(float(data["alpha"][120])))
        for name in ("gamma", "dgamma_dalpha", "dgamma_dalpha_fixed_law", "large_alpha"):
            np.testing.assert_allclose(float(data[name][k, 120]), getattr(rate, name), rtol=1e-9)


def dynamics(data, scale):
    curves(data, [2, 8], scale.tol)


def small_init(data, scale):
    curves(data, [0], scale.tol)
    t = np.linspace(0.0, 150.0, 601)
    seeds = data.sizes["run_of_rule"]
    runs = df.simulate(TASK, NET(1e-3), 150.0, d=1000, seeds=seeds, t_eval=t, weights=True, progress=False)
    false = runs.w_star == 0
    active = np.any(np.abs(runs.weights) >= 0.5, axis=1)
    shares = [np.mean(active[run][false[run]]) for run in range(seeds)]
    np.testing.assert_allclose(data["active"].sel(rule="truth"), shares)


def small_decay(data, scale):
    curves(data, [0, 1], scale.tol)


def universality(data, scale):
    runs = df.simulate(
        TASK, NET(data["alpha"].values), 1000.0, d=scale.d, seeds=scale.seeds, t_eval=[1000.0],
        inputs="binary", progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(data["test_error"], runs.test_error[..., -1], **TIGHT)
    names = ("train_error", "test_error", "alpha", "delta", "lam")
    own = data.drop_vars(["alpha", "train_error", "test_error"]).rename({f"curve_{n}": n for n in names})
    curves(
        own.rename(run="r", run_of_curve="run"), [2], scale.tol, d=scale.d, inputs="binary", infinite=False
    )


def rates_real(data, scale):
    curves(data, [1], scale.tol, d=200, inputs=gene_inputs("luad"), infinite=False)
    drawn = df.training_data(TASK, 200, gene_inputs("luad"), run=0)
    values = np.linalg.svd(drawn.X, compute_uv=False) ** 2 / TASK.delta
    np.testing.assert_allclose(data["eigenvalues"].values[0], np.sort(values))
    mass = np.trapezoid(data["marchenko_pastur"], data["eigenvalue"])
    assert abs(mass - 1) < 2e-3, "401 points, with roots at both ends"


def paths(data, scale):
    assert data["distance"].shape == (len(scale.dimensions), scale.seeds)
    assert np.all(data["distance"] > 0)


def gene_histogram(data, scale):
    features = df.datasets.whiten(df.datasets.tcga_luad().X)
    inside = np.abs(features) < 6
    width = float(data["feature_value"][1] - data["feature_value"][0])
    np.testing.assert_allclose(float(data["density"].sum()) * width, np.mean(inside), rtol=1e-12)
    np.testing.assert_allclose(float(data["kurtosis"]), np.mean(features**4), rtol=1e-12)


CHECKS = {
    "large-init": large_init,
    "rates": rates,
    "fixed-points": fixed_points,
    "fixed-point-regularized": lambda data, scale: over_delta(data, scale, NET(0.5, 0.1)),
    "fixed-point-ridgeless": lambda data, scale: over_delta(data, scale, NET(1.0)),
    "rates-theory": rates_theory,
    "dynamics": dynamics,
    "small-init": small_init,
    "small-decay": small_decay,
    "universality": universality,
    "rates-real": rates_real,
    "paths": paths,
    "gene-histogram": gene_histogram,
}
