"""Figures of the paper from made-up data: what is drawn is what the data say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from dynafield.figures.paper import ends, parts, stages
from dynafield.figures.paper.catalogue import BEYOND, FIGURES, Drawing

ALPHA, GAMMA = np.array([0.5, 1.0]), np.array([0.05, 0.1])
DRAWN = {drawing.name: drawing for drawing in (*FIGURES, *BEYOND)}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def decays(error=0.0, delta=0.5):
    """Training errors t^(-3/2) e^(-2γt) and two networks of the same, with estimated errors."""
    t = np.linspace(1.0, 60.0, 60)
    value = t**-1.5 * np.exp(-2 * GAMMA[:, None] * t)
    curve = ("curve", "time")
    data = xr.Dataset({
        "train_error_theory": (curve, value),
        "train_error_theory_se": (curve, np.full((2, 60), error)),
        "train_error": (("curve", "run", "time"), np.stack([value, value], axis=1)),
        "limit_theory": ("curve", np.zeros(2)),
        "limit": (("curve", "run"), np.zeros((2, 2))),
        "gamma": ("curve", GAMMA),
    })  # fmt: skip
    data = data.assign_coords(
        t=(curve, np.stack([t, t])), alpha=("curve", ALPHA), delta=("curve", np.full(2, delta))
    )
    return data.assign_attrs(d=100, runs=2, prior="Gaussian()", delta=0.5, sigma=0.1, lam=0.0)


def words(figure):
    return [text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]


def test_predicted_decays_lie_on_curves_that_are_so():
    figure = ends.draw_rates_gaussian(decays())
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    for line, gamma in zip(dashed, GAMMA, strict=True):
        t = line.get_xdata()
        assert line.get_ydata() == pytest.approx(t**-1.5 * np.exp(-2 * gamma * t), rel=1e-12)
    assert {r"$t^{-3/2}e^{-2\gamma t}$", r"slope $-2\gamma$ alone", "DMFT"} <= set(words(figure))


def test_a_curve_ends_where_it_is_not_known_and_the_prediction_goes_on():
    figure = ends.draw_rates_gaussian(decays(error=1e-5))
    solid, dashed, *_ = (line for line in figure.axes[0].lines)
    value = solid.get_ydata()
    assert value[-1] > 3e-5
    assert solid.get_xdata()[-1] < 60.0 == dashed.get_xdata()[-1]
    assert dashed.get_xdata()[0] < solid.get_xdata()[-1]


def test_an_unresolved_curve_is_thin_and_has_its_band():
    _, ax = plt.subplots()
    value, error = np.array([1.0, 0.1, 0.01]), np.array([0.1, 0.01, 0.01])
    parts.draw_theory(ax, np.arange(3.0), value, error, "black", "it")
    solid, thin = ax.lines
    assert np.isnan(solid.get_ydata()).tolist() == [False, False, True]
    assert thin.get_linewidth() < solid.get_linewidth()
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.0, 1.2))


def learning(train, test, t, lam):
    """Two curves of both errors, and two networks that follow them."""
    curve, alpha = ("curve", "time"), np.array([3.0, 10.0])
    data = xr.Dataset()
    for name, value in (("train_error", train), ("test_error", test)):
        data[f"{name}_theory"] = (curve, value)
        data[f"{name}_theory_se"] = (curve, 1e-3 * value)
        data[name] = (("curve", "run", "time"), np.stack([value, 1.1 * value], axis=1))
    data = data.assign_coords(t=(curve, np.stack([t, t])), alpha=("curve", alpha), lam=("curve", lam))
    return data.assign_attrs(d=100)


def test_late_stages_begin_where_the_training_error_is_least():
    t = np.linspace(0.0, 100.0, 51)
    train = np.stack([(t - 10) ** 2 + 1, (t - 20) ** 2 + 1])
    data = learning(train, np.stack([2 - t / 100, 1 - t / 200]), t, np.array([0.2, 0.2]))
    figure = stages.draw_large_init_rich(data)
    first = [line for line in figure.axes[1].lines if str(line.get_label()).startswith(r"$\alpha")]
    starts = [line.get_xdata()[0] for line in first]
    assert starts == pytest.approx([10 - 10 * np.log(3.0), 20 - 10 * np.log(10.0)])
    assert figure.axes[1].get_ylim() == pytest.approx((0.0, 1.35 * 1.9))


def test_what_decay_changes_has_its_sign():
    t = np.append(0.0, np.geomspace(0.1, 1000.0, 60))
    plain = np.full(61, 0.1)
    test = np.stack([plain, plain + np.where(0.1 * t < 0.5, 1e-3, -2e-2)])
    data = learning(test, test, t, np.array([0.0, 0.1]))
    _, right = stages.draw_small_decay(data).axes
    drawn = next(line for line in right.lines if line.get_label() == r"$\lambda = 0.1$")
    assert drawn.get_ydata() == pytest.approx((test[1] - plain)[1:] / 0.1)
    assert right.get_yscale() == "symlog"
    shown = [text.get_text() for text in right.get_legend().get_texts()]
    assert shown == [r"$\lambda = 0.1$", r"$t = 1/\lambda$"]
    assert {text.get_text() for text in right.texts} == {"worse than without", "better than without"}


@pytest.mark.parametrize(("value", "told"), [(0.3, "0.3"), (1e-6, "10^{-6}"), (3e-5, r"3 \cdot 10^{-5}")])
def test_numbers_as_people_write_them(value, told):
    assert parts.number(value) == told


def test_titles_leave_out_what_varies():
    data = {"rates": decays()}
    assert DRAWN["rates-gaussian"].title(data).endswith("Gaussian(), δ = 0.5, σ = 0.1, λ = 0")
    assert DRAWN["rates-detail"].title(data).endswith("Gaussian(), σ = 0.1, λ = 0")
    genes = {"gene-histogram": xr.Dataset(attrs={"samples": 5, "features": 4})}
    assert DRAWN["gene-histogram"].title(genes).endswith("(gene-histogram): 5 samples, 4 features")


def test_every_title_is_within_its_figure():
    figure = Drawing("rates-gaussian", ("rates",), ends.draw_rates_gaussian, "").draw({"rates": decays()})
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
