"""Each experiment's data against the engines that made them, called here in their own words."""

import numpy as np

import dynafield as df
from dynafield.studies.paper import laws
from dynafield.studies.paper.setting import TASK, gene_inputs

NET = df.DiagonalNetwork
TIGHT = dict(rtol=1e-12, atol=1e-14)
ROUNDED = dict(rtol=1e-4, atol=1e-10)
"""Of real data: their whitening rounds by the number of threads, and training is to a tolerance of 1e-6."""


def curves(data, which, tol, rtol=None, d=None, inputs="gaussian", infinite=True, near=TIGHT):
    """Some of the curves: networks by `simulate`, the infinite one by `solve`."""
    for k in which:
        task = df.Task(float(data["delta"][k]), TASK.sigma, TASK.prior)
        net, t = NET(float(data["alpha"][k]), float(data["lam"][k])), data["t"].values[k]
        d, seeds = data.attrs["d"] if d is None else d, data.sizes["run"]
        runs = df.simulate(task, net, t[-1], d=d, seeds=seeds, t_eval=t, inputs=inputs, progress=False)
        for name in ("train_error", "test_error"):
            np.testing.assert_allclose(data[name].values[k], getattr(runs, name), **near)
        if infinite:
            found = df.solve(task, net, t[-1], tol=tol, rtol=rtol, progress=False).at(t)
            for name in ("train_error", "test_error", "train_error_se", "test_error_se"):
                kept = name.replace("_error", "_error_theory")
                np.testing.assert_allclose(data[kept].values[k], getattr(found, name), **TIGHT)


def large_init(data, scale):
    curves(data, [0], 3e-3, rtol=0.3)
    lazy = df.lazy_curves(TASK, NET(1.0), data["lazy_time"].values)
    np.testing.assert_allclose(data["lazy_train_error"], lazy.train_error, rtol=1e-10)
    np.testing.assert_allclose(data["lazy_test_error"], lazy.test_error, rtol=1e-10)
    one = df.lazy_curves(TASK, NET(scale.large[1]), data["t"].values[1][1:40:13])
    np.testing.assert_allclose(data["lazy_at"].values[1, 1:40:13, 1], one.test_error, rtol=1e-9)
    assert abs(float(data["plateau"]) - (0.05 + 0.01 / 0.5)) < 1e-12
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
    curves(data, [2, 8], scale.tol, rtol=0.3)


def small_init_curves(data, scale):
    curves(data, [0], scale.tol)


def small_init(data, scale):
    small_init_curves(data, scale)
    t = np.linspace(0.0, 150.0, 1201)
    seeds = data.sizes["run_of_rule"]
    runs = df.simulate(TASK, NET(1e-3), 150.0, d=1000, seeds=seeds, t_eval=t, weights=True, progress=False)
    # without weight decay -∫g = arsinh(w/α²): both rules by the weights alone
    integral, level = np.arcsinh(runs.weights / 1e-6), 2 * np.log(1e3)
    rules = {
        "truth": np.any(np.abs(runs.weights) >= 0.5, axis=1),
        "corrected": np.any(np.abs(integral) >= level, axis=1),
        "printed": np.sum(np.abs(np.diff(integral, axis=1)), axis=1) >= level,
    }
    for rule, active in rules.items():
        for run in range(seeds):
            expected = active[run][runs.w_star[run] == 0]
            wrong = int(np.sum(expected != data["active"].sel(rule=rule).values[run].astype(bool)))
            assert wrong <= 2, f"{rule}: trapezoidal sums of g may differ at the level itself"


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
    curves(data, [1], scale.tol, d=200, inputs=gene_inputs("luad"), infinite=False, near=ROUNDED)
    drawn = df.training_data(TASK, 200, gene_inputs("luad"), run=0)
    values = np.linalg.svd(drawn.X, compute_uv=False) ** 2 / TASK.delta
    np.testing.assert_allclose(data["eigenvalues"].values[0], np.sort(values))
    w = df.minimizer(drawn.X, drawn.y, NET(0.4)).w
    mode = np.linalg.eigvalsh(drawn.X @ np.diag(np.sqrt(w**2 + 0.4**4)) @ drawn.X.T)[0] / TASK.delta
    np.testing.assert_allclose(data["local_rate"].values[2, 0], mode, rtol=1e-9)
    corner = np.trapezoid(data["corner"], data["eigenvalue"])
    assert abs(corner - 1) < 5e-3, "801 points, with roots at both ends"
    noise = drawn.y - drawn.X @ drawn.w_star  # what remains of it along 1, which X cannot reach
    np.testing.assert_allclose(data["centred_error"].values[0], np.mean(noise) ** 2, rtol=1e-6)
    mass = np.trapezoid(data["marchenko_pastur"], data["eigenvalue"])
    assert abs(mass - 1) < 5e-3, "801 points, with roots at both ends"


def paths(data, scale):
    times, d, k, run = np.array([1.0, 3.0, 10.0, 30.0]), scale.dimensions[0], 0, 4
    found = df.solve(TASK, NET(0.3), 30.0, tol=scale.tol, progress=False)
    known = np.column_stack([*(found.law(t).w for t in times), found.law(1.0).w_star])
    runs = df.simulate(
        TASK, NET(0.3), 30.0, d=d, seeds=scale.seeds_curves, t_eval=times, weights=True, progress=False
    )
    network = [np.column_stack([*runs.weights[r], runs.w_star[r]]) for r in range(run + 1)]
    weight = found.law(1.0).weight
    draws = [laws.drawn(known, weight, d, [0, k, run, part]) for part in range(4)]
    pairs = {
        "distance": [(network[run], draw) for draw in draws[:3]],
        "floor": [(draws[part], draws[part + 1]) for part in range(3)],
        "between": [(network[run], network[run - 1 - part]) for part in range(3)],
    }
    for name, some in pairs.items():
        square = np.mean([laws.distance(*pair) ** 2 for pair in some])
        np.testing.assert_allclose(float(data[name][k, run]), np.sqrt(square), rtol=1e-9)


def generalization(data, scale):
    for row, sigma in enumerate((0.1, 0.3)):
        task = df.Task(0.5, sigma, TASK.prior)
        drawn = df.training_data(task, data.attrs["d"], run=3)
        w = df.minimizer(drawn.X, drawn.y, NET(0.58)).w
        error = np.mean((w - drawn.w_star) ** 2) + sigma**2
        np.testing.assert_allclose(data["test_error"].values[row, 2, 3], error, rtol=1e-8)
        expected = df.fixed_point(task, NET(np.array([0.02, 0.1, 0.58, 3.0]))).test_error
        np.testing.assert_allclose(data["test_error_expected"][row], expected, rtol=1e-10)
    # the audit's own numbers
    np.testing.assert_allclose(data["test_error_expected"][1], [0.2537, 0.2423, 0.2280, 0.2300], atol=5e-5)


def rate_limits(data, scale):
    gamma = df.convergence_rate(df.Task(2.0, 0.1, TASK.prior), NET(100.0)).gamma
    np.testing.assert_allclose(
        data["large_ratio"].values[1, -1], gamma / (1e4 * (1 - 2**-0.5) ** 2), rtol=1e-9
    )
    # least squares finds w* itself: K = √(1 + α⁴), and γ is the edge of Marchenko and Pastur
    np.testing.assert_allclose(float(data["dense_limit"]), (1 - 2**-0.5) ** 2, rtol=1e-8)


def identities(data, scale):
    """Weights of the mirror flow, not of u and v: two ways to train the same networks."""
    runs = df.simulate(
        TASK, NET(3.0, 0.2), 10.0, d=scale.d_curves, seeds=scale.seeds_curves, t_eval=[2.0, 5.0, 10.0],
        weights=True, progress=False,
    )  # fmt: skip
    scale_seen = np.mean(np.sqrt(runs.weights**2 + 81 * np.exp(-0.4 * runs.t)[:, None]), axis=-1)
    np.testing.assert_allclose(data["layers_corrected"], scale_seen, rtol=1e-4)
    np.testing.assert_allclose(data["layers"], (runs.loss - 0.5 * runs.train_error) / 0.2, rtol=1e-4)
    assert 0.98 < float(data["noise_fitted"]) < 1.005
    lazy = df.lazy_curves(TASK, NET(1.0), np.array([0.0, 0.3, 1.0, 3.0]))
    np.testing.assert_allclose(data["lazy_form"], lazy.C_w[1:, 0], rtol=1e-10)


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
    "generalization": generalization,
    "rate-limits": rate_limits,
    "identities": identities,
    "gene-histogram": gene_histogram,
}
