"""The law of whole paths, and the law of the features of real data."""

import itertools

import numpy as np
import scipy.optimize
import scipy.spatial.distance
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.solve import solve
from dynafield.problem.networks import DiagonalNetwork
from dynafield.studies.paper.parts import facts, labelled, train
from dynafield.studies.paper.setting import TASK, Setting, genes

__all__ = ["distance", "gene_histogram", "paths"]

MOMENTS = np.array([1.0, 3.0, 10.0, 30.0])
"""Times at which paths are compared."""
NETWORK = DiagonalNetwork(0.3)
DRAWS = 3
"""Of the law, and of other networks, that each network is compared with."""
BINS = np.linspace(-6.0, 6.0, 97)


def distance(first: Float[np.ndarray, "n k"], second: Float[np.ndarray, "n k"]) -> float:
    """The Wasserstein-2 distance of two samples of one size: the best way to pair them."""
    squares = scipy.spatial.distance.cdist(first, second, "sqeuclidean")
    rows, columns = scipy.optimize.linear_sum_assignment(squares)
    return float(np.sqrt(np.mean(squares[rows, columns])))


def drawn(rows: np.ndarray, weight: np.ndarray, count: int, seed: list[int]) -> np.ndarray:
    """So many of the weighted rows, every value of the last column in its share as nearly as can be."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order, -1], kind="stable")]
    edges = np.cumsum(weight[order])
    places = (np.arange(count) + rng.uniform()) / count * edges[-1]
    return rows[order[np.searchsorted(edges, places)]]


def paths(setting: Setting) -> xr.Dataset:
    """`paths`: distance of (w(t₁), …, w(t₄), w*) of finite networks from the law of the infinite one.

    The law is met by as many draws as there are coordinates; two such draws have a distance of their own,
    which tends to zero as slowly as the number of dimensions has it, and is the floor.
    """
    scale = setting.scale
    curves = solve(TASK, NETWORK, MOMENTS[-1], tol=scale.tol, seed=setting.seed, progress=False)
    laws = [curves.law(t) for t in MOMENTS]
    known = np.column_stack([*(law.w for law in laws), laws[0].w_star])

    found = np.empty((3, len(scale.dimensions), scale.seeds_curves))
    for k, d in enumerate(scale.dimensions):
        runs = train(setting, (TASK, NETWORK), MOMENTS, d, scale.seeds_curves, "gaussian", weights=True)
        networks = [
            np.column_stack([*w, target]) for w, target in zip(runs.weights, runs.w_star, strict=True)
        ]
        for run, seen in enumerate(networks):
            draws = [
                drawn(known, laws[0].weight, d, [setting.seed, k, run, part]) for part in range(DRAWS + 1)
            ]
            pairs = (
                [(seen, draw) for draw in draws[:DRAWS]],
                list(itertools.pairwise(draws)),
                [(seen, networks[run - 1 - part]) for part in range(DRAWS)],
            )
            for which, some in enumerate(pairs):
                found[which, k, run] = np.sqrt(np.mean([distance(*pair) ** 2 for pair in some]))
    data = xr.Dataset(coords={"dimension": list(scale.dimensions), "moment": MOMENTS})
    meanings = {
        "distance": "W₂ of network and law",
        "floor": "W₂ of two draws of the law",
        "between": "W₂ of two networks",
    }
    for name, values in zip(meanings, found, strict=True):
        data[name] = (("dimension", "run"), values)
    more = dict(alpha=NETWORK.alpha, lam=0.0, runs=scale.seeds_curves, tol=scale.tol)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def gene_histogram(setting: Setting) -> xr.Dataset:
    """`gene-histogram`: the law of the whitened features."""
    features, provenance = genes(setting.data)
    standard = features / np.std(features, axis=0)
    counts, _ = np.histogram(standard, BINS)
    data = xr.Dataset(coords={"feature_value": 0.5 * (BINS[1:] + BINS[:-1])})
    data["density"] = ("feature_value", counts / standard.size / np.diff(BINS))
    data["kurtosis"] = float(np.mean(standard**4))
    meanings = {
        "density": "density of the entries of whitened features",
        "kurtosis": "fourth moment, 3 for a normal law",
    }
    size = dict(samples=len(features), features=features.shape[1])
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, provenance=provenance, **size))
