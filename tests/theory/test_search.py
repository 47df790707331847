"""The search phase against sampling, and its deep networks against the equation of one coordinate."""

import numpy as np
import pytest

import dynafield as df
from dynafield.theory.closed_forms import search


@pytest.fixture(scope="module")
def drawn():
    """A law of fields and a million draws of it."""
    task = df.Task(0.5, 0.1, df.Discrete([0.0, 1.0, -0.5], [0.8, 0.1, 0.1]))
    law = df.theory.search_phase(task, df.DiagonalNetwork(1e-3, 0.5)).law()
    h, w_star = law.sample(10**6, seed=1)
    return law, h, w_star


def within(value, hits):
    """Whether a probability agrees with a sample, within 4 standard errors."""
    return abs(value - np.mean(hits)) < 4 * np.std(hits) / np.sqrt(len(hits))


def test_what_grows(drawn):
    law, h, w_star = drawn
    true = w_star != 0
    found = df.theory.search_phase(df.Task(0.5, 0.1, df.Discrete([0.0, 1.0, -0.5], [0.8, 0.1, 0.1])), law.net)
    assert found.noise == pytest.approx(np.sqrt((0.125 + 0.01) / 0.5))
    assert within(found.true_growing, np.abs(h[true]) > 0.5)
    assert within(found.false_growing, np.abs(h[~true]) > 0.5)
    count = min(true.sum(), (~true).sum())
    assert within(found.ordering, np.abs(h[true][:count]) > np.abs(h[~true][:count]))
    fastest = np.abs(h) > law.level(0.05)
    assert within(0.05, fastest)
    assert within(law.precision(0.05), true[fastest])


def test_law_of_growing_weights(drawn):
    law, h, w_star = drawn
    t, places = 3.0, np.array([-1.0, -0.1, 0.0, 0.2, 2.0])
    W = search(h, law.net, np.array(t)) / law.net.alpha**2
    assert all(within(value, place >= W) for value, place in zip(law.cdf(places, t), places, strict=True))
    step = 1e-4
    slope = (law.cdf(places + step, t) - law.cdf(places - step, t)) / (2 * step)
    assert law.density(places, t) == pytest.approx(slope, rel=1e-5)
    w = search(h, law.net, np.array(t))
    loss = (w - w_star) ** 2 - w_star**2
    value = law.test_error(np.array([t]), 0.0)[0] - 0.125
    assert abs(value - loss.mean()) < 4 * loss.std() / 1e3


def test_without_decay_all_grow_and_only_their_order_counts():
    found = df.theory.search_phase(
        df.Task(np.array([0.1, 1.0, 100.0]), 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1e-3)
    )
    assert np.all(found.true_growing == 1)
    assert np.all(found.false_growing == 1)
    assert np.all(np.diff(found.ordering) > 0)
    assert found.ordering[-1] == pytest.approx(1, abs=1e-6)
    alone = df.theory.search_phase(df.Task(1.0, 0.1, df.Gaussian(1.0)), df.DiagonalNetwork(1e-3))
    assert np.isnan(alone.ordering)
    assert np.isnan(alone.false_growing)
    dense = df.theory.search_phase(df.Task(1.0, 0.1, df.Bernoulli(1.0)), df.DiagonalNetwork(1e-3))
    assert np.isnan(dense.ordering)
    with pytest.raises(df.InputError, match="no coordinates of the other kind"):
        alone.law().level(0.05, False)


def test_activation_times():
    law = df.theory.search_phase(df.Task(1.0, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1e-3, 0.3)).law()
    time = law.activation_time(np.array([0.2, 0.3, -1.3]))
    assert time == pytest.approx([np.inf, np.inf, 2 * np.log(1e3)])
    assert law.active(np.array([2 * np.log(1e3)]), True)[0] == pytest.approx(law.above(1.3, True))
    half = law.activation_quantile(0.5)
    assert law.active(np.array([half]), True)[0] == pytest.approx(0.5 * law.above(0.3, True), rel=1e-9)


def test_deep_networks_have_a_threshold_that_grows_as_alpha_falls():
    """The equation of one coordinate: just above λα^(2-L) it jumps when it is said to, below never."""
    alpha, lam = 0.02, 0.01
    net = df.DiagonalNetwork(alpha, lam, 3)
    law = df.theory.search_phase(df.Task(1.0, 0.1, df.Bernoulli(0.1)), net).law()
    assert law.threshold == pytest.approx(0.5)
    t = np.linspace(0, 600, 6001)
    below, above, far = df.theory.infinite_data_paths([0.45, 0.55, 1.0], net, t)
    assert np.max(below) < 1e-3
    for path, field in ((above, 0.55), (far, 1.0)):
        jump = t[np.argmax(path > 0.25)]
        assert jump == pytest.approx(float(law.activation_time(np.array(field))), rel=0.04)  # 1/(h t₀)
    assert np.all(np.isinf(law.activation_time(np.array([0.45]))))


def test_files_pictures_and_refusals(tmp_path, sparse):
    found = df.theory.search_phase(sparse, df.DiagonalNetwork(1e-3, np.linspace(0, 2, 9)))
    again = df.load(found.save(tmp_path / "search.nc"))
    assert np.array_equal(again.true_growing, found.true_growing)
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"weight decay $\lambda$", "probability")
    assert np.array_equal(ax.lines[0].get_ydata(), found.true_growing)
    ax = df.theory.search_phase(sparse, df.DiagonalNetwork(1e-3, 0.5)).plot()
    assert ax.get_ylabel() == "density"
    assert "α = 0.001, λ = 0.5" in ax.get_title().replace("\n", " ")
    with pytest.raises(df.InputError, match="task must have targets or noise"):
        df.theory.search_phase(df.Task(1.0, 0.0, df.Discrete([0.0], [1.0])), df.DiagonalNetwork(0.1))
    with pytest.raises(df.InputError, match="DiagonalNetwork"):
        df.theory.search_phase(sparse, df.models.TruncatedDiagonalNetwork(0.1))
    with pytest.raises(df.InputError, match="alpha must be < 1"):
        df.theory.search_phase(sparse, df.DiagonalNetwork(2.0)).law().activation_time(np.array([1.0]))
    with pytest.raises(df.InputError, match="alpha must be < 1"):
        df.theory.search_phase(sparse, df.DiagonalNetwork(2.0)).law().active(np.array([1.0]))
    with pytest.raises(df.InputError, match="times > 0"):
        found[0].law().active(np.array([0.0]))
    with pytest.raises(df.InputError, match="share must be"):
        found[0].law().level(1.5)
