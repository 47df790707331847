"""Optimizers of optax: against plain loops with the same optimizer, and what is refused."""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import dynafield as df
from dynafield.problem.optimizers import check_elementwise, is_odd

SPARSE = df.Task(0.5, 0.1, df.Bernoulli(0.1))
LABELS = df.Task(2.0, 0.5, df.Gaussian(1.0))
STEPS, D, SEEDS = 12, 500, 16
WARM = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 0.1, 4, STEPS), weight_decay=0.1)


def inputs(rng, task):
    n = int(task.delta * D)
    X = rng.standard_normal((n, D)) / np.sqrt(D)
    target = np.repeat([1.0, 0.0], [D // 10, D - D // 10]) if task is SPARSE else rng.standard_normal(D)
    return jnp.asarray(X), jnp.asarray(target), jnp.asarray(task.sigma * rng.standard_normal(n))


def network_loss(params, X, target, noise, seen=1.0):
    """Mean square of residuals of a network of depth 2, in the units of the flow: its gradient is (d/2)∇L."""
    w = (params[0] ** 2 - params[1] ** 2) / 2
    return jnp.sum(seen * (X @ (w - target) - noise) ** 2) / (2 * 2 * SPARSE.delta)


def logistic_loss(params, X, target, noise, seen=1.0):
    """Logistic loss with weight decay .1 of every weight."""
    label = jnp.where(X @ target + noise >= 0, 1.0, -1.0)
    return jnp.sum(seen * jnp.logaddexp(0.0, -label * (X @ params))) / LABELS.delta + 0.05 * jnp.sum(
        params**2
    )


compiled = cache(jax.jit)


@cache
def slope_of(loss):
    """The compiled gradient of a loss."""
    return jax.jit(jax.grad(loss))


def plain_loop(tx, loss, start, task, seed, fraction=1.0):
    """Parameters after every update of one finite model; each sees a fresh share of the data."""
    rng = np.random.default_rng([3, seed])
    data = inputs(rng, task)
    n = len(data[0])
    slope, update = slope_of(loss), compiled(tx.update)
    params, found, state = start, [start], tx.init(start)
    for _ in range(STEPS):
        seen = (rng.permutation(n) < fraction * n) / fraction
        change, state = update(slope(params, *data, seen), state, params)
        params = optax.apply_updates(params, change)
        found.append(params)
    return data, np.stack(found)


@pytest.mark.parametrize(
    ("tx", "batch"),
    [(WARM, 1.0), (optax.rmsprop(0.01, momentum=0.5), 0.5)],
    ids=["adamw", "rmsprop in batches"],
)
def test_networks(tx, batch):
    net, trainer = df.DiagonalNetwork(0.5), df.Optax(tx, step=0.5, batch_fraction=batch)
    curves = df.solve(SPARSE, net, STEPS * 0.5, tol=5e-3, trainer=trainer, points=1024)
    runs = df.simulate(
        SPARSE, net, STEPS * 0.5, d=D, runs=8, trainer=trainer, t_eval=curves.t, progress=False
    )
    for name in ("train_error", "test_error"):
        theory, own = getattr(curves, name), getattr(curves, f"{name}_se")
        error = np.hypot(runs.standard_error(name), own)
        assert np.all(np.abs(runs.mean(name) - theory) < 4 * error + 4 * theory / D), name
    if batch < 1:
        return
    network_agrees(tx, curves)


def network_agrees(tx, curves, fraction=1.0):
    """Both errors of networks trained by plain loops are those of theory."""
    plain = []
    for seed in range(SEEDS):
        start = jnp.full((2, D), 0.5)
        (X, target, noise), params = plain_loop(tx, network_loss, start, SPARSE, seed, fraction)
        gap = (params[:, 0] ** 2 - params[:, 1] ** 2) / 2 - np.asarray(target)
        train = np.mean((gap @ np.asarray(X).T - np.asarray(noise)) ** 2, axis=1)
        plain.append([train, np.mean(gap**2, axis=1) + 0.01])
    mean, error = np.mean(plain, axis=0), np.std(plain, axis=0, ddof=1) / np.sqrt(SEEDS)
    theory = np.stack([curves.train_error, curves.test_error])
    own = np.stack([curves.train_error_se, curves.test_error_se])
    assert np.all(np.abs(mean - theory) < 4 * np.hypot(error, own) + 4 * theory / D)


def regression_agrees(tx, curves, fraction=1.0):
    """The training loss of logistic regression by plain loops is that of theory."""
    plain = []
    for seed in range(SEEDS):
        data, params = plain_loop(tx, logistic_loss, jnp.zeros(D), LABELS, seed, fraction)
        penalty = 0.05 * np.sum(params**2, axis=1)
        whole = np.array([float(compiled(logistic_loss)(jnp.asarray(one), *data)) for one in params])
        plain.append((whole - penalty) / D)
    mean, error = np.mean(plain, axis=0), np.std(plain, axis=0, ddof=1) / np.sqrt(SEEDS)
    own = curves.train_loss_se
    assert np.all(np.abs(mean - curves.train_loss) < 4 * np.hypot(error, own) + 4 * mean / D)
    assert curves.train_loss[-1] < 0.8 * curves.train_loss[0]  # it learns


def test_logistic_regression_by_lion():
    """Signs of gradients: training loss of plain loops, and of ours."""
    tx = optax.lion(0.05)
    curves = df.solve(LABELS, df.models.logistic_flow(0.1), float(STEPS), tol=5e-3, trainer=tx)
    regression_agrees(tx, curves)


NAMED = {  # the optimizer, and the share of the data that it sees
    "adam": (optax.adam(0.05, eps=1e-8), 1.0),
    "adamw": (optax.adamw(0.05, weight_decay=0.1), 1.0),
    "lion": (optax.lion(0.05), 1.0),
    "sign descent": (optax.sign_sgd(0.05), 1.0),
    "nesterov": (optax.sgd(0.1, 0.8, nesterov=True), 1.0),
    "momentum in batches of a tenth": (optax.sgd(0.05, 0.8), 0.1),
    "cosine with warm-up": (optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.5, 4, STEPS)), 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["network", "logistic"])
@pytest.mark.parametrize("name", NAMED)
def test_optimizers_that_people_use(kind, name):
    tx, fraction = NAMED[name]
    trainer = df.Optax(tx, batch_fraction=fraction)
    if kind == "network":
        curves = df.solve(SPARSE, df.DiagonalNetwork(0.5), float(STEPS), tol=1e-2, trainer=trainer)
        network_agrees(tx, curves, fraction)
    else:
        curves = df.solve(LABELS, df.models.logistic_flow(0.1), float(STEPS), tol=1e-2, trainer=trainer)
        regression_agrees(tx, curves, fraction)


def test_plain_descent_of_optax_is_ours(tmp_path):
    tx, net = optax.sgd(0.1, 0.9, nesterov=True), df.DiagonalNetwork(0.5, 0.02)
    options = dict(tol=1e-2, points=256)
    ours = df.solve(SPARSE, net, 1.0, trainer=df.GradientDescent(0.1, 0.9, nesterov=True), **options)
    theirs = df.solve(SPARSE, net, 1.0, trainer=df.Optax(tx, step=0.1), **options)
    assert theirs.test_error == pytest.approx(ours.test_error, rel=1e-9)
    with pytest.raises(df.InputError, match="R_w is a mean of derivatives, which miss jumps: optimizers"):
        theirs.R_w  # noqa: B018
    again = df.load(theirs.save(tmp_path / "optax.nc"))
    assert again.R_w is None
    assert repr(again.trainer) == repr(theirs.trainer) == "Optax(trace + scale, step=0.1)"
    with pytest.raises(df.InputError, match=r"only the name .* was saved"):
        df.solve(SPARSE, net, 1.0, trainer=again.trainer)


LBFGS = optax.scale_by_lbfgs(memory_size=2)
LBFGS = optax.GradientTransformation(LBFGS.init, jax.jit(LBFGS.update))  # or each update compiles its loops


@pytest.mark.parametrize(
    ("tx", "words"),
    [
        (optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1)), "clip_by_global_norm mixes entries"),
        (optax.lars(0.1), "scale_by_trust_ratio mixes entries"),
        (LBFGS, "scale_by_lbfgs mixes entries"),
        (optax.polyak_sgd(), "must need gradients and parameters alone, and scale_by_polyak fails"),
    ],
    ids=["global norm", "lars", "lbfgs", "polyak"],
)
def test_what_has_no_limit_is_refused_by_name(tx, words):
    with pytest.raises(df.InputError, match=words):
        df.solve(SPARSE, df.DiagonalNetwork(0.5), 2.0, trainer=tx)


ELEMENTWISE = dict(
    adam=optax.adam(0.1), adagrad=optax.adagrad(0.1), rmsprop=optax.rmsprop(0.1), lion=optax.lion(0.1),
    sign=optax.sign_sgd(0.1), clip=optax.chain(optax.clip(0.1), optax.sgd(0.1)), amsgrad=optax.amsgrad(0.1),
    nadam=optax.nadam(0.1), adadelta=optax.adadelta(0.1),
)  # fmt: skip


@pytest.mark.parametrize("tx", ELEMENTWISE.values(), ids=ELEMENTWISE)
def test_what_works_entry_by_entry_is_taken(tx):
    check_elementwise(tx)
    assert is_odd(tx)


@pytest.mark.parametrize(
    "tx", [optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()), optax.yogi(0.1)], ids=["≥ 0", "yogi"]
)
def test_what_is_not_odd(tx):
    """Where signs matter, or moments do not begin at zero."""
    check_elementwise(tx)
    assert not is_odd(tx)


def test_an_optimizer_of_ones_own_needs_no_optax():
    """Anything with `init` and `update` is one."""

    class Plain(NamedTuple):
        init: Any
        update: Any

    own = Plain(lambda params: (), partial(lambda rate, g, state, params: (-rate * g, state), 0.1))
    net, options = df.DiagonalNetwork(0.5), dict(tol=1e-2, points=256)
    theirs = df.solve(SPARSE, net, 1.0, trainer=df.Optax(own, step=0.1), **options)
    ours = df.solve(SPARSE, net, 1.0, trainer=df.GradientDescent(0.1), **options)
    assert theirs.test_error == pytest.approx(ours.test_error, rel=1e-9)
