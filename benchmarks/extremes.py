"""Well-formed calls with extreme numbers: each must be answered, or refused with a reason, in time."""

import functools
from collections.abc import Callable
from typing import Any

import dynafield as df
from benchmarks.malformed import Case, flow

SIZES = (1e-99, 1e-50, 1e-20, 1e20, 1e50, 1e99, 1e-200, 1e200, 1e300)
"""Extreme sizes, some of them outside of what is allowed."""
NUMBERS: dict[str, tuple[float, ...]] = {
    "delta": (*SIZES, 1 - 1e-8, 1 + 1e-8, 1 - 1e-15),
    "sigma": SIZES,
    "alpha": SIZES,
    "lam": SIZES,
    "value": SIZES,
    "depth": (100, 10**9),
}
TIMES = (1e-300, 1e-20, 1e20, 1e300)


def problem(
    delta: float = 0.5, sigma: float = 0.1, alpha: float = 0.1, lam: float = 0.0, value: float = 1.0,
    depth: int = 2,
) -> tuple[df.Task, df.DiagonalNetwork]:  # fmt: skip
    """A task and a network; `value` is the size of the targets."""
    return df.Task(delta, sigma, df.Bernoulli(0.1, value)), df.DiagonalNetwork(alpha, lam, depth)


def solved(t_max: float = 10.0, tol: float = 1e-2, **given: Any) -> Any:
    """A learning curve."""
    return df.solve(*problem(**given), t_max, tol=tol, progress=False)


def trained(t_max: float = 10.0, trainer: Any = None, **given: Any) -> Any:
    """A small network."""
    more = {} if trainer is None else {"trainer": trainer}
    return df.simulate(*problem(**given), t_max, d=20, runs=1, progress=False, **more)


def growing() -> df.Flow:
    """A flow whose coordinates blow up in finite time."""
    return flow(p=lambda g, theta: theta**2 - g, theta0=1.0)


def repelled() -> df.Flow:
    """A flow whose residuals grow faster than linearly, away from the labels, and blow up in finite time."""
    return flow(ell=lambda f, datum: -((f - datum.f_star) ** 3), theta0=1.0)


def extremes() -> list[Case]:
    """All of them, each with the argument that is extreme."""
    made = []

    def add(call: str, argument: str, value: Any, run: Callable[[], Any], *told: str) -> None:
        made.append(Case(call, argument, f"{value:g}" if value != "" else "", run, (argument, *told)))

    for argument, values in NUMBERS.items():
        for value in values:
            given: dict[str, Any] = {argument: value}
            add("fixed_point", argument, value, lambda given=given: df.fixed_point(*problem(**given)))
            add("convergence_rate", argument, value, lambda g=given: df.convergence_rate(*problem(**g)))
            if argument != "depth":
                add("solve", argument, value, functools.partial(solved, **given))
            add("simulate", argument, value, functools.partial(trained, **given))
    for t in TIMES:
        add("solve", "t_max", t, functools.partial(solved, t))
        add("simulate", "t_max", t, functools.partial(trained, t))
    steps = df.GradientDescent(0.1)
    add("simulate", "t_max", 1e11, functools.partial(trained, 1e11, trainer=steps))
    add(
        "simulate", "step", 1e-15, functools.partial(trained, 1.0, trainer=df.GradientDescent(1e-15)), "t_max"
    )
    add("solve", "t_max", 1e11, lambda: df.solve(*problem(), 1e11, trainer=steps, progress=False))
    for argument, net in (("p", growing()), ("ell", repelled())):
        blows = {"task": problem()[0], "net": net, "t_max": 10.0, "progress": False}
        add("simulate", argument, "", lambda blows=blows: df.simulate(**blows, d=20, runs=1))
        add("solve", argument, "", lambda blows=blows: df.solve(**blows, tol=1e-2))
        coarse = blows | {"trainer": steps, "tol": 1e-2}
        add("solve in steps", argument, "", lambda coarse=coarse: df.solve(**coarse))
    far = {"trainer": df.GradientDescent(50.0), "progress": False}
    add("solve in steps", "step", 50.0, lambda: df.solve(*problem(alpha=1.0), 100.0, tol=1e-2, **far))
    add("simulate in steps", "step", 50.0, lambda: trained(100.0, trainer=far["trainer"], alpha=1.0))
    add("solve", "t_max", 6e7, functools.partial(solved, 6e7))
    add("simulate", "d", 1e7, lambda: df.simulate(*problem(), 1.0, d=10**7, progress=False))
    add("solve", "alpha", 5.5, functools.partial(solved, 194.0, alpha=5.5, lam=0.04))
    add("solve", "value", 100.0, functools.partial(solved, 1.7, alpha=0.03, value=100.0))
    add(
        "fixed_point",
        "std",
        1e200,
        lambda: df.fixed_point(df.Task(0.5, 0.1, df.Gaussian(1e200)), problem()[1]),
    )
    return made
