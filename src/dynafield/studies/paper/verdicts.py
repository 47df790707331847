"""All claims of the paper that the data at hand can judge."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import xarray as xr

from dynafield.studies.paper import data_claims, end_claims, places, rate_claims, stage_claims
from dynafield.studies.paper.as_printed_claims import as_printed_claims
from dynafield.studies.paper.claims import Claim, placed
from dynafield.studies.paper.decay_rate_claims import decay_rate_claims
from dynafield.studies.paper.double_descent_claims import double_descent_claims
from dynafield.studies.paper.identity_claims import identity_claims
from dynafield.studies.paper.infinite_data_claims import infinite_data_claims
from dynafield.studies.paper.late_time_claims import late_time_claims
from dynafield.studies.paper.message_passing_claims import message_passing_claims
from dynafield.studies.paper.phase_limit_claims import (
    descent_limit_claims,
    infinite_descent,
    infinite_rich,
    rich_limit_claims,
)
from dynafield.studies.paper.search_phase_claims import search_claims
from dynafield.studies.paper.tradeoff_claims import limit_claims, tradeoff_claims
from dynafield.studies.paper.truncated_claims import truncated_claims

__all__ = ["GROUPS", "Group", "judged"]


class Group(NamedTuple):
    """Claims that are judged together: the function, the experiments, and the place in the paper."""

    judge: Callable[..., list[Claim]]
    needs: tuple[str, ...]
    place: str = ""
    """Where in the paper the claims stand that the function gives no place of their own."""
    words: tuple[str, ...] = ()
    """Further arguments of the function."""
    asks: tuple[str, ...] = ()
    """Further experiments that it uses if they are there."""

    def claims(self, data: Mapping[str, xr.Dataset]) -> list[Claim]:
        """No claims if an experiment that is needed is not there."""
        if not all(name in data for name in self.needs):
            return []
        found = [data[name] for name in (*self.needs, *self.asks) if name in data]
        return placed(self.place, *self.judge(*found, *self.words))


def case(name: str, place: str, number: str, problem: str, minimum: str) -> list[Group]:
    """The limit of training, over δ and for single coordinates."""
    return [
        Group(end_claims.ends, (name,), place, (number, problem, name)),
        Group(end_claims.end_claims, (name,), place, (number, minimum, name)),
    ]


GROUPS: tuple[Group, ...] = (
    *(
        Group(stage_claims.agreement, (name,), places.DMFT + figure, (name,))
        for name, figure in (
            ("dynamics", "; Figure 3a"),
            ("large-init", "; Figure 4"),
            ("small-init", "; Figure 8"),
            ("small-decay", ""),
        )
    ),
    Group(stage_claims.lazy, ("large-init",), places.LAZY),
    Group(stage_claims.grokking, ("large-init",), places.RICH),
    Group(identity_claims, ("identities",)),
    Group(stage_claims.descent, ("small-init",), places.DESCENT),
    Group(stage_claims.activation, ("small-init",)),
    Group(descent_limit_claims, ("phase-limits",), places.DESCENT),
    Group(rich_limit_claims, ("phase-limits",), places.RICH),
    Group(infinite_descent, ("phase-limits", "small-init"), places.DESCENT),
    Group(infinite_rich, ("phase-limits", "large-init"), places.RICH),
    Group(search_claims, ("search-phase",), places.SEARCH),
    Group(infinite_data_claims, ("infinite-data",), places.INFINITE_DATA),
    *case("fixed-point-regularized", places.CASE_I, "case (i)", "λ > 0", "the lasso solution"),
    *case("fixed-point-ridgeless", places.CASE_II, "case (ii)", "λ = 0, δ > 1", "the least-squares solution"),
    Group(double_descent_claims, ("double-descent",), places.DOUBLE_DESCENT),
    Group(end_claims.interpolating_ends, ("fixed-points",), places.CASE_III),
    Group(end_claims.fitted, ("fixed-points",), places.CASE_III),
    Group(
        end_claims.end_claims,
        ("fixed-points",),
        places.CASE_III,
        ("case (iii)", "the interpolator of least J", "fixed-point-interpolating"),
    ),
    Group(message_passing_claims, ("message-passing",)),
    Group(tradeoff_claims, ("generalization",), places.TRADE_OFF),
    Group(rate_claims.rate_claims, ("rates",), places.RATE),
    Group(limit_claims, ("rate-limits",)),
    Group(late_time_claims, ("late-times",)),
    Group(decay_rate_claims, ("decay-rates",), places.SUBEXPONENTIAL),
    Group(rate_claims.monotone_rates, ("rates-theory",), places.MONOTONE, asks=("rates",)),
    Group(stage_claims.training_error, ("dynamics",), places.DYNAMICS),
    Group(stage_claims.decay, ("small-decay",), places.LITTLE_DECAY),
    Group(data_claims.path_distribution, ("paths",), places.DISTRIBUTION),
    Group(truncated_claims, ("truncated",), places.TRUNCATED),
    Group(data_claims.sign_ends, ("universality", "fixed-points"), places.BINARY),
    Group(data_claims.sign_curves, ("universality", "rates"), places.BINARY),
    Group(data_claims.gene_ends, ("fixed-points",), places.GENES),
    Group(data_claims.gene_tails, ("gene-histogram",), places.GENE_TAILS),
    Group(data_claims.genes, ("rates-real",), places.GENE_RATES),
    Group(as_printed_claims, ("as-printed",), places.EXPERIMENTS),
)
"""In the order of the paper."""


def judged(data: Mapping[str, xr.Dataset], groups: Iterable[Group] = GROUPS) -> list[Claim]:
    """The table. Claims without data are left out."""
    return [claim for group in groups for claim in group.claims(data)]
