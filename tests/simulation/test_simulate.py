"""What a user asks of finite networks: data, observables, trainers, files, refusals, Ctrl-C."""

import signal
import subprocess
import sys
import time
import tracemalloc

import jax
import numpy as np
import pytest

import dynafield as df
from dynafield.simulation import simulate as module
from dynafield.simulation.data import reduce_rows
from dynafield.simulation.inputs import read_inputs

NET = df.DiagonalNetwork


HALF = NET(0.5)


def quick(task, net=HALF, end=5.0, **options):
    return df.simulate(task, net, end, **({"d": 30, "runs": 2, "t_eval": [end]} | options))


def test_the_same_call_gives_the_same_numbers(sparse):
    one, two, other = quick(sparse), quick(sparse), quick(sparse, seed=1)
    assert np.array_equal(one.w, two.w)
    assert not np.array_equal(one.w, other.w)
    more = quick(sparse, runs=3)
    assert np.array_equal(more.w[:2], one.w)


def test_targets_have_exact_proportions_or_are_drawn():
    task = df.Task(0.5, 0.1, df.Discrete([2.0, 0.0, -1.0], [0.15, 0.6, 0.25]))
    w_star = quick(task, d=100).w_star
    for row in w_star:
        assert [np.sum(row == v) for v in (2.0, 0.0, -1.0)] == [15, 60, 25]
    assert not np.array_equal(w_star[0], w_star[1])
    odd = quick(task, d=33).w_star[0]
    assert all(abs(np.sum(odd == v) - 33 * p) < 1 for v, p in ((2.0, 0.15), (0.0, 0.6), (-1.0, 0.25)))
    drawn = quick(task, d=400, targets="iid", end=0.1).w_star
    assert np.sum(drawn[0] == 2.0) != np.sum(drawn[1] == 2.0)
    given = np.linspace(-1, 1, 30)
    assert np.array_equal(quick(task, targets=given).w_star, [given, given])
    mixed = quick(df.Task(0.5, 0.1, df.GaussBernoulli(0.2, 3.0)), d=100).w_star
    assert np.all(np.sum(mixed != 0, axis=1) == 20)


@pytest.mark.parametrize(
    "inputs", ["gaussian", "binary", "uniform", lambda rng, n, d: rng.laplace(size=(n, d)) / np.sqrt(2 * d)]
)
def test_input_laws_have_mean_0_and_variance_1_over_d(inputs):
    law, n, d = read_inputs(inputs, 0.5, 400)
    X = law.draw(np.random.default_rng(0), n, d)
    assert X.shape == (200, 400)
    # 80,000 entries: means to 4/sqrt(80000); mean squares too, times their own spread (at most sqrt(5))
    assert abs(np.mean(X) * 20) < 4 / np.sqrt(80_000)
    assert abs(np.mean(X**2) * 400 - 1) < 4 * np.sqrt(5) / np.sqrt(80_000)


def test_binary_inputs_are_signs(sparse):
    X = read_inputs("binary", 0.5, 25)[0].draw(np.random.default_rng(0), 12, 25)
    assert set(np.unique(X)) == {-0.2, 0.2}


def test_a_matrix_serves_every_seed(sparse):
    X = np.random.default_rng(0).standard_normal((15, 30)) / np.sqrt(30)
    runs = df.simulate(sparse, NET(0.5), 200.0, inputs=X, runs=2, t_eval=[200.0], residuals=True)
    assert runs.d == 30
    assert runs.n == 15
    assert runs.inputs == "matrix"
    labels = np.einsum("nd,sd->sn", X, runs.w) - runs.residuals[:, -1]
    noise = labels - runs.w_star @ X.T
    assert 0.02 < np.std(noise) < 0.3
    assert np.max(np.abs(runs.residuals)) < 1e-3


def test_observables_describe_the_weights(sparse):
    net = NET(np.array([0.3, 0.8]), 0.05)
    t = [0.0, 1.0, 7.0]
    runs = quick(
        sparse, net, 7.0, t_eval=t, coordinates=[4, 11], residuals=True, weights=True, inputs="uniform"
    )
    w = runs.weights
    assert w.shape == (2, 2, 3, 30)
    assert np.array_equal(w[..., -1, :], runs.w)
    assert np.array_equal(runs.coordinates, w[..., [4, 11]])
    np.testing.assert_allclose(runs.train_error, np.mean(runs.residuals**2, axis=-1), rtol=1e-10)
    np.testing.assert_allclose(
        runs.test_error, np.mean((w - runs.w_star[:, None]) ** 2, axis=-1) + 0.01, rtol=1e-12
    )
    np.testing.assert_allclose(runs.norm, np.sqrt(np.mean(w**2, axis=-1)), rtol=1e-12)
    # |u|² + |v|² from w at depth 2: u² - v² = 2w and uv = α² e^{-λt}
    squares = 2 * np.sqrt(w**2 + net.alpha[:, None, None, None] ** 4 * np.exp(-0.1 * np.array(t))[:, None])
    expected = 0.5 * runs.train_error + 0.05 / 60 * squares.sum(-1)
    np.testing.assert_allclose(runs.loss, expected, rtol=1e-6)


@pytest.mark.parametrize("depth", [2, 4])
def test_gradient_descent_takes_the_steps_of_the_paper(sparse, depth):
    X = np.random.default_rng(0).standard_normal((40, 20)) / np.sqrt(20)
    task = df.Task(2.0, 0.1, df.Bernoulli(0.1))
    runs = df.simulate(
        task, NET(0.6, 0.1, depth), 10.0, inputs=X, runs=1, trainer=df.GradientDescent(0.25), residuals=True,
        weights=True,
    )  # fmt: skip
    y = X @ runs.weights[0, 0] - runs.residuals[0, 0]
    u = v = np.full(20, 0.6)
    w = {0: (u**depth - v**depth) / depth}
    for k in range(40):
        g = X.T @ (X @ w[k] - y) / 2.0
        u, v = (
            u - 0.125 * (u ** (depth - 1) * g + 0.1 * u),
            v - 0.125 * (-(v ** (depth - 1)) * g + 0.1 * v),
        )
        w[k + 1] = (u**depth - v**depth) / depth
    steps = np.round(runs.t / 0.25).astype(int)
    assert len(steps) > 20
    np.testing.assert_allclose(runs.weights[0], [w[k] for k in steps], rtol=1e-10, atol=1e-13)


def test_small_steps_of_descent_approach_the_flow_at_first_order(sparse):
    flow = quick(sparse)
    errors = [
        np.linalg.norm(quick(sparse, trainer=df.GradientDescent(step)).w - flow.w)
        for step in (0.1, 0.05, 0.025)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.15)


def test_divergence_is_reported_with_its_step(sparse):
    net = NET(np.array([0.5, 10.0]))
    with pytest.raises(
        df.SolveError, match=r"diverged in step \d+ \(t=.*alpha=10.*run 0 \(1 of 2 networks so far\)"
    ):
        quick(sparse, net, trainer=df.GradientDescent(0.1))
    runs = quick(sparse, net, trainer=df.GradientDescent(0.1), throw=False)
    assert runs.status.tolist() == [["finished"] * 2, ["failed"] * 2]
    assert np.all(np.isnan(runs.stopped_at[0]))
    assert np.all(runs.stopped_at[1] < 1.0)
    assert np.all(np.isfinite(runs.w[0]))
    assert np.all(np.isnan(runs.test_error[1, :, -1]))


def test_divergence_in_the_last_step_is_seen(sparse):
    """Two steps of 20: the second one explodes, and no step follows it."""
    options = dict(end=40.0, d=40, runs=1, t_eval=[20.0, 40.0], trainer=df.GradientDescent(20.0))
    with pytest.raises(df.SolveError, match=r"diverged in step 2 \(t=40\)"):
        quick(sparse, NET(1.0), **options)
    runs = quick(sparse, NET(1.0), throw=False, **options)
    assert runs.stopped_at.tolist() == [40.0]
    assert np.isnan(runs.test_error[0, 1])
    assert np.isnan(runs.w).all()


def test_a_failure_ends_the_work(sparse, monkeypatch):
    drawn = []
    original = module.draw_data
    monkeypatch.setattr(module, "draw_data", lambda *a: drawn.append(a) or original(*a))
    with pytest.raises(df.SolveError):
        quick(sparse, NET(10.0), runs=5, trainer=df.GradientDescent(0.1))
    assert len(drawn) == 1


def test_weights_are_those_at_the_end_whatever_times_are_kept(sparse):
    for trainer in (df.GradientFlow(), df.GradientDescent(0.5)):
        whole = quick(sparse, end=50.0, t_eval=[50.0], trainer=trainer)
        early = quick(sparse, end=50.0, t_eval=[1.0], trainer=trainer)
        np.testing.assert_allclose(early.w, whole.w, atol=1e-6)
        assert early.t.tolist() == [1.0]
        assert early.test_error.shape == (2, 1)


def test_proportions_have_no_bias_where_shares_are_not_whole():
    """1000 values, 100 entries: each is taken with probability 1/10, and neighbours are spread out."""
    task = df.Task(0.5, 0.1, df.Empirical(np.linspace(-1, 1, 1000)))
    w_star = quick(task, d=100, runs=20, end=0.01).w_star
    assert np.all(
        np.abs(w_star.mean(axis=1)) < 0.01
    )  # systematic: a shift of at most one spacing of 0.002 · 10 / 2
    assert np.std(w_star.mean(axis=1)) > 1e-4


def test_given_layers_are_recorded(sparse):
    runs = quick(sparse, start=(np.full(30, 0.2), np.full(30, -0.4)), t_eval=[0.0])
    assert runs.start == "given"
    assert "given in place of α" in repr(runs)
    np.testing.assert_allclose(runs.norm, (0.4**2 - 0.2**2) / 2)


def test_reduced_rows_have_the_same_normal_equations():
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((50, 20)), rng.standard_normal(50), rng.standard_normal(20)
    for orthogonal in (False, True):
        r = reduce_rows(X, y, orthogonal)
        assert r.X.shape == (20, 20)
        np.testing.assert_allclose(r.X.T @ r.X, X.T @ X, atol=1e-12)
        np.testing.assert_allclose(
            np.sum((r.X @ w - r.y) ** 2) + r.floor, np.sum((X @ w - y) ** 2), rtol=1e-12
        )
    np.testing.assert_allclose(r.X @ r.X.T, np.diag(r.strength), atol=1e-12)


def test_files_hold_everything(sparse, tmp_path):
    net = df.models.TruncatedDiagonalNetwork(np.array([0.3, 0.8]), 0.05, 3, M=4.0)
    runs = quick(sparse, net, trainer=df.GradientDescent(0.5), t_eval=[0.0, 5.0], coordinates=[1], seed=7)
    again = df.load(runs.save(tmp_path / "runs.nc"))
    for name in runs.quantities():
        old, new = getattr(runs, name), getattr(again, name)
        assert (old is None and new is None) or np.array_equal(old, new, equal_nan=True)
    assert again.trainer == df.GradientDescent(0.5)
    assert again.coordinate.tolist() == [1]
    assert (again.seed, again.n, again.d, again.inputs, again.net.M) == (7, 15, 30, "gaussian", 4.0)
    assert again.complete
    data = runs.to_xarray()
    assert data.test_error.dims == ("alpha", "run", "time")
    assert data.attrs["seed"] == 7
    assert "n=15 d=30" in repr(runs)
    ax = runs.plot()
    assert "n = 15, d = 30, gaussian inputs, GradientDescent(step=0.5)" in " ".join(
        ax.figure.get_suptitle().split()
    )
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), runs.mean("test_error")[0, 1:])


def test_ctrl_c_leaves_finished_runs(sparse, monkeypatch):
    original = module.draw_data

    def interrupt(plan, seed, run):
        if run == 2:
            raise KeyboardInterrupt
        return original(plan, seed, run)

    monkeypatch.setattr(module, "draw_data", interrupt)
    with pytest.warns(UserWarning, match="2 of 5 runs have finished"):
        runs = quick(sparse, runs=5)
    assert runs.count == 2
    assert not runs.complete
    assert "2 runs of 5" in repr(runs)
    monkeypatch.setattr(module, "draw_data", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        quick(sparse)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_steps(sparse):
    def peak(step):
        tracemalloc.start()
        quick(sparse, d=200, end=100.0, runs=1, trainer=df.GradientDescent(step))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1.0)
    assert peak(0.01) < 1.1 * peak(0.1)


@pytest.mark.slow
def test_ctrl_c_with_processes_leaves_finished_runs(tmp_path):
    """Run 0 takes for ever; the others are done when the interruption comes."""
    script = tmp_path / "script.py"
    script.write_text(
        "import signal, time, warnings\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # the background may have turned it off
        "import dynafield as df\n"
        "warnings.simplefilter('ignore')\n"
        "def inputs(rng, n, d):\n"
        "    if rng.bit_generator.seed_seq.entropy == [0, 0]:\n"
        "        time.sleep(600)\n"
        "    return rng.standard_normal((n, d)) / d**0.5\n"
        "task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)\n"
        "print('ready', flush=True)\n"
        "runs = df.simulate(task, net, 1.0, d=30, runs=4, inputs=inputs, workers=2)\n"
        "print(runs.run.tolist(), runs.complete, runs.w.shape)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(20)  # two processes import the library, three runs take milliseconds
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert told == "[1, 2, 3] False (3, 30)\n"


def test_processes_give_the_same_numbers(sparse):
    options = dict(runs=3, inputs=lambda rng, n, d: rng.standard_normal((n, d)) / np.sqrt(d), weights=True)
    one, two = quick(sparse, **options), quick(sparse, workers=2, **options)
    for name in ("w", "weights", "train_error", "w_star"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_progress_is_shown_when_asked_and_silent_otherwise(sparse, capsys, monkeypatch):
    monkeypatch.setattr("dynafield.progress.PATIENCE", 0.0)
    quick(sparse)
    assert capsys.readouterr().err == ""
    quick(sparse, progress=True)
    shown = capsys.readouterr().err
    assert "2 runs" in shown
    assert "left" in shown


BAD = [
    (dict(t_max=0.0), "t_max must be"),
    (dict(t_max=-1.0), "t_max must be"),
    (dict(t_max=[1.0, 2.0]), "t_max must be one"),
    (dict(t_eval=[1.0, 0.5]), "t_eval must increase, got 1 before 0.5"),
    (dict(t_eval=[-1.0, 0.5]), "t_eval must be times ≥ 0"),
    (dict(t_eval=[1.0, 9.0]), "must not go beyond t_max = 5, got 9"),
    (dict(t_eval=[]), "t_eval must be"),
    (dict(d=0), "d must be an integer ≥ 1"),
    (dict(d=2), "n ≥ 2"),
    (dict(runs=0), "runs must be an integer ≥ 1"),
    (dict(seed=-1), "seed must be an integer ≥ 0"),
    (dict(inputs="cauchy"), "inputs must be 'gaussian'"),
    (dict(inputs=np.zeros((15, 30)) + np.nan), "inputs must be finite, got nan at row 0, column 0"),
    (dict(inputs=np.ones((14, 30)), d=30), r"must have n = delta · d = 0.5 · 30 = 15 rows, got 14"),
    (dict(inputs=np.ones((15, 30)), d=31), "d must be the 30 columns"),
    (dict(inputs=np.ones(30)), "a matrix with rows and columns"),
    (dict(inputs=lambda rng, n, d: rng.standard_normal((n, d))), "variance 1/d: .* = 29|variance 1/d"),
    (dict(inputs=lambda rng, n, d: rng.standard_normal((d, n))), "must return that shape, got"),
    (dict(inputs=lambda rng, n, d: np.full((n, d), d**-0.5)), "√d · mean = 1, not 0"),
    (dict(inputs=[["1"] * 30] * 15), "inputs must be a real matrix"),
    (dict(targets="sparse"), "targets must be 'proportions'"),
    (dict(targets=np.ones(7)), "targets must have d = 30 entries, got 7"),
    (dict(start=(np.ones(30), np.ones(29))), r"start v\(0\) must have d = 30 entries, got 29"),
    (dict(start=3), "start must be a pair"),
    (dict(coordinates=[30]), "coordinates must be an integer from 0 to 29, got 30"),
    (
        dict(trainer=df.GradientDescent(0.3)),
        "t_max must be a multiple of the step 0.3, got 5: 4.8 and 5.1 are near",
    ),
    (dict(trainer=df.GradientDescent(0.5), t_eval=[0.7, 5.0]), "t_eval must be a multiple of the step 0.5"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input_is_refused_by_name(sparse, options, message):
    options = dict(t_max=5.0, d=30, runs=1) | options
    with pytest.raises(df.InputError, match=message):
        df.simulate(sparse, NET(0.5), **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: df.GradientDescent(0.0),
        lambda: df.GradientDescent(np.nan),
        lambda: df.GradientFlow(0.5),
        lambda: df.models.TruncatedDiagonalNetwork(1.0, M=0.0),
    ],
)
def test_bad_trainers_are_refused(make):
    with pytest.raises(df.InputError, match="must be"):
        make()


def test_traced_parameters_are_refused_inside_grad_too(sparse):
    def error(alpha):
        return df.simulate(sparse, NET(alpha), 1.0, d=30, runs=1).test_error[0, -1]

    with pytest.raises(df.InputError, match="alpha must be a plain number"):
        jax.grad(error)(0.5)


def test_arrays_of_the_task_are_refused(sparse):
    with pytest.raises(df.InputError, match="delta must be one number"):
        df.simulate(df.Task(np.array([0.5, 0.6]), 0.1, df.Bernoulli(0.1)), NET(0.5), 1.0)
    with pytest.raises(df.InputError, match="alpha and lam must be single numbers when start"):
        quick(sparse, NET(np.array([1.0, 2.0])), start=(np.ones(30), np.ones(30)))
    with pytest.raises(df.InputError, match="DiagonalNetwork"):
        df.fixed_point(sparse, df.models.TruncatedDiagonalNetwork(0.5))


def test_progress_is_told_to_a_function_that_may_stop_it(sparse):
    told = []

    def stop(share, words):
        told.append(share)
        if share > 0.7:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        runs = df.simulate(sparse, df.DiagonalNetwork(0.5), 5.0, d=50, runs=4, progress=stop)
    assert 0 < runs.count < 4
    assert told == sorted(told)
