"""The solver against closed forms, fixed points, a scalar equation, and its own identities."""

import dataclasses
import itertools
import os
import re
import signal

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynafield as df
from dynafield.dmft import blocks, ensemble, estimates, grid, refine, sampling
from dynafield.dmft.march import PAGES
from dynafield.problem.spectra import isotropic

UNIT = 0.11  # E_test(0) of the standard task
TABLE = {  # t: C_w, C_f of the standard case; C_w to 5e-5, C_f as printed
    1: (0.070649, 2.949e-2),
    2: (0.059477, 1.074e-2),
    5: (0.051411, 2.170e-3),
    10: (0.050119, 4.995e-4),
    20: (0.050803, 6.717e-5),
    50: (0.051688, 7.725e-7),
}


def sparse_task(delta=0.5, sigma=0.1):
    return df.Task(delta, sigma, df.Bernoulli(0.1))


@pytest.fixture(scope="module")
def standard():
    """The standard case to t = 100."""
    return df.solve(sparse_task(), df.DiagonalNetwork(0.5), 100.0)


def test_reference_values(standard):
    t = np.array(list(TABLE), float)
    C_w, C_f = np.array(list(TABLE.values())).T
    points = standard.at(t)
    # tol bounds the error; rounds aim at a standard error of .4 tol, of which 1.75 are allowed here
    assert np.all(np.abs(points.test_error - 0.01 - C_w) < 0.7e-3 * UNIT)
    assert np.all(np.abs(points.train_error - C_f) < 0.5e-3 * UNIT)
    assert np.all(np.abs(points.train_error / C_f - 1) < 0.03)  # small values are not lost either
    assert np.all(np.abs(points.test_error - 0.01 - C_w) < 3 * points.test_error_se + 5e-5 * C_w)


def test_shape_and_start(standard):
    assert standard.t[0] == 0
    assert standard.t[-1] == pytest.approx(100)
    assert standard.test_error[0] == pytest.approx(UNIT, rel=1e-12)
    assert standard.train_error[0] == pytest.approx(UNIT, rel=1e-12)
    assert standard.loss == pytest.approx(standard.train_error / 2)
    assert standard.complete
    assert standard.status == "finished"
    assert np.max(standard.test_error_se) < 1e-3 * UNIT
    assert "finished" in repr(standard)


def test_kernels_are_consistent(standard):
    C_w, C_f, R_w, R_f = (np.asarray(getattr(standard, k)) for k in ("C_w", "C_f", "R_w", "R_f"))
    for kernel in (C_w, C_f):
        assert kernel == pytest.approx(kernel.T, abs=1e-15)
        assert np.linalg.eigvalsh(kernel).min() > -1e-12
    for kernel in (R_w, R_f):
        assert np.all(kernel[np.triu_indices(len(kernel), 1)] == 0)
    assert np.diag(C_w) + 0.01 == pytest.approx(standard.test_error, rel=1e-12)
    assert np.diag(C_f) == pytest.approx(standard.train_error, rel=1e-12)
    assert np.diag(R_w) == pytest.approx(np.diag(R_f), rel=1e-12)  # equal at equal times


def test_law_and_observables(standard):
    law = standard.law(10.0)
    assert np.sum(law.weight) == pytest.approx(1)
    assert np.sum(law.weight[law.w_star == 1]) == pytest.approx(0.1)
    value, error = standard.observable(lambda w, w_star: (w - w_star) ** 2, 10.0)
    assert value == pytest.approx(standard.at(10.0).test_error[0] - 0.01, rel=1e-3)
    assert 0 < error < 1e-3 * UNIT
    odd, error = standard.observable(lambda w, w_star: np.where(w_star == 0, w, 0.0), 10.0)
    assert abs(odd) < 1e-12  # zero targets are symmetric about zero
    _, w_star = law.sample(1000, seed=1)
    assert set(np.unique(w_star)) == {0.0, 1.0}
    with pytest.raises(df.InputError, match="at most 100"):
        standard.law(101.0)
    with pytest.raises(df.InputError, match="times"):
        standard.at([-1.0])


def test_round_trip_and_plot(standard, tmp_path):
    path = standard.save(tmp_path / "curves.nc")
    again = df.load(path)
    for name in standard.quantities():
        assert np.array_equal(getattr(again, name), getattr(standard, name)), name
    assert again.at([3.0]).test_error == standard.at([3.0]).test_error
    ax = standard.plot()
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["test", "train", "below tol = 0.001"]
    train = next(line for line in ax.lines if line.get_label() == "train")
    assert np.nanmin(train.get_ydata()) >= 1e-3 * UNIT  # a solid line only where tol resolves it
    right = ax.figure.axes[1]
    assert right.get_yscale() == "linear"
    assert [t.get_text() for t in right.get_legend().get_texts()][1].startswith("least: 0.0")
    assert "α = 0.5, λ = 0, depth 2, tol = 0.001" in ax.figure.get_suptitle()


def test_lazy_limit_has_all_four_kernels_in_closed_form():
    """Relative error of the lazy forms is of order 1/α² = 1e-3; blocks short beside the relaxation."""
    task, net = sparse_task(), df.DiagonalNetwork(30.0)
    edges = np.linspace(0, 2.0, 17) / 900  # t α² up to 2, fastest rate 5.8
    curves = df.solve(task, net, edges[-1], points=512, grid=edges, tol=1e-3, preview=True)
    exact = df.theory.lazy_curves(task, net, curves.t)
    for name in ("C_w", "C_f", "R_w", "R_f"):
        gap = np.abs(getattr(curves, name) - getattr(exact, name))
        assert np.max(gap) < 1e-3 * np.max(np.abs(getattr(exact, name))), name
    for i in range(6, len(curves.t), 3):  # the equations between them, by another quadrature, at t' = 0
        fine = np.linspace(0, curves.t[i], 4001)
        rule = curves.dense.weights(fine)
        row = rule @ curves.R_w[i]
        C_f = curves.C_w[i, 0] + 0.01 - np.trapezoid(row * (rule @ curves.C_f[0]), fine)
        R_f = curves.R_w[i, 0] - np.trapezoid(row * (rule @ curves.R_f[:, 0]), fine)
        assert curves.C_f[i, 0] == pytest.approx(C_f, abs=1e-3 * UNIT)
        assert curves.R_f[i, 0] == pytest.approx(R_f, abs=1e-3 * curves.R_f[0, 0])


def test_infinite_data_is_a_scalar_equation():
    """eq:dmft_inf_delta; corrections are of order 1/δ = 1e-4."""
    alpha, lam, times = 0.3, 0.05, np.array([1.0, 3.0, 10.0, 30.0])
    curves = df.solve(sparse_task(delta=1e4, sigma=0.3), df.DiagonalNetwork(alpha, lam), 30.0, tol=1e-3)

    def rate(t, w):
        return -np.sqrt(w**2 + alpha**4 * np.exp(-2 * lam * t)) * (w - 1) - lam * w

    w = solve_ivp(rate, (0, 30), [0.0], t_eval=times, rtol=1e-10, atol=1e-12).y[0]
    unit = 0.1 + 0.09
    assert np.abs(curves.at(times).test_error - 0.1 * (w - 1) ** 2 - 0.09).max() < 1e-3 * unit
    assert np.abs(curves.at(times).train_error - curves.at(times).test_error).max() < 1e-3 * unit


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_error_bars_hold_where_all_paths_are_alike(lam):
    """δ = 1e6 without noise: the defect of a block vanished by chance, and errors were 16 bars."""
    task, net = sparse_task(delta=1e6, sigma=0.0), df.DiagonalNetwork(0.05, lam)
    curves = df.solve(task, net, 36.0, tol=1e-2)
    exact = df.theory.infinite_data_curves(task.prior, net, curves.t).test_error
    assert np.all(np.abs(curves.test_error - exact)[1:] < 2 * curves.test_error_se[1:])
    assert np.max(curves.test_error_se) < 1e-2 * curves.test_error[0]


@pytest.mark.parametrize(
    ("delta", "alpha", "lam", "depth", "t_max"),
    [
        (0.5, 1.0, 0.0, 2, 100.0),
        pytest.param(0.5, 0.9, 0.0, 4, 60.0, marks=pytest.mark.slow),
        (2.0, 1.0, 0.0, 2, 100.0),
        (2.0, 0.3, 0.5, 2, 300.0),
    ],
)
def test_training_ends_at_the_fixed_point(delta, alpha, lam, depth, t_max):
    task, net = sparse_task(delta), df.DiagonalNetwork(alpha, lam, depth)
    tol = 5e-3
    curves, end = df.solve(task, net, t_max, tol=tol), df.fixed_point(task, net)
    assert abs(curves.test_error[-1] - end.test_error) < tol * UNIT
    assert abs(curves.train_error[-1] - end.train_error) < tol * UNIT


def test_finite_networks_agree():
    """d = 400: within four standard errors; the bias, of order 1/d, is below them."""
    found = df.compare(sparse_task(), df.DiagonalNetwork(0.8, 0.05, 3), 30.0, d=400, runs=8, tol=1e-2,
                       t_eval=[0.5, 3.0, 30.0])  # fmt: skip
    for name in ("train_error", "test_error"):
        assert np.all(np.abs(found.difference(name)) < 4 * found.standard_error(name)), name
    assert "standard errors apart" in repr(found)
    loss = found.runs.mean("loss") - found.curves.at(found.t).loss  # with its weight decay, λ E[u² + v²]/2
    assert np.all(np.abs(loss) < 4 * found.runs.standard_error("loss"))
    assert found.curves.loss[0] == pytest.approx(UNIT / 2 + 0.05 * 0.8**2, rel=1e-12)


@pytest.fixture(scope="module")
def together():
    """Four problems of one array."""
    task = df.Task(np.array([0.5, 2.0])[:, None], 0.1, df.Bernoulli(0.1))
    return df.solve(task, df.DiagonalNetwork(np.array([0.3, 1.0])), 5.0, tol=1e-2, preview=True)


def test_arrays_are_solved_together_and_keep_their_axes(together):
    assert together.test_error.shape == (2, 2, len(together.t))
    assert together.C_w.shape == (2, 2, len(together.t), len(together.t))
    alone = df.solve(
        df.Task(2.0, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.3), 5.0, tol=1e-2, preview=True
    )
    gap = together.at([1.0, 5.0]).test_error[1, 0] - alone.at([1.0, 5.0]).test_error
    assert np.max(np.abs(gap)) < 1e-2 * UNIT
    assert together[1, 0].law(5.0).w.shape == together.path_target[1, 0].shape
    labels = [text.get_text() for text in together.plot().get_legend().get_texts()]
    assert labels[:2] == ["test, δ = 0.5, α = 0.3", "test, δ = 0.5, α = 1"]
    assert labels[4] == "training errors"


def test_a_curve_that_is_zero_changes_nothing_between_nodes_of_the_others(together):
    times, kept = [0.1, 0.7, 3.0], np.array([[1.0, 0.0], [1.0, 1.0]])
    changed = dataclasses.replace(together, train_error=together.train_error * kept[..., None]).at(times)
    for name in ("train_error", "train_error_se"):
        here, there = getattr(changed, name), getattr(together.at(times), name)
        assert np.array_equal(here[kept == 1], there[kept == 1])
    assert np.all(changed.train_error[0, 1] == 0)


@pytest.fixture
def compiled(caplog):
    """How many programs of a march have been compiled so far."""
    with jax.log_compiles(), caplog.at_level("WARNING", "jax"):
        yield lambda: sum(
            one.getMessage().startswith(("Compiling jit(advance)", "Compiling advance"))
            for one in caplog.records
        )


def test_a_shape_is_compiled_once_and_new_values_never(compiled):
    """The pilot, the first round and all their replicas are one program (weak types made it two), with points
    that are given or chosen; and grids of any length."""
    options, grid = dict(tol=1e-2, points=512), [0.0, 0.1, 0.4, 1.0]
    nets = [df.DiagonalNetwork(alpha, lam, depth=5) for alpha, lam in ((0.5, 0.1), (0.6, 0.01), (1.0, 0.0))]
    tasks = [
        sparse_task(),
        df.Task(0.7, 0.3, df.Bernoulli(0.1, 2.0)),
        df.Task(1.7, 0.0, df.Discrete([-1, 3], [0.1, 0.9])),
    ]
    for task, net in zip(tasks, nets, strict=True):
        df.solve(task, net, 1.0, grid=grid, **options)
        assert compiled() == 1
    df.solve(tasks[0], nets[0], 1.0, grid=np.linspace(0.0, 1.0, 2 * PAGES), preview=True, **options)
    df.solve(tasks[0], nets[2], 1.0, tol=2e-2)  # pilot and round
    assert compiled() == 1


def test_sweeps_that_are_foreseen_end_where_the_others_do(monkeypatch):
    """Nearly lazy, and stiff: four times fewer sweeps, the same fixed point."""
    swept, original = [], refine.march_along

    def counting(*arguments):
        found = original(*arguments)
        swept.append(np.mean([one.later[0].sweeps[:14] for one in found.replicas[0]]))
        return found

    monkeypatch.setattr(refine, "march_along", counting)
    task, net = df.Task(1.2, 0.1, df.Bernoulli(0.3)), df.DiagonalNetwork(10.0, 0.001)
    edges = np.concatenate([[0.0], np.geomspace(0.01, 20.0, 14)])
    options = dict(tol=1e-3, points=512, preview=True)
    fast = df.solve(task, net, 20.0, grid=edges, **options)
    monkeypatch.setattr(blocks, "foreseen", lambda before, own, found, *rest: found)
    monkeypatch.setattr(ensemble, "MANY_NODES", 10**6)  # fewer rows are written down: another program
    slow = df.solve(task, net, 20.0, grid=edges, **options)
    assert 4 * swept[0] < swept[1]
    assert np.max(np.abs(slow.test_error - fast.test_error)) < 1e-4 * 0.31
    assert np.max(np.abs(slow.train_error - fast.train_error)) < 1e-4 * 0.31


def test_what_unfinished_sweeps_leave_is_in_the_error_bars(monkeypatch):
    """The same points, with sweeps that end a thousand times too early [eq:unfinished]."""
    edges = np.concatenate([[0.0], np.geomspace(0.1, 50.0, 14)])
    net, options = df.DiagonalNetwork(5.0, 0.01), dict(tol=1e-3, points=512, grid=edges, preview=True)
    tight = df.solve(sparse_task(), net, 50.0, **options)
    monkeypatch.setattr(refine, "SETTLED_SHARE", 1000 * refine.SETTLED_SHARE)
    loose = df.solve(sparse_task(), net, 50.0, **options)
    gap = np.max(np.abs(loose.test_error - tight.test_error))
    added = np.max(loose.test_error_se**2 - tight.test_error_se**2) ** 0.5
    assert 2e-5 * UNIT < gap < added < 100 * gap


def test_blocks_that_a_pilot_has_made_too_long_are_halved(monkeypatch):
    monkeypatch.setattr(refine, "TIME_SHARE", 30.0)  # of the pilot
    net, options = df.DiagonalNetwork(0.5), dict(tol=2e-3, points=512)
    rough = df.solve(sparse_task(), net, 20.0, tol=2e-3, preview=True)
    curves = df.solve(sparse_task(), net, 20.0, **options)
    assert len(curves.edges) > len(rough.edges)
    assert curves.status == "finished"
    times = [t for t in TABLE if t <= 20]
    gap = curves.at(times).test_error - np.array([TABLE[t][0] + 0.01 for t in times])
    assert np.all(np.abs(gap) < 2e-3 * UNIT)
    assert "time steps" in df.solve(sparse_task(), net, 20.0, grid=rough.edges, **options).status


def test_a_stiff_start_is_resolved():
    """α = 100: all that can be learnt is learnt by t = .001, a hundredth of the first block that is tried."""
    net, times = df.DiagonalNetwork(100.0), np.array([2e-5, 1e-4, 3e-4, 1e-3, 1.0])
    curves, lazy = (
        df.solve(sparse_task(), net, 1.0, tol=1e-2),
        df.theory.lazy_curves(sparse_task(), net, times),
    )
    assert curves.status == "finished"
    for name in ("train_error", "test_error"):
        gap = np.abs(getattr(curves.at(times), name) - getattr(lazy, name))
        assert np.all(gap < 1e-2 * UNIT)


def test_memory_bounds_what_is_solved_at_once_and_changes_nothing():
    options = dict(tol=1e-2, points=256, grid=[0.0, 0.5, 1.5, 4.0], seed=3)
    whole = df.solve(sparse_task(), df.DiagonalNetwork(0.5), 4.0, **options)
    parts = df.solve(sparse_task(), df.DiagonalNetwork(0.5), 4.0, memory_gb=0.02, **options)
    assert np.array_equal(whole.test_error, parts.test_error)
    assert np.array_equal(whole.R_w, parts.R_w)
    with pytest.raises(df.SolveError, match="more than memory_gb allows"):
        df.solve(sparse_task(), df.DiagonalNetwork(0.5), 4.0, memory_gb=1e-6, **options)
    other = df.solve(sparse_task(), df.DiagonalNetwork(0.5), 4.0, **(options | {"seed": 4}))
    assert not np.array_equal(whole.test_error, other.test_error)


def test_ctrl_c_while_a_block_is_tried_is_an_interruption(sparse, monkeypatch, request):
    """The signal comes while members march in other threads; what they have begun is finished first."""
    march, tried = ensemble.moved, []

    def interrupted(*arguments):
        tried.append(1)
        if len(tried) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return march(*arguments)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    monkeypatch.setattr(ensemble, "moved", interrupted)
    partial = df.solve(sparse, df.DiagonalNetwork(0.5), 100.0, tol=0.05, throw=False)
    assert partial.status == "interrupted"
    assert 0 < partial.t[-1] < 100
    tried.clear()
    with pytest.raises(KeyboardInterrupt):
        df.solve(sparse, df.DiagonalNetwork(0.5), 100.0, tol=0.05)


def test_interruption_returns_what_is_solved_when_asked():
    told = []

    def stop_after_two(share, words):
        told.append(words)
        if len(told) == 2:
            raise KeyboardInterrupt

    arguments = (sparse_task(), df.DiagonalNetwork(0.5), 4.0)
    options = dict(tol=1e-2, points=256, grid=[0.0, 0.5, 1.5, 4.0], progress=stop_after_two)
    partial = df.solve(*arguments, throw=False, **options)
    assert partial.status == "interrupted"
    assert not partial.complete
    assert partial.t[-1] == 1.5
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        df.solve(*arguments, **options)


def test_failure_is_loud_and_can_be_asked_to_be_quiet(monkeypatch):
    monkeypatch.setattr(refine, "ROUNDS", 1)
    monkeypatch.setattr(estimates, "SAMPLE_SHARE", 1e-9)
    arguments, options = (sparse_task(), df.DiagonalNetwork(0.5), 1.0), dict(tol=1e-2, grid=[0.0, 0.3, 1.0])
    with pytest.raises(df.SolveError, match=r"tol=0\.01 is not met"):
        df.solve(*arguments, **options)
    assert "not met" in df.solve(*arguments, throw=False, **options).status
    monkeypatch.setattr(refine, "SETTLED_SHARE", -1.0)  # nothing is ever settled, whatever is rounded
    with pytest.raises(df.SolveError, match=r"did not converge between t=0 and 0\.3"):
        df.solve(*arguments, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(t_max=0.0), "t_max must be one finite number > 0, got 0"),
        (dict(t_max=np.inf), "t_max"),
        (dict(tol=0.0), "tol must be one number from 1e-6 to 0.1, got 0"),
        (dict(rtol=0.0), "rtol"),
        (dict(points=10), "points must be an integer from 64"),
        (dict(grid=[0.0, 1.0], net=df.DiagonalNetwork(0.5, 4.0, 3)), "blocks of at most 0.75"),
        (dict(grid=[0.0, 2.0, 1.0]), "grid must be a list of increasing times from 0 to t_max"),
        (dict(seed=-1), "seed"),
        (dict(memory_gb=0.0), "memory_gb"),
        (dict(trainer=0.1), "trainer must be GradientFlow"),
        (dict(task=df.Task(0.5, 0.0, df.Bernoulli(0.0))), "nothing is learnt"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = dict(task=sparse_task(), net=df.DiagonalNetwork(0.5), t_max=1.0) | change
    with pytest.raises(df.InputError, match=message):
        df.solve(**arguments)


def test_progress_is_shown_when_asked(capsys, monkeypatch):
    monkeypatch.setattr("dynafield.progress.PATIENCE", 0.0)
    df.solve(
        sparse_task(), df.DiagonalNetwork(0.5), 1.0, tol=1e-2, points=256, grid=[0, 0.3, 1.0], progress=True
    )
    shown = capsys.readouterr().err
    assert "solving, round 1" in shown
    assert "━" * 16 in shown


def test_responses_stay_bounded_at_depth_three_with_weight_decay():
    """Where e^{μt} is large, sums over edges would cancel: the densities must not show it."""
    curves = df.solve(
        df.Task(2.0, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0, 1.0, 3), 60.0, tol=0.05, preview=True
    )
    for kernel in (curves.R_w, curves.R_f):
        assert np.max(np.abs(kernel)) <= 1.05 * np.max(np.diag(kernel))


def test_arrays_share_a_grid_whatever_the_memory():
    net = df.DiagonalNetwork(np.array([0.1, 3.0]))
    whole, parts = (
        df.solve(sparse_task(), net, 2.0, tol=0.05, memory_gb=m, preview=True) for m in (2.0, 0.03)
    )
    assert np.array_equal(whole.test_error, parts.test_error)


def test_a_grid_for_all_is_found_in_parts_when_memory_is_short(monkeypatch):
    original, asked = refine.march_adaptively, []

    def counting(equations, problems, *rest):
        asked.append(len(problems))
        return original(equations, problems, *rest)

    monkeypatch.setattr(refine, "march_adaptively", counting)
    net, times = df.DiagonalNetwork(np.array([0.3, 3.0])), np.array([0.5, 2.0, 5.0])
    whole = df.solve(sparse_task(), net, 5.0, tol=0.05, preview=True)
    parts = df.solve(sparse_task(), net, 5.0, tol=0.05, memory_gb=0.01, preview=True)
    assert asked == [2, 1, 1]
    gap = np.abs(whole.at(times).test_error - parts.at(times).test_error)
    assert np.all(gap < 0.05 * UNIT)
    with pytest.raises(df.SolveError, match=r"points per replica need .* GB, more than memory_gb"):
        df.solve(sparse_task(), df.DiagonalNetwork(0.3), 0.5, tol=0.05, memory_gb=0.001)


def test_a_grid_for_several_is_nowhere_longer_than_theirs():
    grids = [np.array([0.0, 1.0, 3.0, 10.0]), np.array([0.0, 2.0, 4.0, 5.0, 10.0])]
    found = grid.shortest_blocks(grids)
    assert found[0] == 0
    assert found[-1] == 10
    for one in grids:
        for start, end in itertools.pairwise(found):
            met = (one[1:] > start) & (one[:-1] < end)
            assert end - start <= 1.01 * np.min(np.diff(one)[met])


def test_many_atoms_keep_their_values():
    values = np.arange(1.0, 13.0)
    sample = sampling.draw(sampling.strata(isotropic(df.Empirical(values).components), 1024), 4, (0,))
    assert set(np.unique(sample.target)) == set(values)


def test_a_preview_is_within_its_error_bars():
    """Two replicas scatter by chance: of 120 values, at most a tenth beyond two errors (5 % are expected).

    The farthest is 1.7 errors away: bars of half or twice their size would be noticed.
    """
    t = np.geomspace(0.1, 20.0, 30)
    away = []
    for alpha, delta in ((0.5, 0.5), (0.02, 2.0)):
        problem = df.Task(delta, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(alpha)
        fast = df.solve(*problem, 20.0, tol=0.05, preview=True)
        exact = df.solve(*problem, 20.0, tol=3e-3).at(t)
        assert (fast.replicas, fast.points, fast.status) == (2, 256, "preview")
        seen = fast.at(t)
        for name in ("train_error", "test_error"):
            gap = np.abs(getattr(seen, name) - getattr(exact, name))
            away.append(gap / np.hypot(getattr(seen, f"{name}_se"), getattr(exact, f"{name}_se")))
    assert np.mean(np.array(away) > 2) <= 0.1
    assert 1 < np.max(away) < 3


def test_progress_is_told_to_a_function_that_may_stop_it(sparse):
    told = []
    net = df.DiagonalNetwork(0.5)
    df.solve(sparse, net, 5.0, tol=0.05, progress=lambda share, words: told.append((share, words)))
    shares = [share for share, _ in told]
    assert len(told) > 3
    assert shares == sorted(shares)
    assert re.fullmatch(r"round 1: t = 5, \d+ points", told[-1][1])

    def stop(share, words):
        if len(told) > 20:
            raise KeyboardInterrupt
        told.append(share)

    part = df.solve(sparse, net, 500.0, tol=1e-3, progress=stop, throw=False)
    assert part.status == "interrupted"
    assert part.t[-1] > 0
