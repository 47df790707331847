"""What data are made of: distributions of targets, spectra of inputs, and training data as networks get them.

Real data sets are in `dynafield.datasets`.
"""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.problem.laws import FromNormals
    from dynafield.problem.priors import Components, GaussianMixture, Prior
    from dynafield.problem.spectra import JointLaw, PowerLaw, Spectrum, spectrum_of
    from dynafield.simulation.simulate import training_data

__all__ = [
    "Components",
    "FromNormals",
    "GaussianMixture",
    "JointLaw",
    "PowerLaw",
    "Prior",
    "Spectrum",
    "spectrum_of",
    "training_data",
]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.problem.laws": ("FromNormals",),
        "dynafield.problem.priors": ("Components", "GaussianMixture", "Prior"),
        "dynafield.problem.spectra": ("JointLaw", "PowerLaw", "Spectrum", "spectrum_of"),
        "dynafield.simulation.simulate": ("training_data",),
    },
)
