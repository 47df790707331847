"""Shapes and types are checked at run time under pytest (and only there)."""

from jaxtyping import install_import_hook

hook = install_import_hook("dynafield", "beartype.beartype")
hook.install() if hasattr(hook, "install") else None

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402

mpl.use("Agg")


@pytest.fixture
def sparse():
    """The standard task: δ = 0.5, σ = 0.1, one entry in ten is 1."""
    import dynafield as df

    return df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
