"""Corrections to the paper: where, what it says, what is right, and how much that weighs."""

from typing import NamedTuple

__all__ = ["ADDED", "CORRECTIONS", "WEIGHTS"]

CONCLUSION, VALUE, MISPRINT, ADDED = "conclusion changes", "wrong value", "misprint", "left open"
WEIGHTS = {
    CONCLUSION: "What the statement concludes is not true, or only under a condition.",
    VALUE: "A time, a rate or another value is wrong. The conclusion stays.",
    MISPRINT: "A sign, a power, a limit or an index is misprinted. The results that follow are right.",
    ADDED: "The paper leaves it open, or says less. The statement is added here.",
}
"""How much a correction weighs, heaviest first, and what that means."""


class Correction(NamedTuple):
    """One correction."""

    place: str
    """Where in the paper."""
    printed: str
    """What the paper says there; empty where it says nothing."""
    corrected: str
    """What it should say."""
    weight: str
    """One of WEIGHTS."""
    judged: bool = True
    """Whether claims judge it by data; the others are matters of notation."""


CORRECTIONS = {
    "grokking-time": Correction(
        "Figure 6, caption; Appendix B.1, heading of the rich phase",
        "Transition times to the rich phase collapse to t/log(α) = 2/λ.",
        "The transition comes at t = 2 log(α)/λ + Θ(1), as Section 4.2 says. The constant does not vanish, "
        "so t/log(α) tends to 2/λ only like 1/log(α).",
        VALUE,
    ),
    "lazy-boundary": Correction(
        "Appendix B.1, Lazy phase, below equation (B.4)",
        "C_w(t, 0) = C_w(0, t) = 0.",
        "C_w(t, 0) = C_w(0, t) = ρ² ∫ exp(-xt) dμ(x), with t in units of α⁻² and μ the Marchenko–Pastur "
        "distribution; C_w(0, 0) = ρ². The closed forms (B.5) are right.",
        MISPRINT,
    ),
    "layer-scale": Correction(
        "Section 4.2, Rich phase, above equation (9); Appendix C.3.1, second assumption",
        "The term α² exp(-2λt) can be dropped.",
        "The term is α⁴ exp(-2λt), as in equation (4): (u² + v²)/2 = √(w² + α⁴ exp(-2λt)).",
        MISPRINT,
    ),
    "limit-sign": Correction(
        "Section 4.2, Rich phase, below equation (9)",
        "w(∞) = max{Δ, 0} = ST(w*; λ), with Δ = |w*| - λ.",
        "w(∞) = sign(w*) max{Δ, 0} = ST(w*; λ).",
        MISPRINT,
    ),
    "rich-rate": Correction(
        "Section 4.2, Rich phase, below equation (9)",
        "|w(τ) - w(∞)| ~ exp(-|Δ|τ).",
        "|w(τ) - w(∞)| ~ exp(-min(Δ, 2λ)τ) for active coordinates (Δ > 0), and exp(-|Δ|τ) for the others. "
        "The dropped term α⁴ exp(-2λt) bounds the rate by 2λ.",
        VALUE,
    ),
    "activation": Correction(
        "Appendix B.2, Descent phase, equations (B.16) and (B.17)",
        "A coordinate becomes active when ∫₀ᵗ |g(s)| ds - λt = 2 log(1/α).",
        "A coordinate becomes active at the first t with |∫₀ᵗ g(s) ds| - λt = 2 log(1/α): the absolute value "
        "belongs outside the integral.",
        VALUE,
    ),
    "threshold": Correction(
        "Appendix C.2.1, case (i), below equation (C.14), and equation (C.16)",
        "There is a solution w ≠ 0 if and only if |w| ≥ (1 + χ_w)λ.",
        "There is a solution w ≠ 0 if and only if |w* - (1 + χ_w)z/δ| ≥ (1 + χ_w)λ. The right side of (C.16) "
        "is an average over w* and z, as in (C.17).",
        MISPRINT,
    ),
    "fitted-noise": Correction(
        "Appendix C.2.1, case (iii), above equation (C.23)",
        "χ_w diverges, so χ_f = 0.",
        "χ_w diverges, so χ_f = χ_w/(1 + χ_w) = 1: all of the label noise is fitted. This makes "
        "1 - ∫R_f integrable, as the next lines of the paper assume.",
        MISPRINT,
    ),
    "double-descent": Correction(
        "Appendix C.2.1, case (ii), below equation (C.22)",
        "",
        "With label noise and λ = 0 the test error diverges like σ²/|δ - 1| on both sides of δ = 1, for "
        "every α. Weight decay removes the peak.",
        ADDED,
    ),
    "message-passing": Correction(
        "Appendix C.2.2, below equation (C.39)",
        "The AMP iteration converges to the minimizer, by a cited theorem.",
        "The cited theorem says that the fixed points of the iteration are the minimizers. It does not say "
        "that the iteration converges: it may have to be damped.",
        CONCLUSION,
    ),
    "generalization": Correction(
        "Sections 2.3 and 5.1; Table 1; Figure 2a, caption",
        "Smaller initialization leads to better generalization.",
        "This is true for sparse targets and little noise. With more noise there is a best α > 0: near 0.6 "
        "at δ = 0.5, Bernoulli(0.1) targets and σ = 0.3.",
        CONCLUSION,
    ),
    "trade-off": Correction(
        "Section 5.2, below Result 2; Section 8; Table 1",
        "Better solutions are harder to find.",
        "This is true for sparse targets and little noise. With more noise the trade-off has a turning "
        "point: below the best α, training is slower and the solution is worse.",
        CONCLUSION,
    ),
    "power-of-time": Correction(
        "Result 2, λ = 0; Appendix C.3.2, below equation (C.67)",
        "|L(t) - L(∞)| = exp(-2γt + o(1)).",
        "|L(t) - L(∞)| = exp(-2γt + o(t)). The square-root edge of the spectrum brings a factor t^(-3/2).",
        VALUE,
    ),
    "small-alpha-rate": Correction(
        "Appendix C.3.2, Limiting behaviors, below equation (C.75)",
        "γ → 0 as α → 0.",
        "γ → 0 as α → 0, except for σ = 0, δ > 1 and targets without zeros: there γ has a positive limit.",
        CONCLUSION,
    ),
    "response-rate": Correction(
        "Appendix C.3.2, below equation (C.64)",
        "R_w(t) = exp(-γt + o(1)).",
        "For δ < 1, R_w(t) - R_w(∞) = exp(-γt + o(t)): the response decays to a positive limit.",
        MISPRINT,
    ),
    "single-rates": Correction(
        "Result 2, first sentence; Appendix C.3.2, below equation (C.54)",
        "Each coordinate converges at a rate of its own, slower for smaller |w| (λ = 0).",
        "For λ = 0 all coordinates converge at the rate γ: with κ = √(w² + α⁴), the equation "
        "p + κ(1 - R_f(p)) = 0 has no root to the right of -γ.",
        CONCLUSION,
    ),
    "active-rates": Correction(
        "Result 2, first sentence; Appendix C.3.1, below equation (C.53)",
        "|w(t) - w(∞)| ~ exp(-|w|t/(1 + χ_w)) for active coordinates (λ > 0).",
        "|w|/(1 + χ_w) is only the local relaxation rate of an active coordinate. The coordinate follows the "
        "noise z(t), which decays more slowly than any exponential.",
        CONCLUSION,
    ),
    "active-pole": Correction(
        "Appendix C.3.1, below equation (C.53)",
        "Every active coordinate has a pole of its own, the root of p + |w|(1 - R_f(p)) = 0.",
        "The root is real only if |w| lies apart from the sizes of all other coordinates. Where |w| has a "
        "density, the continuous spectrum absorbs the pole; a resonance is left, sharp as |w| → 0.",
        CONCLUSION,
    ),
    "rate-derivative": Correction(
        "Proposition C.1, proof, equation (C.74)",
        "dγ/dα = (2α³u²/δ) E[1/(x(u + x)²)], x = √(w² + α⁴), with the distribution of w held fixed.",
        "This is right for δ > 1. For δ < 1 the distribution of w depends on α, so the formula is only the "
        "partial derivative, and the proof is incomplete. γ increased with α wherever it was computed.",
        VALUE,
    ),
    "truncated-velocity": Correction(
        "Appendix D.2, equation (D.10)",
        "p_v = -(-λv + v^(L-1) g η'(v^L))/2.",
        "p_v = -(λv - v^(L-1) g η'(v^L))/2, as in the gradient flow (D.8).",
        MISPRINT,
    ),
    "truncated-derivative": Correction(
        "Appendix D.2, equation (D.11), first line",
        "∂w/∂z_g contains the term -v^(L-1) η'(v)^(L-1) ∂v/∂z_g.",
        "∂w/∂z_g contains the term -v^(L-1) η'(v^L) ∂v/∂z_g.",
        MISPRINT,
    ),
    "truncated-tangent": Correction(
        "Appendix D.2, equation (D.11), third line",
        "The left side is d/dt ∂u/∂z_g.",
        "The left side is d/dt ∂v/∂z_g.",
        MISPRINT,
        judged=False,
    ),
    "truncated-response": Correction(
        "Appendix D.2, equation (D.11), last line",
        "∂f/∂z_f ends with +R_w(t, s).",
        "∂f/∂z_f ends with -R_w(t, s), if R_f is to have the sign it has in the rest of the paper.",
        MISPRINT,
    ),
    "truncated-range": Correction(
        "Section 6; Appendix D.2, below equation (D.8)",
        "The truncation can be ignored while |u| ≤ M and |v| ≤ M.",
        "The truncation can be ignored while |u|^L ≤ M and |v|^L ≤ M.",
        MISPRINT,
    ),
    "whitening": Correction(
        "Appendix E.2, second paragraph",
        "Whitening with finitely many samples slightly accelerates the dynamics.",
        "This can be computed. With more features than samples, whitening with all components makes all "
        "samples equidistant, whatever the data are. A part of such a matrix is a corner of an orthogonal "
        "matrix. Its spectrum is of Jacobi type, narrower than Marchenko–Pastur, and gives the rates.",
        ADDED,
    ),
    "columns": Correction(
        "Appendix E.2, first paragraph",
        "Columns are normalized to have mean zero and variance 1/d.",
        "Columns are normalized over the whole cohort, before samples are chosen. If they are centred over "
        "the n chosen samples, X has rank n - 1 and noisy labels cannot be interpolated.",
        VALUE,
    ),
    "step-size": Correction(
        "Section 7, Simulations with Gaussian data",
        "Gradient flow is discretized with step size η = 0.1.",
        "Such steps are stable only while ηα²(1 + δ^(-1/2))² < 2, for δ = 0.5 while α < 1.85. The figures of "
        "large α must have used a smaller step.",
        VALUE,
    ),
    "step-effect": Correction(
        "Section 7, Simulations with Gaussian data",
        "",
        "Where steps of 0.1 are stable, they change the errors by as much as the theory of such steps says.",
        ADDED,
    ),
    "random-targets": Correction(
        "Section 7, Simulations with Gaussian data",
        "",
        "If targets are drawn independently, as we read the paper, their number of nonzero entries is "
        "random. "
        "This widens the scatter of the errors and leaves their means unchanged.",
        ADDED,
    ),
    "laplace-sign": Correction(
        "Appendix C.1, last property",
        "f(t) = exp(-(Re p_c)t + o(1)).",
        "f(t) = exp((Re p_c)t + o(t)), with Re p_c < 0 for a function that decays.",
        MISPRINT,
        judged=False,
    ),
    "loss-and-error": Correction(
        "Sections 2.2, 3 and 5.2",
        "L(t) and E_train(t) are used side by side.",
        "L is half of E_train plus the penalty.",
        MISPRINT,
        judged=False,
    ),
    "general-sizes": Correction(
        "Appendix D.1 and Assumption D.1",
        "z ∈ R^d; R, C and θ, f, g are scalar.",
        "z ∈ R^n; R and C are k × k matrices; θ, f and g are vectors of length k.",
        MISPRINT,
        judged=False,
    ),
    "general-start": Correction(
        "Appendix D, proofs of Theorems 3 and 4",
        "f(0) ~ N(0, E[θ(0)θ(0)ᵀ]), and G₀(θ(0)) = θ(0).",
        "w₀(θ(0)) stands in the place of θ(0) in both.",
        MISPRINT,
        judged=False,
    ),
}
"""By name."""
