"""Malformed values are refused by the name of the argument; what is right passes."""

import inspect

import numpy as np
import pytest
from benchmarks.extremes import problem
from benchmarks.malformed import calls, cases, public
from benchmarks.malformed_commands import own_functions

import dynafield as df
from dynafield.errors import InputError
from dynafield.problem import checks
from dynafield.problem.text import numbers, read_prior
from dynafield.simulation.inputs import read_inputs
from dynafield.studies.study import Study

UNTYPED = (
    "Task", "Bernoulli", "Discrete", "Gaussian", "GaussBernoulli", "Empirical", "GaussianMixture", "PowerLaw",
    "Spectrum.groups", "Spectrum.empirical", "DiagonalNetwork", "TruncatedDiagonalNetwork", "FromNormals",
    "ridge_flow", "logistic_flow", "huber_flow", "phase_retrieval_flow", "lazy_curves", "infinite_data_paths",
    "minimizer", "basis_pursuit", "Task.at",
)  # fmt: skip
"""Calls whose own checks are reached here, too, where types are checked before."""


@pytest.mark.parametrize("name", UNTYPED)
def test_malformed_arguments_are_refused_by_name(name):
    """The table of the attack, as far as it costs nothing."""
    tried = 0
    for case in cases():
        if case.call != name or is_typed(name, case.argument):
            continue
        with pytest.raises((InputError, df.errors.FileError)) as refusal:
            case.run()
        told = str(refusal.value)
        assert case.named_in(told), f"{case.argument} = {case.words}: {told}"
        tried += 1
    assert tried > 0


def is_typed(name, argument):
    """Whether the annotation of an argument refuses it under pytest before the check does."""
    function = public(name)
    if function is None:
        return False
    annotation = inspect.signature(function).parameters[argument].annotation
    return "Any" not in str(annotation)


def test_the_attack_knows_all_arguments():
    """Every argument of the table is there, and every public function is attacked."""
    for call in calls():
        if public(call.name) is not None and not hasattr(public(call.name), "fit"):
            known = inspect.signature(public(call.name)).parameters
            assert set(call.kinds) <= set(known), call.name
    attacked = {call.name.split(".")[0].split("(")[0] for call in calls()}
    names = {
        name
        for home in (df, df.data, df.endpoints, df.models, df.studies, df.theory)
        for name in home.__all__
    }
    assert {name for name in names if inspect.isfunction(public(name))} <= attacked


@pytest.mark.parametrize("case", own_functions()[:1] + own_functions()[5:9], ids=lambda one: one.call)
def test_functions_of_the_users_that_fail_tell_their_own_message(case):
    """With ours around it, and chained."""
    with pytest.raises(InputError, match="broken on purpose") as refusal:
        case.run()
    assert refusal.value.__cause__ is not None


@pytest.mark.parametrize("seed", [None, "a", 1.5, -1, True, 2**63, [1]])
def test_seeds(seed):
    """Integers from 0 to 2⁶³ - 1."""
    with pytest.raises(InputError, match="seed must be"):
        checks.seed_of("seed", seed)
    assert checks.seed_of("seed", np.int64(2**62)) == 2**62


@pytest.mark.parametrize("value", [None, "yes", 2, 0.0, np.nan, [], np.array([True, False])])
def test_flags(value):
    """True and False, and what equals them."""
    with pytest.raises(InputError, match="flag must be True or False"):
        checks.flag("flag", value)
    assert checks.flag("flag", np.True_) is True
    assert checks.flag("flag", 0) is False


@pytest.mark.parametrize("value", [None, 3, b"a", "", "a\0b", [], True])
def test_paths(value):
    """Text and paths."""
    with pytest.raises(InputError, match="path must be"):
        checks.checked_path("path", value)


def test_masked_entries_are_refused_and_masks_that_hide_nothing_are_not():
    """What stands behind a mask is no number."""
    with pytest.raises(InputError, match="delta must not have masked entries"):
        df.Task(np.ma.masked_array([0.5, 0.7], [False, True]), 0.1, df.Gaussian())
    task = df.Task(np.ma.masked_array([0.5, 0.7], False), 0.1, df.Gaussian())
    assert np.array_equal(task.delta, [0.5, 0.7])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: df.Task(1e-101, 0.1, df.Gaussian()), "delta must be of a size from 1e-100 to 1e.100"),
        (lambda: df.Task(0.5, 1e101, df.Gaussian()), "sigma must be of a size up to 1e.100"),
        (lambda: df.Gaussian(1e200), "std must be of a size up to"),
        (lambda: df.DiagonalNetwork(1.0, 1e101), "lam must be of a size from"),
        (lambda: df.DiagonalNetwork(1.0, 0.0, 10**9), "depth must be at most 1000000"),
        (lambda: df.GradientDescent(0.1).number("t_max", np.array([1e11])), "t_max must be at most 1e.07"),
        (lambda: read_inputs("gaussian", 0.5, 10**7), "d = 10000000 needs about .* GB of memory"),
        (lambda: read_inputs(np.zeros((10, 20)), 0.5, None), "inputs must vary"),
        (lambda: numbers("delta", "0.1:1:1e12"), "delta range must have .* at most 1000000"),
        (lambda: read_prior("empirical:/dev/zero"), "prior empirical:FILE must name an ordinary file"),
        (lambda: df.solve(*problem(), 1e20), "t_max must be at most 2.02e.08"),
        (lambda: df.solve(*problem(), 1e300), "t_max must be at most"),
        (lambda: df.solve(*problem(sigma=1e20), 10.0), "t_max must be at most 6.71e-13 for sigma and values"),
        (lambda: df.solve(problem()[0], df.models.ridge_flow(0.0), 1e8), "t_max must be at most 6.71e.07"),
        (lambda: read_prior("bernoulli:2"), "prior 'bernoulli:2': p must be a probability"),
    ],
)
def test_what_no_machine_can_do_is_refused_at_once(make, told):
    """With the range in the message."""
    with pytest.raises(InputError, match=told):
        make()


@pytest.mark.parametrize(
    ("section", "key", "value", "told"),
    [
        ("network", "depth", "2", "network.depth must be an integer, not text"),
        ("solve", "t_eval", [1.0, 0.5], "solve.t_eval must be times from 0 to t_max = 1, increasing"),
        ("task", "delta", -1.0, "delta must be finite and > 0"),
        ("simulate", "d", 10**7, "d = 10000000 needs about"),
    ],
)
def test_studies_are_refused_by_the_place_in_the_file(section, key, value, told):
    """Before anything is computed."""
    tables = {
        "task": {"delta": 0.5, "sigma": 0.1, "prior": "bernoulli:0.1"},
        "network": {"alpha": 0.5},
        "solve": {"t_max": 1.0},
        "simulate": {"t_max": 1.0, "d": 20},
    }
    Study.make(tables)
    with pytest.raises(InputError, match=told):
        Study.make(tables | {section: tables[section] | {key: value}})
