"""What happens when things go wrong: kills, full disks, interruptions, odd surroundings, hard problems.

`python -m benchmarks.faults [NAME …]` runs the scenarios with these names, or all of them, and prints a table of
how often each was tried and how often it held. Counts are kept in a file (--state), so that a scenario goes on
where it stopped: --count is how often it is to be tried in all, --seconds bounds one call. The table on
docs/robustness.md was made so.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STUDY = """
name = "small"
batch = 1
[task]
delta = [0.4, 0.6, 0.8]
sigma = 0.1
prior = "bernoulli:0.2"
[network]
alpha = [0.1, 0.3, 1.0, 2.0]
[simulate]
t_max = 5
d = 60
runs = 2
t_eval = [0, 1, 5]
"""
SWEEP = "import sys, dynafield as df; df.sweep(sys.argv[1], sys.argv[2], workers=int(sys.argv[3]))"
REPRODUCE = "import sys, dynafield as df; df.reproduce('gene-histogram', out=sys.argv[1])"
COMMAND = "from dynafield.cli.main import run; run()"
LONG_SEARCH = "--over alpha,lam --objective best_stop --t-max 50 --tol 1e-3"
"""Options of `optimize` with which it takes longer than the moments at which it is interrupted."""
KILLS = 5
"""Kills of one sweep; a process that was over before is not counted."""
COMPILER = 0.5
"""Gigabytes that compiling takes besides what is asked for: `memory_gb` bounds samples and kernels."""
STOPPED = 60.0
"""Seconds after Ctrl-C within which a command is over: what is being compiled is finished first."""
TIMEOUT = 300.0
"""Seconds after which a process counts as hanging."""


class Scenario(NamedTuple):
    """What is tried in words, how often by default, and a function that tries it once.

    The function is given the number of the try and an empty folder; it answers what went wrong, or nothing.
    """

    words: str
    count: int
    attempt: Callable[[int, Path], str]


def started(code: str, *arguments: Any, options: tuple[str, ...] = (), **more: Any) -> subprocess.Popen:
    """A Python process of its own."""
    command = [sys.executable, "-W", "ignore", *options, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process: subprocess.Popen) -> tuple[int, str]:
    """Exit status and what was written, or 124 for a process that hangs."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        return 124, "hangs"
    return process.returncode, (out or "") + (err or "")


def written_study(folder: Path) -> Path:
    """The file of the small study."""
    path = folder / "small.toml"
    path.write_text(STUDY)
    return path


def undisturbed_folder() -> Path:
    """Where the small study is kept that nothing has disturbed."""
    return Path(tempfile.gettempdir()) / f"dynafield-undisturbed-{os.getuid()}"


def undisturbed() -> Any:
    """The numbers of the small study, computed once."""
    from dynafield.records import files

    known = undisturbed_folder()
    known.mkdir(exist_ok=True)
    if not (known / "out" / "result.nc").is_file():
        status, said = ended(started(SWEEP, written_study(known), known / "out", 0))
        if status:
            raise RuntimeError(said)
    return files.read(known / "out" / "result.nc").drop_attrs()


def differs(out: Path) -> str:
    """Whether a finished sweep is not the undisturbed one, in words."""
    from dynafield.records import files

    whole = undisturbed()
    found = files.read(out / "result.nc").drop_attrs()
    return "" if found.identical(whole) else "values differ from those of an undisturbed run"


def half_written(folder: Path) -> str:
    """Files in a folder that cannot be read, in words; parts are no files of ours until they are whole."""
    from dynafield.errors import FileError
    from dynafield.records import files

    for path in folder.rglob("*.nc"):
        try:
            files.read(path)
        except FileError as error:
            return f"half written: {error}"
    for path in folder.rglob("*.json"):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return f"half written: {path.name}"
    return ""


def forked(function: Callable[[], Any]) -> int:
    """A process that does this, from one in which everything is imported; its number."""
    number = os.fork()
    if number:
        return number
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        function()
    except BaseException:
        os._exit(1)
    os._exit(0)


def killed_after(number: int, seconds: float) -> bool:
    """Kill a process after a time; whether it was still there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(number, os.WNOHANG)[0]:
            return False
        time.sleep(0.002)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return True


def kill_sweep(number: int, folder: Path) -> str:
    """Killed five times at random moments, then left to end."""
    import dynafield as df

    rng, path, out = np.random.default_rng([1, number]), written_study(folder), folder / "out"
    kills = 0
    while kills < KILLS:
        kills += killed_after(forked(lambda: df.sweep(path, out, workers=0)), rng.uniform(0.0, 1.5))
        wrong = half_written(out)
        if wrong:
            return wrong
        for done in list(out.glob("batches/*.nc"))[2:]:  # or there would soon be nothing left to kill
            done.unlink()
    status, said = ended(started(SWEEP, path, out, 0))
    return said[-300:] if status else differs(out)


def kill_reproduce(number: int, folder: Path) -> str:
    """Killed at a random moment, then left to end: the data are the same."""
    from dynafield.records import files

    known = Path(tempfile.gettempdir()) / f"dynafield-histogram-{os.getuid()}"
    if not (known / "report.html").is_file():
        status, said = ended(started(REPRODUCE, known))
        if status:
            return said[-300:]
    out, rng = folder / "out", np.random.default_rng([2, number])
    process = started(REPRODUCE, out)
    while process.poll() is None and not out.exists():
        time.sleep(0.005)
    time.sleep(rng.uniform(0.0, 4.0))
    process.kill()
    process.communicate()
    wrong = half_written(out)
    if wrong:
        return wrong
    status, said = ended(started(REPRODUCE, out))
    if status:
        return said[-300:]
    one, two = (files.read(place / "data" / "gene-histogram.nc").drop_attrs() for place in (known, out))
    return "" if one.identical(two) else "values differ"


def kill_worker(number: int, folder: Path) -> str:
    """One of two worker processes is killed; the sweep ends with the same numbers."""
    path, out = written_study(folder), folder / "out"
    process = started(SWEEP, path, out, 2)
    rng, found = np.random.default_rng([3, number]), []
    while process.poll() is None and not found:
        found = [child for child in children(process.pid) if "loky" in command_of(child)]
        found = [child for child in found if "resource_tracker" not in command_of(child)]
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 3.0))
    for child in found[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    status, said = ended(process)
    return said[-300:] if status else differs(out)


def children(number: int) -> list[int]:
    """Processes that a process has started (Linux)."""
    path = Path(f"/proc/{number}/task/{number}/children")
    return [int(one) for one in path.read_text().split()] if path.exists() else []


def command_of(number: int) -> str:
    """The command line of a process (Linux)."""
    try:
        return Path(f"/proc/{number}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def full_disk(number: int, folder: Path) -> str:
    """No file may grow beyond a random size: FileError, nothing half written, and afterwards it goes on."""
    undisturbed()
    largest = min(path.stat().st_size for path in undisturbed_folder().glob("out/batches/*.nc"))
    limit = int(np.random.default_rng([4, number]).integers(100, largest))
    path, out = written_study(folder), folder / "out"
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, -1)); " + SWEEP
    status, said = ended(started(code, path, out, 0, env=os.environ | {"DYNAFIELD_KEEP_COMPILED": "0"}))
    if status != 1 or "FileError" not in said or "could not be written" not in said:
        return f"exit status {status}: {said[-300:]}"
    if half_written(out) or list(out.rglob("*.part")):
        return half_written(out) or "a part is left"
    status, said = ended(started(SWEEP, path, out, 0))
    return said[-300:] if status else differs(out)


def device_full(_: int, folder: Path) -> str:
    """Predictions to a device without room: an error message, no trace of Python, exit status 2."""
    table = folder / "table.csv"
    values = np.random.default_rng(0).normal(size=(20, 3))
    table.write_text("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in values) + "\n")
    options = (table, "--target", "y", "--predict", table, "--predictions", "/dev/full")
    status, said = ended(started(COMMAND, "fit", *options))
    return "" if status == 2 and "could not be written" in said else f"exit status {status}: {said[-300:]}"


def read_only(_: int, folder: Path) -> str:
    """A folder in which nothing can be written: FileError that names it."""
    place = folder / "locked"
    place.mkdir(mode=0o555)
    if os.geteuid() == 0:  # for whom no folder is locked
        place = Path("/proc/sys")
    status, said = ended(started(SWEEP, written_study(folder), place / "out", 0))
    good = status == 1 and "FileError" in said and "could not be made" in said
    return "" if good else f"exit status {status}: {said[-300:]}"


def two_sweeps(_: int, folder: Path) -> str:
    """Two sweeps into one folder at the same time: both end, with the same numbers."""
    path, out = written_study(folder), folder / "out"
    both = [started(SWEEP, path, out, 0) for _ in range(2)]
    for process in both:
        status, said = ended(process)
        if status:
            return said[-300:]
    return differs(out) or ("a part is left" if list(out.rglob("*.part")) else "")


def eight_at_once(_: int, folder: Path) -> str:
    """Eight processes that start at the same time, with an empty cache of compiled code: the same number."""
    code = "import dynafield as df; print(repr(df.fixed_point(df.Task(.5, .1, df.Bernoulli(.1)), "
    code += "df.DiagonalNetwork(.3, .1)).test_error))"
    cache = {"XDG_CACHE_HOME": str(folder)}
    found = [ended(one) for one in [started(code, env=os.environ | cache) for _ in range(8)]]
    said = {words.strip().splitlines()[-1] for _, words in found}
    good = all(status == 0 for status, _ in found) and len(said) == 1
    return "" if good else f"{found}"[-300:]


def surroundings(number: int, folder: Path) -> str:
    """HOME unset; python -O; the C locale; a path with a space and umlauts: the same numbers."""
    out, options, environment = folder / "out", (), dict(os.environ)
    kind = number % 4
    if kind == 0:
        environment = {
            name: value for name, value in environment.items() if name not in ("HOME", "XDG_CACHE_HOME")
        }
    elif kind == 1:
        options = ("-O",)
    elif kind == 2:
        environment |= {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    else:
        out = folder / "zwei Wörter, groß" / "ün out"
        out.parent.mkdir()
    path = out.parent / "small.toml"
    path.write_text(STUDY)
    status, said = ended(started(SWEEP, path, out, 0, options=options, env=environment))
    return said[-300:] if status else differs(out)


def long_calls(folder: Path) -> list[list[Any]]:
    """Commands that take longer than the moments at which they are interrupted."""
    problem = ["--delta", "0.5", "--sigma", "0.1", "--alpha", "0.1"]
    study = folder / "long.toml"
    study.write_text(STUDY.replace("d = 60", "d = 1000").replace("runs = 2", "runs = 50"))
    return [
        ["solve", *problem, "--tol", "1e-4", "--t-max", "300", "--out", folder / "a.nc"],
        ["simulate", *problem, "--d", "2000", "--runs", "50", "--out", folder / "b.nc"],
        ["compare", *problem, "--tol", "1e-4", "--d", "2000", "--out", folder / "c.nc"],
        ["optimize", *problem, *LONG_SEARCH.split(), "--out", folder / "d.nc"],
        ["sweep", study, "--out", folder / "sweep"],
        ["reproduce", "--out", folder / "paper"],
    ]


def interrupted(number: int, folder: Path) -> str:
    """Ctrl-C at a random moment of a long command: a message within a second, nothing half written."""
    rng, calls = np.random.default_rng([5, number]), long_calls(folder)
    name, told = calls[number % len(calls)][0], folder / "told.txt"
    command = [sys.executable, "-W", "ignore", "-c", COMMAND, *map(str, calls[number % len(calls)])]
    with told.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
    while process.poll() is None and "libjax_common" not in maps_of(process.pid):
        time.sleep(0.02)
    time.sleep(1.0 + rng.uniform(0.0, 8.0))
    if process.poll() is not None:
        return f"{name}: over before, exit status {process.returncode}: {told.read_text()[-300:]}"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    while process.poll() is None and "stopping" not in told.read_text() and time.monotonic() < began + 20:
        time.sleep(0.01)
    answered = time.monotonic() - began
    status, _ = ended(process)
    stopped, words = time.monotonic() - began, told.read_text()
    if answered > 1.0:
        return f"{name}: no answer within a second ({answered:.1f} s): {words[-200:]}"
    if status not in (0, 130) or "Traceback" in words:
        return f"{name}: exit status {status} after {stopped:.1f} s: {words[-300:]}"
    if stopped > STOPPED:
        return f"{name}: answered at once, but stopped only after {stopped:.1f} s"
    parts = [path.name for path in folder.rglob("*.part")]
    return half_written(folder) or (f"{name}: {parts} left" if parts else "")


def maps_of(number: int) -> str:
    """What a process has loaded (Linux)."""
    try:
        return Path(f"/proc/{number}/maps").read_text()
    except OSError:
        return ""


def memory(number: int, _: Path) -> str:
    """The peak of a solve, over that of a small one, is within what was asked and what compiling takes."""
    asked = (0.2, 0.5, 1.0)[number % 3]
    code = f"""
import resource, dynafield as df
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
task, net = df.Task(.5, .1, df.Bernoulli(.1)), df.DiagonalNetwork(.1)
df.solve(task, net, 1.0, tol=.1)
before = peak()
try: df.solve(task, net, 30.0, tol=3e-4, memory_gb={asked})
except df.SolveError as error: assert "memory_gb" in str(error), error
print((peak() - before) / 1e9)
"""
    status, said = ended(started(code))
    if status:
        return said[-300:]
    used = float(said.split()[-1])
    return "" if used <= asked + COMPILER else f"asked for {asked} GB, took {used:.2f} GB more than before"


PROBLEMS = 8
"""Random problems that are solved together."""


def random_problems(number: int, _: Path) -> str:
    """Curves at late times against exact fixed points: bars are there, and deviations within 4 of them."""
    import dynafield as df

    rng = np.random.default_rng([6, number])
    prior = (df.Bernoulli(0.1), df.Gaussian(1.0), df.GaussBernoulli(0.3))[number % 3]
    below = rng.random(PROBLEMS) < 0.6
    delta = np.where(below, rng.uniform(0.15, 0.85, PROBLEMS), rng.uniform(1.3, 5.0, PROBLEMS))
    sigma, alpha = rng.uniform(0.0, 1.0, PROBLEMS), 10 ** rng.uniform(-0.7, 0.7, PROBLEMS)
    task, net = df.Task(delta, sigma, prior), df.DiagonalNetwork(alpha)
    end, rate = df.fixed_point(task, net), df.convergence_rate(task, net)
    t_max = float(np.max(20.0 / np.asarray(rate.gamma)))
    found = df.solve(task, net, t_max, tol=1e-2, seed=number, throw=False, progress=False)
    if found.status != "finished":
        return "" if "not met" in found.status or "beyond t" in found.status else found.status
    unit = prior.second_moment + sigma**2
    wrong = []
    for name in ("test_error",):
        value, bar = (
            np.asarray(getattr(found, name))[..., -1],
            np.asarray(getattr(found, f"{name}_se"))[..., -1],
        )
        exact = np.asarray(getattr(end, name))
        gap = np.abs(value - exact)
        if not np.all(np.isfinite(bar) & (bar > 0)):
            wrong.append("a bar is missing")
        largest = np.maximum(unit, exact)  # the unit of a tolerance where the test error has grown
        for k in np.flatnonzero((gap > 4 * bar + 1e-6 * unit) | (gap > 1e-2 * largest)):
            wrong.append(
                f"problem {k}, delta={delta[k]:.4g}, sigma={sigma[k]:.4g}, alpha={alpha[k]:.4g}: "
                f"{gap[k] / bar[k]:.1f} bars, {gap[k] / unit[k]:.1e} of E_test(0)"
            )
    return "; ".join(wrong)


SCENARIOS: dict[str, Scenario] = {
    "kill-sweep": Scenario("`sweep` killed (kill -9) five times each, then left to end", 8, kill_sweep),
    "kill-reproduce": Scenario("`reproduce` killed (kill -9), then left to end", 10, kill_reproduce),
    "kill-worker": Scenario("a worker of a sweep killed", 5, kill_worker),
    "full-disk": Scenario("disk full at a random size of file, then room again", 8, full_disk),
    "device-full": Scenario("predictions written to `/dev/full`", 1, device_full),
    "read-only": Scenario("a read-only folder", 1, read_only),
    "two-sweeps": Scenario("two sweeps into one folder at once", 4, two_sweeps),
    "eight": Scenario("eight processes at once, nothing compiled before", 1, eight_at_once),
    "surroundings": Scenario(
        "HOME unset, `python -O`, C locale, path with spaces and umlauts", 4, surroundings
    ),
    "interrupt": Scenario("Ctrl-C at a random moment of a long command", 12, interrupted),
    "memory": Scenario("peak memory of `solve` within `memory_gb`", 3, memory),
    "random": Scenario(
        f"{PROBLEMS} random problems, late times against exact fixed points", 250, random_problems
    ),
}


def known(path: Path) -> dict[str, list[str]]:
    """What went wrong in each try so far, by scenario; nothing where it held."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def tries(names: list[str], state: Path, count: int | None, seconds: float) -> Iterator[tuple[str, int, str]]:
    """Try scenarios until each was tried often enough, or time is over; the state is kept after every try."""
    found, end = known(state), time.monotonic() + seconds
    for name in names:
        results = found.setdefault(name, [])
        while len(results) < (count or SCENARIOS[name].count) and time.monotonic() < end:
            folder = Path(tempfile.mkdtemp(prefix="dynafield faults "))
            try:
                wrong = SCENARIOS[name].attempt(len(results), folder)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            results.append(wrong)
            part = state.with_name(state.name + ".part")
            part.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
            part.replace(state)
            yield name, len(results), wrong


def table(found: dict[str, list[str]]) -> str:
    """Scenarios, how often each was tried, and how often it held."""
    lines = ["| | what is tried | tried | held |", "|---|---|---|---|"]
    for name, scenario in SCENARIOS.items():
        if name in found:
            held = sum(not wrong for wrong in found[name])
            lines.append(f"| {name} | {scenario.words} | {len(found[name])} | {held} |")
    return "\n".join(lines)


def section() -> str:
    """The table as a section."""
    state = Path(tempfile.mkdtemp(prefix="dynafield-faults-")) / "faults.json"
    for _ in tries(list(SCENARIOS), state, None, 3600.0):
        pass
    return f"## Faults\n\n{table(known(state))}\n"


def main(arguments: list[str] | None = None) -> None:
    """Run scenarios and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios: " + ", ".join(SCENARIOS))
    parser.add_argument("--count", type=int, help="how often each is to be tried in all")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no try begins later than this")
    parser.add_argument("--state", type=Path, default=Path("faults.json"), help="file with what is done")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}: take {', '.join(SCENARIOS)}")
    for name, number, wrong in tries(given.names or list(SCENARIOS), given.state, given.count, given.seconds):
        print(f"{name} {number}: {wrong or 'held'}", flush=True)
    print(table(known(given.state)))


if __name__ == "__main__":
    main()
