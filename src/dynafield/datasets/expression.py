"""Gene-expression matrices with what is known of their rows and columns."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

__all__ = ["Expression"]


class Expression(NamedTuple):
    """A gene-expression matrix with names and classes.

    Parameters
    ----------
    X : array (samples, genes)
        Expression values, in the units that `provenance` names.
    gene : array of str (genes,)
        Names of the genes.
    sample : array of str (samples,)
        Names of the samples.
    label : array of str (samples,)
        Class of every sample.
    provenance : str
        Where the data come from.
    """

    X: Float[np.ndarray, "sample gene"]
    gene: np.ndarray
    sample: np.ndarray
    label: np.ndarray
    provenance: str

    def __repr__(self) -> str:
        names, numbers = np.unique(self.label, return_counts=True)
        counts = ", ".join(f"{name} {n}" for name, n in zip(names, numbers, strict=True))
        return (
            f"Expression: {self.X.shape[0]} samples ({counts}) × {self.X.shape[1]} genes\n{self.provenance}"
        )
