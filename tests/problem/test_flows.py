"""Flows: what is refused before anything is solved, and what the laws mean."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df

TASK = df.Task(2.0, 0.5, df.Gaussian(1.0))


def flow(**changes):
    """Linear regression, with changes."""
    parts = dict(
        w=lambda theta: theta,
        ell=lambda f, datum: f - datum.f_star - datum.xi,
        p=lambda g, theta: -g,
        theta0=0.0,
    )
    return df.Flow(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(w=3.0), "w must be a function"),
        (dict(loss=3.0), "loss must be None or a function"),
        (dict(w=lambda: 1.0), r"w must take \(theta\), or \(theta, t\)"),
        (dict(ell=lambda f: f), r"ell must take \(f, datum\)"),
        (dict(p=lambda g, theta, t, more: g), r"p must take \(g, theta\)"),
        (dict(ell=lambda f, datum: jnp.stack([f, f])), r"ell must return shape \(\), like f, got \(2,\)"),
        (dict(theta0=[1.0, 2.0], w=lambda theta: theta[0]), r"p must return shape \(2,\), like theta"),
        (dict(w=lambda theta: jnp.ones((2, 2))), "w must return a number or a vector"),
        (dict(loss=lambda f, datum: jnp.stack([f, f])), r"loss must return shape \(\), a number"),
        (dict(ell=lambda f, datum: float(np.sign(datum.f_star)) - f), "ell must be written in jax.numpy"),
        (dict(p=lambda g, theta: -g if theta > 0 else g), "p must be written in jax.numpy"),
        (dict(w=lambda theta: theta[3]), "w must work on one row"),
        (dict(theta0="one"), "theta0 must be a number, a prior"),
        (dict(theta0=[]), "theta0 must be a number, a prior"),
        (dict(theta0=np.ones((2, 2))), "theta0 must be a number, a prior"),
        (
            dict(theta0=df.data.FromNormals(lambda w_star: w_star)),
            r"theta0 must be a function of \(w_star, normals\)",
        ),
        (dict(z=np.ones(20)), "labels, must be made in ell"),
        (dict(z=1.0), "z must be a distribution"),
        (dict(z=df.data.FromNormals(lambda e, f_star: e[0])), r"z must be a function of \(normals\)"),
        (dict(z=df.data.FromNormals(lambda e: e[:, None], 2)), "z must return a number or a vector"),
        (dict(linear=True, ell=lambda f, datum: jnp.tanh(f)), "ell must be affine in f"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(df.InputError, match=message):
        flow(**changes).affine()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        (dict(theta0=-1.0, w=jnp.sqrt), "w"),
        (dict(ell=lambda f, datum: jnp.log(datum.f_star)), "ell"),
        (dict(p=lambda g, theta: g / theta), "p"),
        (dict(theta0=df.data.FromNormals(lambda w_star, e: jnp.log(e[0]))), "theta0"),
        (dict(z=df.data.FromNormals(lambda e: jnp.log(e[0]))), "z"),
        (dict(loss=lambda f, datum: f / 0.0), "loss"),
    ],
)
@pytest.mark.parametrize("engine", [df.solve, df.simulate])
def test_what_is_not_finite_at_the_start_is_named(changes, name, engine):
    with pytest.raises(df.InputError, match=f"{name} must be finite at the start"):
        engine(TASK, flow(**changes), 1.0)


def test_arguments_that_a_flow_has_no_use_for():
    with pytest.raises(df.InputError, match="start must be None"):
        df.simulate(TASK, flow(), 1.0, start=(1, 1))
    with pytest.raises(df.InputError, match="must not be given with a Flow"):
        df.simulate(TASK, flow(), 1.0, weights=True)


def test_affine_losses_are_found():
    assert flow().affine() == pytest.approx(np.eye(1))
    assert flow(ell=lambda f, datum: 3 * f - jnp.sign(datum.f_star)).affine() == pytest.approx(3 * np.eye(1))
    pair = flow(
        theta0=[0.0, 0.0],
        p=lambda g, theta: -g,
        ell=lambda f, datum: jnp.stack([f[0] + f[1], f[1] - datum.z]),
    )
    assert pair.affine() == pytest.approx(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert flow(linear=False).affine() is None
    assert flow(ell=lambda f, datum: jnp.tanh(f)).affine() is None
    assert flow(ell=lambda f, datum: jnp.clip(f, -50, 50)).affine() is None
    assert flow(ell=lambda f, datum: f * datum.xi).affine() is None
    assert flow(ell=lambda f, datum, t: f * (1 + t)).affine() is None
    assert flow(ell=lambda f, datum, t: f + t).affine() is None


def test_laws_of_the_start():
    normals = np.random.default_rng(0).standard_normal((20000, 2))
    mixed = flow(
        theta0=[1.0, df.GaussBernoulli(0.3, 2.0), df.Gaussian(1.0)],
        w=lambda theta: theta[0],
        p=lambda g, theta: -theta,
    )
    assert mixed.start.shape == (3,)
    assert mixed.start.normals == 2
    theta = mixed.start.rows(normals, np.zeros(20000))
    assert np.all(theta[:, 0] == 1.0)
    assert np.mean(theta[:, 1] != 0) == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 20000))
    assert np.mean(theta[:, 1] ** 2) == pytest.approx(1.2, rel=4 * np.sqrt(9 / 20000))
    assert np.array_equal(theta[:, 2], normals[:, 1]) or np.allclose(theta[:, 2], normals[:, 1])
    aligned = df.models.phase_retrieval_flow(0.6, 2.0)
    w_star = 2.0 * np.random.default_rng(1).standard_normal(20000)
    start = aligned.start.rows(normals[:, :1], w_star)
    cosine = np.mean(start * w_star) / np.sqrt(np.mean(start**2) * np.mean(w_star**2))
    assert cosine == pytest.approx(0.6, abs=4 / np.sqrt(20000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: df.models.ridge_flow(-1.0), "lam must be"),
        (lambda: df.models.logistic_flow(np.nan), "lam must be"),
        (lambda: df.models.huber_flow(0.0), "bend must be"),
        (lambda: df.models.phase_retrieval_flow(2.0), "overlap must be"),
        (lambda: df.models.diagonal_flow(3), "net must be a diagonal network"),
        (lambda: df.models.diagonal_flow(df.DiagonalNetwork([0.1, 0.2])), "alpha must be one number"),
        (lambda: df.data.FromNormals(3.0), "function must be"),
        (lambda: df.data.FromNormals(jnp.sum, -1), "count must be"),
    ],
)
def test_ready_made_flows_check_their_numbers(make, message):
    with pytest.raises(df.InputError, match=message):
        make()


def test_measures_of_the_ready_made():
    """Losses have ℓ as their slope in f."""
    datum = df.models.Datum(0.7, -0.2, 0.1)
    for one in (
        df.models.logistic_flow(),
        df.models.huber_flow(0.5, outliers=df.Gaussian(1.0)),
        df.models.phase_retrieval_flow(),
        df.models.ridge_flow(),
    ):
        for f in (-2.0, 0.3, 1.5):
            slope = jax.grad(lambda f, one=one: one.measures(f, datum)[0])(f)
            expected = one.ell(f, datum)
            assert slope == pytest.approx(float(expected), abs=1e-12), one.name
