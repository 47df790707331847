"""Stages on solved curves: activation against finite networks and closed forms, steps, stops, pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.results.activation import Activation
from dynafield.figures.phases import shade
from dynafield.studies.phases import Reading, best_stop, timed


@pytest.fixture(scope="module")
def small():
    """A solved problem of small α."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    return df.solve(task, df.DiagonalNetwork(1e-3), 60.0, tol=1e-2)


@pytest.fixture(scope="module")
def both():
    """Two problems of a small and a middle α, solved together."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    return df.solve(task, df.DiagonalNetwork(np.array([0.01, 0.5])), 21.0, tol=1e-2)


@pytest.fixture(scope="module")
def large():
    """A solved problem of large α with weight decay."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    return df.solve(task, df.DiagonalNetwork(10.0, 0.2), 70.0, tol=1e-2)


def test_a_training_error_that_rises_again_has_bars_within_half_of_tol(large):
    """On the plateau it is far below what tol resolves: no such error is a fraction of what comes later."""
    assert large.status == "finished"
    assert np.min(large.train_error) < 1e-3 * large.train_error[-1]
    assert np.max(large.train_error_se) < 0.5 * 1e-2 * 0.11


@pytest.mark.slow
def test_active_coordinates_are_those_of_finite_networks(small):
    """Shares of true and false coordinates, d = 1000, within 4 standard errors of runs and sample."""
    times = np.array([8.0, 15.0, 30.0, 60.0])
    fine = np.unique(np.concatenate([np.linspace(0, 60, 121), times]))
    runs = df.simulate(
        small.task, small.net, 60.0, d=1000, runs=8, t_eval=fine, coordinates=list(range(1000)), seed=1
    )
    reached = np.maximum.accumulate(np.abs(runs.coordinates), axis=1) >= 0.5
    at = np.searchsorted(fine, times)
    active = small.activation()
    for kind in (True, False):
        chosen = (np.asarray(runs.w_star) != 0) == kind
        shares = np.sum(reached[:, at] & chosen[:, None], axis=-1) / np.sum(chosen, axis=-1)[:, None]
        share, error = active.active(times, kind)
        spread = np.hypot(shares.std(axis=0, ddof=1) / np.sqrt(8), error)
        assert np.all(np.abs(shares.mean(axis=0) - share) < 4 * spread + 2e-3)  # 2/d for the size


def test_activation_is_where_the_integral_of_the_gradient_says(small):
    """|∫g| = asinh(|w|/α²) comes to 2 log(1/α) at the activation time, path by path."""
    active = small.activation()
    some = np.flatnonzero(np.isfinite(active.time) & (active.time < 60.0))[::100]
    assert len(some) > 10
    w = np.abs(small.paths)[some]
    for k, path in zip(some, w, strict=True):
        value = path @ small.dense.weights(np.array([active.time[k]]))[0]
        assert np.arcsinh(value / 1e-6) == pytest.approx(2 * np.log(1e3), abs=2e-3)  # linear in log w between


def test_early_activation_follows_the_fields_of_the_start(small):
    """The first percent of the true coordinates, against a logistic from the field of t = 0 to w = 1/2."""
    law = df.theory.search_phase(small.task, small.net).law()
    time, _ = small.activation().quantile(0.01)
    field = law.level(0.01, True)
    expected = np.log((2 * field / 1e-6 - 1) / (2 * field - 1)) / field
    assert time == pytest.approx(expected, rel=0.02)  # a percent of the coordinates has moved the field
    assert abs(time - float(law.activation_time(np.array(field)))) < 0.5 / field


def test_staircase_of_incremental_learning():
    """δ large: each size of target comes at 2 log(1/α)/|w*|, as for δ → ∞ up to a part of order 1/δ."""
    alpha, values = 1e-4, np.array([0.5, 1.0, 2.0])
    task = df.Task(50.0, 0.05, df.Discrete([0.0, *values], [0.7, 0.1, 0.1, 0.1]))
    active = df.solve(task, df.DiagonalNetwork(alpha), 60.0, tol=1e-2, preview=True).activation(level=0.25)
    for value in values:
        times = active.time[active.w_star == value]
        exact = df.theory.infinite_data_paths(
            [value], df.DiagonalNetwork(alpha), t := np.linspace(0, 60, 6001)
        )[0]
        assert np.median(times) == pytest.approx(np.interp(0.25, exact, t), rel=0.02)
    steps, _ = active.active([12.0, 26.0, 55.0], true=True)
    assert steps == pytest.approx([1 / 3, 2 / 3, 1], abs=0.03)
    assert np.max(active.active([60.0], true=False)[0]) < 0.01


@pytest.mark.parametrize(("alpha", "lam"), [(0.2, 0.0), (0.1, 0.06)])
def test_deep_networks_wait_for_a_power_of_alpha(alpha, lam):
    """δ = 50, depth 3: medians are within 2/|h| of the formula and 2 % of δ → ∞; λ sets a threshold."""
    task = df.Task(50.0, 0.1, df.Discrete([0.0, 0.5, 1.0], [0.8, 0.1, 0.1]))
    net = df.DiagonalNetwork(alpha, lam, 3)
    active = df.solve(task, net, 60.0, tol=1e-2, preview=True).activation(level=0.25)
    expected = df.theory.search_phase(task, net).law().activation_time(np.array([0.5, 1.0]))
    for value, time in zip((0.5, 1.0), expected, strict=True):
        found = np.median(active.time[active.w_star == value])
        if np.isinf(time):
            assert np.all(np.isinf(active.time[active.w_star == value]))
        else:
            assert abs(found - time) < 2 / value
            exact = df.theory.infinite_data_paths([value], net, t := np.linspace(0, 60, 6001))[0]
            assert found == pytest.approx(np.interp(0.25, exact, t), rel=0.02)
    assert np.all(np.isinf(active.time[active.w_star == 0]))


def test_measures_of_small_alpha(small):
    found = df.phases(small)
    assert [s.name for s in found] == ["search", "descent", "rich"]
    assert found["plateau_end"].value == pytest.approx(found["search"].end, rel=0.1)
    lost = small.at([found["plateau_end"].value]).train_error[0]
    assert lost == pytest.approx(0.95 * small.train_error[0], rel=1e-4)
    times = [found[f"activation_{q}%"].value for q in (10, 50, 90)]
    assert times[0] < times[1] < times[2]
    stop = found["best_stop"]
    assert stop.low <= stop.value <= stop.high
    fine = small.at(np.linspace(5, 60, 500))
    assert found["best_test_error"].value == pytest.approx(fine.test_error.min(), rel=1e-4)


def test_best_stop_of_an_interior_minimum(both):
    curves = both[1]
    stop = df.phases(curves)["best_stop"]
    assert 5 < stop.low < stop.value < stop.high < 20
    inside = curves.at(np.linspace(stop.low, stop.high, 50))
    least = curves.at([stop.value])
    limit = least.test_error[0] + least.test_error_se[0]
    outside = curves.at([0.97 * stop.low, 1.03 * stop.high])
    assert np.all(inside.test_error - inside.test_error_se <= limit * (1 + 1e-6))
    assert np.all(outside.test_error - outside.test_error_se > limit)


def test_measures_of_large_alpha(large):
    """The three times lie on the levels that define them; the lazy form holds before."""
    found = df.phases(large)
    plateau, end = 0.07, float(df.fixed_point(large.task, large.net).test_error)
    for name, part in (("plateau_end", 0.05), ("grokking_time", 0.5)):
        value = large.at([found[name].value]).test_error[0]
        assert value == pytest.approx(plateau + part * (end - plateau), abs=1e-5)
        assert found[name].low < found[name].value < found[name].high
    assert found["plateau"].start < found["plateau_end"].value < found["grokking_time"].value
    early = np.geomspace(1e-3, 0.02, 10)
    lazy = df.theory.lazy_curves(large.task, large.net, early)
    assert large.at(early).test_error == pytest.approx(lazy.test_error, rel=0.02)


@pytest.mark.slow
def test_grokking_moves_with_alpha_and_nothing_else(large):
    """Half-way times at α = 10 and 100 differ by 2 log(10)/λ, within their errors (4 standard errors)."""
    found = df.studies.grokking(large.task, 0.2, alphas=[10.0, 100.0], tol=1e-2)
    error = 4 * np.hypot(*found.half_time_se)
    assert abs(found.shift[1] - found.shift[0]) < error
    assert error < 0.2 * 2 * np.log(10) / 0.2  # else four standard errors would hide a fifth of the move
    late = (found.offset > 0) & (found.offset < 30)
    assert np.max(np.abs(np.diff(found.test_error[:, late], axis=0))) < 0.02 * 0.11
    # the same half-way time, read from a single curve
    measured = df.phases(large)["grokking_time"]
    assert measured.value == pytest.approx(found.half_time[0], abs=4 * found.half_time_se[0])


@pytest.mark.slow
def test_deep_networks_grok_at_the_same_time(sparse):
    """Depth 3, large α: half-way to the value at 2 log(α)/λ + 20 is a constant later, within 4 errors."""
    found = []
    for alpha in (3.0, 12.0):
        middle = 2 * np.log(alpha) / 0.2
        curves = df.solve(sparse, df.DiagonalNetwork(alpha, 0.2, 3), middle + 20, tol=1e-2)
        half = df.phases(curves)["grokking_time"]
        found.append((half.value - middle, 0.5 * (half.high - half.low)))
    (one, first), (other, second) = found
    assert abs(one - other) < 4 * np.hypot(first, second)
    assert one == pytest.approx(5.8, abs=0.5)


@pytest.mark.slow
def test_the_shift_of_grokking_converges(sparse, tmp_path):
    """α = 3 … 300 at λ = .2: from α = 10 on the shifts agree within 4 standard errors of each other."""
    found = df.studies.grokking(sparse, 0.2, tol=2e-3)
    shift, error = found.shift[1:], found.half_time_se[1:]
    assert np.all(np.abs(shift - shift.mean()) < 4 * error)
    assert np.all(error < 0.15)
    assert abs(found.shift[0] - shift.mean()) < 0.2
    again = df.load(found.save(tmp_path / "grokking.nc"))
    assert np.array_equal(again.test_error, found.test_error, equal_nan=True)


@pytest.mark.slow
def test_small_decay_is_felt_at_its_own_time(sparse):
    """Up to λt = .1 the curve is within 2 % of E(0) of that without decay; at λt = 3 it is 10 % away."""
    plain = df.solve(sparse, df.DiagonalNetwork(0.5), 300.0, tol=3e-3)
    for lam in (0.1, 0.01):
        decayed = df.solve(sparse, df.DiagonalNetwork(0.5, lam), 3 / lam, tol=3e-3)
        early = np.geomspace(0.1, 0.1 / lam, 50)
        distance = np.abs(decayed.at(early).test_error - plain.at(early).test_error) / 0.11
        assert np.max(distance) < 0.02
        late = abs(decayed.at([3 / lam]).test_error[0] - plain.at([3 / lam]).test_error[0]) / 0.11
        assert late > 0.1


@pytest.mark.slow
def test_regime_map(sparse, tmp_path):
    plane = df.studies.regime_map(sparse, [0.01, 0.5, 10.0], [0.0, 0.5], t_max=10.0)
    assert plane.stage.tolist() == [["descent", "descent"], ["crossover"] * 2, ["plateau", "grokking"]]
    one = df.solve(sparse, df.DiagonalNetwork(0.5, 0.5), 10.0, tol=1e-3)
    assert plane.test_error[1, 1] == pytest.approx(one.test_error[-1], abs=4 * plane.test_error_se[1, 1])
    again = df.load(plane.save(tmp_path / "plane.nc"))
    assert again.stage.tolist() == plane.stage.tolist()
    assert (again.t_max, again.tol) == (10.0, 1e-2)
    ax = plane.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"initial scale $\alpha$", r"weight decay $\lambda$")
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    assert shown == {"descent", "crossover", "plateau", "grokking"}
    assert "stage and test error at t = 10: Bernoulli" in ax.get_title().replace("\n", " ")


def test_pictures(small, large):
    import matplotlib.pyplot as plt

    above = small.phases().plot()
    panels = above.figure.axes
    assert [ax.get_ylabel() for ax in panels] == ["error", "test error", "fraction with |w| ≥ 0.5"]
    assert (panels[1].get_yscale(), panels[1].get_ylim()[0]) == ("linear", 0.0)
    assert "α = " in above.get_title()
    shown = {text.get_text() for text in above.texts}
    assert {"search", "descent"} <= shown
    assert above.get_xscale() == "log"
    ax = plt.subplots()[1]
    assert large.phases().plot(ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"closed forms", "2 log(α)/λ", "half-way, measured"} <= set(labels)
    active = small.activation().plot()
    assert active.get_ylabel() == "fraction with |w| ≥ 0.5"
    assert "depth 2" in active.get_title()
    plt.close("all")


def test_one_of_several_problems(both):
    assert both[0].phases().regime == "small α"
    assert both[1].phases().regime == "between the limits"
    assert both[0].activation().quantile(0.1)[0] < 20
    with pytest.raises(df.InputError, match=r"choose one, as in curves\[0\].phases"):
        df.phases(both)


def test_refusals(small, sparse):
    with pytest.raises(df.InputError, match="net must be None"):
        df.phases(small, small.net)
    with pytest.raises(df.InputError, match="level must be"):
        small.activation(level=0.0)
    with pytest.raises(df.InputError, match="t must be at most 60"):
        small.activation().active([61.0])
    with pytest.raises(df.InputError, match="curves must be the Curves"):
        df.plot_phases(sparse)
    stepped = df.solve(sparse, df.DiagonalNetwork(0.5), 2.0, tol=1e-2, trainer=df.GradientDescent(0.5))
    with pytest.raises(df.InputError, match="GradientFlow"):
        df.phases(stepped)
    with pytest.raises(df.InputError, match="numbers > 1"):
        df.studies.grokking(sparse, 0.2, alphas=[0.5])
    with pytest.raises(df.InputError, match="delta must not be 1"):
        df.studies.grokking(df.Task(1.0, 0.1, df.Bernoulli(0.1)), 0.2)
    with pytest.raises(df.InputError, match="alphas must be"):
        df.studies.regime_map(sparse, [-1.0], [0.1])


def test_quantiles_of_nothing():
    time, weight = np.array([1.0, np.inf]), np.array([0.5, 0.5])
    only = Activation(
        time=time, w_star=np.zeros(2), weight=weight, replica=np.zeros(2, int), level=0.5, t_max=5.0
    )
    assert np.isnan(only.quantile(0.5, True)[0])
    assert np.all(np.isnan(only.active([1.0], True)[0]))
    assert only.quantile(0.4, False)[0] == 1.0
    assert np.isinf(only.quantile(0.9, False)[0])


def test_times_that_are_not_reached_and_minima_that_are_not_seen():
    """A test error that falls to the last time, half-way only: neither NaN nor a best stop in the picture."""
    t = np.linspace(0.1, 10.0, 200)
    seen = Reading(t, np.exp(-t), 1.0 - 0.05 * t, np.full(200, 1e-6), np.full(200, 1e-6))
    end = timed("grokking_end", seen.crossing("test_error", 0.05, 1.0), "95% of the way", 10.0)
    assert (end.value, end.low, end.high) == (np.inf, 10.0, np.inf)
    assert end.meaning == "not by t = 10: 95% of the way"
    half = timed("grokking_time", seen.crossing("test_error", 0.75, 1.0), "half-way", 10.0)
    assert half.value == pytest.approx(5.0)
    stop, _ = best_stop(seen)
    assert stop.value == 10.0
    assert stop.meaning == "least test error; it still falls at the last time"


def test_a_stage_without_room_for_its_name_is_in_the_legend():
    _, ax = plt.subplots()
    ax.set_xscale("log")
    ax.set_xlim(1.0, 1e4)
    shade([("lazy", 1.0, 1.2), ("plateau", 1.2, 1e4)], ax, named=True)
    assert ax.get_legend_handles_labels()[1] == ["lazy"]
    assert [text.get_text() for text in ax.texts] == ["plateau"]
    plt.close("all")
