"""Commands that ask theory: `fixed-point`, `convergence-rate`, `optimize`, `phases`."""

from pathlib import Path
from typing import Annotated

import typer

from dynafield.cli.options import (
    Alpha,
    Bend,
    Delta,
    Depth,
    FlowName,
    JsonFlag,
    Lam,
    OneDelta,
    OneSigma,
    Out,
    Overlap,
    Plot,
    PriorText,
    Sigma,
    SpectrumText,
    Step,
    Tolerance,
    problem,
    trainer_of,
)
from dynafield.cli.results import check_places, deliver, keep

__all__ = ["convergence_rate", "fixed_point", "optimize", "phases"]


def fixed_point(
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
    from dynafield.theory.fixed_points import fixed_point as compute

    check_places(out, plot)
    record = compute(*problem(delta, sigma, alpha, lam, depth, prior, spectrum=spectrum))
    names = ("case", "test_error", "train_error", "C_w", "chi_w", "R_w")
    deliver(record, names, json, out, plot)


def convergence_rate(
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
    from dynafield.theory.rates import convergence_rate as compute

    check_places(out, plot)
    record = compute(*problem(delta, sigma, alpha, lam, depth, prior, spectrum=spectrum))
    names = ("case", "gamma", "dgamma_dalpha", "large_alpha", "small_alpha")
    deliver(record, names, json, out, plot)


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
