"""The distribution of whole paths, and that of the features of real data."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import scipy.optimize
import scipy.spatial.distance
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.solve import solve
from dynafield.problem.networks import DiagonalNetwork
from dynafield.studies.paper.parts import facts, labelled, train
from dynafield.studies.paper.setting import TASK, Setting, genes

__all__ = ["DRAWS", "distance", "draws_of", "from_law", "gene_histogram", "paths", "sizes", "with_distances"]

MOMENTS = np.array([1.0, 3.0, 10.0, 30.0])
"""Times at which paths are compared."""
NETWORK = DiagonalNetwork(0.3)
DRAWS = 3
"""Samples of the distribution, and other networks, that each network is compared with."""
BINS = np.linspace(-6.0, 6.0, 97)
FAR = 4.0
"""Standard deviations beyond which tails are counted."""


def distance(first: Float[np.ndarray, "n k"], second: Float[np.ndarray, "n k"]) -> float:
    """The Wasserstein-2 distance of two samples of one size: the best way to pair them."""
    squares = scipy.spatial.distance.cdist(first, second, "sqeuclidean")
    rows, columns = scipy.optimize.linear_sum_assignment(squares)
    return float(np.sqrt(np.mean(squares[rows, columns])))


def drawn(rows: np.ndarray, weight: np.ndarray, count: int, seed: list[int]) -> np.ndarray:
    """`count` of the weighted rows, values of the last column in their proportions as nearly as possible."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order, -1], kind="stable")]
    edges = np.cumsum(weight[order])
    places = (np.arange(count) + rng.uniform()) / count * edges[-1]
    return rows[order[np.searchsorted(edges, places)]]


def draws_of(rows: np.ndarray, weight: np.ndarray, count: int, seed: list[int]) -> list[np.ndarray]:
    """Four draws of so many of the weighted rows, independent of each other.

    They may share rows: rows are closer to the law together than one by one, so that draws that share none
    would be farther from each other than a network is from each of them.
    """
    return [drawn(rows, weight, count, [*seed, part]) for part in range(DRAWS + 1)]


def from_law(
    networks: Sequence[np.ndarray], draws: Callable[[int], Sequence[np.ndarray]]
) -> Float[np.ndarray, "3 run"]:
    """Distances from each network to samples of a distribution, between these, and to other networks.

    `draws(run)` are four samples of the law, each as large as a network. Distances to several are joined as
    root mean squares.
    """
    found = np.empty((3, len(networks)))
    for run, seen in enumerate(networks):
        samples = draws(run)
        pairs = (
            [(seen, sample) for sample in samples[:DRAWS]],
            list(itertools.pairwise(samples)),
            [(seen, networks[run - 1 - part]) for part in range(DRAWS)],
        )
        for which, some in enumerate(pairs):
            found[which, run] = np.sqrt(np.mean([distance(*pair) ** 2 for pair in some]))
    return found


def sizes(setting: Setting, most: int | None = None) -> tuple[int, ...]:
    """Dimensions at which distributions are compared: those of the setting up to `most`, and one smaller."""
    larger = [d for d in setting.scale.dimensions if most is None or d <= most]
    return (larger[0] // 2, *larger)


def with_distances(data: xr.Dataset, found: np.ndarray, prefix: str = "", of: str = "network") -> xr.Dataset:
    """The data set with what `from_law` found at all its dimensions, and the power of d in the floor."""
    d = data["dimension"].values
    meanings = {
        f"{prefix}distance": f"W₂ of {of} and their distribution",
        f"{prefix}floor": "W₂ of two samples of the distribution",
        f"{prefix}between": f"W₂ of {of} and {of} of another data set",
    }
    for name, values in zip(meanings, np.moveaxis(found, 1, 0), strict=True):
        data[name] = (("dimension", "run"), values)
    floor = np.mean(data[f"{prefix}floor"].values, axis=-1)
    data[f"{prefix}floor_power"] = float(np.polyfit(np.log(d), np.log(floor), 1)[0])
    return labelled(data, meanings | {f"{prefix}floor_power": "slope of log floor against log d, fitted"})


def paths(setting: Setting) -> xr.Dataset:
    """`paths`: distance of (w(t₁), …, w(t₄), w*) of finite networks from that of the infinite one.

    The law is met by as many draws as there are coordinates; two such draws have a distance of their own,
    which tends to zero as slowly as the number of dimensions has it, and is the floor.
    """
    scale = setting.scale
    curves = solve(TASK, NETWORK, MOMENTS[-1], tol=scale.tol, seed=setting.seed, progress=False)
    laws = [curves.law(t) for t in MOMENTS]
    known = np.column_stack([*(law.w for law in laws), laws[0].w_star])

    found = []
    for k, d in enumerate(sizes(setting)):
        runs = train(setting, (TASK, NETWORK), MOMENTS, d, scale.seeds_curves, "gaussian", weights=True)
        networks = [
            np.column_stack([*w, target]) for w, target in zip(runs.weights, runs.w_star, strict=True)
        ]
        found.append(
            from_law(
                networks,
                lambda run, k=k, d=d: draws_of(known, laws[0].weight, d, [setting.seed, k, run]),
            )
        )
    data = xr.Dataset(coords={"dimension": list(sizes(setting)), "moment": MOMENTS})
    more = dict(alpha=NETWORK.alpha, lam=0.0, runs=scale.seeds_curves, tol=scale.tol)
    return with_distances(data, np.array(found)).assign_attrs(facts(setting, TASK, **more))


def gene_histogram(setting: Setting) -> xr.Dataset:
    """`gene-histogram`: the distribution of the whitened features."""
    features, provenance = genes(setting.data)
    standard = features / np.std(features, axis=0)
    counts, _ = np.histogram(standard, BINS)
    data = xr.Dataset(coords={"feature_value": 0.5 * (BINS[1:] + BINS[:-1])})
    data["density"] = ("feature_value", counts / standard.size / np.diff(BINS))
    data["kurtosis"] = float(np.mean(standard**4))
    data["feature_kurtosis"] = ("feature", np.mean(standard**4, axis=0))
    data["beyond"] = float(np.mean(np.abs(standard) > FAR))
    meanings = {
        "density": "density of the entries of whitened features",
        "kurtosis": "fourth moment, 3 for a normal distribution",
        "feature_kurtosis": "the same of each feature",
        "beyond": "fraction of entries beyond 4 standard deviations",
    }
    size = dict(samples=len(features), features=features.shape[1])
    known = dict(scale=setting.scale.name, seed=setting.seed, provenance=provenance, far=FAR)
    return labelled(data, meanings).assign_attrs(known | size)
