"""Each experiment's data against the engines that made them, called here in their own words."""

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy.integrate import solve_ivp

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
        runs = df.simulate(task, net, t[-1], d=d, runs=seeds, t_eval=t, inputs=inputs, progress=False)
        for name in ("train_error", "test_error"):
            np.testing.assert_allclose(data[name].values[k], getattr(runs, name), **near)
        if infinite:
            found = df.solve(task, net, t[-1], tol=tol, rtol=rtol, progress=False).at(t)
            for name in ("train_error", "test_error", "train_error_se", "test_error_se"):
                kept = name.replace("_error", "_error_theory")
                np.testing.assert_allclose(data[kept].values[k], getattr(found, name), **TIGHT)


def large_init(data, scale):
    curves(data, [0], 3e-3, rtol=0.3)
    lazy = df.theory.lazy_curves(TASK, NET(1.0), data["lazy_time"].values)
    np.testing.assert_allclose(data["lazy_train_error"], lazy.train_error, rtol=1e-10)
    np.testing.assert_allclose(data["lazy_test_error"], lazy.test_error, rtol=1e-10)
    one = df.theory.lazy_curves(TASK, NET(scale.large[1]), data["t"].values[1][1:40:13])
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
        drawn = df.data.training_data(task, d, run=2)
        w = df.endpoints.minimizer(drawn.X, drawn.y, NET(alpha)).w
        K = np.diag(np.sqrt(w**2 + alpha**4))
        # the flow near its end: d/dt of the error of w is -K XᵀX/δ times it
        matrix = K @ drawn.X.T @ drawn.X * d / len(drawn.y)
        values = np.sort(np.linalg.eigvals(matrix).real)
        slowest = values[0] if task.delta > 1 else values[d - len(drawn.y)]
        np.testing.assert_allclose(data["local_rate"].values[k, 0, 2], slowest, rtol=1e-6)


def fixed_points(data, scale):
    alphas = data["alpha"].values
    runs = df.simulate(
        TASK, NET(alphas), 1000.0, d=scale.d, runs=scale.seeds, t_eval=[1000.0], progress=False
    )
    np.testing.assert_allclose(data["test_error"], runs.test_error[..., -1], **TIGHT)
    np.testing.assert_allclose(data["train_error"], runs.train_error[..., -1], **TIGHT)
    point = df.fixed_point(TASK, NET(alphas))
    np.testing.assert_array_equal(data["test_error_expected"], point.test_error)
    drawn = df.data.training_data(TASK, 200, inputs=gene_inputs("luad"), run=1)
    w = df.endpoints.minimizer(drawn.X, drawn.y, NET(1.0)).w
    k = int(np.argmin(np.abs(alphas - 1.0)))
    if alphas[k] == 1.0:
        expected = np.mean((w - drawn.w_star) ** 2) + TASK.sigma**2
        np.testing.assert_allclose(data["real_minimizer_test_error"].values[k, 1], expected, rtol=1e-9)
    shown = df.fixed_point(TASK, NET(float(data["shown_alpha"])))
    np.testing.assert_allclose(data["density"], shown.density(data["w"].values))


def over_delta(data, scale, net):
    k = 1
    task = df.Task(float(data["delta"][k]), TASK.sigma, TASK.prior)
    runs = df.simulate(task, net, 1000.0, d=scale.d, runs=scale.seeds, t_eval=[1000.0], progress=False)
    np.testing.assert_allclose(data["test_error"].values[k], runs.test_error[:, -1], **TIGHT)
    np.testing.assert_allclose(data["train_error"].values[k], runs.train_error[:, -1], **TIGHT)
    point = df.fixed_point(task, net)
    assert float(data["chi_w"][k]) == np.float64(point.chi_w)
    np.testing.assert_allclose(float(data["test_error_expected"][k]), point.test_error, rtol=1e-12)
    shown = df.Task(data.attrs["shown_delta"], TASK.sigma, TASK.prior)
    np.testing.assert_allclose(data["cdf"], df.fixed_point(shown, net).cdf(data["w"].values))
    drawn = df.data.training_data(shown, scale.d, run=2)
    np.testing.assert_allclose(
        data["minimizer_weights"].values[2],
        df.endpoints.minimizer(drawn.X, drawn.y, net).w,
        rtol=1e-9,
        atol=1e-12,
    )


def rates_theory(data, scale):
    for k, delta in enumerate((2.0, 0.5)):
        rate = df.convergence_rate(df.Task(delta, TASK.sigma, TASK.prior), NET(float(data["alpha"][120])))
        for name in ("gamma", "dgamma_dalpha", "dgamma_dalpha_fixed_law", "large_alpha"):
            np.testing.assert_allclose(float(data[name][k, 120]), getattr(rate, name), rtol=1e-9)


def dynamics(data, scale):
    curves(data, [2, 8], scale.tol, rtol=0.3)


def small_init(data, scale):
    curves(data, [0], scale.tol)
    t = np.linspace(0.0, 150.0, 1201)
    seeds = data.sizes["run_of_rule"]
    runs = df.simulate(TASK, NET(1e-3), 150.0, d=1000, runs=seeds, t_eval=t, weights=True, progress=False)
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
        TASK, NET(data["alpha"].values), 1000.0, d=scale.d, runs=scale.seeds, t_eval=[1000.0],
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
    drawn = df.data.training_data(TASK, 200, inputs=gene_inputs("luad"), run=0)
    values = np.linalg.svd(drawn.X, compute_uv=False) ** 2 / TASK.delta
    np.testing.assert_allclose(data["eigenvalues"].values[0], np.sort(values))
    w = df.endpoints.minimizer(drawn.X, drawn.y, NET(0.4)).w
    mode = np.linalg.eigvalsh(drawn.X @ np.diag(np.sqrt(w**2 + 0.4**4)) @ drawn.X.T)[0] / TASK.delta
    np.testing.assert_allclose(data["local_rate"].values[2, 0], mode, rtol=1e-9)
    corner = np.trapezoid(data["corner"], data["eigenvalue"])
    assert abs(corner - 1) < 5e-3, "801 points, with roots at both ends"
    noise = drawn.y - drawn.X @ drawn.w_star  # what remains of it along 1, which X cannot reach
    np.testing.assert_allclose(data["centred_error"].values[0], np.mean(noise) ** 2, rtol=1e-6)
    mass = np.trapezoid(data["marchenko_pastur"], data["eigenvalue"])
    assert abs(mass - 1) < 5e-3, "801 points, with roots at both ends"


def paths(data, scale):
    times, d, k, run = np.array([1.0, 3.0, 10.0, 30.0]), scale.dimensions[0] // 2, 0, 4
    found = df.solve(TASK, NET(0.3), 30.0, tol=scale.tol, progress=False)
    known = np.column_stack([*(found.law(t).w for t in times), found.law(1.0).w_star])
    runs = df.simulate(
        TASK, NET(0.3), 30.0, d=d, runs=scale.seeds_curves, t_eval=times, weights=True, progress=False
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


def truncated(data, scale):
    """Networks by `simulate`, DMFT as a network (not as a flow of layers), with its own blocks and paths."""
    task = df.Task(0.5, 0.1, df.Discrete([-1.0, 0.0, 1.0], [0.05, 0.9, 0.05]))
    net, t = df.models.TruncatedDiagonalNetwork(0.3, 0.05, 2, M=1.0), data["time"].values
    again = dict(d=scale.d_curves, runs=3, t_eval=t, seed=2000, progress=False)
    runs = df.simulate(task, net, t[-1], **again)
    plain = df.simulate(task, NET(0.3, 0.05), t[-1], **again)
    for name in ("train_error", "test_error"):  # trained to 1e-3 there
        np.testing.assert_allclose(data[name].values[:3], getattr(runs, name), rtol=1e-2)
        np.testing.assert_allclose(data[f"plain_{name}"].values[:3], getattr(plain, name), rtol=1e-2)
    found = df.solve(task, net, t[-1], tol=1e-2, progress=False).at(t)
    for name in ("train_error", "test_error"):
        apart = np.abs(getattr(found, name) - data[f"{name}_theory"].values)
        bars = np.hypot(getattr(found, f"{name}_se"), data[f"{name}_theory_se"].values)
        assert np.all(apart <= 4 * bars + 1e-12)
    # f = Xw - Xw* on the data of one of the largest networks
    d = int(data["dimension"][-1])
    drawn = df.data.training_data(task, d, seed=2000, run=1)
    moments = data["moment"].values
    runs = df.simulate(task, net, 10.0, d=d, runs=2, t_eval=moments, seed=2000, weights=True, progress=False)
    xi = drawn.y - drawn.X @ drawn.w_star
    share = (runs.weights[1] - drawn.w_star) @ drawn.X.T @ xi / (xi @ xi)
    np.testing.assert_allclose(data["noise_share"].values[1], share, atol=5e-3)


def generalization(data, scale):
    for row, sigma in enumerate((0.1, 0.3)):
        task = df.Task(0.5, sigma, TASK.prior)
        drawn = df.data.training_data(task, data.attrs["d"], run=3)
        w = df.endpoints.minimizer(drawn.X, drawn.y, NET(0.58)).w
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


def late_times(data, scale):
    """Responses by matrix exponentials, transforms by the equation they obey, one network by its matrix."""
    gamma, seed = df.convergence_rate(TASK, NET(1.0)).gamma, data.attrs["seed"]
    drawn = df.data.training_data(TASK, 200, seed=seed, run=1)
    w = df.endpoints.minimizer(drawn.X, drawn.y, NET(1.0)).w
    flow = np.sqrt(w**2 + 1)[:, None] * drawn.X.T @ drawn.X / 0.5
    for column, age in ((0, 0.5), (8, 2.5)):
        kicked = scipy.linalg.expm(-flow * age / gamma) * np.sqrt(w**2 + 1)
        found = data["network_limit"].values[0, 1] + data["network_response"].values[0, 1, column]
        np.testing.assert_allclose(found, np.trace(kicked) / 100, rtol=1e-9)
    draws = np.sqrt(df.fixed_point(TASK, NET(1.0)).law().sample(200_000, 0)[0] ** 2 + 1)
    assert abs(np.mean(draws / (float(data["response_limit"]) + draws)) - 0.5) < 1e-3, "E[κ/(u + κ)] = δ"
    rates = [df.convergence_rate(df.Task(delta, TASK.sigma, TASK.prior), NET(1.0)).u for delta in (0.5, 2.0)]
    np.testing.assert_allclose(data["lowest_u"], np.ravel(rates), rtol=1e-9)
    over = df.Task(2.0, TASK.sigma, TASK.prior)
    drawn, gamma = (
        df.data.training_data(over, 80, seed=seed, run=4),
        df.convergence_rate(over, NET(0.5)).gamma,
    )
    runs = df.simulate(
        over, NET(0.5), 10 / gamma, d=80, runs=5, t_eval=[7 / gamma, 10 / gamma], seed=seed,
        tol=1e-9, progress=False,
    )  # fmt: skip
    least = np.mean((drawn.y - drawn.X @ np.linalg.lstsq(drawn.X, drawn.y)[0]) ** 2)
    above = runs.train_error[4] - least  # of order 1e-8 and less, the difference of numbers of order 1e-2
    np.testing.assert_allclose(data["excess"].values[1, 4], above, rtol=1e-3, atol=1e-13)
    w = df.endpoints.minimizer(drawn.X, drawn.y, NET(0.5)).w
    flow = np.sqrt(w**2 + 0.5**4)[:, None] * drawn.X.T @ drawn.X / 2
    slowest = np.min(np.linalg.eigvals(flow).real) / gamma
    np.testing.assert_allclose(data["own_rate"].values[1, 4], slowest, rtol=1e-9)


def identities(data, scale):
    """Weights of the mirror flow, not of u and v: two ways to train the same networks."""
    runs = df.simulate(
        TASK, NET(3.0, 0.2), 10.0, d=scale.d_curves, runs=scale.seeds_curves, t_eval=[2.0, 5.0, 10.0],
        weights=True, progress=False,
    )  # fmt: skip
    scale_seen = np.mean(np.sqrt(runs.weights**2 + 81 * np.exp(-0.4 * runs.t)[:, None]), axis=-1)
    np.testing.assert_allclose(data["layers_corrected"], scale_seen, rtol=1e-4)
    np.testing.assert_allclose(data["layers"], (runs.loss - 0.5 * runs.train_error) / 0.2, rtol=1e-4)
    assert 0.98 < float(data["noise_fitted"]) < 1.005
    lazy = df.theory.lazy_curves(TASK, NET(1.0), np.array([0.0, 0.3, 1.0, 3.0]))
    np.testing.assert_allclose(data["lazy_form"], lazy.C_w[1:, 0], rtol=1e-10)


def own_equation(drawn, alpha, lam, t):
    """w(t) of a network on given data, by the equation for w itself."""
    delta = len(drawn.y) / drawn.X.shape[1]

    def velocity(time, w):
        g = drawn.X.T @ (drawn.X @ w - drawn.y) / delta
        return -np.sqrt(w**2 + alpha**4 * np.exp(-2 * lam * time)) * g - lam * w

    start = np.zeros(drawn.X.shape[1])
    return solve_ivp(velocity, (0.0, t[-1]), start, "LSODA", t, rtol=1e-9, atol=1e-12 * alpha**2).y.T


def search_phase(data, scale):
    t, seed = data["search_time"].values, data.attrs["seed"] + 1003
    drawn = df.data.training_data(TASK, data.attrs["d"], seed=seed, run=3)
    w = own_equation(drawn, 1e-3, 0.2, t)
    np.testing.assert_allclose(data["search_weights"].values[1, 3], w / 1e-6, rtol=1e-5, atol=1e-7)
    moved = np.mean((w[-1] - drawn.w_star) ** 2) - np.mean(drawn.w_star**2)
    first = np.mean(drawn.w_star**2) + TASK.sigma**2
    np.testing.assert_allclose(data["search_moved"].values[1, 1, 1, 3, -1], moved / first / 1e-6, rtol=1e-3)
    law = df.theory.search_phase(TASK, NET(1e-6, 0.2)).law()
    _, overlap = law.moments(law.path, t)
    np.testing.assert_allclose(data["search_moved_form"][1, 1], -2 * overlap / 1e-12 / 0.11, rtol=1e-4)
    cdf = np.array([0.9, 0.1]) @ data["search_cdf"].values
    np.testing.assert_allclose(cdf, law.cdf(data["search_grid"].values[1, 2], 2.0), atol=1e-9)
    alpha, lam = data["active_alpha"].values[1], data["active_lam"].values[1]
    unit = np.log(1 / alpha)
    t = data.attrs["active_units"] * unit * np.linspace(0.0, 1.0, 1501)
    runs = df.simulate(
        TASK, NET(alpha, lam), t[-1], d=data.attrs["active_d"], runs=1, t_eval=t, weights=True, seed=seed,
        progress=False,
    )  # fmt: skip
    w = runs.weights[0]  # -∫g = arsinh(w exp(λt)/α²): the rule by the weights alone
    reached = np.arcsinh(np.abs(w) * np.exp(lam * t[:, None]) / alpha**2) - lam * t[:, None] >= 2 * unit
    times = np.where(reached.any(axis=0), t[np.argmax(reached, axis=0)] / unit, np.nan)
    kept = data["rule_time"].sel(rule="corrected").values[1, 1, 0]
    np.testing.assert_allclose(kept, times, atol=0.01)


def infinite_data(data, scale):
    lam, t = data.attrs["lam"], np.linspace(0.0, 120.0, 481)
    task = df.Task(20.0, 0.1, df.Discrete([1.0, 0.5, 0.0, -0.5, -1.0], [0.1, 0.1, 0.6, 0.1, 0.1]))
    drawn = df.data.training_data(task, data.attrs["d"], seed=data.attrs["seed"] + 2005, run=2)
    alone = drawn._replace(X=np.eye(len(drawn.w_star)), y=drawn.w_star)  # g = w - w*
    off = own_equation(drawn, 1e-3, lam, t) - own_equation(alone, 1e-3, lam, t)
    np.testing.assert_allclose(data["path_distance"].values[0, 0, 2], np.sqrt(np.mean(off**2)), rtol=1e-3)
    gap = data["chosen"].values - data["wait_lam"].values[:, None]
    alpha = data["wait"].values[:, None]
    half = np.log(2 * gap[:, None] / alpha**2 - 1) / gap[:, None]
    np.testing.assert_allclose(data["half_time"], half, rtol=3e-5)  # left out: α²
    # Riccati's equation of U = u² for w* = 1: Bessel functions tell the step and the approach
    tau, net = np.linspace(-10.0, 0.0, 20001), NET(1.0, lam)
    rich = df.theory.infinite_data_curves(
        df.Discrete([1.0], [1.0]), NET(100.0, lam), tau + 2 * np.log(100.0) / lam
    )
    place = tau[np.argmax(np.sqrt(rich.forms["rich"]) >= 0.5 * net.lam)]
    shift = data["grokking_time"].values - 2 * np.log(data["grokking"].values) / lam
    np.testing.assert_allclose(shift, place, atol=1e-3)
    late = np.array([30.0, 45.0])
    end = np.sqrt(df.theory.infinite_data_curves(df.Discrete([1.0], [1.0]), net, late).test_error) - lam
    rate = -np.diff(np.log(np.abs(end))) / np.diff(late)
    np.testing.assert_allclose(data["approach_rate"].values[0], rate, rtol=5e-3)


def phase_limits(data, scale):
    """The first jump by hand, networks of α = 10 for the limit α → ∞, memory by a matrix exponential."""
    d, s, tau = scale.d_curves, data["s"].values, data["tau"].values
    drawn = df.data.training_data(TASK, d, seed=1000, run=2)
    pull = drawn.X.T @ drawn.y / TASK.delta
    first = int(np.argmax(np.abs(pull)))
    jump = 2 / abs(pull[first])
    seen = data["descent_train_limit"].values[2]
    np.testing.assert_allclose(seen[s < jump], np.mean(drawn.y**2), rtol=1e-12)
    column = drawn.X[:, first]
    left = drawn.y - column * (column @ drawn.y) / (column @ column)
    np.testing.assert_allclose(
        seen[s > jump][0], np.mean(left**2), rtol=0.1
    )  # one more jump may be in between
    assert seen[s > jump][0] <= np.mean(left**2) * (1 + 1e-12)
    t = np.array([-10.0, 0.0, 20.0]) + 2 * np.log(10.0) / 0.2
    runs = df.simulate(TASK, NET(10.0, 0.2), t[-1], d=d, runs=3, seed=1000, t_eval=t, progress=False)
    places = np.searchsorted(tau, [-10.0, 0.0, 20.0])
    np.testing.assert_allclose(data["rich_test_limit"].values[:3, places], runs.test_error, rtol=1e-4)
    small = df.simulate(TASK, NET(1e-3), 20.0, d=d, runs=1, seed=1000, t_eval=[20.0], progress=False)
    near = np.interp(20 / np.log(1e3), s, data["descent_test_error"].values[1, 0])
    np.testing.assert_allclose(near, small.test_error[0, 0], rtol=1e-2)  # between two of its times
    smallest = np.linalg.lstsq(drawn.X, drawn.y)[0]
    kept = scipy.linalg.expm(-(2.5**2 - 1) / 0.2 * drawn.X.T @ drawn.X / TASK.delta)
    kept = np.linalg.pinv(drawn.X) @ drawn.X @ kept @ smallest / 2.5**2
    expected = np.linalg.norm(kept) / np.linalg.norm(smallest)
    np.testing.assert_allclose(data["rich_memory"].values[2, 2], expected, rtol=1e-6)


def descended(drawn, alpha, count):
    """Weights after plain steps of 0.1 without weight decay, written out."""
    u = v = np.full(drawn.X.shape[1], alpha)
    delta = len(drawn.y) / len(u)
    for _ in range(count):
        g = drawn.X.T @ (drawn.X @ (u**2 - v**2) / 2 - drawn.y) / delta
        u, v = u - 0.05 * u * g, v + 0.05 * v * g
    return (u**2 - v**2) / 2


def as_printed(data, scale):
    """Steps written out, on the data of two runs; the slope by a share twice as far."""
    drawn = df.data.training_data(TASK, scale.d, seed=5000, run=3, targets="iid")
    w, k = descended(drawn, 1.5, 20), int(np.argmin(np.abs(data["t"].values - 2.0)))
    error = np.mean((w - drawn.w_star) ** 2) + TASK.sigma**2
    np.testing.assert_allclose(data["test_error"].values[2, 3, k], error, rtol=1e-10)
    np.testing.assert_allclose(
        data["train_error"].values[2, 3, k], np.mean((drawn.X @ w - drawn.y) ** 2), rtol=1e-9
    )
    other = df.data.training_data(TASK, scale.d, seed=5001, run=7, targets="iid")
    assert float(data["iid_share"][7]) == np.mean(other.w_star)
    w = descended(other, 0.5, 20)
    error = np.mean((w - other.w_star) ** 2) + TASK.sigma**2
    np.testing.assert_allclose(data["iid_test_error"].values[7, -1], error, rtol=1e-10)
    wide = df.Task(0.5, 0.1, df.Bernoulli(0.12)), df.Task(0.5, 0.1, df.Bernoulli(0.08))
    ends = [
        df.solve(task, NET(0.5), 2.0, tol=1e-3, trainer=df.GradientDescent(0.1), progress=False)
        for task in wide
    ]
    slope = (ends[0].at([2.0]).test_error - ends[1].at([2.0]).test_error) / 0.04
    np.testing.assert_allclose(data["share_slope"][-1], slope, rtol=0.02)  # the errors curve in p


def message_passing(data, scale):
    """Two iterates of the lasso written out; the law of an iterate by draws; closed forms of case (ii)."""
    drawn = df.data.training_data(TASK, 2 * scale.d, seed=6000, run=4)
    X, y, delta, lam = drawn.X, drawn.y, 0.5, 0.1
    x = X.T @ y / delta
    w = np.sign(x) * np.maximum(np.abs(x) - lam, 0)
    b = np.mean(w != 0) / delta
    r = y - X @ w + b * y
    x, t = w + X.T @ r / delta, lam + b * lam
    errors = [np.mean((w - drawn.w_star) ** 2)]
    w = np.sign(x) * np.maximum(np.abs(x) - t, 0)
    errors.append(np.mean((w - drawn.w_star) ** 2))
    np.testing.assert_allclose(data["C_w"].values[0, 4, :2], errors, rtol=1e-10)
    np.testing.assert_allclose(float(data["b"][0, 4, 0]), b, rtol=1e-12)
    np.testing.assert_allclose(data["mapped"].values[1], [0.5, TASK.sigma**2, 0.0], rtol=1e-12)
    point, net = df.fixed_point(TASK, NET(0.5)), NET(0.5)
    np.testing.assert_allclose(data["mapped"].values[2], [1.0, point.tau**2, point.R_w], rtol=1e-9)
    steps, rng = df.endpoints.state_evolution(TASK, net, 3), np.random.default_rng(0)
    x = (rng.random(400_000) < 0.1) + steps.tau[2] * rng.standard_normal(400_000)
    found = scipy.optimize.brentq(lambda w: w + steps.t[2] * np.arcsinh(w / 0.25) - np.median(x), -5, 5)
    near = np.interp(found, data["place"].values, data["entries_evolution"].values[2])
    np.testing.assert_allclose(near, 0.5, atol=4 * 0.5 / 400_000**0.5 + 1e-4)  # 4 sd, and a grid of 0.01


def double_descent(data, scale):
    """Interpolation and least squares of one data set; the exact mean of least squares at finite n and d."""
    task = df.Task(0.9, TASK.sigma, TASK.prior)
    drawn = df.data.training_data(task, 300, seed=8000, run=2)
    error = (
        np.mean((df.endpoints.minimizer(drawn.X, drawn.y, NET(1.0)).w - drawn.w_star) ** 2) + TASK.sigma**2
    )
    np.testing.assert_allclose(float(data["test_error"].values[0, 2, 2]), error, rtol=1e-8)
    wide = df.data.training_data(df.Task(1.1, TASK.sigma, TASK.prior), 300, seed=8000, run=2)
    error = np.mean((np.linalg.lstsq(wide.X, wide.y)[0] - wide.w_star) ** 2) + TASK.sigma**2
    np.testing.assert_allclose(float(data["test_error"].values[0, 3, 2]), error, rtol=1e-8)
    exact, runs = 0.01 * (1 + 300 / (330 - 300 - 1)), data["test_error"].values[0, 3]  # inverse Wishart
    assert abs(np.mean(runs) - exact) < 4 * np.std(runs, ddof=1) / len(runs) ** 0.5
    np.testing.assert_allclose(data["test_error_expected"].values[0, 3:], 0.01 * np.array([11, 6, 3.5]))


def gene_histogram(data, scale):
    features = df.datasets.whiten(df.datasets.tcga_luad().X)
    inside = np.abs(features) < 6
    width = float(data["feature_value"][1] - data["feature_value"][0])
    np.testing.assert_allclose(float(data["density"].sum()) * width, np.mean(inside), rtol=1e-12)
    np.testing.assert_allclose(float(data["kurtosis"]), np.mean(features**4), rtol=1e-12)
    np.testing.assert_allclose(float(data["feature_kurtosis"].mean()), np.mean(features**4), rtol=1e-12)
    np.testing.assert_allclose(float(data["beyond"]), 1 - np.mean(np.abs(features) <= 4), rtol=1e-12)


def decay_rates(data, scale):
    """Runs and minimizers called anew; the linear flow as a matrix, not by its modes; the law by draws."""
    net, seed, t = NET(0.5, 0.2), 2500, 5 * 2.0 ** np.arange(7)
    runs = df.simulate(TASK, net, 320.0, d=400, runs=20, t_eval=t, seed=seed, progress=False)
    drawn = df.data.training_data(TASK, 400, seed=seed, run=3)
    w = df.endpoints.minimizer(drawn.X, drawn.y, net).w
    least = np.mean((drawn.X @ w - drawn.y) ** 2) / 2 + 0.2 * np.mean(np.abs(w))
    np.testing.assert_allclose(data["gap"].values[3], runs.loss[3] - least, rtol=1e-4)
    found = df.solve(TASK, net, 40.0, tol=scale.tol, seed=seed, progress=False).at(t[:4])
    point = df.fixed_point(TASK, net)
    size = np.abs(point.sample(400_000, seed=1)[0])
    end, error = point.train_error / 2 + 0.2 * np.mean(size), 0.2 * np.std(size) / 400_000**0.5
    assert np.all(np.abs(data["gap_theory"] - (found.loss - end)) < 4 * error)
    rate, zero = df.convergence_rate(TASK, net).paths().sample(400_000, seed=2)
    for name, pick in (("zero", zero), ("active", ~zero)):
        seen = np.searchsorted(np.sort(rate[pick]), data["rate_at"]) / len(rate)
        assert np.max(np.abs(seen - data[f"cdf_{name}"])) < 2 / 400_000**0.5
    d = int(data["dimension"][0])
    drawn = df.data.training_data(TASK, d, seed=seed, run=5)
    w = df.endpoints.minimizer(drawn.X, drawn.y, net).w
    gram = drawn.X.T @ drawn.X / 0.5
    g = drawn.X.T @ (drawn.X @ w - drawn.y) / 0.5
    matrix = np.diag(np.abs(w)) @ gram
    slow = [0.2 - np.max(np.abs(g[w == 0])), np.min(np.linalg.eigvals(matrix[w != 0][:, w != 0]).real)]
    np.testing.assert_allclose(data["slowest"].values[0, 5], min(slow), rtol=1e-6)
    d = int(data["dimension"][-1])
    drawn = df.data.training_data(TASK, d, seed=seed, run=5)
    w = df.endpoints.minimizer(drawn.X, drawn.y, net).w
    matrix = (np.diag(np.abs(w)) @ drawn.X.T @ drawn.X / 0.5)[w != 0][:, w != 0]
    size = np.abs(w[w != 0])
    left = np.diag(scipy.linalg.expm(-4.0 * matrix))[(size >= 0.05) & (size < 0.2)]
    np.testing.assert_allclose(data["left"].values[1, 1, 5], np.mean(left), rtol=1e-8)
    time = np.mean(size * np.diag(np.linalg.inv(matrix)))
    np.testing.assert_allclose(data["relaxation"].values[5], time, rtol=1e-8)


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
    "decay-rates": decay_rates,
    "truncated": truncated,
    "generalization": generalization,
    "rate-limits": rate_limits,
    "late-times": late_times,
    "identities": identities,
    "search-phase": search_phase,
    "infinite-data": infinite_data,
    "phase-limits": phase_limits,
    "as-printed": as_printed,
    "message-passing": message_passing,
    "double-descent": double_descent,
    "gene-histogram": gene_histogram,
}
