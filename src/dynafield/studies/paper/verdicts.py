"""All claims of the paper that the data at hand can judge."""

from collections.abc import Mapping

import xarray as xr

from dynafield.studies.paper import data_claims, end_claims, rate_claims, stage_claims
from dynafield.studies.paper.claims import Claim
from dynafield.studies.paper.identity_claims import identity_claims
from dynafield.studies.paper.tradeoff_claims import limit_claims, tradeoff_claims

__all__ = ["judged"]

CASES = {
    "fixed-point-regularized": ("case (i)", "the lasso", "fixed-point-regularized"),
    "fixed-point-ridgeless": ("case (ii)", "least squares", "fixed-point-ridgeless"),
    "fixed-points": ("case (iii)", "the interpolator of least J", "fixed-point-interpolating"),
}
CURVES = ("dynamics", "large-init", "small-init", "small-decay")


def judged(data: Mapping[str, xr.Dataset]) -> list[Claim]:
    """The table, in the order of the paper; what there are no data for is left out."""
    points, rates = data.get("fixed-points"), data.get("rates")
    claims = [stage_claims.agreement(data[name], name) for name in CURVES if name in data]
    for name, functions in (
        ("large-init", (stage_claims.lazy, stage_claims.grokking)),
        ("identities", (identity_claims,)),
        ("small-init", (stage_claims.descent, stage_claims.activation)),
    ):
        if name in data:
            claims += [claim for function in functions for claim in function(data[name])]
    claims += end_claims.ends(points, data.get("fixed-point-regularized"), data.get("fixed-point-ridgeless"))
    for name, (case, problem, figure) in CASES.items():
        if name in data:
            claims.append(end_claims.minimizers(data[name], case, problem, figure))
            claims += end_claims.laws(data[name], case, figure)
            claims += [end_claims.gap(data[name], case, figure)] if "chi_w" in data[name] else []
    if "generalization" in data:
        claims += tradeoff_claims(data["generalization"])
    if rates is not None:
        claims += rate_claims.rate_claims(rates)
    if "rate-limits" in data:
        claims += limit_claims(data["rate-limits"])
    if "rates-theory" in data:
        claims += rate_claims.monotone_rates(data["rates-theory"], rates)
    if "dynamics" in data:
        claims += stage_claims.training_error(data["dynamics"])
    if "small-decay" in data:
        claims += stage_claims.decay(data["small-decay"])
    if "paths" in data:
        claims += data_claims.path_laws(data["paths"])
    if "universality" in data:
        claims += data_claims.signs(data["universality"], points, rates)
    return claims + data_claims.genes(points, data.get("rates-real"))
