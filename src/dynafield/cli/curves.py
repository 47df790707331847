"""Commands that follow training in time: `solve`, `compare`, `simulate`."""

from typing import Annotated

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
    times_of,
    trainer_of,
)
from dynafield.cli.results import check_places, deliver, keep
from dynafield.errors import InputError

__all__ = ["compare", "simulate", "solve"]


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
