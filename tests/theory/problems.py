"""Random problems of the whole range, the same in every run."""

import numpy as np

import dynafield as df

PRIORS = [
    df.Bernoulli(0.1),
    df.Bernoulli(0.01, 3.0),
    df.Discrete([-1.0, 0.0, 2.0], [0.2, 0.5, 0.3]),
    df.Gaussian(0.7),
    df.GaussBernoulli(0.15, 1.5),
    df.Empirical([0.0, 0.0, 0.3, -1.2, 0.9]),
]


def random_problem(seed):
    """(kind, task, net): δ .02 to 50, σ 0 to 10, α 1e-6 to 1e3, λ 1e-6 to 1e2, depths 2 to 6."""
    rng = np.random.default_rng(seed)
    kind = ("regularized", "interpolating", "ridgeless")[seed % 3]
    prior = PRIORS[rng.integers(len(PRIORS))]
    sigma = 0.0 if rng.random() < 0.15 else 10 ** rng.uniform(-3, 1)
    alpha, depth, lam = 10 ** rng.uniform(-6, 3), 2, 0.0
    if kind == "regularized":
        delta, lam = np.exp(rng.uniform(np.log(0.02), np.log(50))), 10 ** rng.uniform(-6, 2)
    elif kind == "interpolating":
        delta = rng.choice([np.exp(rng.uniform(np.log(0.02), np.log(0.99))), 1 - 10 ** rng.uniform(-3, -1)])
    else:
        delta, sigma = 1 + 10 ** rng.uniform(-3, 1.69), max(sigma, 1e-2)
    if kind != "regularized" and rng.random() < 0.4:
        # the reference subtracts u^L - v^L in doubles, so deep problems keep to moderate α
        depth, alpha = int(rng.integers(3, 7)), 10 ** rng.uniform(-1.5, 0.7)
    return kind, df.Task(float(delta), float(sigma), prior), df.DiagonalNetwork(alpha, lam, depth)
