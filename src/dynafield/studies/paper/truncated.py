"""Truncated networks, for which the theory is proved: curves, distributions, equations."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.results.flow_curves import FlowCurves
from dynafield.dmft.solve import solve
from dynafield.errors import SolveError
from dynafield.problem.models import diagonal_flow
from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork, layer
from dynafield.problem.priors import Discrete
from dynafield.problem.task import Task
from dynafield.simulation.data import Data, reduce_rows
from dynafield.simulation.flow import integrate
from dynafield.simulation.simulate import training_data
from dynafield.studies.paper.laws import DRAWS, draws_of, from_law, sizes, with_distances
from dynafield.studies.paper.parts import facts, labelled
from dynafield.studies.paper.setting import SIGMA, Setting

__all__ = ["gaussian_draws", "trained", "truncated"]

SIGNED = Task(delta=0.5, sigma=SIGMA, prior=Discrete([-1.0, 0.0, 1.0], [0.05, 0.9, 0.05]))
"""Targets of both signs, so that both layers meet the truncation."""
ALPHA, DECAY, BOUND = 0.3, 0.05, 1.0
PLAIN = DiagonalNetwork(ALPHA, DECAY)
TIMES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0])
"""Times of the curves, which are also limits of blocks for the infinite network."""
FINE = np.linspace(0.0, TIMES[-1], 101)
MOMENTS = np.array([1.0, 2.0, 4.0, 10.0])
"""Times at which distributions are compared."""
WHICH = np.searchsorted(TIMES, MOMENTS)
"""Their places among the times."""
MOVING = 5.0
"""Time at which forms of equations are evaluated."""
BOUNDS = (1.5, 3.0)
"""Truncations M with |u|, |v| ≤ M, and with |u|², |v|² ≤ M, in all of training."""
POINTS = {"quick": 512, "full": 2048}
"""Sampled paths per replica."""
MOST = 800
"""The largest dimension of networks."""
FEW = 3
"""Networks trained with other truncations."""
OFFSET = 2000
"""Added to the seed: data sets that no other experiment has."""
TOLERANCE = 1e-3
"""Of training."""


class Trained(NamedTuple):
    """Layers and weights of one network at the times, and its data."""

    u: Float[np.ndarray, "t d"]
    v: Float[np.ndarray, "t d"]
    w: Float[np.ndarray, "t d"]
    data: Data

    @property
    def xi(self) -> Float[np.ndarray, " n"]:
        """Label noise."""
        return self.data.y - self.data.X @ self.data.w_star

    @property
    def f(self) -> Float[np.ndarray, "t n"]:
        """The paper's f, outputs without those of the teacher."""
        return (self.w - self.data.w_star) @ self.data.X.T

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and test error at the times."""
        train = np.mean((self.f - self.xi) ** 2, axis=1)
        return train, np.mean((self.w - self.data.w_star) ** 2, axis=1) + self.data.sigma**2


def trained(net: Network, d: int, seed: int, run: int) -> Trained:
    """One network that follows gradient flow, with both of its layers."""
    data = training_data(SIGNED, d, inputs="gaussian", seed=seed, run=run)
    squares, w = np.empty((len(TIMES), 2 * d)), np.empty((len(TIMES), d))

    def take(_: int, which: np.ndarray, weights: np.ndarray, layers: np.ndarray) -> None:
        w[which], squares[which] = weights, layers

    start = np.full((1, d), float(net.alpha))
    given = (np.array([float(net.lam)]), start, start, reduce_rows(data.X, data.y, False))
    failed = integrate(net, *given, len(data.y) / d, TOLERANCE, TIMES, take, lambda _: None)
    if failed:
        raise SolveError(f"gradient flow of a truncated network could not be followed beyond t={failed[0]:g}")
    u, v = np.split(np.sqrt(squares), 2, axis=1)
    return Trained(u, v, w, data)


def gaussian_draws(
    covariance: Float[np.ndarray, "k k"], count: int, parts: int, seed: list[int]
) -> list[np.ndarray]:
    """Several samples of a centred Gaussian distribution."""
    values, vectors = np.linalg.eigh(covariance)
    normals = np.random.default_rng(seed).standard_normal((parts, count, len(values)))
    return list(normals @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)


def of_coordinates(curves: FlowCurves) -> tuple[np.ndarray, np.ndarray]:
    """Draws of (u(t₁), …, u(t₄), v(t₁), …, v(t₄), w*), and their weights."""
    laws = [curves.law(t) for t in MOMENTS]
    layers = [law.theta[:, which] for which in range(2) for law in laws]
    return np.column_stack([*layers, laws[0].w_star]), laws[0].weight


def of_data(curves: FlowCurves) -> Float[np.ndarray, "k k"]:
    """Covariance of (ξ, f(t₁), …, f(t₄)), which is Gaussian [eq:noise_share]."""
    laws = [curves.data_law(t) for t in MOMENTS]
    rows = np.stack([laws[0].datum.xi, *(law.f - law.datum.f_star for law in laws)])
    return (rows * laws[0].weight) @ rows.T


def truncated(setting: Setting) -> xr.Dataset:
    """`truncated`: errors, layers and data of networks whose truncation is felt, beside their DMFT."""
    scale, seed = setting.scale, setting.seed + OFFSET
    net, dimensions = TruncatedDiagonalNetwork(ALPHA, DECAY, 2, BOUND), sizes(setting, MOST)
    method: Any = dict(tol=scale.tol, grid=TIMES, points=POINTS[scale.name], seed=seed, progress=False)
    curves = solve(SIGNED, diagonal_flow(net), TIMES[-1], **method)
    covariance = of_data(curves)
    data = xr.Dataset(
        coords={"dimension": list(dimensions), "moment": MOMENTS, "time": TIMES, "fine_time": FINE}
    )
    data["noise_share_theory"] = ("moment", covariance[0, 1:] / SIGMA**2)  # [eq:noise_share]
    found = []
    for k, d in enumerate(dimensions):
        networks = [trained(net, d, seed, run) for run in range(scale.seeds_curves)]
        found.append(distances(networks, of_coordinates(curves), covariance, [seed, k]))
        if d == scale.d_curves:
            plain = [trained(PLAIN, d, seed, run) for run in range(scale.seeds_curves)]
            data = with_forms(with_errors(data, curves, networks, plain), net, networks[0])
        if d == dimensions[-1]:
            shares = [one.f[WHICH] @ one.xi / np.sum(one.xi**2) for one in networks]
            data["noise_share"] = (("run", "moment"), shares)
    for prefix, values in zip(("layers_", "data_"), np.moveaxis(np.array(found), 1, 0), strict=True):
        data = with_distances(data, values, prefix)
    data = with_bounds(data, scale.d_curves, seed)
    meanings = {
        "noise_share": "E[ξf(t)]/E[ξ²] over the data of networks of the largest d",
        "noise_share_theory": "the same by DMFT, which is the integral of R_f(t, s) over s",
    }
    size = dict(d=scale.d_curves, n=round(float(SIGNED.delta) * scale.d_curves), runs=scale.seeds_curves)
    more = dict(alpha=ALPHA, lam=DECAY, M=BOUND, paths=POINTS[scale.name], moving=MOVING)
    return labelled(data, meanings).assign_attrs(facts(setting, SIGNED, **size, **more))


def distances(
    networks: list[Trained], law: tuple[np.ndarray, np.ndarray], covariance: np.ndarray, seed: list[int]
) -> list[np.ndarray]:
    """What `from_law` finds of layers and of data."""
    layers = [np.column_stack([*one.u[WHICH], *one.v[WHICH], one.data.w_star]) for one in networks]
    outputs = [np.column_stack([one.xi, *one.f[WHICH]]) for one in networks]
    return [
        from_law(layers, lambda run: draws_of(*law, len(layers[0]), [*seed, run])),
        from_law(outputs, lambda run: gaussian_draws(covariance, len(outputs[0]), DRAWS + 1, [*seed, run])),
    ]


def with_errors(
    data: xr.Dataset, curves: FlowCurves, networks: list[Trained], plain: list[Trained]
) -> xr.Dataset:
    """The data set with the errors of truncated networks, infinite and finite, and of others on the same
    data."""
    theory, fine, meanings = curves.at(TIMES), curves.at(FINE), {}
    finite, without = (
        np.moveaxis(np.array([one.errors for one in some]), 1, 0) for some in (networks, plain)
    )
    for k, (name, words) in enumerate((("train_error", "training error"), ("test_error", "test error"))):
        data[f"{name}_theory"] = ("time", getattr(theory, name))
        data[f"{name}_theory_se"] = ("time", getattr(theory, f"{name}_se"))
        data[f"{name}_fine"] = ("fine_time", getattr(fine, name))
        data[name] = (("run", "time"), finite[k])
        data[f"plain_{name}"] = (("run", "time"), without[k])
        meanings |= {name: words, f"{name}_theory": f"{words}, DMFT", f"{name}_fine": f"{words}, DMFT"}
        meanings[f"{name}_theory_se"] = f"estimated error of {name}_theory"
        meanings[f"plain_{name}"] = f"{words} without truncation"
    return labelled(data, meanings)


def with_forms(data: xr.Dataset, net: Network, one: Trained) -> xr.Dataset:
    """The data set with v' and ∂w/∂v of one network, by differentiation and by the forms of the paper."""
    here = int(np.searchsorted(TIMES, MOVING))
    u, v, (X, y) = one.u[here], one.v[here], one.data[:2]
    n, d = X.shape

    def loss(v: jax.Array) -> jax.Array:
        w = jax.vmap(net.w)(jnp.stack([u, v], axis=1))
        return jnp.sum((X @ w - y) ** 2) / (2 * n) + DECAY / (2 * d) * jnp.sum(u**2 + v**2)

    g, (_, slope) = X.T @ (X @ one.w[here] - y) * (d / n), layer(net.truncation, 2, v)
    by_weight = jax.vmap(jax.grad(lambda v, u: net.w(jnp.stack([u, v]))))(jnp.array(v), jnp.array(u))
    values = {
        "v_speed": -0.5 * d * np.asarray(jax.grad(loss)(jnp.array(v))),
        "v_speed_corrected": -0.5 * (DECAY * v - slope * g),  # [eq:gf_truncated_dln]
        "v_speed_printed": -0.5 * (-DECAY * v + slope * g),
        "w_by_v": np.asarray(by_weight),
        "w_by_v_corrected": -slope,
        "w_by_v_printed": -v * net.truncation(v)[1],
    }
    for name, value in values.items():
        data[name] = ("feature", value)
    meanings = {
        "v_speed": "-d/2 times the gradient of the loss in v, by differentiation",
        "v_speed_corrected": "-(λv - vη'(v²)g)/2",
        "v_speed_printed": "-(-λv + vη'(v²)g)/2",
        "w_by_v": "∂w/∂v, by differentiation",
        "w_by_v_corrected": "-vη'(v²)",
        "w_by_v_printed": "-vη'(v)",
    }
    return labelled(data, meanings)


def with_bounds(data: xr.Dataset, d: int, seed: int) -> xr.Dataset:
    """The data set with weights of networks of two other truncations, and of none, on the same data."""
    data = data.assign_coords(bound=list(BOUNDS))
    nets = [TruncatedDiagonalNetwork(ALPHA, DECAY, 2, M) for M in BOUNDS]
    some = [[trained(net, d, seed, run) for run in range(FEW)] for net in (*nets, PLAIN)]
    data["bounded_weights"] = (("bound", "few", "feature"), [[one.w[-1] for one in row] for row in some[:-1]])
    data["unbounded_weights"] = (("few", "feature"), [one.w[-1] for one in some[-1]])
    largest = [max(float(np.max(np.maximum(one.u, one.v))) for one in row) for row in some[:-1]]
    data["largest_layer"] = ("bound", largest)
    meanings = {
        "bounded_weights": "weights at the last time with truncation at the bound",
        "unbounded_weights": "the same without truncation",
        "largest_layer": "largest |u|, |v| of these networks with truncation, at all times",
    }
    return labelled(data, meanings)
