"""What all tests share: compiled code, rare checks of shapes and types, and a table of where time goes.

Compiled code is kept in the user's cache, as always: the processes of a run share it, and so do later runs.
"""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

from dynafield.compiled import make_room

# there is a worker for each core: more threads in each would only wait for each other
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# most programs of the tests run for a moment: the compiler need not try hard, if it knows these words
QUICKLY = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
QUICKLY += " --xla_cpu_multi_thread_eigen=false"
if "XLA_FLAGS" not in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
    known = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env=os.environ | {"XLA_FLAGS": QUICKLY},
        capture_output=True,
        check=False,
    )
    os.environ["XLA_FLAGS"] = QUICKLY if known.returncode == 0 else ""

# shapes and types at run time: `make test-all` asks for it, but not in slow tests
if os.environ.get("DYNAFIELD_CHECK_TYPES") == "1":
    from jaxtyping import install_import_hook

    install_import_hook("dynafield", "beartype.beartype")

import jax.monitoring  # noqa: E402
import matplotlib as mpl  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
import pytest  # noqa: E402

mpl.use("Agg")
gc.set_threshold(20_000, 20, 20)  # what was traced lives on: looking for garbage in it took 5 % of the time

ROOT = Path(__file__).parent.parent
SECONDS = Path(__file__).parent / "seconds.json"
"""Seconds of each file: of its tests but slow ones, and of those; `--write-seconds` measures what runs."""


def pytest_addoption(parser):
    parser.addoption("--write-seconds", action="store_true", help=f"write seconds of files to {SECONDS.name}")


@pytest.hookimpl(trylast=True)  # when it is known which are slow tests and not asked for
def pytest_collection_modifyitems(items):
    """Files that take long begin first, so that no worker is left alone with one of them at the end."""
    known = json.loads(SECONDS.read_text())
    slow = any(item.get_closest_marker("slow") for item in items)
    length = {file: fast + slow * more for file, (fast, more) in known.items()}
    items.sort(key=lambda item: -length.get(item.nodeid.split("::")[0], 0.0))


class Compiled:
    """Seconds that this process has spent on tracing and compiling."""

    seconds = 0.0


def count_compiling(event: str, seconds: float, **_: object) -> None:
    """Told by JAX of everything that takes time."""
    if event.startswith("/jax/core/compile"):
        Compiled.seconds += seconds


jax.monitoring.register_event_duration_secs_listener(count_compiling)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    Compiled.seconds = 0.0
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.user_properties = [*report.user_properties, ("compiling", Compiled.seconds)]
    Compiled.seconds = 0.0
    return report


def pytest_terminal_summary(terminalreporter):
    """Seconds of each folder, and how many of them are compilation."""
    spent: dict[str, list[float]] = {}
    files: dict[str, list[float | None]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            file = report.nodeid.split("::")[0]
            parts, slow = files.setdefault(file, [None, None]), "slow" in report.keywords
            parts[slow] = (parts[slow] or 0.0) + report.duration
            row = spent.setdefault("/".join(file.split("/")[:2]), [0.0, 0.0, 0.0])
            row[0] += report.when == "call"
            row[1] += report.duration
            row[2] += dict(report.user_properties).get("compiling", 0.0)
    if not spent:
        return
    terminalreporter.section("seconds by folder")
    terminalreporter.write_line(f"{'':32} tests  seconds  compiling")
    for name, (count, seconds, compiling) in sorted(spent.items(), key=lambda pair: -pair[1][1]):
        terminalreporter.write_line(f"{name:32} {count:5.0f} {seconds:8.0f} {compiling:10.0f}")
    if terminalreporter.config.getoption("--write-seconds"):
        known = json.loads(SECONDS.read_text())
        for file, parts in files.items():
            before = known.get(file, [0.0, 0.0])
            known[file] = [
                old if new is None else round(new, 1) for old, new in zip(before, parts, strict=True)
            ]
        kept = [f"{json.dumps(file)}: {known[file]}" for file in sorted(known) if Path(ROOT, file).exists()]
        SECONDS.write_text("{\n" + ",\n".join(kept) + "\n}\n")


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Or Matplotlib complains of many figures in a test that has drawn only one."""
    yield
    plt.close("all")


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
