"""The pictures of the pages that take minutes: `python docs/pictures.py`, all, or the files named.

Each carries the numbers that it shows, and a fingerprint of the function that drew it, without its comments.
The tests compare the fingerprints with the code, and draw pictures again to compare the numbers: one that is
older than its code, or whose numbers the library does not compute any more, does not pass.
"""

import ast
import contextlib
import hashlib
import inspect
import json
import re
import sys
import tempfile
import textwrap
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr

mpl.use("Agg")
import matplotlib.pyplot as plt
from shown_numbers import numbers

import dynafield as df
from dynafield import datasets
from dynafield.figures.paper.catalogue import FIGURES
from dynafield.figures.style import COLOURS
from dynafield.numerics.spectra import MarchenkoPastur

HERE = Path(__file__).parent
DATA = Path("results-full") / "data"


def examples(page, name):
    """What the examples of a page have made as soon as they have `name`; files they write are not kept."""
    names = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code in re.findall(r"^```python\n(.*?)^```$", (HERE / page).read_text(), flags=re.S | re.M):
            exec(code, names)
            if name in names:
                break
    plt.close("all")
    return names


def overview():
    """The trade-off, and the distribution behind three of its points."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    df.tradeoff(task, np.geomspace(1e-3, 10, 60)).plot(left)
    left.set_title("Better solutions are harder to find", fontsize=11)
    w = np.linspace(-1.0, 2.0, 1501)
    for alpha, colour in zip((2.0, 0.3, 0.01), COLOURS, strict=False):
        point = df.fixed_point(task, df.DiagonalNetwork(alpha))
        label = f"α = {alpha:g}: test error {point.test_error:.3f}"
        right.semilogy(w, point.density(w), color=colour, label=label)
    right.set(xlabel="coordinate w where training ends", ylabel="density", ylim=(1e-3, 1e3))
    right.set_title("Small initialization ends sparse\n(δ = 0.5, σ = 0.1, Bernoulli(0.1))", fontsize=11)
    right.grid(alpha=0.25, linewidth=0.6)
    right.legend(frameon=False, fontsize=9)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def tutorial_curve():
    """The learning curve of the tutorial."""
    return examples("tutorial.md", "curves")["curves"].plot().figure


def tutorial_compare():
    """Finite networks over it."""
    return examples("tutorial.md", "both")["both"].plot().figure


def tutorial_limit():
    """The distribution of a weight at the end of training."""
    return examples("tutorial.md", "limit")["limit"].plot().figure


def tutorial_tradeoff():
    """Generalization against speed."""
    return examples("tutorial.md", "curve")["curve"].plot().figure


def stopping():
    """Three initial scales with their best stops; and what one training run knows of its own test error."""
    task = df.Task(delta=0.5, sigma=0.3, prior=df.Bernoulli(0.1))
    t = np.geomspace(0.05, 100, 300)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained")
    for alpha, colour in zip((1.0, 0.2, 0.05), COLOURS, strict=False):
        curves = df.solve(task, df.DiagonalNetwork(alpha), t_max=100.0, tol=5e-3)
        left.plot(t, curves.at(t).test_error, color=colour, label=f"α = {alpha:g}")
        found = curves.phases()
        stop, least = found["best_stop"], found["best_test_error"].value
        sides = [[stop.value - stop.low], [stop.high - stop.value]]
        left.errorbar(stop.value, least, xerr=sides, fmt="o", color=colour, capsize=3)
        limit = df.fixed_point(task, df.DiagonalNetwork(alpha)).test_error
        left.plot([20, 100], [limit, limit], ":", color=colour, linewidth=2)
    left.plot([], [], ":", color="0.4", linewidth=2, label="at the end of training")
    left.set(xscale="log", xlabel="training time t", ylabel="test error")
    left.set_title("theory: δ = 0.5, σ = 0.3, Bernoulli(0.1)", fontsize=9)
    left.legend(frameon=False, fontsize=9)
    data = df.data.training_data(task, d=800, seed=1)
    path = df.learning_path(data.X, data.y, df.DiagonalNetwork(alpha=0.2), t_max=30.0)
    true = np.sum((path.weights - data.w_star) ** 2, axis=1) / path.d + task.sigma**2
    band = 2 * path.test_error_se
    later = path.t > 0.05
    for values, style, label in (
        (true, "-", "test error, true"),
        (path.test_error, "-", "test error, estimated"),
        (path.train_error, "--", "training error"),
    ):
        colour = {"test error, true": COLOURS[2], "test error, estimated": COLOURS[0]}.get(label, COLOURS[1])
        right.plot(path.t[later], values[later], style, color=colour, label=label)
    low, high = path.test_error - band, path.test_error + band
    right.fill_between(path.t[later], low[later], high[later], alpha=0.2, linewidth=0)
    right.axvline(path.best_stop, color="0.4", linestyle=":", label=f"stop, t = {path.best_stop:.2g}")
    right.set(xscale="log", xlabel="training time t", ylabel="error", ylim=(0, 0.4))
    right.set_title("one training run: n = 400, d = 800, α = 0.2", fontsize=9)
    right.legend(frameon=False, fontsize=9)
    for ax in (left, right):
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def momentum():
    """Logistic regression by gradient descent with and without momentum, theory and models of d = 1000."""
    task, model = df.Task(delta=2.0, sigma=0.5, prior=df.Gaussian(1.0)), df.models.logistic_flow(lam=0.02)
    figure, panels = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained")
    trainers = {"momentum 0.9": df.HeavyBall(0.1, 0.9), "without momentum": df.GradientDescent(0.1)}
    for (words, trainer), colour in zip(trainers.items(), COLOURS, strict=False):
        curves = df.solve(task, model, 5.0, tol=5e-3, trainer=trainer)
        runs = df.simulate(task, model, 5.0, d=1000, runs=10, trainer=trainer)
        few = np.unique(np.geomspace(1, len(runs.t) - 1, 10).astype(int))
        for ax, name in zip(panels, ("loss", "error"), strict=True):
            for kind, style, mark in (("test", "-", "o"), ("train", "--", "s")):
                label = f"{'training' if kind == 'train' else 'test'}, {words}"
                curve = f"{kind}_{name}"
                line, bar = getattr(curves, curve), 2 * getattr(curves, f"{curve}_se")
                ax.plot(curves.t, line, style, color=colour, label=label)
                ax.fill_between(curves.t, line - bar, line + bar, color=colour, alpha=0.15, linewidth=0)
                ax.errorbar(
                    runs.t[few], runs.mean(curve)[few], yerr=2 * runs.standard_error(curve)[few], fmt=mark,
                    color=colour, markersize=4, markerfacecolor="white", linewidth=1,
                )  # fmt: skip
    panels[0].set(xlabel="time: step × number of steps", ylabel="logistic loss", ylim=(0, 0.75))
    panels[1].set(xlabel="time: step × number of steps", ylabel="fraction of wrong signs", ylim=(0, 0.52))
    panels[0].set_title("logistic regression: δ = 2, σ = 0.5, λ = 0.02, steps of 0.1", fontsize=9)
    panels[1].set_title("lines: infinite dimension; marks: d = 1000", fontsize=9)
    panels[1].legend(frameon=False, fontsize=9)
    for ax in panels:
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def own_table():
    """The estimator on the table of `own_csv.md`: the error it expects, and its coefficients."""
    names = examples("own_csv.md", "model")
    path, scale = names["model"].path_, names["model"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained")
    path.plot(left)
    left.set_title("n = 100 rows, d = 60 columns; α and stop chosen", fontsize=9)
    coloured = {4: COLOURS[0], 11: COLOURS[1], 29: COLOURS[2]}
    for k in range(60):
        look = (
            {"color": coloured[k], "label": f"sensor_{k}", "zorder": 3}
            if k in coloured
            else {"color": "0.75"}
        )
        right.plot(scale.t_[1:], scale.coef_path_[1:, k], **look)
    right.axvline(scale.stop_, color="0.4", linestyle=":", label=f"stop, t = {scale.stop_:.2g}")
    right.set(xscale="log", xlabel="training time t", ylabel="coefficient")
    right.set_title("coefficients; those that made the table are 3, -2 and 1", fontsize=9)
    right.legend(frameon=False, fontsize=9)
    right.grid(alpha=0.25, linewidth=0.6)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def learning():
    """Theory and finite networks: rich, in between, lazy."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    net = df.DiagonalNetwork(alpha=np.array([0.05, 0.5, 2.0]))
    return df.compare(task, net, t_max=100.0, d=1000, runs=10).plot().figure


def stepping():
    """The flow and three ways to take steps, in units of time that make them comparable; marks: d = 1000."""
    task, net = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1)), df.DiagonalNetwork(alpha=0.5)
    trainers = (df.GradientDescent(0.5), df.HeavyBall(0.1, 0.9), df.SGD(0.5, 0.3))
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    flow = df.solve(task, net, 50.0)
    t = np.geomspace(0.2, 50, 200)
    names = ("train_error", "test_error")
    for ax, name in zip(panels, names, strict=True):
        ax.plot(t, getattr(flow.at(t), name), color="0.4", linestyle="--", label="gradient flow")
    for trainer, colour in zip(trainers, COLOURS, strict=False):
        end = 60 * trainer.step
        curves = df.solve(task, net, end, trainer=trainer)
        runs = df.simulate(task, net, end, d=1000, runs=10, trainer=trainer)
        for ax, name in zip(panels, names, strict=True):
            scale = 1 / (1 - trainer.inertia)
            ax.plot(scale * curves.t[1:], getattr(curves, name)[1:], color=colour, label=str(trainer))
            few = np.unique(np.geomspace(1, len(runs.t) - 1, 12).astype(int))
            bars = 2 * runs.standard_error(name)[few]
            ax.errorbar(
                scale * runs.t[few], runs.mean(name)[few], yerr=bars, fmt="o", color=colour,
                markersize=4, markerfacecolor="white", linewidth=1,
            )  # fmt: skip
    for ax, name in zip(panels, names, strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("time: step × number of steps / (1 - momentum)")
        ax.set_ylabel(name.replace("_", " "))
    panels[0].legend(frameon=False, fontsize=8)
    panels[0].set_title("lines: infinite network; marks: d = 1000, 10 runs, bars 2 se", fontsize=9)
    return figure


def training():
    """Three initial scales, with where the theory says they end."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    net = df.DiagonalNetwork(alpha=np.array([0.05, 0.5, 5.0]))
    runs = df.simulate(task, net, t_max=300.0, d=500, runs=10)
    figure = runs.plot().figure
    for ax in figure.axes:
        for end, colour in zip(df.fixed_point(task, net).test_error, COLOURS, strict=False):
            ax.plot([60, 300], [end, end], color=colour, linestyle=":", linewidth=2.5)
        ax.plot(
            [], [], color="0.4", linestyle=":", linewidth=2.5, label="test error at the fixed point (theory)"
        )
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def spectra():
    """Eigenvalues of XXᵀ/δ for n = 100, d = 200: Gaussian, whitened genes, genes as they are."""
    cohort = datasets.tcga_luad().X
    genes = datasets.whiten(cohort)
    laws = {
        "Gaussian inputs": lambda rng: rng.standard_normal((100, 200)) / np.sqrt(200),
        "whitened genes (575 components of 576 samples)": lambda rng: datasets.design(genes, 100, 200, rng),
        "genes, normalized only": lambda rng: datasets.design(cohort, 100, 200, rng),
    }
    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    edges = np.geomspace(1e-2, 200, 60)
    for (name, draw), colour in zip(laws.items(), COLOURS, strict=False):
        values = []
        for seed in range(40):
            X = draw(np.random.default_rng(seed))
            values.append(np.linalg.eigvalsh(X @ X.T / 0.5))
        counts, _ = np.histogram(np.concatenate(values), edges)
        ax.stairs(counts / counts.sum() / np.diff(np.log(edges)), edges, color=colour, label=name)
    x = np.geomspace(0.17, 5.83, 800)
    ax.plot(x, MarchenkoPastur(0.5).density(x) / 0.5 * x, color="black", label="Marchenko–Pastur")
    ax.set(xscale="log", xlabel="eigenvalue of XXᵀ/δ", ylabel="density in log eigenvalue", xlim=(1e-2, 200))
    ax.set_ylim(0, 1.1)
    ax.legend(frameon=False, fontsize=8)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def variances():
    """Features of equal and of different variances: curves with finite networks, and fitted exponents."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained")
    net, t = df.DiagonalNetwork(alpha=0.3), np.geomspace(0.05, 30, 200)
    spectra = {"equal variances": None, "power law, a = 1.5": df.data.PowerLaw(1.5, cutoff=50)}
    for (words, spectrum), colour in zip(spectra.items(), COLOURS, strict=False):
        task = df.Task(delta=0.6, sigma=0.3, prior=df.Bernoulli(0.1), spectrum=spectrum)
        curves = df.solve(task, net, t_max=30.0, tol=3e-3)
        left.plot(t, curves.at(t).test_error, color=colour, label=words)
        runs = df.simulate(task, net, t_max=30.0, d=600, runs=8, t_eval=np.geomspace(0.1, 30, 8))
        bars = 2 * runs.standard_error("test_error")
        left.errorbar(
            runs.t, runs.mean("test_error"), yerr=bars, fmt="o", color=colour, markerfacecolor="white"
        )
    left.set(xscale="log", xlabel="training time t", ylabel="test error")
    left.set_title("δ = 0.6, σ = 0.3, Bernoulli(0.1), α = 0.3; marks: d = 600", fontsize=9)
    source = df.Task(4.0, 0.0, df.Gaussian(1.0), spectrum=df.data.PowerLaw(2.0, 100, source=1.0))
    nets = {"linear": df.models.ridge_flow(), "network, α = 0.1": df.DiagonalNetwork(0.1)}
    df.studies.scaling_law(source, nets, times=np.geomspace(0.3, 10, 9), tol=1e-2).plot(right)
    right.set_title("scaling in time: δ = 4, σ = 0, a = 2, β = 1", fontsize=9)
    left.legend(frameon=False, fontsize=9)
    left.grid(alpha=0.25, linewidth=0.6)
    left.spines[["top", "right"]].set_visible(False)
    return figure


def own_model():
    """The example of `flows.md`, with larger finite models, and logistic regression."""
    page = (HERE / "flows.md").read_text()
    names = {}
    exec(re.findall(r"```python\n(.*?)task = ", page, flags=re.S)[0], names)
    task = df.Task(delta=2.0, sigma=0.5, prior=df.Gaussian(1.0))
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
    for ax, flow in zip(axes, (names["flow"], df.models.logistic_flow(0.02)), strict=True):
        both = df.compare(task, flow, 30.0, d=1000, runs=8, tol=5e-3, trainer=df.GradientDescent(0.5))
        both.plot(ax)
        ax.set_title(f"{flow.name}; marks: d = 1000", fontsize=9)
    axes[0].set_ylabel("error (f - f*)²")
    axes[1].set_ylabel("fraction of wrong signs")
    return figure


def own_data():
    """The estimated test error of one training run beside the true one, and its weights."""
    task = df.Task(delta=0.6, sigma=0.2, prior=df.Bernoulli(0.1))
    data = df.data.training_data(task, d=1000, seed=1)
    path = df.learning_path(data.X, data.y, df.DiagonalNetwork(alpha=0.05), t_max=100.0)
    true = np.sum((path.weights - data.w_star) ** 2, axis=1) / path.d + 0.2**2
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained")
    left.plot(path.t[1:], true[1:], color=COLOURS[2], label="test error, true")
    path.plot(left)
    left.set(yscale="linear", ylim=(0.0, 0.2))
    path.plot_weights(right)
    right.legend_.remove()
    return figure


def stages():
    """Stages for large and small α, the collapse of grokking, and incremental learning as a staircase."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    figure, panels = plt.subplots(2, 2, figsize=(11.5, 8), layout="constrained")
    df.solve(task, df.DiagonalNetwork(30.0, 0.2), 100.0).phases().plot(panels[0, 0])
    df.solve(task, df.DiagonalNetwork(1e-3), 300.0, tol=3e-3).phases().plot(panels[0, 1])
    df.studies.grokking(task, 0.2, tol=3e-3).plot(panels[1, 0])
    values, alpha = np.array([0.5, 1.0, 2.0]), 1e-4
    steps = df.Task(delta=20.0, sigma=0.1, prior=df.Discrete([0.0, *values], [0.7, 0.1, 0.1, 0.1]))
    ax = df.solve(steps, df.DiagonalNetwork(alpha), 80.0).activation(level=0.25).plot(panels[1, 1])
    for k, value in enumerate(values):
        time = 2 * np.log(1 / alpha) / value
        ax.axvline(
            time, color="0.4", linestyle=":", label="2 log(1/α)/|w*| for w* = 2, 1, ½" if k == 0 else None
        )
    ax.set(xscale="linear", xlim=(0, 80))
    ax.set_title(
        f"incremental learning: δ = 20, σ = 0.1, α = {alpha:g}, λ = 0, w* ∈ {{0, ½, 1, 2}}", fontsize=9
    )
    ax.legend(frameon=False, fontsize=9)
    return figure


def plane():
    """The (α, λ) plane at one time."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    found = df.studies.regime_map(task, np.geomspace(1e-3, 20, 16), np.geomspace(1e-2, 1, 10), t_max=60.0)
    return found.plot().figure


def small_decay():
    """Curves with a little weight decay leave that without any at t ~ 1/λ: first up, then down."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
    plain = df.solve(task, df.DiagonalNetwork(0.5), 1000.0)
    t = np.geomspace(0.1, 1000.0, 300)
    panels[0].plot(t, plain.at(t).test_error, color="black", linewidth=2.5, label="λ = 0")
    for lam, colour in zip((0.1, 0.03, 0.01, 0.003), COLOURS, strict=False):
        curve = df.solve(task, df.DiagonalNetwork(0.5, lam), min(1000.0, 10 / lam))
        times = t[t <= curve.t[-1]]
        error = curve.at(times).test_error
        panels[0].plot(times, error, color=colour, label=f"λ = {lam:g}")
        panels[1].plot(lam * times, (error - plain.at(times).test_error) / 0.11, color=colour)
    panels[0].set(xscale="log", xlabel="training time t", ylabel="test error C_w + σ²")
    panels[1].set(xscale="log", xlabel="λt", ylabel="change of the test error by λ, over E(0)")
    panels[1].set_yscale("symlog", linthresh=1e-2, linscale=0.6)
    panels[1].set_yticks([-0.1, -0.01, 0.0, 0.01], ["-0.1", "-0.01", "0", "0.01"])
    panels[1].set_ylim(-0.5, 0.06)
    panels[1].axhline(0.0, color="0.6", linewidth=0.8)
    panels[1].set_title("linear between -0.01 and 0.01", fontsize=9)
    panels[0].legend(frameon=False, fontsize=9)
    panels[0].set_title("δ = 0.5, σ = 0.1, Bernoulli(0.1), α = 0.5", fontsize=9)
    for ax in panels:
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def best_scales():
    """The best α over (δ, σ) for sparse and for less sparse targets; and networks at three places."""
    figure, panels = plt.subplots(1, 3, figsize=(14.5, 3.9), layout="constrained")
    delta, sigma = np.linspace(0.1, 0.96, 13)[:, None], np.linspace(0.0, 0.6, 11)[None]
    for ax, share in zip(panels, (0.1, 0.35), strict=False):
        task = df.Task(delta, sigma, df.Bernoulli(share))
        df.optimize(task, df.DiagonalNetwork(1.0), progress=False).plot(ax)
        ax.set_title(f"best α without decay, targets Bernoulli({share:g})", fontsize=9)
    ax, d, runs = panels[2], 500, 10
    places = ((0.1, 0.6, 0.05, "o"), (0.1, 0.5, 0.3, "s"), (0.35, 0.5, 0.3, "^"))
    for (share, delta, sigma, mark), colour in zip(places, COLOURS, strict=False):
        task = df.Task(delta, sigma, df.Bernoulli(share))
        fine, few = np.geomspace(0.01, 10, 80), np.geomspace(0.02, 8, 9)
        unit = float(df.optimize(task, df.DiagonalNetwork(1.0)).value)
        label = f"Bernoulli({share:g}), δ = {delta:g}, σ = {sigma:g}"
        ax.plot(
            fine, df.fixed_point(task, df.DiagonalNetwork(fine)).test_error / unit, color=colour, label=label
        )
        errors = []
        for run in range(runs):
            X, y, w_star = df.data.training_data(task, d, run=run)[:3]
            found = df.endpoints.minimizer(X, y, df.DiagonalNetwork(few)).w
            errors.append(np.sum((found - w_star) ** 2, axis=1) / d + sigma**2)
        bars = np.std(errors, axis=0, ddof=1) / np.sqrt(runs)
        ax.errorbar(few, np.mean(errors, axis=0) / unit, bars / unit, fmt=mark, color=colour, markersize=4)
        panels[0 if share < 0.3 else 1].plot([sigma], [delta], mark, color="red", markeredgecolor="white")
    ax.set(
        xscale="log",
        xlabel="initial scale α",
        ylabel="test error at the end, over its least value",
        ylim=(0.97, 1.5),
    )
    ax.set_title(f"at the red marks: theory, and {runs} networks of d = {d}", fontsize=9)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return figure


def from_the_paper(name):
    """A figure of the paper, from the data that `dynafield reproduce --full` leaves in results-full/."""
    drawing = PAPER[name]
    return drawing.draw(
        {need: xr.load_dataset(DATA / f"{need}.nc", engine="h5netcdf") for need in drawing.needs}
    )


PAPER = {f"paper_{one.name.replace('-', '_')}.png": one for one in FIGURES}
PICTURES = {
    "picture.png": overview,
    "tutorial_curve.png": tutorial_curve,
    "tutorial_compare.png": tutorial_compare,
    "tutorial_limit.png": tutorial_limit,
    "tutorial_tradeoff.png": tutorial_tradeoff,
    "early_stopping.png": stopping,
    "logistic.png": momentum,
    "own_csv.png": own_table,
    "curves.png": learning,
    "steps.png": stepping,
    "flows.png": own_model,
    "finite.png": training,
    "spectrum.png": spectra,
    "spectra.png": variances,
    "phases.png": stages,
    "regimes.png": plane,
    "own_data.png": own_data,
    "small_decay.png": small_decay,
    "best_scales.png": best_scales,
    **{name: partial(from_the_paper, name) for name in PAPER if (HERE / name).is_file()},
}


def fingerprint(name):
    """Of the function that draws a picture, whatever its comments and its layout."""
    drawer = PAPER[name].function if name in PAPER else PICTURES[name]
    tree = ast.parse(textwrap.dedent(inspect.getsource(drawer)))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def save(name):
    """Draw a picture and write it, with what is known of it."""
    figure = PICTURES[name]()
    metadata = {"Source": fingerprint(name), "Numbers": json.dumps(numbers(figure))}
    figure.savefig(HERE / name, dpi=200 if name in PAPER else 115, metadata=metadata)
    plt.close("all")


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        save(name)
        print(name, flush=True)
