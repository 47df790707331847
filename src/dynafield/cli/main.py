"""`dynafield solve`, `compare`, `limit`, `rate`, `phases`, `simulate`, `fit`, `sweep` and the others."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynafield.cli.options import (
    LIST,
    Alpha,
    Batch,
    Bend,
    Bound,
    Delta,
    Depth,
    Evaluate,
    FlowName,
    JsonFlag,
    LabelNoise,
    Lam,
    Momentum,
    Nesterov,
    NumberOfRuns,
    OldSeeds,
    OneDelta,
    OneSigma,
    Out,
    Overlap,
    Plot,
    PriorText,
    Sigma,
    SpectrumText,
    Step,
    Temperature,
    Time,
    Tolerance,
    Workers,
    number_of_runs,
    problem,
    read_inputs,
    trainer_of,
)
from dynafield.cli.tables import emit
from dynafield.compiled import keep_compiled_code
from dynafield.errors import FileError, InputError, SolveError
from dynafield.version import __version__

if TYPE_CHECKING:
    from dynafield.records.record import Record

__all__ = ["app", "run"]

app = typer.Typer(
    help="Exact learning curves of gradient training in the high-dimensional limit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> bool:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"dynafield {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options that belong to no command."""


PICTURES = (".png", ".pdf", ".svg")


def check_places(out: Path | None, plot: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    from dynafield.records.files import writable

    for path, endings in ((out, (".nc", ".csv")), (plot, PICTURES)):
        if path is not None:
            writable(path, endings)


def keep(record: Any, out: Path | None, plot: Path | None, draw: Callable[[], Any] | None = None) -> None:
    """Save and draw a result as asked; `draw` replaces its own `plot`."""
    if out is not None:
        typer.echo(f"saved {record.save(out)}", err=True)
    if plot is not None:
        import matplotlib as mpl

        mpl.use("Agg")
        (draw or record.plot)().figure.savefig(plot, dpi=160)
        typer.echo(f"drew {plot}", err=True)


def deliver(
    record: "Record",
    names: tuple[str, ...],
    json: bool,
    out: Path | None,
    plot: Path | None,
    times: Any = None,
) -> None:
    """Save, draw and print a result as asked."""
    keep(record, out, plot)
    emit(record, names, as_text=not json, times=times)


def times_of(text: str | None) -> Any:
    """Times from their text; one number is taken as a list."""
    from dynafield.problem.checks import real_list
    from dynafield.problem.text import numbers

    if text is None:
        return None
    return real_list("t_eval", numbers("t_eval", text), lambda x: x >= 0, "times ≥ 0")


@app.command()
def solve(
    delta: Delta = "0.5",
    sigma: Sigma = "0.1",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    flow: FlowName = None,
    bend: Bend = None,
    overlap: Overlap = None,
    t_max: Time = 100.0,
    t_eval: Evaluate = None,
    tol: Tolerance = 1e-3,
    rtol: Annotated[float | None, typer.Option("--rtol", help="Relative error of both curves.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the sampled paths.")] = 0,
    memory_gb: Annotated[
        float | None, typer.Option("--memory-gb", help="Memory to use at most, in gigabytes.")
    ] = None,
    step: Step = None,
    momentum: Momentum = None,
    nesterov: Nesterov = False,
    batch_fraction: Batch = None,
    temperature: Temperature = None,
    label_noise: LabelNoise = None,
    truncate: Bound = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """The learning curve of the infinite network, with error bars."""
    from dynafield.dmft.solve import solve as compute

    check_places(out, plot)
    times = times_of(t_eval)
    if times is not None and max(times) > t_max:
        raise InputError(f"t_eval must be at most t_max = {t_max:g}, got {max(times):g}")
    task, net = problem(delta, sigma, alpha, lam, depth, prior, truncate, flow, bend, overlap, spectrum)
    trainer = trainer_of(
        step, momentum, batch_fraction, nesterov=nesterov, temperature=temperature, label_noise=label_noise
    )
    curves = compute(task, net, t_max, tol=tol, rtol=rtol, trainer=trainer, seed=seed, memory_gb=memory_gb)
    deliver(curves, (), json, out, plot, times)


@app.command()
def compare(
    delta: OneDelta = "0.5",
    sigma: OneSigma = "0.1",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    flow: FlowName = None,
    bend: Bend = None,
    overlap: Overlap = None,
    t_max: Time = 100.0,
    t_eval: Evaluate = None,
    tol: Tolerance = 1e-3,
    d: Annotated[int, typer.Option("--d", help="Dimension of the finite networks.")] = 500,
    runs: NumberOfRuns = 10,
    seeds: OldSeeds = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    workers: Workers = 1,
    step: Step = None,
    momentum: Momentum = None,
    nesterov: Nesterov = False,
    batch_fraction: Batch = None,
    temperature: Temperature = None,
    label_noise: LabelNoise = None,
    truncate: Bound = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Theory and finite networks: both learning curves with their error bars."""
    from dynafield.cli.tables import emit_comparison
    from dynafield.studies.comparison import compare as both

    check_places(out, plot)
    task, net = problem(delta, sigma, alpha, lam, depth, prior, truncate, flow, bend, overlap, spectrum)
    found = both(
        task, net, t_max, d=d, runs=number_of_runs(runs, seeds), tol=tol, t_eval=times_of(t_eval),
        seed=seed, workers=workers,
        trainer=trainer_of(
            step, momentum, batch_fraction,
            nesterov=nesterov, temperature=temperature, label_noise=label_noise,
        ),
    )  # fmt: skip
    keep(found, out, plot)
    emit_comparison(found, as_text=not json)


@app.command()
def limit(
    delta: Delta = "0.5",
    sigma: Sigma = "0.1",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """The limit of training: errors and responses (--plot draws the distribution of the weights)."""
    from dynafield.theory.fixed_points import fixed_point

    check_places(out, plot)
    record = fixed_point(*problem(delta, sigma, alpha, lam, depth, prior, spectrum=spectrum))
    names = ("case", "test_error", "train_error", "C_w", "chi_w", "R_w")
    deliver(record, names, json, out, plot)


@app.command()
def rate(
    delta: Delta = "0.5",
    sigma: Sigma = "0.1",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """How fast training converges: the rate γ, its derivative in α and its limits."""
    from dynafield.theory.rates import convergence_rate

    check_places(out, plot)
    record = convergence_rate(*problem(delta, sigma, alpha, lam, depth, prior, spectrum=spectrum))
    names = ("case", "gamma", "dgamma_dalpha", "large_alpha", "small_alpha")
    deliver(record, names, json, out, plot)


@app.command()
def optimize(
    delta: Delta = "0.5",
    sigma: Sigma = "0.1",
    over: Annotated[
        str, typer.Option("--over", help="What is varied: alpha, lam, step, or several, with commas.")
    ] = "alpha",
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            help="What is minimized: the test error in the limit of training (end), at --t-max (time), "
            "at its best stop up to --t-max (best_stop), or the time to --reach an error (reach).",
        ),
    ] = "end",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    t_max: Annotated[
        float | None, typer.Option("--t-max", help="Training time up to which curves are solved.")
    ] = None,
    reach: Annotated[float | None, typer.Option("--reach", help="Test error to reach.")] = None,
    step: Step = None,
    tol: Tolerance = 5e-3,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random points.")] = 0,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """The best α, weight decay or step for a task, from theory alone."""
    from dynafield.studies.optimization import optimize as best

    check_places(out, plot)
    task, net = problem(delta, sigma, alpha, lam, depth, prior, spectrum=spectrum)
    names = tuple(name.strip() for name in over.split(","))
    trainer = trainer_of(step, None, None)
    record = best(task, net, names, objective, t_max=t_max, error=reach, trainer=trainer, tol=tol, seed=seed)
    deliver(record, (), json, out, plot)


@app.command()
def phases(
    delta: OneDelta = "0.5",
    sigma: OneSigma = "0.1",
    alpha: Annotated[
        str | None, typer.Option("--alpha", help="Initial scale of the weights, one number (0.5).")
    ] = None,
    lam: Annotated[str | None, typer.Option("--lam", help="Weight decay, one number (0).")] = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    flow: FlowName = None,
    bend: Bend = None,
    overlap: Overlap = None,
    t_max: Annotated[
        float | None,
        typer.Option("--t-max", help="Solve up to this time and measure; --plot and --out choose one."),
    ] = None,
    tol: Tolerance = 1e-2,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the sampled paths.")] = 0,
    json: JsonFlag = False,
    out: Annotated[Path | None, typer.Option("--out", help="Save the solved curve to this file.")] = None,
    plot: Plot = None,
) -> None:
    """The stages of training: when each begins, and which closed form holds in it."""
    from dynafield.cli.tables import emit_phases
    from dynafield.dmft.solve import solve as compute
    from dynafield.studies.phases import phases as stages

    check_places(out, plot)
    task, net = problem(delta, sigma, alpha, lam, depth, prior, None, flow, bend, overlap, spectrum)
    found = stages(task, net)
    if t_max is not None or plot is not None or out is not None:
        curves = compute(task, net, found.horizon if t_max is None else t_max, tol=tol, seed=seed)
        found = stages(curves)
        keep(curves, out, plot, found.plot)
    emit_phases(found, as_text=not json)


@app.command()
def simulate(
    delta: OneDelta = "0.5",
    sigma: OneSigma = "0.1",
    alpha: Alpha = None,
    lam: Lam = None,
    depth: Depth = None,
    prior: PriorText = "bernoulli:0.1",
    spectrum: SpectrumText = None,
    flow: FlowName = None,
    bend: Bend = None,
    overlap: Overlap = None,
    t_max: Time = 100.0,
    t_eval: Annotated[
        str | None,
        typer.Option("--t-eval", help=f"Times to keep; 0 and 100 up to t-max if not given. {LIST}"),
    ] = None,
    d: Annotated[int | None, typer.Option("--d", help="Dimension (500), or that of the matrix.")] = None,
    runs: NumberOfRuns = 10,
    seeds: OldSeeds = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed; runs use independent streams of it.")] = 0,
    step: Step = None,
    momentum: Momentum = None,
    nesterov: Nesterov = False,
    batch_fraction: Batch = None,
    temperature: Temperature = None,
    label_noise: LabelNoise = None,
    tol: Annotated[
        float, typer.Option("--tol", help="Relative error of the weights in gradient flow.")
    ] = 1e-6,
    inputs: Annotated[
        str, typer.Option("--inputs", help="gaussian, binary, uniform, or a matrix as a .npy or text file.")
    ] = "gaussian",
    targets: Annotated[str, typer.Option("--targets", help="proportions or iid.")] = "proportions",
    truncate: Bound = None,
    workers: Workers = 1,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Train finite networks: errors against time, mean and standard deviation over runs."""
    from dynafield.simulation.simulate import simulate as train

    check_places(out, plot)
    task, net = problem(delta, sigma, alpha, lam, depth, prior, truncate, flow, bend, overlap, spectrum)
    trainer = trainer_of(
        step,
        momentum,
        batch_fraction,
        nesterov=nesterov,
        temperature=temperature,
        label_noise=label_noise,
    )
    times = times_of(t_eval)
    found = train(
        task, net, t_max, d=d, runs=number_of_runs(runs, seeds), t_eval=times, trainer=trainer,
        inputs=read_inputs(inputs), seed=seed, targets=targets, tol=tol, workers=workers,
    )  # fmt: skip
    deliver(found, (), json, out, plot)
    if not found.complete:
        raise KeyboardInterrupt


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(help="A table of numbers with a line of names (.csv, .tsv, …).")],
    target: Annotated[str, typer.Option("--target", help="Name of the column to predict.")],
    classify: Annotated[
        bool, typer.Option("--classify", help="Separate two classes, by the logistic loss.")
    ] = False,
    alpha: Annotated[
        str, typer.Option("--alpha", help=f"Initial scale to choose from, or auto. {LIST}")
    ] = "auto",
    lam: Annotated[str, typer.Option("--lam", help=f"Weight decay to choose from. {LIST}")] = "0",
    depth: Annotated[
        str, typer.Option("--depth", help="Numbers of layers to choose from, as 2 or 2,3.")
    ] = "2",
    t_max: Annotated[str, typer.Option("--t-max", help="Training time, or auto.")] = "auto",
    probes: Annotated[
        int, typer.Option("--probes", help="Number of random directions for the estimate.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the probes.")] = 0,
    predict: Annotated[
        Path | None,
        typer.Option("--predict", help="A table with the same columns, to predict for."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Write these predictions to this file.")
    ] = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Fit your own data: initial scale and stopping time are chosen without holding data back."""
    import numpy as np

    from dynafield.cli.tables import emit_fit
    from dynafield.datasets.tables import read_table
    from dynafield.problem.text import numbers
    from dynafield.records.files import writable
    from dynafield.regressor.classifier import DiagonalNetworkClassifier
    from dynafield.regressor.estimator import DiagonalNetworkRegressor

    check_places(out, plot)
    if predictions is not None:
        writable(predictions)
        if predict is None:
            raise InputError("predictions needs --predict, the table to predict for")
    layers, end = numbers("depth", depth), None if t_max == "auto" else numbers("t_max", t_max)
    if np.any(layers != np.round(layers)):
        raise InputError(f"depth must be integers, got {depth}")
    if end is not None and np.ndim(end) > 0:
        raise InputError(f"t_max must be one number or auto, got {t_max}")
    table = read_table(data, target)
    new = None if predict is None else read_table(predict, columns=table.names)
    if not classify and table.y.dtype.kind != "f":
        raise InputError(f"target {target!r} must be numbers, or give --classify; got {str(table.y[0])!r}")
    kind: Any = DiagonalNetworkClassifier if classify else DiagonalNetworkRegressor
    model = kind(
        alpha="auto" if alpha == "auto" else np.atleast_1d(numbers("alpha", alpha)),
        lam=np.atleast_1d(numbers("lam", lam)),
        depth=[int(k) for k in np.atleast_1d(layers)],
        t_max="auto" if end is None else float(end),
        probes=probes,
        random_state=seed,
    )
    try:
        model.fit(table.X, table.y)
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(str(error)) from error
    if (out or plot) and not hasattr(model, "path_"):
        raise InputError(f"target {target!r} does not depend on any column: there is no path to keep")
    keep(getattr(model, "path_", None), out, plot)
    found = None if new is None else model.predict(new.X)
    if found is not None and predictions is not None:
        lines = [target, *(str(value) for value in found.tolist())]
        predictions.write_text("\n".join(lines) + "\n", encoding="utf-8")
        typer.echo(f"wrote {predictions}", err=True)
    emit_fit(model, table.names, found, as_text=not json)


@app.command()
def sweep(
    study: Annotated[Path, typer.Argument(help="A TOML file that says what to compute, and where.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the study (NAME.sweep).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print points, size, time and memory to expect, and stop.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; 0 for none. One per core for finite networks.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, as tcp://HOST:PORT.")
    ] = None,
    slurm: Annotated[
        int | None, typer.Option("--slurm", help="Number of SLURM jobs, as configured for dask-jobqueue.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a study of many points, or what is missing of it; after an interruption it continues."""
    from dynafield.cli.tables import emit_estimate, emit_sweep
    from dynafield.studies.clusters import need_dask, slurm_cluster
    from dynafield.studies.estimate import estimate
    from dynafield.studies.study import Study
    from dynafield.studies.sweep import sweep as run_study

    if scheduler is not None and slurm is not None:
        raise InputError("scheduler and slurm must not be given together")
    for option, given in (("scheduler", scheduler), ("slurm", slurm)):
        if given is not None:
            need_dask(option)
    plan = Study.read(study)
    if dry_run:
        emit_estimate(plan, estimate(plan), as_text=not json)
        return
    folder = Path(f"{plan.name}.sweep") if out is None else out
    try:
        with slurm_cluster(slurm) as cluster:
            data = run_study(
                plan, folder, workers=workers, scheduler=scheduler if cluster is None else cluster
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is safe in {folder}: the same command continues", err=True)
        raise
    emit_sweep(plan, data, folder, as_text=not json)


@app.command()
def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(help="Figures to make; all when none is named."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's sizes, or smaller ones in minutes.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for figures, data, report (results, results-full).")
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="Real data: luad (shipped); pancan (downloaded before) or pancan FILE, your copy.",
        ),
    ] = "luad",
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw from the data in the folder; compute nothing.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; one per core, at most 4.", min=1)
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Reproduce the paper: every figure from our own runs, and a report on its claims.

    What is done is kept: interrupted or called again, the same command does only what is missing.
    """
    from dynafield.cli.tables import emit_claims
    from dynafield.studies.paper.reproduction import reproduce as run_all

    figures, data = local_copy(figures or [], data)
    count = min(4, os.cpu_count() or 1) if workers is None else workers
    folder = Path("results-full" if full else "results") if out is None else out
    try:
        made = run_all(
            figures,
            out=folder,
            full=full,
            data=data,
            redraw=redraw,
            seed=seed,
            workers=count,
            tell=tell_lines,
        )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is safe in {folder}: the same command continues", err=True)
        raise
    emit_claims(made, as_text=not json)
    if made.failed:
        raise typer.Exit(1)


def tell_lines(line: str) -> None:
    """Write a line to standard error, unless it is a terminal, where there is a bar."""
    if not sys.stderr.isatty():
        typer.echo(line, err=True)


def local_copy(figures: list[str], data: str) -> tuple[list[str], str]:
    """Figures and data, where a path among the figures after `--data pancan` is the user's copy of it."""
    from dynafield.figures.paper.catalogue import BEYOND, FIGURES

    known = {drawing.name for drawing in (*FIGURES, *BEYOND)}
    paths = [name for name in figures if name not in known and (os.sep in name or Path(name).exists())]
    if data != "pancan" or len(paths) != 1:
        return figures, data
    return [name for name in figures if name not in paths], paths[0]


@app.command()
def explore(
    port: Annotated[int, typer.Option("--port", help="Port of the page; 0 for any that is free.")] = 5006,
    address: Annotated[
        str, typer.Option("--address", help="Where to serve; only this machine can reach 127.0.0.1.")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Open a page on which curves, phases and fixed points follow the sliders."""
    from importlib.util import find_spec

    if find_spec("panel") is None:
        raise InputError("explore needs panel and bokeh: pip install 'dynafield[explorer]'")
    from dynafield.explorer.server import explore as serve

    serve(port, not no_browser, address, lambda line: typer.echo(line, err=True))


def guarded(command: Callable[[], None]) -> int:
    """Run a command; exit status 2 for bad input, 1 for a numerical failure, 130 for Ctrl-C."""
    try:
        command()
    except (InputError, FileError) as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except SolveError as error:
        typer.echo(f"error: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        return 130
    return 0


def run() -> None:
    """The console script."""
    keep_compiled_code()
    sys.exit(guarded(app))
