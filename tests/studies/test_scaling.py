"""Scaling laws: exponents of linear models in closed form, of networks by solving, and what is refused."""

import numpy as np
import pytest
import xarray as xr

import dynafield as df
from dynafield.studies.scaling import fitted

LINEAR = {"linear": df.models.ridge_flow()}


def task_of(beta, delta=50.0, cutoff=3e4):
    return df.Task(delta, 0.0, df.Gaussian(1.0), spectrum=df.data.PowerLaw(2.0, cutoff, source=beta))


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_linear_models_have_the_exponents_of_theory(beta):
    """The cutoff bends what is left at the end, by (s_K/s)^β: a percent or two here."""
    law = df.studies.scaling_law(task_of(beta), LINEAR, times=np.geomspace(0.01, 10, 13))
    assert law.exponent("linear").value == pytest.approx(beta, abs=0.03)
    assert law.expected()["lazy", "time"] == beta
    samples = df.studies.scaling_law(task_of(beta), LINEAR, sizes=np.geomspace(0.003, 0.03, 6))
    assert samples.exponent("linear", "samples").value == pytest.approx(2.0 * beta, abs=0.05)


def test_networks_are_solved_and_all_three_laws_told(tmp_path):
    task = df.Task(1.0, 0.1, df.Gaussian(1.0), spectrum=df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)]))
    nets = LINEAR | {"network": df.DiagonalNetwork(0.5)}
    law = df.studies.scaling_law(
        task, nets, times=[0.25, 0.5, 1.0, 2.0], sizes=[0.5, 1.0, 2.0, 4.0], tol=0.1, progress=False
    )
    assert law.along == ("time", "samples", "compute")
    assert law.expected() == {}
    alone = df.solve(task.at(2.0, 0.1), df.DiagonalNetwork(0.5), 2.0, tol=0.1).at([1.0])
    error = 3 * np.hypot(alone.test_error_se[0], law.test_error_se[1, 2, 2])
    assert law.test_error[1, 2, 2] == pytest.approx(alone.test_error[0], abs=error)
    budget, excess, _ = law.curve("linear", "compute")
    every = law.test_error[0] - 0.01
    assert excess[0] == pytest.approx(every[0, 0]) and excess[-1] == pytest.approx(every[-1, -1])  # noqa: PT018
    assert np.all(excess >= every.min() - 1e-12)
    assert budget[-1] == pytest.approx(8.0)
    panels = law.plot()
    assert [ax.get_xlabel()[:8] for ax in panels] == ["training", "samples ", "compute "]
    assert "linear: " in panels[0].figure.get_suptitle().replace("\n", " ")
    with xr.open_dataset(law.save(tmp_path / "law.nc")) as data:
        assert data["exponent_value"].sel(net="linear", along="time").item() == law.exponent("linear").value
    assert "excess error ∝ time" in repr(law)


def test_fits_tell_how_straight_a_line_is():
    x = np.geomspace(1, 100, 9)
    straight = fitted(x, 3.0 * x**-0.7, 1e-4 * np.ones(9))
    assert (straight.value, straight.prefactor) == pytest.approx((0.7, 3.0), rel=1e-9)
    assert straight.error < 0.01
    bent = fitted(x, np.exp(-0.05 * x), np.zeros(9))
    assert bent.error > 0.3
    assert fitted(x, 3.0 * x**-0.7, 3.0 * np.ones(9)) is None


REFUSED = {
    "nets must map": lambda: df.studies.scaling_law(task_of(1.0), df.models.ridge_flow(), times=[1.0]),
    "times or sizes": lambda: df.studies.scaling_law(task_of(1.0), LINEAR),
    "times must increase": lambda: df.studies.scaling_law(task_of(1.0), LINEAR, times=[2.0, 1.0]),
    "times must be given": lambda: df.studies.scaling_law(
        task_of(1.0), {"a": df.models.logistic_flow()}, sizes=[0.5, 1.0]
    ),
    "net and along": lambda: df.studies.scaling_law(
        task_of(1.0), LINEAR, times=[1.0, 2.0, 3.0, 4.0]
    ).exponent("other"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_absurd_laws_are_refused(message):
    with pytest.raises(df.InputError, match=message):
        REFUSED[message]()
