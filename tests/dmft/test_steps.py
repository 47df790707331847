"""Discrete training: closed forms, finite networks, derivatives, order, instability, refusals."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynafield as df
from dynafield.dmft.rules import Stepping
from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.studies.comparison import Comparison

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
UNIT = 0.11
TRAINERS = (df.GradientDescent(0.5), df.HeavyBall(0.1, 0.9), df.SGD(0.5, 0.3))


@pytest.mark.parametrize("trainer", TRAINERS[::2], ids=str)
def test_first_step_in_closed_form(trainer):
    """w(1) = -α² step g(0), and g(0) has variance E_test(0)/(δ b) around -w*, b the share of data seen."""
    curves = df.solve(TASK, df.DiagonalNetwork(0.7), trainer.step, trainer=trainer, points=512)
    move = 0.7**2 * trainer.step
    error = (1 - move) ** 2 * 0.1 + move**2 * UNIT / 0.5 / trainer.fraction + 0.01
    assert abs(curves.test_error[1] - error) < 4 * curves.test_error_se[1] + 1e-12  # linear: no scatter
    assert curves.test_error_se[1] < 1e-3 * UNIT
    assert curves.train_error[0] == pytest.approx(UNIT, rel=1e-12)
    assert curves.test_error[0] == pytest.approx(UNIT, rel=1e-12)
    if trainer.fraction == 1:
        assert curves.R_w[1, 0] == pytest.approx(0.7**2 / 0.5)


def lazy_polynomial(trainer, slope, steps):
    """Polynomials p_k(x) by which an eigendirection of the linear problem has shrunk after k steps."""

    def run(x):
        now, move, all_ = np.ones_like(x), np.zeros_like(x), []
        for _ in range(steps + 1):
            all_.append(now)
            move = trainer.inertia * move - slope * trainer.step * x * now
            now = now + move
        return np.stack(all_)

    return run


@pytest.mark.parametrize("trainer", [df.GradientDescent(0.0003), df.HeavyBall(0.0001, 0.8)], ids=str)
def test_large_alpha_is_descent_on_a_linear_problem(trainer):
    """Marchenko–Pastur averages of polynomials in place of exponentials, to 1e-3 at α = 30."""
    alpha, steps, law = 30.0, 12, MarchenkoPastur(0.5)
    run = lazy_polynomial(trainer, alpha**2, steps)
    curves = df.solve(TASK, df.DiagonalNetwork(alpha), steps * trainer.step, trainer=trainer)
    shrunk = law.average(lambda x: run(x) ** 2)
    noise = law.average(lambda x: (1 - run(x)) ** 2 / np.where(x > 0, x, 1.0))
    test = 0.1 * shrunk + 0.01 / 0.5 * noise + 0.01
    assert np.max(np.abs(curves.test_error - test)) < 1e-3 * UNIT
    train = 0.1 * law.average(lambda x: x * run(x) ** 2) + 0.01 * (
        1 + law.average(lambda x: run(x) ** 2 - 1) / 0.5
    )
    assert np.max(np.abs(curves.train_error - train)) < 1e-3 * UNIT


NETWORKS = (
    df.DiagonalNetwork(0.5),
    df.DiagonalNetwork(0.8, 0.05, 3),
    df.models.TruncatedDiagonalNetwork(0.5, 0.02, 2, 0.6),
)


@pytest.mark.parametrize(
    ("trainer", "net"),
    [
        pytest.param(TRAINERS[0], NETWORKS[1], marks=pytest.mark.slow),
        (TRAINERS[0], NETWORKS[2]),
        pytest.param(TRAINERS[1], NETWORKS[0], marks=pytest.mark.slow),
        (TRAINERS[2], NETWORKS[0]),
    ],
    ids=str,
)
def test_finite_networks_agree(trainer, net):
    end = 24 * trainer.step
    curves = df.solve(TASK, net, end, trainer=trainer, points=1024)
    found = Comparison(curves, df.simulate(TASK, net, end, d=500, runs=16, trainer=trainer))
    for name in ("train_error", "test_error", "loss"):
        theory = getattr(found.curves.at(found.t), name)
        own = found.curves.at(found.t).train_error_se if name == "loss" else None
        error = found.standard_error(name) if own is None else np.hypot(found.runs.standard_error(name), own)
        bias = 4 * theory / found.runs.d
        assert np.all(np.abs(found.runs.mean(name) - theory) < 4 * error + bias), name


def cooling(k):
    """Steps that become smaller."""
    return 0.4 * 0.9**k + 0.05


@pytest.mark.parametrize(
    "trainer",
    [
        df.GradientDescent(0.1, 0.8, nesterov=True),
        df.GradientDescent(0.1, 0.6, batch_fraction=0.3),
        df.GradientDescent(cooling, 0.5),
    ],
    ids=str,
)
def test_momentum_looks_ahead_and_goes_with_batches_and_schedules(trainer):
    """Against plain loops over layers of finite networks, written out here."""
    net, d, seeds, steps = df.DiagonalNetwork(0.6, 0.05), 500, 12, 24
    after = np.concatenate([[0.0], np.cumsum(trainer.sizes(steps))])
    curves = df.solve(TASK, net, after[-1], tol=5e-3, trainer=trainer, points=1024)
    assert curves.t == pytest.approx(after, rel=1e-12)
    runs = np.array([plain_loop(trainer, net, d, steps, seed) for seed in range(seeds)])
    mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(seeds)
    ours = df.simulate(TASK, net, after[-1], d=d, runs=seeds, trainer=trainer, t_eval=after, seed=5)
    for row, name in enumerate(("train_error", "test_error")):
        theory, own = getattr(curves, name), getattr(curves, f"{name}_se")
        assert np.all(np.abs(mean[row] - theory) < 4 * np.hypot(error[row], own) + 4 * theory / d), name
        apart = np.abs(mean[row] - ours.mean(name))
        assert np.all(apart < 4 * np.hypot(error[row], ours.standard_error(name)) + 1e-12), name
    plain = df.solve(TASK, net, steps * 0.1, trainer=df.GradientDescent(0.1), points=1024)
    assert np.max(np.abs(plain.test_error[10] - np.interp(1.0, curves.t, curves.test_error))) > 1e-3


def plain_loop(trainer, net, d, steps, seed):
    """Training and test error after every step of one network, as PyTorch and optax define momentum."""
    rng, n = np.random.default_rng([9, seed]), int(TASK.delta * d)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    target = np.zeros(d)
    target[: d // 10] = 1.0
    y = X @ target + TASK.sigma * rng.standard_normal(n)
    u, v = np.full(d, net.alpha), np.full(d, net.alpha)
    u_trace, v_trace, beta, found = np.zeros(d), np.zeros(d), trainer.momentum, []
    for k in range(steps + 1):
        w = (u**2 - v**2) / 2
        found.append((np.mean((X @ w - y) ** 2), np.mean((w - target) ** 2) + TASK.sigma**2))
        rows = rng.permutation(n)[: max(1, round(trainer.batch_fraction * n))]
        g = X[rows].T @ (X[rows] @ w - y[rows]) / TASK.delta * n / len(rows)
        u_slope, v_slope = (u * g + net.lam * u) / 2, (-v * g + net.lam * v) / 2
        u_trace, v_trace = beta * u_trace + u_slope, beta * v_trace + v_slope
        ahead = trainer.nesterov
        step = trainer.sizes(k + 1)[k]
        u = u - step * (beta * u_trace + u_slope if ahead else u_trace)
        v = v - step * (beta * v_trace + v_slope if ahead else v_trace)
    return np.array(found).T


def test_schedules_are_files_too(tmp_path):
    sizes = np.array([0.5, 0.25, 0.125])
    trainer = df.GradientDescent(sizes, 0.3)
    curves = df.solve(TASK, df.DiagonalNetwork(0.5), 0.875, tol=0.02, trainer=trainer)
    again = df.load(curves.save(tmp_path / "schedule.nc"))
    assert again.trainer == trainer
    by_function = df.GradientDescent(lambda k: 0.5 * 0.5**k, 0.3)
    same = df.solve(TASK, df.DiagonalNetwork(0.5), 0.875, tol=0.02, trainer=by_function)
    assert np.array_equal(same.test_error, curves.test_error)
    assert df.load(same.save(tmp_path / "function.nc")).trainer == trainer
    assert curves.R_w[1, 0] == pytest.approx(0.5**2 / 0.5)
    assert curves.at([0.75]).test_error == pytest.approx(curves.test_error[2])
    with pytest.raises(df.InputError, match=r"a sum of the first steps, got 0\.8125: 0\.75 and 0\.875"):
        curves.at([0.8125])
    with pytest.raises(df.InputError, match=r"at most 0\.875, the last time of the steps, got 2"):
        df.solve(TASK, df.DiagonalNetwork(0.5), 2.0, trainer=trainer)


EXACT = [(depth, trainer) for depth in (2, 3) for trainer in (df.GradientDescent(0.1), *TRAINERS[:2])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "trainer"), [*EXACT, (2, df.SGD(0.5, 0.3)), (3, df.SGD(0.2, 0.3))], ids=str
)
def test_finite_networks_of_growing_dimension(depth, trainer):
    """Within 4 standard errors and a bias like 1/d, and far from the flow: the step matters.

    Mini-batches with a step of .5 blow up at depth 3, where an entry has large noise.
    """
    net, steps = df.DiagonalNetwork(0.7, 0.02, depth), 60
    t = trainer.step * np.array([2, 10, steps])
    tol = (
        3e-3 if isinstance(trainer, df.SGD) else 1e-3
    )  # batches take long, and the networks' errors are no less
    curves = df.solve(TASK, net, steps * trainer.step, tol=tol, trainer=trainer)
    for d, seeds in ((500, 32), (2000, 8)):
        runs = df.simulate(TASK, net, steps * trainer.step, d=d, runs=seeds, t_eval=t, trainer=trainer)
        for name in ("train_error", "test_error"):
            gap = runs.mean(name) - getattr(curves.at(t), name)
            error = np.hypot(runs.standard_error(name), getattr(curves.at(t), f"{name}_se"))
            assert np.all(np.abs(gap) < 4 * error + 2 * UNIT / d), (d, name)
    flow = df.solve(TASK, net, steps * trainer.step)
    apart = np.abs(flow.at(t).test_error - curves.at(t).test_error)
    assert np.max(apart / curves.at(t).test_error_se) > 10


def given(t):
    return 0.4 * np.cos(1.3 * t) + 0.2 * t


def stepped(trainer, net, t_max):
    """w of one coordinate after steps under a given noise, with memory .7 exp(-(t-s)) of its own gradient."""
    rule, step = Stepping.of(trainer), trainer.step
    theta, memory = np.full((2, 1), net.alpha), 0.0
    kept = rule.begun(theta)
    for k in range(int(trainer.number("t_max", np.array([t_max]))[0])):
        g = float(net.w(theta[:, 0])) - 0.3 + given(k * step) - memory
        memory += step * (0.7 * g - memory)
        rate = np.asarray(net.p(g, theta[:, 0]))[:, None]
        theta, kept = rule.after(theta, kept, rate, step, trainer.inertia)
    return float(net.w(theta[:, 0]))


@pytest.mark.parametrize("net", NETWORKS, ids=str)
def test_steps_converge_to_the_flow_at_first_order(net):
    """Frozen noise η(t) and memory .7 exp(-(t-s)), so that m = Rg obeys m' = .7 g - m."""
    cut, depth = net.truncation, net.depth

    def rates(t, y):
        u, v, m = y
        (wu, su, _), (wv, sv, _) = cut(np.array(u**depth)), cut(np.array(v**depth))
        g = float((wu - wv) / depth) - 0.3 + given(t) - m
        down = (float(su) * u ** (depth - 1) * g + net.lam * u) / 2
        up = (float(sv) * v ** (depth - 1) * g - net.lam * v) / 2
        return [-down, up, 0.7 * g - m]

    end = solve_ivp(rates, (0, 4.0), [net.alpha, net.alpha, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    exact = float((cut(np.array(end[0] ** depth))[0] - cut(np.array(end[1] ** depth))[0]) / depth)
    gaps = [stepped(df.GradientDescent(h), net, 4.0) - exact for h in (0.1, 0.05, 0.025)]
    orders = np.log2(np.abs(np.array(gaps[:-1]) / np.array(gaps[1:])))
    assert np.all(np.abs(orders - 1) < 0.15)


def lazy_step(factor):
    """A step in units of the inverse of the largest eigenvalue of lazy training at α = 10."""
    return factor / (100 * (1 + 0.5**-0.5) ** 2)


@pytest.mark.parametrize(("factor", "grows"), [(1.9, False), (2.3, True)])
def test_loss_grows_beyond_the_edge_of_stability(factor, grows):
    """Unstable from step · α²(1 + δ^(-1/2))² = 2 on, in the infinite network as in a finite one.

    Not for ever: training moves on to where the loss is less curved.
    """
    step = lazy_step(factor)
    arguments = dict(
        task=TASK, net=df.DiagonalNetwork(10.0), t_max=20 * step, trainer=df.GradientDescent(step)
    )
    curves = df.solve(tol=1e-2, **arguments)
    runs = df.simulate(d=400, runs=2, t_eval=curves.t, **arguments)
    for error in (curves.train_error, *runs.train_error):
        assert (error[20] > 10 * error[5]) == grows
        assert (error[20] < error[5]) == (not grows)


def test_blow_up_is_reported_with_its_step():
    step = lazy_step(4.0)
    arguments = (TASK, df.DiagonalNetwork(10.0), 100 * step)
    trainer = df.GradientDescent(step)
    with pytest.raises(df.SolveError, match="training blew up in step"):
        df.solve(*arguments, trainer=trainer, tol=1e-2)
    curves = df.solve(*arguments, trainer=trainer, tol=1e-2, throw=False)
    runs = df.simulate(*arguments, trainer=trainer, d=400, runs=2, throw=False)
    steps = np.round(runs.stopped_at / step)
    assert "blew up in step" in curves.status
    assert not curves.complete
    assert np.all(np.abs(steps - len(curves.t)) <= 2)  # growth doubles its digits with every step there


def test_round_trip_times_and_plot(tmp_path):
    trainer = df.HeavyBall(0.25, 0.5)
    curves = df.solve(TASK, df.DiagonalNetwork(np.array([0.3, 0.6])), 2.0, tol=0.02, trainer=trainer)
    assert curves.test_error.shape == (2, 9)
    assert curves.t.tolist() == [0.25 * k for k in range(9)]
    again = df.load(curves.save(tmp_path / "steps.nc"))
    assert again.trainer == trainer
    assert np.array_equal(again.test_error, curves.test_error)
    assert curves.at([0.5, 2.0]).test_error == pytest.approx(curves.test_error[:, [2, 8]], rel=1e-13)
    assert "HeavyBall" in repr(curves)
    with pytest.raises(
        df.InputError,
        match=r"times must be .* of the step 0\.25, got 0\.625: 0\.5 and 0\.75 are near",
    ):
        curves.at([0.625])
    assert np.all(np.triu(curves.R_w[0]) == 0)
    assert "HeavyBall(step=0.25, momentum=0.5)" in curves.plot().figure.get_suptitle()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(trainer=df.GradientDescent(0.3)), "t_max must be a multiple of .*, got 1: 0.9 and 1.2"),
        (dict(trainer=df.SGD(0.5, 0.5), grid=[0.0, 1.0]), "grid must be None, or all times of steps"),
        (dict(trainer=df.GradientDescent(0.5), grid=[0.0, 0.7, 1.0]), "grid must be a multiple of the step"),
        (dict(trainer="sgd"), "trainer must be GradientFlow"),
        (dict(trainer=df.SGD(1e-5, 0.5), memory_gb=0.5), r"enough for \d+ steps, got 1 \(100000 steps"),
    ],
)  # fmt: skip
def test_refusals(change, words):
    arguments = dict(task=TASK, net=df.DiagonalNetwork(0.5), t_max=1.0) | change
    with pytest.raises(df.InputError, match=words):
        df.solve(**arguments)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: df.HeavyBall(0.1, 1.0), "momentum must be one number in"),
        (lambda: df.HeavyBall(-0.1, 0.5), "step must be one finite number > 0"),
        (lambda: df.SGD(0.1, 0.0), "batch_fraction must be one number in"),
        (lambda: df.SGD(0.1, 1.1), "batch_fraction"),
        (lambda: df.GradientDescent([0.1, 0.0]), "step must be finite numbers > 0"),
        (lambda: df.GradientDescent(lambda k: 0.1 - 0.05 * k).times(1.0), "got 0 at number 2"),
    ],
)
def test_trainers_that_cannot_be(make, words):
    with pytest.raises(df.InputError, match=words):
        make()
