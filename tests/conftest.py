"""Shapes and types are checked at run time under pytest (and only there)."""

import os
from pathlib import Path

from dynafield.compiled import make_room, processor

# the processes of a run compile the same functions: let them share, in a folder per kind of processor;
# said before anything imports JAX, which looks only then
KEPT = Path(__file__).parent.parent / ".pytest_cache" / "compiled" / processor()
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(KEPT))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from jaxtyping import install_import_hook  # noqa: E402

hook = install_import_hook("dynafield", "beartype.beartype")
hook.install() if hasattr(hook, "install") else None

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402

mpl.use("Agg")


@pytest.fixture(autouse=True, scope="module")
def room_for_compiled_code():
    """Tests of parts do not pass the doors at which there is made room."""
    yield
    make_room()


@pytest.fixture
def sparse():
    """The standard task: δ = 0.5, σ = 0.1, one entry in ten is 1."""
    import dynafield as df

    return df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
