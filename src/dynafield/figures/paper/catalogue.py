"""All figures by name: the data they are drawn from, the function that draws them, what they show."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from dynafield.errors import InputError
from dynafield.figures.paper import ends, stages
from dynafield.figures.paper.parts import look

__all__ = ["BEYOND", "FIGURES", "Drawing", "named"]


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure of the paper: its name, the experiments behind it, how it is drawn, and its caption.

    The caption is filled in with the parameters of the first experiment.
    """

    name: str
    needs: tuple[str, ...]
    function: Callable[..., Any]
    words: str

    def draw(self, data: Mapping[str, xr.Dataset]) -> Any:
        """The figure, from the data of its experiments."""
        with look():
            return self.function(*(data[name] for name in self.needs))

    def caption(self, data: Mapping[str, xr.Dataset]) -> str:
        """What it shows, with parameters."""
        return self.words.format_map(data[self.needs[0]].attrs)


GAUSSIAN = "Gaussian inputs, {prior}, σ = {sigma:g}"
BARS = "Lines: DMFT; points: means of {runs} networks with bars of two standard errors, n = {n}, d = {d}."
LARGE = f"λ = {{lam:g}}, δ = {{delta:g}}, {GAUSSIAN}. {BARS}"

FIGURES = (
    Drawing("timescales", ("large-init", "small-init"), stages.draw_timescales,
        "Stages of training. Left: a large initial scale, with weight decay: lazy phase, plateau, "
        "grokking at 2 log(α)/λ and later, rich phase. Right: a small one, without: search, descent by "
        "steps, rich phase. "
        f"δ = {{delta:g}}, {GAUSSIAN}. {BARS} Shading: stages by the formulas of the theory page."),
    Drawing("fixed-points", ("fixed-points",), ends.draw_fixed_points,
        "Test error where training ends against the initial scale, λ = 0, δ = {delta:g}, {prior}, σ = "
        "{sigma:g}. Line: theory. Points: {runs} networks at t = {t:g}, bars one standard deviation; "
        "open where γt < {settled_from:g} and training is not over; crosses: the minimizers of the same "
        "data. Squares: whitened gene expression, n = {real_n}, d = {real_d} ({provenance})."),
    Drawing("rates-gaussian", ("rates",), ends.draw_rates_gaussian,
        f"Training error against time, λ = 0, δ = 0.5, {GAUSSIAN}. Dashed: slopes -2γ of theory, shifted "
        f"down. "
        "Lines: DMFT solution; points: means of {runs} networks, d = {d}, bars two standard errors."),
    Drawing("rates-real", ("rates-real", "rates"), ends.draw_rates_real,
        "Left: training error on whitened gene expression (n = {n}, d = {d}, {runs} draws of samples and "
        "features, bars two standard errors) against time, λ = 0, δ = {delta:g}. Solid and dashed: DMFT "
        "solution and slopes -2γ for independent "
        "inputs; dotted: slopes of the smallest eigenvalue of XKXᵀ/δ of the data themselves. Right: the "
        "spectrum of these inputs is narrower than that of independent ones, hence the faster rates; "
        "dashed: that of a corner of an orthogonal matrix as large as the cohort. "
        "{prior}, σ = {sigma:g}. {provenance}."),
    Drawing("dynamics", ("dynamics",), stages.draw_dynamics,
        f"Training error for initial scales from 0.01 to 10, {LARGE} It ceases to be monotone near α = "
        f"0.3."),
    Drawing("grokking", ("large-init",), stages.draw_grokking,
        f"Test error for large α against t/log α, {LARGE} Diamonds: half-way places. They tend to 2/λ "
        f"(dotted) "
        "like 1/log α: a shift of order one in t remains."),
    Drawing("descent", ("small-init",), stages.draw_descent,
        f"Training error for small α against t/log(1/α), {LARGE}"),
    Drawing("large-init", ("large-init",), stages.draw_large_init,
        f"Training and test error for large α, {LARGE}"),
    Drawing("large-init-lazy", ("large-init",), stages.draw_large_init_lazy,
        f"The same against α²t, {LARGE} Dashed: solution of the lazy phase by Marchenko–Pastur averages."),
    Drawing("large-init-grokking", ("large-init",), stages.draw_large_init_grokking,
        f"The same against t/log α, {LARGE} Dotted: 2/λ."),
    Drawing("large-init-rich", ("large-init",), stages.draw_large_init_rich,
        f"The same against t - 2 log(α)/λ, {LARGE}"),
    Drawing("small-init", ("small-init",), stages.draw_small_init,
        f"Training and test error for small α, {LARGE}"),
    Drawing("small-init-descent", ("small-init",), stages.draw_small_init_descent,
        f"The same against t/log(1/α), {LARGE}"),
    Drawing("fixed-point-regularized", ("fixed-point-regularized",), ends.draw_over_delta,
        "Case (i), λ = {lam:g}. Left: errors where training ends against δ; points: {runs} networks with "
        "α = {alpha:g}, d = {d}, at t = {t:g}, bars one standard deviation. Right: coordinates of w at δ "
        "= {shown_delta:g} and their limit law; the arrow is its point mass at 0 spread over a bin. "
        "{prior}, σ = {sigma:g}."),
    Drawing("fixed-point-ridgeless", ("fixed-point-ridgeless",), ends.draw_over_delta,
        "Case (ii), λ = 0, δ > 1. Left: errors where training ends against δ, with the peak at δ → 1; "
        "points: {runs} networks with α = {alpha:g}, d = {d}, at t = {t:g}, bars one standard deviation. "
        "Right: coordinates of w at δ = {shown_delta:g} and their limit law. {prior}, σ = {sigma:g}."),
    Drawing("fixed-point-interpolating", ("fixed-points",), ends.draw_interpolating,
        "Case (iii), λ = 0, δ = {delta:g}. Left: test error where training ends against α (the training "
        "error is 0); points: {runs} networks, d = {d}, at t = {t:g}, bars one standard deviation. "
        "Right: coordinates of w at α = {shown_alpha:.3g} and their limit law. {prior}, σ = {sigma:g}."),
    Drawing("rates-detail", ("rates",), ends.draw_rates_detail,
        f"Training error above its limit, λ = 0, for δ = 2 and 0.5, {GAUSSIAN}. Dashed: slopes -2γ of "
        f"theory, shifted down. "
        "Lines: DMFT solution as far as it is known to a third; points: means of {runs} networks, d = {d}, "
        "each above the least error of its data, with bars of two standard errors."),
    Drawing("rates-theory", ("rates-theory",), ends.draw_rates_theory,
        "Rate of convergence γ against the initial scale for δ = 2 and 0.5, with its limits for large α "
        "(dashed). λ = 0, {prior}, σ = {sigma:g}."),
    Drawing("universality", ("universality", "fixed-points", "rates"), ends.draw_universality,
        "Inputs ±1/√d: fixed points (left, bars one standard deviation of {runs} networks) and training "
        "errors (right, means of {curve_runs} with bars of two standard errors, DMFT solid, slopes -2γ "
        "dashed) over the theory of Gaussian inputs. λ = 0, δ = {delta:g}, d = {d}, {prior}, σ = {sigma:g}."),
    Drawing("gene-histogram", ("gene-histogram",), ends.draw_gene_histogram,
        "Entries of the whitened features ({samples} samples, {features} features) against the standard "
        "normal law: their tails are heavier. {provenance}."),
)  # fmt: skip
"""The twenty figures of the paper."""

BEYOND = (
    Drawing("paths", ("paths",), ends.draw_paths,
        "Wasserstein-2 distance between the coordinates of a finite network, at t = 1, 3, 10, 30 "
        "together with their targets, and as many draws of the law of the infinite one; squares: between "
        "two such draws, the least that can be expected. α = {alpha:g}, λ = 0, δ = {delta:g}, {prior}, σ "
        "= {sigma:g}; means of {runs}, bars two standard errors."),
    Drawing("generalization", ("generalization",), ends.draw_generalization,
        "Test error where training ends, in units of its least value over α, against α (left) and against "
        "the rate of convergence (right), for σ = 0.1 and 0.3. With little noise smaller α is better and "
        "slower; with more there is a best α, and smaller ones are slower and worse. Lines: theory; points: "
        "{runs} networks of d = {d} at the end of training, at the mean rate of their own spectra, bars two "
        "standard errors. λ = 0, δ = {delta:g}, {prior}."),
    Drawing("small-decay", ("small-decay",), stages.draw_small_decay,
        "Little weight decay is like none until t ~ 1/λ. Left: test errors, α = {alpha:g}; right: their "
        "distance "
        f"from that without, against λt. δ = {{delta:g}}, {GAUSSIAN}. {BARS}"),
)  # fmt: skip
"""Claims of the paper that it has no figure for."""


def named(names: list[str]) -> list[Drawing]:
    """The figures asked for, all when none is named."""
    known = {drawing.name: drawing for drawing in (*FIGURES, *BEYOND)}
    for name in names:
        if name not in known:
            raise InputError(f"figure must be one of {', '.join(known)}, got {name!r}")
    return [known[name] for name in dict.fromkeys(names or known)]
