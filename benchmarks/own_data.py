"""Own data: what the estimate of the test error costs, and what choosing by it is worth."""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dynafield as df
from dynafield import datasets

SIGMA = 0.3
ALPHAS = (0.03, 0.1, 0.3, 1.0)
T_MAX = 30.0


def synthetic(n, d, seed):
    """Sparse regression with Gaussian inputs."""
    rng = np.random.default_rng(seed)
    w_star = np.zeros(d)
    w_star[rng.permutation(d)[: d // 10]] = 1.0
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    return X, X @ w_star + SIGMA * rng.standard_normal(n), w_star


def risk(weights, w_star):
    """Population error of Gaussian inputs."""
    return np.sum((weights - w_star) ** 2, axis=-1) / len(w_star) + SIGMA**2


def timed(work):
    """Seconds and result, compiled before."""
    work()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def cost():
    """Training alone beside training with probes, and with every datum left out."""
    lines = [
        "| n | d | α | training | 8 probes | ratio | each left out | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n, d, alpha in (
        (200, 400, 0.3),
        (500, 1000, 0.3),
        (500, 1000, 0.05),
        (2000, 1000, 0.3),
        (2000, 2000, 0.3),
    ):
        X, y, _ = synthetic(n, d, 0)
        net = df.DiagonalNetwork(alpha)
        plain, _ = timed(lambda X=X, y=y, net=net: df.learning_path(X, y, net, 100.0, probes=0))
        probed, _ = timed(lambda X=X, y=y, net=net: df.learning_path(X, y, net, 100.0, exact=False))
        told = ["", ""]
        if n <= 500:
            exact, _ = timed(lambda X=X, y=y, net=net: df.learning_path(X, y, net, 100.0, exact=True))
            told = [f"{exact:.2g} s", f"{exact / plain:.2g}"]
        lines.append(
            f"| {n} | {d} | {alpha:g} | {plain:.2g} s | {probed:.2g} s | {probed / plain:.2g} | {told[0]} | {told[1]} |"
        )
    return "\n".join(lines)


def by_folds(X, y):
    """Five-fold cross-validation of α and t on the same grid, by the same training, and a last fit."""
    net = [df.DiagonalNetwork(alpha) for alpha in ALPHAS]
    times = np.geomspace(0.1, T_MAX, 26)
    errors = np.zeros((len(ALPHAS), len(times)))
    for kept, left in KFold(5).split(X):
        for k, one in enumerate(net):
            path = df.learning_path(X[kept], y[kept], one, T_MAX, probes=0)
            gaps = path.weights @ X[left].T - y[left]
            errors[k] += np.interp(times, path.t, np.mean(gaps**2, axis=1)) / 5
    k, place = np.unravel_index(np.argmin(errors), errors.shape)
    path = df.learning_path(X, y, net[k], T_MAX, probes=0)
    return path.weights[int(np.argmin(np.abs(path.t - times[place])))]


def by_estimate(X, y):
    """The same choice by the estimate of each run."""
    paths = [df.learning_path(X, y, df.DiagonalNetwork(alpha), T_MAX) for alpha in ALPHAS]
    return min(paths, key=lambda path: path.test_error[path.best]).w


def against_folds(n=150, d=300, count=20):
    """Risk and time of both choices, over data sets."""
    found = []
    for seed in range(count):
        X, y, w_star = synthetic(n, d, seed)
        if seed == 0:
            by_folds(X, y), by_estimate(X, y)  # compiled before
        row = []
        for choice in (by_estimate, by_folds):
            start = time.perf_counter()
            w = choice(X, y)
            row += [time.perf_counter() - start, risk(w, w_star)]
        every = np.concatenate(
            [
                risk(df.learning_path(X, y, df.DiagonalNetwork(a), T_MAX, probes=0).weights, w_star)
                for a in ALPHAS
            ]
        )
        found.append([*row, np.min(every)])
    ours, our_risk, folds, fold_risk, least = np.array(found).T
    gap = our_risk / fold_risk - 1
    return (
        f"Choice of α and t, {count} data sets, n = {n}, d = {d}: risk by the estimate {np.mean(our_risk):.4f}, by five folds "
        f"{np.mean(fold_risk):.4f} (ratio - 1: {100 * np.mean(gap):.1f} ± {100 * np.std(gap) / np.sqrt(count):.1f} %), least possible "
        f"{np.mean(least):.4f}; {np.mean(ours):.2g} s against {np.mean(folds):.2g} s, {np.mean(folds) / np.mean(ours):.2g} times faster."
    )


def excess(d=1000, delta=0.5, count=10):
    """What stopping where the estimate is least costs."""
    lost = []
    for seed in range(count):
        X, y, w_star = synthetic(round(delta * d), d, seed)
        path = df.learning_path(X, y, df.DiagonalNetwork(0.3), 100.0)
        true = risk(path.weights, w_star)
        lost.append(true[path.best] / np.min(true) - 1)
    return f"Excess risk of the chosen stop, d = {d}, δ = {delta:g}, α = .3, {count} data sets: mean {100 * np.mean(lost):.2f} %, median {100 * np.median(lost):.2f} %, largest {100 * np.max(lost):.1f} %."


def tasks():
    """Regressions: name, inputs, labels, number of training data."""
    rng = np.random.default_rng(0)
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", X, y, 300
    genes = datasets.tcga_luad().X.astype(float)
    genes = genes[:, np.ptp(genes, axis=0) > 0]
    yield "one gene from 1,499", np.delete(genes, 0, axis=1), genes[:, 0], 300
    w = np.zeros(genes.shape[1])
    w[rng.permutation(len(w))[:20]] = 1.0
    signal = (genes - genes.mean(axis=0)) / genes.std(axis=0) @ w
    yield "planted, 20 genes", genes, signal + 0.5 * np.std(signal) * rng.standard_normal(len(genes)), 300
    for name, share in (("sparse Gaussian", 0.02), ("dense Gaussian", 1.0)):
        X = rng.standard_normal((1300, 400))
        w = rng.standard_normal(400) * (rng.random(400) < share)
        signal = X @ w
        yield name, X, signal + 0.5 * np.std(signal) * rng.standard_normal(1300), 300


def against_lasso_and_ridge(splits=3):
    """Test errors relative to the variance of labels, and seconds, on the same splits."""
    lines = ["| task | dynafield | LassoCV | RidgeCV | own estimate | seconds |", "|---|---|---|---|---|---|"]
    for name, X, y, n in tasks():
        errors, seconds, told = [], [], []
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:n], order[n:]
            models = [
                df.DiagonalNetworkRegressor(alpha="auto", t_max="auto"),
                make_pipeline(StandardScaler(), LassoCV(max_iter=5000)),
                make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-2, 1e6, 33))),
            ]
            row, times = [], []
            for model in models:
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X[train], y[train])
                times.append(time.perf_counter() - start)
                row.append(np.mean((model.predict(X[test]) - y[test]) ** 2) / np.var(y))
            errors.append(row)
            seconds.append(times)
            told.append(np.min(models[0].estimated_test_error_) / np.var(y))
        mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(splits)
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
        times = ", ".join(f"{s:.2g}" for s in np.median(seconds, axis=0))
        lines.append(f"| {name} | {' | '.join(cells)} | {np.mean(told):.3f} | {times} |")
    return "\n".join(lines)


def classifiers(splits=5):
    """Logistic losses and shares of wrong labels on the same splits."""
    lines = [
        "| task | dynafield: loss, wrong | own estimate | LogisticRegressionCV: loss, wrong | seconds |",
        "|---|---|---|---|---|",
    ]
    X, y = load_digits(return_X_y=True)
    pairs = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits 3 and 8": (X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]),
    }
    for name, (X, y) in pairs.items():
        rows = []
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:200], order[200:]
            row = []
            other = LogisticRegressionCV(
                l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss", max_iter=2000
            )
            for model in (df.DiagonalNetworkClassifier(), make_pipeline(StandardScaler(), other)):
                start = time.perf_counter()
                model.fit(X[train], y[train])
                row.append(time.perf_counter() - start)
                right = model.predict_proba(X[test])[
                    np.arange(len(test)), (y[test] == model.classes_[1]).astype(int)
                ]
                row += [
                    -np.mean(np.log(np.maximum(right, 1e-300))),
                    np.mean(model.predict(X[test]) != y[test]),
                ]
                if isinstance(model, df.DiagonalNetworkClassifier):
                    row.append(np.min(model.estimated_test_loss_))
            rows.append(row)
        ours, loss, wrong, told, theirs, their_loss, their_wrong = np.mean(rows, axis=0)
        lines.append(
            f"| {name} | {loss:.3f}, {wrong:.3f} | {told:.3f} | {their_loss:.3f}, {their_wrong:.3f} | {ours:.2g}, {theirs:.2g} |"
        )
    return "\n".join(lines)


def section():
    """The section of docs/benchmarks.md."""
    return f"""
## Own data

What `learning_path` costs beside training alone, to t = 100, compiled before. The aim was 4 times with 8 probes.

{cost()}

{excess()} The aim was 2 %.

{against_folds()} (Each datum is left out.)

{against_folds(500, 1000, 4)} (By probes.) Folds and estimate train by the same code; the aim was a risk within 1 %, 5 times faster.

Test error over the variance of the labels: means and standard errors over 3 splits, 300 training data each. The own estimate is that of
the chosen model, from training data alone. Seconds of a fit: dynafield (the first with what it compiles), `LassoCV`, `RidgeCV`.

{against_lasso_and_ridge()}

Two classes, 200 training data, means over 5 splits; seconds of both.

{classifiers()}

The loss on digits is that of one test image in one of the splits, on which the network is wrong and certain: the 200 training images can be told apart, none of them is
wrong when it is left out, and so nothing stops training. Shares of wrong labels are not touched by it.
"""
