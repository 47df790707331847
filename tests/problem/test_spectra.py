"""Joint laws of variances and targets: averages, finite features, texts, files, refusals."""

import jax
import numpy as np
import optax
import pytest

import dynafield as df
from dynafield.problem.spectra import FINENESS
from dynafield.problem.text import read_spectrum, read_task
from dynafield.records.problems import read_problem

OWN = [(0.3, 2.0, df.Bernoulli(0.2)), (0.7, 0.5, df.Gaussian(0.8))]
SPECTRA = {
    "groups": df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)]),
    "own": df.data.Spectrum.groups(OWN),
    "power": df.data.PowerLaw(1.5, 50.0),
    "source": df.data.PowerLaw(1.5, 50.0, source=0.6, mean=2.0),
    "empirical": df.data.Spectrum.empirical([1.0, 2.0, 2.0, 0.5]),
    "pairs": df.data.Spectrum.empirical([1.0, 2.0, 2.0, 0.5], [0.0, 1.0, -1.0, 3.0]),
}


def task_of(name, delta=0.6, sigma=0.3):
    prior = None if name in ("own", "pairs") else df.GaussBernoulli(0.3)
    return df.Task(delta, sigma, prior, spectrum=SPECTRA[name])


@pytest.mark.parametrize("name", SPECTRA)
def test_strata_are_a_law_and_finite_features_have_its_moments(name):
    task = task_of(name)
    law = task.law
    assert np.sum(law.weight) == pytest.approx(1.0, abs=1e-12)
    # means of 4e5 features: 1/d for stratified variances; chance in Gaussian targets, 4 standard errors
    variance, w_star = task.spectrum.draw(task.prior, 400_000, True, np.random.default_rng(0))
    power = np.sum(law.weight * law.variance**2 * 3 * (law.std**2 + law.mean**2) ** 2)
    error = 4 * np.sqrt(power / 400_000)
    assert np.mean(variance) == pytest.approx(np.sum(law.weight * law.variance), rel=1e-4)
    assert np.mean(variance * w_star**2) == pytest.approx(task.signal, abs=error)


def test_a_power_law_is_what_it_says():
    """E[s], a power of the rank, and the source condition: the tail of s w*² is a power of s."""
    law = df.data.PowerLaw(1.5, 1000.0, source=0.6)
    ranks, weight, s, size = law.rule(FINENESS[-1])
    assert np.sum(weight * s) == pytest.approx(1.0, rel=1e-12)
    assert np.polyfit(np.log(ranks), np.log(s), 1)[0] == pytest.approx(-1.5, rel=1e-10)
    assert np.sum(weight * s * size**2) == pytest.approx(1.0, rel=1e-12)
    k = np.array([3.0, 30.0])
    some, sizes = law.at(k)
    density = some * sizes**2 / some**0.6 * k  # s w*² k / s^β is the same at all ranks
    assert density[0] == pytest.approx(density[1], rel=1e-10)


def test_one_group_of_variance_one_is_no_spectrum():
    one = df.Task(0.6, 0.3, df.Bernoulli(0.1), spectrum=df.data.Spectrum.groups([(1.0, 1.0)]))
    none = df.Task(0.6, 0.3, df.Bernoulli(0.1))
    for net in (df.DiagonalNetwork(0.3), df.DiagonalNetwork(0.3, 0.05)):
        a, b = (df.fixed_point(task, net) for task in (one, none))
        assert (a.test_error, a.train_error) == (b.test_error, b.train_error)
    a, b = (df.solve(task, df.DiagonalNetwork(0.3), 1.0, tol=1e-2, points=64) for task in (one, none))
    assert np.array_equal(a.test_error, b.test_error)
    a, b = (df.simulate(task, df.DiagonalNetwork(0.3), 5.0, d=40, runs=1).test_error for task in (one, none))
    assert np.array_equal(a, b)


def test_texts():
    assert read_spectrum(None) is None
    assert str(read_spectrum("power:1.5")) == "PowerLaw(1.5, 1000)"
    assert str(read_spectrum("power:1.5,50,0.6")) == "PowerLaw(1.5, 50, source=0.6)"
    assert str(read_spectrum("groups:4@0.2,0.25@0.8")) == "Spectrum.groups([(0.2, 4), (0.8, 0.25)])"
    for bad in ("power", "power:1,2,3,4", "groups:4", "mp:1", "empirical:"):
        with pytest.raises(df.InputError, match="spectrum must be"):
            read_spectrum(bad)
    with pytest.raises(df.InputError, match="spectrum must be"):
        read_spectrum("empirical:values.txt", files=False)


def test_texts_that_name_files(tmp_path):
    (tmp_path / "s.txt").write_text("1\n2\n")
    (tmp_path / "pairs.txt").write_text("1 0\n2 3\n")
    assert read_task(0.5, 0.1, "bernoulli:0.1", f"empirical:{tmp_path}/s.txt").signal == pytest.approx(0.15)
    assert read_task(0.5, 0.1, "bernoulli:0.1", f"empirical:{tmp_path}/pairs.txt").signal == pytest.approx(
        9.0
    )


@pytest.mark.parametrize("name", [name for name in SPECTRA if name != "power"])
def test_files_keep_the_spectrum(name):
    task = task_of(name)
    record = df.theory.lazy_curves(task, df.DiagonalNetwork(1.0), [0.0, 1.0])  # depends on all of the law
    back, _ = read_problem(record.to_xarray())
    assert back.signal == pytest.approx(task.signal, rel=1e-12)
    again = df.theory.lazy_curves(back, df.DiagonalNetwork(1.0), [0.0, 1.0])
    assert again.test_error == pytest.approx(record.test_error, rel=1e-9)
    assert str(task.spectrum) in repr(record)


REFUSED = {
    "fractions of groups": lambda: df.data.Spectrum.groups([(0.5, 1.0), (0.4, 2.0)]),
    "groups must be": lambda: df.data.Spectrum.groups([(0.5, 1.0), (0.5, 2.0, df.Bernoulli(0.1))]),
    "variances": lambda: df.data.Spectrum.empirical([1.0, 0.0]),
    "factor": lambda: df.data.Spectrum.empirical([1.0, 1e-20]),
    "one entry for each": lambda: df.data.Spectrum.empirical([1.0, 2.0], [0.0]),
    "exponent": lambda: df.data.PowerLaw(-1.0),
    "cutoff": lambda: df.data.PowerLaw(1.5, 1.0),
    r"cutoff \*\* exponent": lambda: df.data.PowerLaw(5.0, 1e6),
    "source": lambda: df.data.PowerLaw(1.5, 10.0, source=0.0),
    "exponent must be one number": lambda: df.data.PowerLaw([1.0, 2.0]),
    "source must have a value": lambda: jax.jit(lambda b: df.data.PowerLaw(1.5, 9.0, source=b).source)(1.0),
    "spectrum must be a Spectrum": lambda: df.Task(0.5, 0.1, df.Bernoulli(0.1), spectrum="power:1.5"),
    "prior must be None": lambda: df.Task(0.5, 0.1, df.Bernoulli(0.1), spectrum=df.data.Spectrum.groups(OWN)),
    "prior must be a Prior": lambda: df.Task(0.5, 0.1, spectrum=df.data.PowerLaw(1.5)),
    "data must vary": lambda: df.data.spectrum_of(np.zeros((3, 4))),
    "symmetric": lambda: df.data.spectrum_of(np.ones((3, 4)), covariance=True),
    "w_star must have": lambda: df.data.spectrum_of(np.ones((3, 4)), [1.0]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_absurd_spectra_are_refused(message):
    with pytest.raises(df.InputError, match=message):
        REFUSED[message]()


def test_the_eigenbasis_of_any_covariance_serves_linear_models_only():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    values, w_star = np.linspace(0.5, 2.0, 30), rng.standard_normal(30)
    covariance = turn @ np.diag(values) @ turn.T
    found = df.data.spectrum_of(covariance, w_star)
    assert np.sort(found.values) == pytest.approx(values, rel=1e-10)
    # the teacher's output has the variance w*ᵀΣw*/d in every basis
    task = df.Task(0.5, 0.1, spectrum=found)
    assert task.signal == pytest.approx(w_star @ covariance @ w_star / 30, rel=1e-10)
    X = rng.standard_normal((50, 30)) @ np.linalg.cholesky(covariance).T / np.sqrt(30)
    by_data = df.data.spectrum_of(X, w_star)
    assert df.Task(0.5, 0.1, spectrum=by_data).signal == pytest.approx(np.mean((X @ w_star) ** 2), rel=1e-10)
    few = X[:20]  # ten directions that no sample has
    left = df.data.spectrum_of(few, w_star)
    assert len(left.values) == 20
    assert df.Task(1.0, 0.1, spectrum=left).signal == pytest.approx(np.mean((few @ w_star) ** 2), rel=1e-10)
    for call in (df.fixed_point, df.theory.search_phase, lambda t, n: df.solve(t, n, 1.0), df.phases):
        with pytest.raises(df.InputError, match="eigenvectors"):
            call(task, df.DiagonalNetwork(0.3))
    with pytest.raises(df.InputError, match="every parameter by itself"):
        df.solve(task, df.models.ridge_flow(), 1.0, trainer=df.Optax(optax.sign_sgd(0.1), 0.1))
    assert not df.data.spectrum_of(np.diag(values), w_star).eigenbasis


def test_exponents_are_differentiable_where_alpha_is():
    """Central differences of step 1e-4 are good to 1e-7; values are those beside the derivatives."""

    def error(exponent, source, lam):
        law = df.data.PowerLaw(exponent, 50.0, source=source)
        return df.fixed_point(
            df.Task(0.6, 0.3, df.Bernoulli(0.1), spectrum=law), df.DiagonalNetwork(0.3, lam)
        ).test_error

    def differences(value, move):
        """Along (1, 0.5) in both exponents."""
        up, down = (value(1.2 + step, 0.7 + 0.5 * step) for step in (move, -move))
        return float(up - down) / (2 * move)

    for lam in (0.0, 0.05):

        def along(*at, lam=lam):
            return jax.jvp(lambda *x: error(*x, lam), at, (1.0, 0.5))

        exact = differences(lambda *at, along=along: along(*at)[0], 1e-4)
        assert float(along(1.2, 0.7)[1]) == pytest.approx(exact, rel=1e-6)
