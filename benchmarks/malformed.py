"""Malformed values by kind of argument, and the public calls that they are given to.

A table of calls, each with arguments that work, and the kind of every argument; `cases` puts one malformed
value at a time in place of one that works. Everything here is quick where it is refused.
"""

import atexit
import functools
import re
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dynafield as df

ANY = {"None": None, "text": "abc", "an object": object(), "a dict": {}, "complex": 1j}
"""Wrong for nearly everything."""
MASKED = np.ma.masked_array([0.5, 0.7], [False, True])
NUMBER = ANY | {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "True": True,
    "an empty list": [],
    "a masked array": MASKED,
    "a masked number": np.ma.masked_array(0.5, True),
    "10**400": 10**400,
    "bytes": b"1",
    "a date": np.datetime64("2020-01-01"),
    "objects": [object()],
}
COUNT = ANY | {
    "2.5": 2.5, "NaN": float("nan"), "-1": -1, "True": True, "10**30": 10**30, "a list": [3], "'3'": "3",
    "a masked number": np.ma.masked_array(3, True),
}  # fmt: skip
VECTOR = ANY | {
    "an empty list": [], "a masked array": MASKED, "text entries": ["a", "b"], "complex entries": [1j, 2.0],
    "NaN inside": [1.0, float("nan")], "ragged rows": [[1.0], [1.0, 2.0]], "a cube": np.ones((2, 2, 2)),
    "None inside": [1.0, None],
}  # fmt: skip
PATH = {
    "None": None, "3": 3, "3.5": 3.5, "True": True, "a list": [], "an object": object(), "no text": "",
    "a zero byte": "a\0b.nc", "bytes": b"a.nc",
}  # fmt: skip
THING = {"None": None, "3": 3, "text": "abc", "an object": object(), "a class": dict, "a list": []}

KINDS: dict[str, dict[str, Any]] = {
    "number": NUMBER,
    "not negative": NUMBER | {"-1.0": -1.0},
    "positive": NUMBER | {"-1.0": -1.0, "0.0": 0.0},
    "one positive": NUMBER | {"-1.0": -1.0, "0.0": 0.0, "two numbers": [1.0, 2.0]},
    "one not negative": NUMBER | {"-1.0": -1.0, "two numbers": [1.0, 2.0]},
    "one number": NUMBER | {"two numbers": [1.0, 2.0]},
    "probability": NUMBER | {"-0.1": -0.1, "1.5": 1.5, "two numbers": [0.1, 0.2]},
    "count": COUNT,
    "seed": COUNT | {"2**70": 2**70},
    "index": {"1.5": 1.5, "text": "a", "99": 99, "-99": -99, "None": None},
    "flag": {
        "text": "yes", "2": 2, "1.5": 1.5, "a list": [], "an object": object(), "NaN": float("nan"),
        "None": None, "an array": np.array([True, False]),
    },
    "path": PATH,
    "folder": {k: v for k, v in PATH.items() if k != "no text"},
    "file to read": PATH | {"missing": "no/such/file.nc", "a folder": "."},
    "file to write": PATH | {"in no folder": "no/such/folder/x.nc", "a folder": ".", "no ending": "abc"},
    "vector": VECTOR,
    "times": VECTOR | {"-1": [-1.0], "infinity": [float("inf")]},
    "matrix": VECTOR | {"a vector": [1.0, 2.0], "infinity": [[1.0, float("inf")]]},
    "curve": {k: v for k, v in VECTOR.items() if k != "NaN inside"},
    "thing": THING,
    "function": {k: v for k, v in THING.items() if k != "a class"},
    "choice": THING,
    "progress": {"text": "abc", "3": 3, "a list": [], "an object": object()},
    "name": {"3": 3, "None": None, "a list": [], "an object": object()},
}  # fmt: skip
"""Malformed values by kind of argument, each with words for it."""


class Call(NamedTuple):
    """A public call: its name, what makes it, arguments that work, and the kind of those that are attacked.

    A kind with "?" may be None; with "~" it may be an array of several; "=" another name in messages.
    """

    name: str
    function: Callable[[], Callable[..., Any]]
    good: Callable[[], dict[str, Any]]
    kinds: dict[str, str]


class Case(NamedTuple):
    """One malformed call: which, the argument, words for its value, the call itself, names that may be told."""

    call: str
    argument: str
    words: str
    run: Callable[[], Any]
    told: tuple[str, ...]

    def named_in(self, message: str) -> bool:
        """Whether a message names the argument, as a word of its own."""
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) for name in self.told)


TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
NET = df.DiagonalNetwork(0.5)
LASSO = df.DiagonalNetwork(0.5, 0.1)


def data() -> dict[str, Any]:
    """Inputs and labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 12)) / np.sqrt(12)
    return {"X": X, "y": X @ rng.standard_normal(12)}


@functools.cache
def limit() -> Any:
    """A fixed point."""
    return df.fixed_point(TASK, NET)


@functools.cache
def curves() -> Any:
    """A solved curve, as cheap as there are."""
    return df.solve(TASK, NET, 1.0, tol=0.1, preview=True, progress=False)


@functools.cache
def runs() -> Any:
    """Two small networks."""
    return df.simulate(TASK, NET, 1.0, d=20, runs=2, progress=False)


@functools.cache
def path() -> Any:
    """A path on given data."""
    return df.learning_path(**data(), net=NET, t_max=2.0, progress=False)


def flow(**given: Any) -> df.Flow:
    """Ridge regression by functions."""
    own = {"w": lambda th: th, "ell": lambda f, datum: f - datum.f_star, "p": lambda g, th: -g, "theta0": 0.0}
    return df.Flow(**(own | given))


def study(section: str, key: str, value: Any) -> df.studies.Study:
    """A study with one value replaced."""
    tables: dict[str, Any] = {
        "task": {"delta": 0.5, "sigma": 0.1, "prior": "bernoulli:0.1"},
        "network": {"alpha": 0.5},
        "solve": {"t_max": 1.0},
        "simulate": {"t_max": 1.0, "d": 20},
    }
    if section:
        tables.setdefault(section, {})[key] = value
    else:
        tables[key] = value
    return df.studies.Study.make(tables)


@functools.cache
def temporary() -> str:
    """A folder to write to, removed in the end."""
    folder = tempfile.mkdtemp(prefix="dynafield-attack-")
    atexit.register(shutil.rmtree, folder, True)
    return folder


def one(name: str, good: dict[str, Any] | None = None, /, **kinds: str) -> Call:
    """A call of a public function by its name."""
    return Call(name, lambda: public(name), lambda: dict(good or {}), kinds)


def public(name: str) -> Any:
    """What has this name in the library or in one of its submodules, or None."""
    for home in (df, *(getattr(df, one) for one in df.SUBMODULES)):
        if name in home.__all__:
            return getattr(home, name)
    return None


def method(name: str, of: Callable[[], Any], good: dict[str, Any], /, **kinds: str) -> Call:
    """A call of a method of a result."""
    return Call(name, lambda: getattr(of(), name.rsplit(".", maxsplit=1)[-1]), lambda: dict(good), kinds)


def problems() -> list[Call]:
    """Tasks, priors, spectra, networks, flows and trainers."""
    rate, heat = "one number", "one not negative"
    return [
        one("Task", {"delta": 0.5, "sigma": 0.1, "prior": df.Gaussian()},
            delta="positive~", sigma="not negative~", prior="thing", spectrum="thing?"),
        one("Bernoulli", {"p": 0.1}, p="probability", value="one number"),
        one("Discrete", {"values": [0.0, 1.0], "probs": [0.5, 0.5]}, values="vector", probs="vector"),
        one("Gaussian", {}, std="one positive"),
        one("GaussBernoulli", {"p": 0.1}, p="probability", std="one positive"),
        one("Empirical", {"values": [0.0, 1.0]}, values="vector"),
        one("GaussianMixture", {"weights": [0.5, 0.5], "means": [0.0, 1.0], "stds": [1.0, 0.0]},
            weights="vector", means="vector", stds="vector"),
        one("PowerLaw", {"exponent": 1.2}, exponent="one positive", cutoff="one positive",
            source="one positive?", mean="one positive"),
        Call("Spectrum.groups", lambda: df.data.Spectrum.groups, lambda: {"parts": [(1.0, 1.0)]},
             {"parts": "vector=groups"}),
        Call("Spectrum.empirical", lambda: df.data.Spectrum.empirical, lambda: {"variances": [1.0, 2.0]},
             {"variances": "vector", "w_star": "vector?"}),
        one("spectrum_of", {"data": np.diag([1.0, 2.0])}, data="matrix", w_star="vector?", covariance="flag?"),
        one("DiagonalNetwork", {"alpha": 0.5}, alpha="positive~", lam="not negative~", depth="count"),
        one("TruncatedDiagonalNetwork", {"alpha": 0.5}, alpha="positive~", lam="not negative~",
            depth="count", M="one positive"),
        Call("Flow", lambda: flow, dict, {
            "w": "function", "ell": "function", "p": "function", "theta0": "number~", "z": "thing?",
            "loss": "function?", "error": "function?", "linear": "flag?", "differentiable": "flag",
            "name": "name"}),
        one("FromNormals", {"function": lambda e: e[0]}, function="function", count="count"),
        one("ridge_flow", {}, lam="not negative~", theta0="number"),
        one("logistic_flow", {}, lam="not negative~", theta0="number"),
        one("huber_flow", {}, bend="positive~", lam="not negative~", outliers="thing?", theta0="number"),
        one("phase_retrieval_flow", {}, overlap="number~", size="positive~"),
        one("diagonal_flow", {"net": NET}, net="thing", linear="flag?", loss="thing?"),
        one("GradientFlow", {}, tol="one positive?", temperature=heat),
        one("GradientDescent", {"step": 0.1}, step="positive~", momentum=rate, nesterov="flag",
            batch_fraction="one positive", temperature=heat, label_noise=heat),
        one("HeavyBall", {"step": 0.1, "momentum": 0.5}, step="positive~", momentum=rate),
        one("SGD", {"step": 0.1, "batch_fraction": 0.5}, step="positive~", batch_fraction="one positive"),
        one("Optax", {"tx": None, "name": "saved"}, tx="thing?", step="one positive",
            batch_fraction="one positive", temperature=heat, label_noise=heat, name="name"),
    ]  # fmt: skip


def theory() -> list[Call]:
    """Fixed points, rates, closed forms, endpoints; methods of their results."""
    both = {"task": TASK, "net": NET}
    pair = {"task": "thing", "net": "thing"}
    times = both | {"t": [0.0, 1.0]}
    return [
        one("fixed_point", both, **pair),
        one("convergence_rate", both, **pair),
        one("tradeoff", {"task": TASK, "alphas": [0.5]}, task="thing", alphas="vector~=alpha", depth="count"),
        one("lazy_curves", times, **pair, t="times"),
        one("infinite_data_curves", {"prior": df.Bernoulli(0.1), "net": NET, "t": [0.0, 1.0]},
            prior="thing", net="thing", t="times", sigma="one not negative"),
        one("infinite_data_paths", {"w_star": [1.0], "net": NET, "t": [0.0, 1.0]},
            w_star="vector", net="thing", t="times"),
        one("search_phase", both, **pair),
        one("phases", {"problem": TASK, "net": NET}, problem="thing=task", net="thing"),
        one("state_evolution", both, **pair, iterations="count"),
        one("minimizer", data() | {"net": NET}, X="matrix", y="vector", net="thing"),
        one("basis_pursuit", data(), X="matrix", y="vector"),
        one("amp", data() | {"net": LASSO}, X="matrix", y="vector", net="thing", iterations="count",
            tol="one positive", damping="one positive", history="flag", throw="flag", variances="vector?"),
        method("FixedPoint.sample", limit, {"n": 3}, n="count", seed="seed"),
        method("FixedPoint.density", limit, {"w": [0.1]}, w="vector~"),
        method("FixedPoint.cdf", limit, {"w": [0.1]}, w="vector~"),
        Call("FixedPoint.law", lambda: lambda index: limit().law(index), lambda: {"index": 0},
             {"index": "index"}),
        method("FixedPoint.save", limit, {"path": f"{temporary()}/x.nc"}, path="file to write"),
        method("LimitLaw.sample", lambda: limit().law(), {"n": 3, "seed": 0}, n="count", seed="seed~"),
        method("LimitLaw.density", lambda: limit().law(), {"w": [0.1]}, w="vector~"),
        method("LimitLaw.cdf", lambda: limit().law(), {"w": [0.1]}, w="vector~"),
        method("LimitLaw.respond", lambda: limit().law(), {"y": [0.1]}, y="vector~", variance="positive~"),
        method("ConvergenceRate.largest", lambda: df.convergence_rate(TASK, NET), {"d": 100}, d="count"),
        method("FieldLaw.sample", lambda: df.theory.search_phase(TASK, NET).law(), {"n": 3}, n="count", seed="seed"),
        method("FieldLaw.above", lambda: df.theory.search_phase(TASK, NET).law(), {"level": 1.0},
               level="not negative~", true="flag?"),
        method("FieldLaw.active", lambda: df.theory.search_phase(TASK, NET).law(), {"t": [1.0]}, t="times~"),
        method("FieldLaw.level", lambda: df.theory.search_phase(TASK, NET).law(), {"share": 0.5},
               share="probability"),
        method("FieldLaw.cdf", lambda: df.theory.search_phase(TASK, NET).law(), {"W": [0.1], "t": 1.0},
               W="vector~", t="one positive"),
        method("FieldLaw.activation_time", lambda: df.theory.search_phase(TASK, NET).law(), {"field": [1.0]},
               field="vector~"),
        method("Phases.at", lambda: df.phases(TASK, NET), {"t": 1.0}, t="one not negative"),
        method("Prior.sample", lambda: df.Bernoulli(0.1), {"n": 3, "seed": 0}, n="count", seed="seed"),
        method("Prior.average", lambda: df.Bernoulli(0.1), {"function": np.square}, function="function"),
        method("Task.at", lambda: TASK, {"delta": 0.5, "sigma": 0.1}, delta="positive~",
               sigma="not negative~"),
        method("Exponent.at", lambda: df.results.Exponent(1.0, 0.1, 1.0, 1.0, 2.0), {"x": [1.0]}, x="vector~"),
        method("InfiniteDataCurves.save", lambda: df.theory.infinite_data_curves(df.Bernoulli(0.1), NET, [1.0]),
               {"path": f"{temporary()}/x.nc"}, path="path"),
    ]  # fmt: skip


def training() -> list[Call]:
    """Solving and simulating; methods of curves, runs and paths; estimators."""
    small = {"task": TASK, "net": NET, "t_max": 1.0, "progress": False}
    pair = {"task": "thing", "net": "thing", "t_max": "one positive", "progress": "progress"}
    quick = small | {"tol": 0.1, "preview": True}
    few = small | {"d": 20, "runs": 1}
    return [
        one("solve", quick, **pair, tol="one positive", rtol="one positive?", trainer="thing", points="count?",
            grid="times?", seed="seed", throw="flag", memory_gb="one positive?", preview="flag"),
        one("simulate", few, **pair, d="count?", runs="count", t_eval="times?", trainer="thing",
            inputs="matrix", seed="seed", targets="vector", start="vector?", coordinates="index?",
            residuals="flag", weights="flag", throw="flag", workers="count"),
        one("training_data", {"task": TASK, "d": 20}, task="thing", d="count?", inputs="matrix", seed="seed",
            run="count", targets="vector"),
        one("compare", small | {"d": 20, "runs": 2, "tol": 0.1}, **pair, d="count?", runs="count",
            tol="one positive", t_eval="times?", seed="seed", workers="count", trainer="thing"),
        one("learning_path", data() | {"net": NET, "t_max": 1.0, "progress": False}, X="matrix", y="vector",
            net="thing", t_max="one positive?", trainer="thing", probes="count", seed="seed", exact="flag?",
            fit_intercept="flag", coordinates="index?", tol="one positive", progress="progress"),
        one("train", data() | {"net": NET, "t": 1.0, "progress": False}, X="matrix", y="vector", net="thing",
            t="positive", trainer="thing", seed="seed", fit_intercept="flag", coordinates="index?",
            tol="one positive", progress="progress"),
        method("Curves.at", curves, {"times": [0.5]}, times="times"),
        method("Curves.law", curves, {"t": 0.5}, t="one not negative=times"),
        method("Curves.activation", curves, {"level": 0.5}, level="one positive"),
        method("Curves.observable", curves, {"function": lambda w, w_star: w, "t": 0.5}, function="function",
               t="one not negative=times"),
        method("Curves.derivative", curves, {"name": "alpha"}, name="choice"),
        method("Curves.save", curves, {"path": f"{temporary()}/x.nc"}, path="file to write"),
        method("Law.sample", lambda: curves().law(0.5), {"n": 3}, n="count", seed="seed"),
        method("Law.average", lambda: curves().law(0.5), {"function": lambda w, w_star: w},
               function="function"),
        method("Activation.active", lambda: curves().activation(), {"t": [0.5]}, t="times", true="flag?"),
        method("Activation.quantile", lambda: curves().activation(), {"share": 0.5}, share="probability",
               true="flag?"),
        method("Activation.share", lambda: curves().activation(), {}, true="flag?"),
        method("Runs.mean", runs, {"name": "test_error"}, name="choice"),
        method("Runs.curve", runs, {"name": "test_error"}, name="choice"),
        Call("Runs.of", lambda: df.results.Runs.of,
             lambda: {"task": TASK, "net": NET, "t": [0.0, 1.0], "train_error": [1.0, 0.5],
                      "test_error": [1.0, 0.5]},
             {"task": "thing", "net": "thing", "t": "times", "train_error": "curve",
              "test_error": "curve", "d": "count?", "trainer": "thing"}),
        method("Runs.save", runs, {"path": f"{temporary()}/x.nc"}, path="file to write"),
        method("LearningPath.weights_at", path, {"t": 2.0}, t="one not negative"),
        method("LearningPath.predict", path, {"X": data()["X"]}, X="matrix", t="one not negative?"),
        *(Call(name, lambda kind=kind: lambda **given: kind(**given).fit(data()["X"], labels()),
               lambda: {"alpha": 0.5, "t_max": 1.0},
               {"alpha": "positive~", "lam": "not negative~", "depth": "count~", "t_max": "one positive?",
                "standardize": "flag", "fit_intercept": "flag", "probes": "count", "random_state": "seed"})
          for name, kind in (("DiagonalNetworkRegressor", df.DiagonalNetworkRegressor),
                             ("DiagonalNetworkClassifier", df.DiagonalNetworkClassifier))),
    ]  # fmt: skip


def labels() -> np.ndarray:
    """Signs of the labels."""
    return np.sign(data()["y"])


def studies() -> list[Call]:
    """Studies, sweeps, the paper, files."""
    out = temporary()
    ranges = {"task": TASK, "alphas": [0.5], "lams": [0.1], "t_max": 0.5, "tol": 0.1, "progress": False}
    best = {"task": TASK, "net": df.DiagonalNetwork(0.5), "progress": False}
    keys = [
        ("task", "delta", "positive~"), ("task", "sigma", "not negative~"), ("task", "prior", "name"),
        ("task", "spectrum", "name"), ("network", "alpha", "positive~"), ("network", "lam", "not negative~"),
        ("network", "depth", "count~"), ("network", "M", "positive"), ("trainer", "step", "positive~"),
        ("solve", "t_max", "one positive"), ("solve", "tol", "one positive"), ("solve", "phases", "flag"),
        ("solve", "t_eval", "times?"), ("solve", "memory_gb", "one positive?"), ("simulate", "d", "count"),
        ("simulate", "runs", "count"), ("simulate", "inputs", "name"), ("simulate", "tol", "one positive"),
        ("", "seed", "seed"), ("", "batch", "count"), ("", "name", "name"),
    ]  # fmt: skip
    return [
        one("regime_map", ranges, task="thing", alphas="vector~=alpha", lams="vector~=lam", t_max="one positive",
            depth="count", tol="one positive", seed="seed", progress="progress"),
        one("grokking", {"task": TASK, "lam": 0.5, "alphas": [2.0], "tol": 0.1, "progress": False},
            task="thing", lam="one positive", alphas="vector~=alpha", tol="one positive", seed="seed",
            progress="progress"),
        one("scaling_law", {"task": df.Task(1.0, 0.1, df.Gaussian(), df.data.PowerLaw(1.5)),
                            "nets": {"lazy": df.models.ridge_flow()}, "sizes": [0.5, 1.0, 2.0, 4.0], "progress": False},
            task="thing", nets="thing", times="times?", sizes="vector?", tol="one positive", seed="seed",
            progress="progress"),
        one("optimize", best, task="thing", net="thing", over="choice", objective="choice",
            trainer="thing", bounds="thing?", tol="one positive", seed="seed", progress="progress"),
        Call("optimize(objective='time')", lambda: df.optimize, lambda: best | {"objective": "time"},
             {"t_max": "one positive"}),
        Call("optimize(objective='reach')", lambda: df.optimize,
             lambda: best | {"objective": "reach", "t_max": 1.0}, {"error": "one positive"}),
        one("load", {"path": "x.nc"}, path="file to read"),
        Call("Study.read", lambda: df.studies.Study.read, lambda: {"path": "x.toml"}, {"path": "file to read=study"}),
        one("sweep", {"study": study("", "name", "small"), "out": out, "progress": False},
            study="file to read", out="folder?", workers="count?", progress="progress"),
        one("reproduce", {"figures": "timescales", "out": out, "redraw": True, "progress": False},
            figures="name~=figure", out="folder", full="flag", data="name", redraw="flag", seed="seed",
            workers="count", tell="function", progress="progress"),
        *(Call(f"Study [{section or 'top'}]", lambda s=section, k=key: lambda **given: study(s, k, given[k]),
               dict, {key: kind}) for section, key, kind in keys),
    ]  # fmt: skip


def calls() -> list[Call]:
    """All of them."""
    return [*problems(), *theory(), *training(), *studies()]


def allowed(kind: str, words: str) -> bool:
    """Whether a value is not malformed after all: None where it may be, several numbers where they may."""
    several = ("two numbers", "a list", "an array", "a cube")
    return ("?" in kind and words == "None") or ("~" in kind and words in several)


@functools.cache
def cases() -> list[Case]:
    """Every malformed value in every place."""
    made = []
    for call in calls():
        for argument, kind in call.kinds.items():
            plain = kind.replace("?", "").replace("~", "").split("=")
            for words, value in KINDS[plain[0]].items():
                if not allowed(kind, words):
                    run = functools.partial(attempt, call, argument, value)
                    made.append(Case(call.name, argument, words, run, (argument, *plain[1:])))
    return made


def attempt(call: Call, argument: str, value: Any) -> Any:
    """The call with one argument replaced."""
    return call.function()(**(call.good() | {argument: value}))
