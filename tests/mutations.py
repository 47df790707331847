"""Deliberate errors in formulas, and the test that must see each of them.

`python tests/mutations.py` makes each change in a temporary copy of the sources, one at a time, and runs the
test named beside it there. It fails where a test passes in spite of an error, where it ends in another way
than by failing, or where a formula to be changed is no longer found. `python tests/mutations.py WORD …` takes
only those whose file has one of the words in its name; `--table` prints the table of CONTRIBUTING.md and runs
nothing. That the tests pass without an error is what `make test` is for.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
NEEDED = ("src", "tests", "pyproject.toml")
"""What the tests need of the repository."""
LIMIT = 600
"""Seconds after which a test counts as one that has not failed."""


class Mutation(NamedTuple):
    """An error: the file below src/dynafield, its text, what replaces it, and the test that must fail."""

    file: str
    text: str
    error: str
    test: str

    @property
    def path(self) -> Path:
        """The file within a copy."""
        return Path("src", "dynafield", self.file)

    def applied(self, source: str) -> str:
        """The source with the error; its formula must be there once."""
        if source.count(self.text) != 1:
            raise SystemExit(f"{self.file} has {self.text!r} {source.count(self.text)} times, not once")
        return source.replace(self.text, self.error)


LAZY = "tests/dmft/test_solve.py::test_lazy_limit_has_all_four_kernels_in_closed_form"
FIRST_STEP = "tests/dmft/test_steps.py::test_first_step_in_closed_form"
EVOLUTION = "tests/endpoints/test_message_passing.py::test_state_evolution_ends_at_the_fixed_point"
EDGE = "tests/theory/test_spectra.py::test_rates_at_the_edge_of_a_spectrum_by_other_quadrature"
DESCENT = "tests/simulation/test_simulate.py::test_gradient_descent_takes_the_steps_of_the_paper"

MUTATIONS = (
    Mutation("dmft/preparation.py", "= problem.delta**-0.5", "= problem.delta**0.5", LAZY),
    Mutation("dmft/closed.py", "solve_small((one - matrix)", "solve_small((one + matrix)", LAZY),
    Mutation("dmft/blocks.py", "T = side.amplitude**2 * solved", "T = side.amplitude * solved", LAZY),
    Mutation("dmft/discrete/steps.py", "+ S @ rows.basis + output", "+ S @ rows.basis - output", FIRST_STEP),
    Mutation(
        "dmft/discrete/batches.py", "(1.0 / numbers.fraction - 1.0)", "(1.0 / numbers.fraction)", FIRST_STEP,
    ),
    Mutation(
        "numerics/collocation.py", "** powers / powers", "** powers",
        "tests/numerics/test_collocation.py::test_the_rule_integrates_polynomials_exactly",
    ),
    Mutation("theory/pair.py", "p.sigma**2) / p.delta)", "p.sigma**2) * p.delta)", EVOLUTION),
    Mutation("theory/regularized.py", "/ p.delta - p.lam / theta", "/ p.delta + p.lam / theta", EVOLUTION),
    Mutation(
        "theory/interpolating.py", "closure = jnp.log(a.passive / a.active)",
        "closure = jnp.log(a.active / a.passive)", EVOLUTION,
    ),
    Mutation(
        "theory/rate_equations.py", "jnp.exp(log_u) / d * jnp.sum", "jnp.exp(log_u) * d * jnp.sum",
        "tests/theory/test_rates.py::test_one_slope_for_all_gives_the_marchenko_pastur_edge",
    ),
    Mutation(
        "theory/rate_equations.py", "(mean(hit**2 * miss) * mean", "(mean(hit**2) * mean",
        "tests/theory/test_rates.py::test_a_rate_is_refused_where_rounding_decides_it",
    ),
    Mutation(
        "theory/lazy.py", "noise / delta * ((1 - decay) ** 2", "noise * delta * ((1 - decay) ** 2",
        "tests/theory/test_lazy.py::test_errors_alone_are_those_of_the_curves",
    ),
    Mutation(
        "theory/silverstein.py", "(1 - both * loop / delta)", "(1 + both * loop / delta)",
        "tests/theory/test_spectra.py::test_one_variance_gives_marchenko_pastur_averages",
    ),
    Mutation(
        "theory/rate_equations.py", "gamma = -u * ((delta - 1) - mean) / delta",
        "gamma = -u * ((delta - 1) - mean) * delta", EDGE,
    ),
    Mutation("numerics/rules.py", "* np.exp(t - np.exp(t))", "* np.exp(t)", EDGE),
    Mutation(
        "theory/local_response.py", "step = (u * (1 - a / self.delta) - p)",
        "step = (u * (1 - a * self.delta) - p)",
        "tests/theory/test_local_response.py::test_time_of_relaxation",
    ),
    Mutation(
        "theory/infinite_data.py", "scale = np.log(2 / depth)", "scale = np.log(depth / 2)",
        "tests/theory/test_infinite_data.py::test_every_depth_is_that_of_the_layers",
    ),
    Mutation("endpoints/evolution.py", "lam + b * t)", "lam - b * t)", EVOLUTION),
    Mutation(
        "endpoints/message_passing.py", "y - X @ w + b * r", "y - X @ w - b * r",
        "tests/endpoints/test_message_passing.py::test_message_passing_follows_state_evolution",
    ),
    Mutation(
        "endpoints/lasso.py", "pull = X.T @ (y - X @ w) / delta", "pull = X.T @ (y - X @ w) * delta",
        "tests/endpoints/test_minimizers.py::test_lasso_conditions_and_gap",
    ),
    Mutation("simulation/descent.py", "(0.5 / delta * n / seen)", "(0.5 * delta * n / seen)", DESCENT),
    Mutation("simulation/descent.py", "v_slope * g - decay * v", "v_slope * g + decay * v", DESCENT),
    Mutation(
        "simulation/observables.py", "+ 0.5 * self.lam[row] / d", "+ self.lam[row] / d",
        "tests/simulation/test_simulate.py::test_observables_describe_the_weights",
    ),
    Mutation(
        "simulation/flow.py", "psi[:, d:] - c * (here.v.speed * g - decay)",
        "psi[:, d:] - c * (here.v.speed * g + decay)",
        "tests/simulation/test_flow.py::test_the_flow_is_that_of_u_and_v",
    ),
    Mutation(
        "simulation/langevin.py", "0.5 * (size / delta + decay)", "0.5 * (size * delta + decay)",
        "tests/simulation/test_noisy_flow.py::test_the_largest_curvature_of_a_network",
    ),
    Mutation(
        "simulation/left_out.py", "return f - D @", "return f + D @",
        "tests/simulation/test_learning_path.py::test_the_response_gives_what_leaving_out_gives",
    ),
    Mutation(
        "simulation/learning_path.py", "(remains[0] - remains) + intercept", "(remains[0] - remains)",
        "tests/simulation/test_learning_path.py::test_an_intercept_is_one_degree_of_freedom",
    ),
    Mutation(
        "regressor/estimator.py", "float(level - centre @ self.coef_)", "float(level + centre @ self.coef_)",
        "tests/regressor/test_estimator.py::test_plenty_of_data_is_least_squares",
    ),
    Mutation(
        "regressor/choosing.py", "1.0) * np.sqrt(X.shape[1])", "1.0) / np.sqrt(X.shape[1])",
        "tests/regressor/test_estimator.py::test_weight_decay_is_the_lasso_of_the_scaled_data",
    ),
)  # fmt: skip


def table() -> str:
    """All errors, as a table in Markdown."""
    lines = ["| file | formula | with the error | seen by |", "| --- | --- | --- | --- |"]
    for one in MUTATIONS:
        name = one.test.split("::")[1]
        lines.append(f"| `{one.file}` | `{one.text}` | `{one.error}` | `{name}` |")
    return "\n".join(lines)


def ending(mutation: Mutation, folder: Path) -> str:
    """How the test ends in a copy of the sources with the error: "failed" if all is well."""
    source = folder / mutation.path
    before = source.read_text(encoding="utf-8")
    source.write_text(mutation.applied(before), encoding="utf-8")
    # programs of formulas without an error are compiled once
    variables = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    variables["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
    command = [sys.executable, "-m", "pytest", "-n0", "-x", "-q", "--no-header", mutation.test]
    try:
        done = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"did not end in {LIMIT} s"
    finally:
        source.write_text(before, encoding="utf-8")
    if done.returncode == 1 and " failed" in done.stdout:
        return "failed"
    return "passed" if done.returncode == 0 else f"ended with {done.returncode}: {done.stdout[-500:]}"


def main(words: list[str]) -> int:
    """Make all errors that are asked for; the number of those that were not seen."""
    chosen = [one for one in MUTATIONS if not words or any(word in one.file for word in words)]
    for one in chosen:
        one.applied((ROOT / one.path).read_text(encoding="utf-8"))
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in NEEDED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        for one in chosen:
            start = time.perf_counter()
            found = ending(one, folder)
            missed += found != "failed"
            seen = "seen" if found == "failed" else f"NOT SEEN, {found}"
            print(f"{time.perf_counter() - start:5.0f} s  {one.file}: {one.error}  {seen}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} errors were seen")
    return missed


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if "--table" in arguments:
        print(table())
    else:
        sys.exit(1 if main(arguments) else 0)
