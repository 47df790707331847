"""δ → ∞: the equation of one coordinate against explicit solutions; closed forms against the equation."""

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

import dynafield as df
from dynafield.theory import closed_forms as forms

TARGETS = np.array([0.0, 0.1, 0.2, 0.5, 1.0])


def gap(form, net, t, targets=TARGETS):
    """Largest distance of a closed form from the equation."""
    return np.max(np.abs(form(targets[:, None], net, t) - df.theory.infinite_data_paths(targets, net, t)))


def orders(gaps, alphas):
    """Observed orders in α."""
    return np.diff(np.log(gaps)) / np.diff(np.log(alphas))


@pytest.mark.parametrize("alpha", [0.01, 0.3, 2.0])
def test_without_decay_the_equation_is_riccatis(alpha):
    """With U = u² = α²e^q the equation has constant coefficients: (U - U₊)/(U - U₋) decays exponentially."""
    w_star, t = np.array([0.2, 1.0, -2.0]), np.array([0.0, 0.5, 2.0, 10.0, 50.0])
    root = np.sqrt(w_star**2 + alpha**4)[:, None]
    high, low = (w_star[:, None] + s * root for s in (1, -1))
    ratio = (alpha**2 - high) / (alpha**2 - low) * np.exp(-root * t)
    U = (high - low * ratio) / (1 - ratio)
    exact = 0.5 * (U - alpha**4 / U)
    found = df.theory.infinite_data_paths(w_star, df.DiagonalNetwork(alpha), t)
    assert found == pytest.approx(exact, rel=1e-7, abs=1e-9)  # the integrator works to 1e-10 in s


@pytest.mark.parametrize(("alpha", "lam", "depth"), [(0.5, 0.2, 2), (0.6, 0.1, 3), (1.3, 0.3, 4)])
def test_every_depth_is_that_of_the_layers(alpha, lam, depth):
    t, target = np.linspace(0, 20, 9), 0.8

    def layers(_, x):
        u, v = x
        g = (u**depth - v**depth) / depth - target
        return [-0.5 * (u ** (depth - 1) * g + lam * u), -0.5 * (-(v ** (depth - 1)) * g + lam * v)]

    x = solve_ivp(layers, (0, 20), [alpha, alpha], "DOP853", t, rtol=1e-11, atol=1e-13).y
    exact = (x[0] ** depth - x[1] ** depth) / depth
    found = df.theory.infinite_data_paths([target, -target], df.DiagonalNetwork(alpha, lam, depth), t)
    assert found[0] == pytest.approx(exact, abs=1e-8)
    assert found[1] == pytest.approx(-exact, abs=1e-8)


def test_lazy_form_has_its_order():
    alphas = np.array([10.0, 30.0, 100.0])
    for lam, order in ((0.2, -2), (0.0, -4)):
        few = alphas if lam else alphas[:2]
        gaps = [gap(forms.lazy, df.DiagonalNetwork(a, lam), np.geomspace(0.01, 30, 20) / a**2) for a in few]
        assert orders(gaps, few) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize("alpha", [3.0, 10.0, 300.0])
def test_rich_form_is_exact_after_the_lazy_phase(alpha):
    """What it leaves out is e^{-α²t}; the bound is the integrator's accuracy."""
    net = df.DiagonalNetwork(alpha, 0.2)
    t = 2 * np.log(alpha) / 0.2 + np.linspace(-5, 60, 40)
    assert gap(forms.rich, net, t, np.linspace(-1.5, 1.5, 31)) < 1e-9


def test_rich_form_survives_large_orders_and_early_times():
    net = df.DiagonalNetwork(20.0, 1e-3)  # ν up to 1000, ξ up to 2e5
    t = np.concatenate([[0.05, 1.0], np.linspace(10, 9000, 30)])
    assert gap(forms.rich, net, t, np.array([0.3, 2.0])) < 1e-5  # (λ/x)² of the plateau at most
    assert forms.rich(np.array([1.0]), df.DiagonalNetwork(1e4, 0.2), np.array([0.1]))[0] == pytest.approx(1.0)


def test_logistic_form_joins_with_the_stated_constant():
    """Its error decays as e^{-2λτ}, or e^{-(λ+|w*|)τ} for Δ < 0 (here with 1.6 for powers of τ)."""
    net = df.DiagonalNetwork(30.0, 0.2)
    targets = np.array([0.05, 0.2 + 1e-10, 0.25, 0.35])
    tau = np.array([20.0, 30.0])
    t = tau + 2 * np.log(30.0) / 0.2
    error = np.abs(forms.logistic(targets[:, None], net, t) - forms.rich(targets[:, None], net, t))
    assert np.all(error[:, 0] < 20 * np.exp(-8.0))
    rate = np.minimum(0.4, 0.2 + targets)
    assert np.all(error[:, 1] / error[:, 0] < 1.6 * np.exp(-10 * rate))
    late = forms.logistic(np.array([1.0, -1.0, 0.1]), net, np.array(1e4))
    assert late == pytest.approx([0.8, -0.8, 0.0], abs=1e-12)  # soft thresholding
    assert np.isnan(forms.logistic(np.array([0.3]), net, np.array([1.0]))[0])  # long before it holds
    resonant = forms.logistic(np.array([0.6, 0.5999, 0.0]), net, np.array(t[0]))  # Δ = 2λ
    assert resonant == pytest.approx(forms.rich(np.array([0.6, 0.5999, 0.0]), net, np.array(t[0])), abs=3e-3)


def test_composite_of_large_alpha_is_uniform():
    alphas = np.array([10.0, 30.0, 100.0])
    gaps = []
    for a in alphas:
        t = np.concatenate(
            [np.geomspace(1e-3, 30, 40) / a**2, np.linspace(0.5, 2 * np.log(a) / 0.2 + 60, 60)]
        )
        gaps.append(gap(forms.large_composite, df.DiagonalNetwork(a, 0.2), np.sort(t)))
    assert orders(gaps, alphas) == pytest.approx(-2, abs=0.05)


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_forms_of_small_alpha_have_their_order(lam):
    alphas = np.array([0.03, 0.01, 0.003])
    early = np.linspace(0.1, 3, 10)
    searching = [gap(forms.search, df.DiagonalNetwork(a, lam), early) / a**2 for a in alphas]
    assert orders(searching, alphas) == pytest.approx(2, abs=0.05)
    whole = [np.linspace(0, 2 * np.log(1 / a) / 0.2 + 40, 150) for a in alphas]
    nets = [df.DiagonalNetwork(a, lam) for a in alphas]
    for form in (forms.descent, forms.small_composite):
        gaps = [gap(form, net, t) for net, t in zip(nets, whole, strict=True)]
        assert orders(gaps, alphas) == pytest.approx(2, abs=0.1)
    # the composite repairs the start, where the logistic alone is wrong by all of w(0) = α²/2
    assert gap(forms.small_composite, nets[0], early[:1]) < 0.1 * gap(forms.descent, nets[0], early[:1])


@pytest.mark.parametrize("depth", [3, 4])
def test_deep_search_ends_at_a_power_of_alpha(depth):
    """The time to w = 1/2 is 2α^(2-L)/(L-2) up to a constant, for w* = 1."""
    late = []
    for alpha in (0.2, 0.1, 0.05):
        predicted = 2 * alpha ** (2 - depth) / (depth - 2)
        t = np.linspace(0, 1.5 * predicted, 4001)
        w = df.theory.infinite_data_paths([1.0], df.DiagonalNetwork(alpha, 0.0, depth), t)[0]
        late.append(np.interp(0.5, w, t) - predicted)
        early = t[1 : np.searchsorted(t, 0.5 * predicted)]
        search = forms.search(np.array([[1.0]]), df.DiagonalNetwork(alpha, 0.0, depth), early)[0]
        # the field has lost w, at most its last value here, and w feels that L/(L-2)/(1 - t/t₀) times
        loss = depth / (depth - 2) / 0.5 * w[len(early)]
        assert search == pytest.approx(w[1 : 1 + len(early)], rel=loss)
        assert loss < 0.2
    assert late[1:] == pytest.approx([late[1]] * 2, abs=0.01)
    assert abs(late[1]) < 1.5


@pytest.mark.slow
def test_curves_average_over_the_prior_and_agree_with_the_solver():
    t = np.array([1.0, 5.0, 20.0])
    net = df.DiagonalNetwork(0.3, 0.1)
    atoms = df.theory.infinite_data_curves(df.Discrete([0.0, -1.0], [0.9, 0.1]), net, t, sigma=0.2)
    w = df.theory.infinite_data_paths([-1.0], net, t)[0]
    assert atoms.test_error == pytest.approx(0.1 * (w + 1) ** 2 + 0.04, rel=1e-9)
    assert atoms.C_w[0, 2] == pytest.approx(0.1 * (w[0] + 1) * (w[2] + 1), rel=1e-9)
    assert np.array_equal(atoms.train_error, atoms.test_error)
    smooth = df.theory.infinite_data_curves(df.Gaussian(1.0), net, t)
    g = np.random.default_rng(0).standard_normal(20000)
    draws = (df.theory.infinite_data_paths(g, net, t) - g[:, None]) ** 2
    error = np.std(draws, axis=0) / np.sqrt(len(g))
    assert np.all(np.abs(smooth.test_error - draws.mean(axis=0)) < 4 * error)
    # finite δ differs by a part of order 1/δ
    far = [df.solve(df.Task(d, 0.0, df.Gaussian(1.0)), net, 20.0, tol=1e-3) for d in (100.0, 400.0)]
    gaps = [one.at(t).test_error - smooth.test_error for one in far]
    assert np.all(np.abs(gaps[1]) < 0.005)
    assert (gaps[0] / gaps[1])[1:] == pytest.approx(4, rel=0.15)  # at t = 1 both are near tol


def test_forms_that_apply_are_given(tmp_path):
    t, prior = np.geomspace(0.01, 60, 50), df.Bernoulli(0.1)
    names = {
        (10.0, 0.2, 2): {"lazy", "rich", "logistic", "composite"},
        (10.0, 0.0, 2): {"lazy", "composite"},
        (10.0, 0.2, 3): {"lazy"},
        (0.1, 0.2, 2): {"search", "descent", "composite"},
        (0.1, 0.0, 3): {"search"},
    }
    for (alpha, lam, depth), expected in names.items():
        found = df.theory.infinite_data_curves(prior, df.DiagonalNetwork(alpha, lam, depth), t)
        assert set(found.forms) == expected
        if "composite" in expected:
            assert np.max(np.abs(found.forms["composite"] - found.test_error)) < 0.02 * found.test_error[0]
    with xr.open_dataset(found.save(tmp_path / "wide.nc")) as saved:
        assert np.array_equal(saved["search_form"], found.forms["search"], equal_nan=True)
    ax = found.plot()
    assert ax.get_xlabel() == "training time t"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact", "search"]
    assert "depth 3" in ax.get_title()
    assert "δ → ∞" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((df.Bernoulli(0.1), df.DiagonalNetwork(0.1), [-1.0]), "t must be times ≥ 0"),
        ((df.Bernoulli(0.1), df.DiagonalNetwork(0.1), [2.0, 1.0]), "increasing"),
        ((df.Bernoulli(0.1), df.DiagonalNetwork([0.1, 0.2]), [1.0]), "alpha must be one number"),
        ((df.Bernoulli(0.1), df.models.TruncatedDiagonalNetwork(0.1), [1.0]), "DiagonalNetwork"),
        (("bernoulli", df.DiagonalNetwork(0.1), [1.0]), "prior"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(df.InputError, match=words):
        df.theory.infinite_data_curves(*arguments)


def test_noise_must_not_be_negative():
    with pytest.raises(df.InputError, match="sigma"):
        df.theory.infinite_data_curves(df.Bernoulli(0.1), df.DiagonalNetwork(0.1), [1.0], sigma=-1.0)
