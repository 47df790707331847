"""The picture of the page as a Python script and as a command."""

import shlex

import numpy as np

from dynafield.explorer.rules import task_of, trainer_of
from dynafield.explorer.setting import Setting, View, plain

__all__ = ["as_command", "as_python"]


def problem(setting: Setting) -> str:
    """Task and network as Python."""
    task = task_of(setting)
    prior = task.prior
    values = {name: np.asarray(value).tolist() for name, value in vars(prior).items()}
    targets = f"df.{type(prior).__name__}({', '.join(f'{name}={value}' for name, value in values.items())})"
    spectrum = task.spectrum
    inputs = "" if spectrum is None else f", spectrum=df.data.{spectrum!r}"
    return (
        f"df.Task(delta={plain(setting.delta)}, sigma={plain(setting.sigma)}, prior={targets}{inputs}), "
        f"df.DiagonalNetwork(alpha={plain(setting.alpha)}, lam={plain(setting.lam)}, depth={setting.depth})"
    )


def arguments(setting: Setting) -> str:
    """Arguments that solve and simulate share."""
    trainer = "" if setting.step is None else f", trainer=df.{trainer_of(setting)!r}"
    return f"{plain(float(setting.t_max))}{trainer}"


def solved(setting: Setting) -> str:
    """The call that solves it."""
    return f"df.solve(*problem, {arguments(setting)}, tol={plain(setting.tol)})"


def as_python(view: View) -> str:
    """A script that makes the picture of the page."""
    setting = view.setting
    lines = [
        "import dynafield as df",
        "",
        f"problem = ({problem(setting)})",
        f"curves = {solved(setting)}",
        "ax = curves.phases().plot()" if setting.step is None else "ax = curves.plot()",
    ]
    if setting.d is not None:
        lines += [f"runs = df.simulate(*problem, {arguments(setting)}, d={setting.d}, runs={setting.runs})"]
        lines += ["runs.plot(ax)"]
    for pin in view.pins:
        lines += ["", f"problem = ({problem(pin)})", f"pinned = {solved(pin)}"]
        label = f"pinned: {pin.label(setting)}"
        lines += [f"ax.plot(pinned.t[1:], pinned.test_error[1:], label={label!r})"]
        if pin.d is not None:
            lines += [f"df.simulate(*problem, {arguments(pin)}, d={pin.d}, runs={pin.runs}).plot(ax)"]
    return "\n".join([*lines, "", "ax.legend()", 'ax.figure.savefig("curves.png")', ""])


def as_command(view: View) -> str:
    """The command that solves the present setting, beside its finite networks if there are any."""
    texts = view.setting.texts()
    command = "solve" if view.setting.d is None else "compare"
    options = " ".join(f"--{name.replace('_', '-')} {shlex.quote(text)}" for name, text in texts.items())
    return f"dynafield {command} {options} --out curves.nc --plot curves.png"
