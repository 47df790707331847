"""Places in the paper that claims refer to: sections, statements, equations and figures.

Sections, equations, statements and figures are counted in the order of the paper's source.
"""

__all__ = [
    "ACTIVE_RATES",
    "AMP",
    "BINARY",
    "CASE_I",
    "CASE_II",
    "CASE_III",
    "DESCENT",
    "DISTRIBUTION",
    "DMFT",
    "DOUBLE_DESCENT",
    "DYNAMICS",
    "EXPERIMENTS",
    "GENES",
    "GENE_RATES",
    "GENE_TAILS",
    "INFINITE_DATA",
    "INFINITE_DESCENT",
    "INFINITE_GROKKING",
    "INFINITE_LAZY",
    "INFINITE_SEARCH",
    "LARGE_ALPHA_RATE",
    "LAZY",
    "LITTLE_DECAY",
    "MONOTONE",
    "RATE",
    "RESPONSES",
    "RICH",
    "SEARCH",
    "STATE_EVOLUTION",
    "SUBEXPONENTIAL",
    "TRADE_OFF",
    "TRUNCATED",
    "ZERO_RATES",
]

DMFT = "Section 3, equations (4) to (6)"
DYNAMICS = "Figure 3a and its caption"
LAZY = "Section 4.2 and Appendix B.1, Lazy phase; equations (B.5) to (B.7); Figure 5"
RICH = "Section 4.2 and Appendix B.1, Rich phase; equation (B.8); Figures 3b, 6 and 7"
SEARCH = "Section 4.3 and Appendix B.2, Search phase; equations (B.9) to (B.12); Figure 8"
DESCENT = "Section 4.3 and Appendix B.2, Descent phase; equation (B.14); Figures 3c and 9"
INFINITE_DATA = "Section 4, equation (7)"
INFINITE_LAZY = "Section 4.2, Lazy phase, below equation (8)"
INFINITE_GROKKING = "Section 4.2, Rich phase, above equation (9)"
INFINITE_SEARCH = "Section 4.3, Search phase, equation (11)"
INFINITE_DESCENT = "Section 4.3, Descent phase; Section 4.2, below equation (9)"
CASE_I = "Result 1, case (i); Appendix C.2.1, equation (C.17); Figure 10"
CASE_II = "Result 1, case (ii); Appendix C.2.1, equation (C.22); Figure 11"
CASE_III = "Result 1, case (iii); Appendix C.2.1, equation (C.33); Figures 2a and 12"
DOUBLE_DESCENT = "Appendix C.2.1, case (ii), below equation (C.22); Figure 11"
AMP = "Appendix C.2.2, equations (C.37) to (C.39)"
STATE_EVOLUTION = "Appendix C.2.2, equations (C.40), (C.41), (C.43) and (C.48)"
TRADE_OFF = "Section 5.2, below Result 2; Table 1"
LITTLE_DECAY = "Section 5.2, last paragraph before the derivation"
RATE = "Result 2, λ = 0; Appendix C.3.2, equations (C.65) and (C.67); Figures 2b and 13"
LARGE_ALPHA_RATE = "Appendix C.3.2, Limiting behaviors, equation (C.75); Figure 14"
MONOTONE = "Result 2, λ = 0; Proposition C.1; Figure 14"
RESPONSES = "Appendix C.3.2, Convergence rates of response functions, above equation (C.65)"
SUBEXPONENTIAL = "Result 2, λ > 0; Appendix C.3.1"
ZERO_RATES = "Appendix C.3.1, equations (C.49) and (C.50)"
ACTIVE_RATES = "Appendix C.3.1, below equation (C.53)"
DISTRIBUTION = "Section 3, below equation (4); Section 6, equation (17)"
TRUNCATED = "Theorem 4 and Corollary 5; Appendix D.2, equation (D.9)"
EXPERIMENTS = "Section 7, Simulations with Gaussian data"
BINARY = "Section 6, last paragraph; Appendix E.1; Figure 15"
GENES = "Section 7, Simulations with real-world data; Figure 2a"
GENE_RATES = "Section 7, Simulations with real-world data; Appendix E.2; Figure 2c"
GENE_TAILS = "Appendix E.2; Figure 16"
