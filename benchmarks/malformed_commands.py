"""Malformed options of the command line, and functions of the user's that fail."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dynafield as df
from benchmarks.malformed import NET, TASK, Case, flow, temporary
from dynafield.errors import InputError

NUMBER = ("abc", "nan", "inf", "1e400", "1:2", "0.1:1:1e12", "0.1:1:0", "0.1:1:2:lin", "1,,2")
OPTIONS: dict[str, tuple[str, ...]] = {
    "delta": (*NUMBER, "-1", "0"),
    "sigma": (*NUMBER, "-1"),
    "alpha": (*NUMBER, "-1", "0"),
    "lam": (*NUMBER, "-1"),
    "depth": ("abc", "2.5", "1", "-3", "9" * 30),
    "prior": ("", "abc", "bernoulli", "bernoulli:2", "gaussian:-1", "discrete:1@2", "empirical:/dev/zero",
              "empirical:no/such/file", "bernoulli:nan", "gaussian:1e200"),
    "spectrum": ("abc", "power", "power:-1", "groups:1@2", "empirical:/dev/zero", "power:1e9"),
    "t-max": ("abc", "nan", "inf", "-1", "0"),
    "tol": ("abc", "nan", "-1", "0", "2"),
    "t-eval": ("abc", "nan", "-1", "0.1:1:1e12"),
    "step": ("abc", "nan", "-1", "0", "1e-15"),
    "momentum": ("abc", "nan", "-1", "1"),
    "batch-fraction": ("abc", "nan", "-1", "0", "2"),
    "temperature": ("abc", "nan", "-1"),
    "seed": ("abc", "-1", "1.5", "9" * 30),
    "runs": ("abc", "0", "-1", "1.5", "9" * 30),
    "d": ("abc", "0", "-1", "1.5", "9" * 30, "10000000"),
    "workers": ("abc", "-1", "1.5", "9" * 30),
    "memory-gb": ("abc", "nan", "-1", "0"),
    "inputs": ("abc", "no/such.npy"),
    "targets": ("abc",),
    "flow": ("abc",),
    "out": ("no/such/folder/x.nc", "x.txt", "."),
    "plot": ("no/such/folder/x.png", "x.txt", "."),
    "objective": ("abc",),
}  # fmt: skip
"""Malformed texts of options."""
PROBLEM = ("delta", "sigma", "alpha", "lam", "depth", "prior", "spectrum")
COMMANDS: dict[str, tuple[str, ...]] = {
    "fixed-point": (*PROBLEM, "out", "plot"),
    "convergence-rate": (*PROBLEM, "out"),
    "phases": (*PROBLEM, "plot"),
    "solve": (*PROBLEM, "t-max", "tol", "t-eval", "step", "momentum", "batch-fraction", "temperature", "seed",
              "memory-gb", "flow", "out", "plot"),
    "simulate": (*PROBLEM, "t-max", "tol", "t-eval", "step", "momentum", "batch-fraction", "temperature",
                 "seed", "runs", "d", "workers", "inputs", "targets", "flow", "out", "plot"),
    "compare": (*PROBLEM, "t-max", "tol", "seed", "runs", "d", "workers", "plot"),
    "optimize": (*PROBLEM, "tol", "seed", "objective"),
}  # fmt: skip
"""Commands and their options that are attacked."""
GIVEN = {"momentum": ("--step", "0.1"), "batch-fraction": ("--step", "0.1"), "inputs": ("--d", "20")}
"""What an option needs beside it."""


def command(*arguments: str) -> Any:
    """Run a command; what it refuses is raised."""
    from typer.testing import CliRunner

    from dynafield.cli.main import app

    done = CliRunner().invoke(app, arguments)
    if done.exit_code == 0:
        return done
    if isinstance(done.exception, SystemExit) or done.exception is None:
        raise InputError(done.output)
    raise done.exception


def commands() -> list[Case]:
    """All malformed options."""
    made = []
    for name, options in COMMANDS.items():
        for option in options:
            for text in OPTIONS[option]:
                run = functools.partial(command, name, f"--{option}", text, *GIVEN.get(option, ()))
                told = (option, option.replace("-", "_"), *(("path",) if option in ("out", "plot") else ()))
                told += ("t_max",) if option == "step" else ()  # too many steps: either can be changed
                made.append(Case(f"$ dynafield {name}", option, repr(text[:40]), run, told))
    return made


class BrokenPrior(df.data.Prior):
    """A prior whose mixture fails."""

    def mixture(self) -> df.data.Components:
        """Not made."""
        raise KeyError("broken on purpose")


class LatePrior(df.data.Prior):
    """A prior whose mixture fails when it is asked for again."""

    asked: list[int]

    def mixture(self) -> df.data.Components:
        """Made once."""
        self.asked.append(1)
        if len(self.asked) > 1:
            raise ZeroDivisionError("broken on purpose")
        return df.data.Components(np.ones(1), np.zeros(1), np.ones(1))


def broken(*_: Any) -> Any:
    """A function of the user's that fails."""
    raise RuntimeError("broken on purpose")


def own_functions() -> list[Case]:
    """Everything of the user's that the library calls: its message must be told."""
    small: dict[str, Any] = dict(task=TASK, net=NET, t_max=1.0, d=20, runs=1, progress=False)
    descent = df.GradientDescent(broken)
    calls: dict[tuple[str, str], Callable[[], Any]] = {
        ("Task", "prior"): lambda: df.Task(0.5, 0.1, BrokenPrior()),
        ("fixed_point", "prior"): lambda: df.fixed_point(df.Task(0.5, 0.1, LatePrior([])), NET),
        ("simulate", "inputs"): lambda: df.simulate(**small, inputs=broken),
        ("simulate", "step"): lambda: df.simulate(**small, trainer=descent),
        ("solve", "step"): lambda: df.solve(TASK, NET, 1.0, trainer=descent, progress=False),
        ("Flow", "w"): lambda: flow(w=lambda theta: broken()),
        ("Flow", "ell"): lambda: flow(ell=lambda f, datum: broken()),
        ("Flow", "p"): lambda: flow(p=lambda g, theta: broken()),
        ("Flow", "theta0"): lambda: flow(theta0=df.data.FromNormals(lambda w_star, e: broken())),
        ("Prior.average", "function"): lambda: df.Gaussian().average(broken),
        ("Spectrum.groups", "prior"): lambda: df.data.Spectrum.groups([(1.0, 1.0, BrokenPrior())]),
        ("infinite_data_curves", "prior"): lambda: df.theory.infinite_data_curves(BrokenPrior(), NET, [1.0]),
        ("optimize", "objective"): lambda: df.optimize(
            TASK, NET, objective=broken, t_max=0.5, tol=0.1, progress=False
        ),
    }
    return [
        Case(name, argument, "one that fails", run, ("broken on purpose",))
        for (name, argument), run in calls.items()
    ]


def from_files() -> list[Case]:
    """Files that are not what they should be."""
    folder = Path(temporary())
    (folder / "text.nc").write_text("no netCDF")
    (folder / "empty.nc").write_text("")
    (folder / "text.toml").write_text("= [")
    (folder / "other.toml").write_text("[task]\ndelta = 0.5\n")
    calls: dict[tuple[str, str, str], Callable[[], Any]] = {
        ("load", "path", "text"): lambda: df.load(folder / "text.nc"),
        ("load", "path", "empty"): lambda: df.load(folder / "empty.nc"),
        ("load", "path", "a device"): lambda: df.load("/dev/zero"),
        ("sweep", "study", "no TOML"): lambda: df.sweep(folder / "text.toml"),
        ("sweep", "study", "no study"): lambda: df.sweep(folder / "other.toml"),
        ("sweep", "study", "a device"): lambda: df.sweep("/dev/zero"),
    }
    told = ("path", "text.nc", "empty.nc", "study", "text.toml", "task.sigma")
    return [Case(name, argument, words, run, told) for (name, argument, words), run in calls.items()]


def more_cases() -> list[Case]:
    """Commands, failing functions and files."""
    return [*commands(), *own_functions(), *from_files()]
