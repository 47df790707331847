"""All figures by name: the data they are drawn from, the function that draws them, what they show."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from dynafield.errors import InputError
from dynafield.figures.paper import ends, stages
from dynafield.figures.paper.as_printed import draw_as_printed
from dynafield.figures.paper.parts import look
from dynafield.figures.style import SYMBOLS, wrapped

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
    varied: tuple[str, ...] = ()
    """Parameters that vary in the figure, though its experiment has one value of each as its standard."""

    @property
    def answers(self) -> str:
        """The figure of the paper that it answers to, if there is one."""
        return f"Figure {NUMBERS[self.name]} of the paper" if self.name in NUMBERS else "Not in the paper"

    def title(self, data: Mapping[str, xr.Dataset]) -> str:
        """The figure it answers to, and the parameters that do not vary in it."""
        known, *others = (data[name].attrs for name in self.needs)
        fixed = [
            f"{mark} = {known[name]:g}"
            for name, mark in SYMBOLS.items()
            if name in known
            and name not in self.varied
            and all(one.get(name, known[name]) == known[name] for one in others)
        ]
        counted = [f"{known[name]} {name}" for name in ("samples", "features") if name in known]
        words = [str(known["prior"]), *fixed] if "prior" in known else [*counted, *fixed]
        return f"{self.answers} ({self.name}){': ' if words else ''}{', '.join(words)}"

    def draw(self, data: Mapping[str, xr.Dataset]) -> Any:
        """The figure, from the data of its experiments."""
        with look():
            figure = self.function(*(data[name] for name in self.needs))
            letters = int(LETTERS * figure.get_size_inches()[0])
            figure.suptitle(wrapped(self.title(data), letters), fontsize=7, color="0.35")
            return figure

    def caption(self, data: Mapping[str, xr.Dataset]) -> str:
        """What it shows, with parameters."""
        return self.words.format_map(data[self.needs[0]].attrs)


NUMBERS = {
    "timescales": "1", "fixed-points": "2a", "rates-gaussian": "2b", "rates-real": "2c", "dynamics": "3a",
    "grokking": "3b", "descent": "3c", "large-init": "4", "large-init-lazy": "5", "large-init-grokking": "6",
    "large-init-rich": "7", "small-init": "8", "small-init-descent": "9", "fixed-point-regularized": "10",
    "fixed-point-ridgeless": "11", "fixed-point-interpolating": "12", "rates-detail": "13",
    "rates-theory": "14", "universality": "15", "gene-histogram": "16",
}  # fmt: skip
"""Figures of the paper, counted in the order of its source."""
LETTERS = 17
"""Of a title, for each inch of width."""

GAUSSIAN = "Gaussian inputs, {prior}, σ = {sigma:g}"
BARS = (
    "Lines: DMFT; points: means of {runs} networks trained by gradient flow, bars two standard errors, "
    "n = {n}, d = {d}."
)
DECAY = (
    "dashed: t^(-3/2)exp(-2γt) with γ of theory, through the last value known; dotted, below: the slope "
    "-2γ alone."
)
CORNERS = (
    "The corners of the curves of large α are real: there the lazy phase, which decays exponentially, meets "
    "the training error of order λ²/α⁴ that weight decay leaves."
)
LARGE = f"λ = {{lam:g}}, δ = {{delta:g}}, {GAUSSIAN}. {BARS}"

FIGURES = (
    Drawing("timescales", ("large-init", "small-init"), stages.draw_timescales,
        "Stages of training. Left: a large initial scale, with weight decay: lazy phase, plateau, "
        "grokking at 2 log(α)/λ and later, rich phase. Right: a small one, without: search, descent by "
        "steps, rich phase. "
        f"δ = {{delta:g}}, {GAUSSIAN}. {BARS} Shading: stages by the formulas of the theory page."),
    Drawing("fixed-points", ("fixed-points",), ends.draw_fixed_points,
        "Test error at the fixed point against the initial scale, λ = 0, δ = {delta:g}, {prior}, σ = "
        "{sigma:g}. Line: theory. Points: {runs} networks at t = {t:g}, bars one standard deviation; "
        "open where γt < {settled_from:g} and training is not over; crosses: the minimizers of the same "
        "data. Squares: whitened gene expression, n = {real_n}, d = {real_d} ({provenance})."),
    Drawing("rates-gaussian", ("rates",), ends.draw_rates_gaussian,
        f"Training error against time, λ = 0, δ = 0.5, {GAUSSIAN}. Lines: DMFT solution; "
        f"{DECAY} "
        "Points: means of {runs} networks, d = {d}, bars two standard errors."),
    Drawing("rates-real", ("rates-real", "rates"), ends.draw_rates_real,
        "Left: training error on whitened gene expression (n = {n}, d = {d}, {runs} draws of samples and "
        "features, bars two standard errors) against time, λ = 0, δ = {delta:g}. Solid, dashed and "
        "dotted: DMFT solution, t^(-3/2)exp(-2γt) and slopes -2γ alone for independent "
        "inputs; dash-dotted: slopes of the smallest eigenvalue of XKXᵀ/δ of the data themselves. Right: the "
        "spectrum of these inputs is narrower than that of independent ones, hence the faster rates; "
        "dashed: that of a corner of an orthogonal matrix as large as the cohort. "
        "{prior}, σ = {sigma:g}. {provenance}."),
    Drawing("dynamics", ("dynamics",), stages.draw_dynamics,
        f"Training error for initial scales from 0.01 to 10, {LARGE} It ceases to be monotone near α = "
        f"0.3. {CORNERS}"),
    Drawing("grokking", ("large-init",), stages.draw_grokking,
        f"Test error for large α against t/log α, {LARGE} Diamonds: half-way places. They tend to 2/λ "
        f"(dotted) "
        "like 1/log α: a shift of order one in t remains."),
    Drawing("descent", ("small-init",), stages.draw_descent,
        f"Training error for small α against t/log(1/α), {LARGE}"),
    Drawing("large-init", ("large-init",), stages.draw_large_init,
        f"Training and test error for large α, {LARGE} {CORNERS}"),
    Drawing("large-init-lazy", ("large-init",), stages.draw_large_init_lazy,
        f"The same against α²t, {LARGE} Dashed: solution of the lazy phase by Marchenko–Pastur averages."),
    Drawing("large-init-grokking", ("large-init",), stages.draw_large_init_grokking,
        f"The same against t/log α, from where the training error is least, {LARGE} Dotted: 2/λ."),
    Drawing("large-init-rich", ("large-init",), stages.draw_large_init_rich,
        f"The same against t - 2 log(α)/λ, from where the training error is least, {LARGE}"),
    Drawing("small-init", ("small-init",), stages.draw_small_init,
        f"Training and test error for small α, {LARGE}"),
    Drawing("small-init-descent", ("small-init",), stages.draw_small_init_descent,
        f"The same against t/log(1/α), {LARGE}"),
    Drawing("fixed-point-regularized", ("fixed-point-regularized",), ends.draw_over_delta,
        "Case (i), λ = {lam:g}. Left: errors at the fixed point against δ; points: {runs} networks with "
        "α = {alpha:g}, d = {d}, at t = {t:g}, bars one standard deviation. Right: coordinates of w at δ "
        "= {shown_delta:g} and their limit; the arrow is its point mass at 0 spread over a bin. "
        "{prior}, σ = {sigma:g}."),
    Drawing("fixed-point-ridgeless", ("fixed-point-ridgeless",), ends.draw_over_delta,
        "Case (ii), λ = 0, δ > 1. Left: errors at the fixed point against δ, with the peak at δ → 1; "
        "points: {runs} networks with α = {alpha:g}, d = {d}, at t = {t:g}, bars one standard deviation. "
        "Right: coordinates of w at δ = {shown_delta:g} and their limit. {prior}, σ = {sigma:g}."),
    Drawing("fixed-point-interpolating", ("fixed-points",), ends.draw_interpolating,
        "Case (iii), λ = 0, δ = {delta:g}. Left: test error at the fixed point against α; points: {runs} "
        "networks, d = {d}, at t = {t:g}, bars one standard deviation. Middle: their training error, which "
        "goes to 0, with bars of its logarithm; open where γt < {settled_from:g}; dashed: "
        "E(0)exp(-2γt), without a power of t; below 1e-12 of E(0) (grey) the tolerance of training decides. "
        "Right: coordinates of w at α = {shown_alpha:.3g} and their limit. {prior}, σ = {sigma:g}."),
    Drawing("rates-detail", ("rates",), ends.draw_rates_detail,
        f"Training error above its limit, λ = 0, for δ = 2 and 0.5, {GAUSSIAN}. Lines: DMFT "
        f"solution as far as it is known to a third, with bands of two estimated errors; {DECAY} "
        "Points: means of {runs} networks, d = {d}, "
        "each above the least error of its data, with bars of two standard errors.", ("delta",)),
    Drawing("rates-theory", ("rates-theory",), ends.draw_rates_theory,
        "Rate of convergence γ against the initial scale for δ = 2 and 0.5, with its limits for large α "
        "(dashed). λ = 0, {prior}, σ = {sigma:g}."),
    Drawing("universality", ("universality", "fixed-points", "rates"), ends.draw_universality,
        "Inputs ±1/√d: fixed points (left, bars one standard deviation of {runs} networks) and training "
        "errors (right, means of {curve_runs} with bars of two standard errors, DMFT solid, "
        "t^(-3/2)exp(-2γt) dashed, slopes -2γ alone dotted) over the theory of Gaussian inputs. "
        "λ = 0, δ = {delta:g}, d = {d}, {prior}, σ = {sigma:g}."),
    Drawing("gene-histogram", ("gene-histogram",), ends.draw_gene_histogram,
        "Entries of the whitened features ({samples} samples, {features} features) against the standard "
        "normal density: their tails are heavier. {provenance}."),
)  # fmt: skip
"""The twenty figures of the paper."""

BEYOND = (
    Drawing("paths", ("paths",), ends.draw_paths,
        "Wasserstein-2 distance between the coordinates of a finite network, at t = 1, 3, 10, 30 "
        "together with their targets, and as many draws from the limit d → ∞; squares: between two such "
        "samples, the least that can be expected; dashed, a little below: the power of d fitted to it. "
        "α = {alpha:g}, λ = 0, δ = {delta:g}, {prior}, σ = {sigma:g}; means of {runs}, "
        "bars two standard errors."),
    Drawing("truncated", ("truncated",), ends.draw_truncated,
        "Networks truncated at M = {M:g}, for which the theory is proved. Left: errors of {runs} networks of "
        "d = {d} (bars two standard errors) over the DMFT of the truncated network; dashed: means of "
        "networks without truncation on the same data. Middle: Wasserstein-2 distance between the layers of "
        "a network, at t = 1, 2, 4, 10 together with their targets, and as many draws from the limit d → ∞. "
        "Right: the same for label noise and outputs f, over the n = δd data. Squares: between two such "
        "samples, the least that can be expected; dashed, a little below: the power of d fitted to it. "
        "α = {alpha:g}, λ = {lam:g}, δ = {delta:g}, σ = {sigma:g}, targets -1, "
        "0, 1 with probabilities .05, .9, .05."),
    Drawing("generalization", ("generalization",), ends.draw_generalization,
        "Test error at the fixed point, in units of its least value over α, against α (left) and against "
        "the rate of convergence (right), for σ = 0.1 and 0.3. With little noise smaller α is better and "
        "slower; with more there is a best α, and smaller ones are slower and worse. Lines: theory; points: "
        "{runs} networks of d = {d} at the end of training, at the mean rate of their own spectra, bars two "
        "standard errors. λ = 0, δ = {delta:g}, {prior}."),
    Drawing("small-decay", ("small-decay",), stages.draw_small_decay,
        "Little weight decay is like none until t ~ 1/λ. Left: test errors, α = {alpha:g}; right: the change "
        "by weight decay, over the first error, against λt: at first it does a little harm, later it helps. "
        f"The scale is linear between -0.01 and 0.01. δ = {{delta:g}}, {GAUSSIAN}. {BARS}"),
    Drawing("phase-limits", ("phase-limits",), stages.draw_phase_limits,
        "Test errors on the way to both limits. Left: large α, λ = {rich_lam:g}, against "
        "t - 2 log(α)/λ, from α²t = 3 on; right: "
        "small α, λ = 0, against t/log(1/α). Dashed: the limit equations, solved without α on the data of "
        "the networks. Lines: means of {networks} networks (left) and {runs} (right), d = {d}, δ = "
        "{delta:g}, {prior}, σ = {sigma:g}. Insets: distance from the limit against α² (with the predicted "
        "memory of the start), of weights at t = 2 log(α)/λ, and against 1/log(1/α) (with a line through 0), "
        "of mean curves."),
    Drawing("as-printed", ("as-printed",), draw_as_printed,
        "Networks trained as the paper trained its own: gradient descent with η = {step:g}, targets drawn "
        "independently, {runs} runs, d = {d}, n = {n}; all other figures have gradient flow, and every value "
        "of the targets in its exact fraction. Left: training error, bars one standard deviation; the theory "
        "of such steps (solid) and of the flow (dashed). Middle: test error in steps minus that of the flow, "
        "on the same data, bars two standard errors. Right: standard deviation of the test error between "
        "{spread} runs, α = {spread_alpha:g}; dashed: what the random fraction of targets that are not zero "
        "adds to it. λ = 0, δ = {delta:g}, {prior}, σ = {sigma:g}."),
)  # fmt: skip
"""Claims of the paper that it has no figure for."""


def named(names: list[str]) -> list[Drawing]:
    """The figures asked for, all when none is named."""
    known = {drawing.name: drawing for drawing in (*FIGURES, *BEYOND)}
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"figure must be one of {', '.join(known)}, got {name!r}")
    return [known[name] for name in dict.fromkeys(names or known)]
