"""The rooms of the code: who may import whom, what docstrings cite, what is never committed."""

import ast
import importlib
import inspect
import re
import subprocess
from pathlib import Path

import pytest

import dynafield
from tests import mutations

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dynafield"
ENGINES = {"dmft", "simulation", "theory", "endpoints"}
BASE = {"compiled", "deprecation", "errors", "folders", "lazy", "progress", "version", "writing"}
MAY_IMPORT = {
    "numerics": BASE,
    "problem": BASE | {"numerics"},
    "records": BASE | {"problem"},
    "figures": BASE | {"records", "problem"},
    "datasets": BASE | {"problem"},
    **{engine: BASE | {"numerics", "problem", "records", "figures"} for engine in ENGINES},
    "regressor": BASE | {"problem", "simulation", "endpoints", "figures"},
    "explorer": BASE | {"problem", "records", "figures", "studies"} | ENGINES,
    "studies": BASE | {"numerics", "problem", "records", "datasets", "figures"} | ENGINES,
    "cli": BASE | {"problem", "records", "datasets", "figures", "studies", "regressor", "explorer"} | ENGINES,
    "loading": BASE | {"records", "results"},
    **dict.fromkeys(["__init__", "data", "models", "results", *BASE], BASE),
}
"""What each room may import beside itself. Nothing imports the doors `cli` and `loading`."""
UPWARD = {"records/doors.py": {"figures", "studies"}}
"""The one module below that knows of rooms above: `record.plot()` and `curves.phases()` go through it."""
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path):
    """Rooms of ours a module imports, except under TYPE_CHECKING; `__init__` for the package itself."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "dynafield":
                names = [f"dynafield.{alias.name}" for alias in node.names]
        ours = [name for name in names if name.split(".")[0] == "dynafield"]
        yield from (name.split(".")[1] if "." in name else "__init__" for name in ours)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_what_lies_below(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    above = UPWARD.get(str(path.relative_to(SOURCE)), set())
    assert set(imports(path)) <= MAY_IMPORT[room] | {room} | above


@pytest.mark.parametrize("path", sorted((SOURCE / "dmft").glob("*.py")), ids=lambda p: p.name)
def test_the_engine_knows_nothing_of_what_is_made_of_its_solutions(path):
    """Of the solver's room only `solve`, its door, imports results and their derivatives."""
    above = set(re.findall(r"dynafield\.dmft\.(results|differentiation)\b", path.read_text()))
    assert not above or path.name == "solve.py"


def test_the_rule_can_fail(tmp_path):
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from dynafield.simulation import run\n    import dynafield as df\n")
    assert set(imports(module)) == {"simulation", "__init__"}


def test_every_cited_label_is_in_the_theory_page():
    known = set(
        re.findall(
            r"\(((?:eq|res):[a-zA-Z0-9_]+)\)=|\{#((?:eq|res):[a-zA-Z0-9_]+)\}",
            (ROOT / "docs/theory.md").read_text(),
        )
    )
    known = {a or b for a, b in known} | set(
        re.findall(r"`((?:eq|res):[a-zA-Z0-9_]+)`", (ROOT / "docs/theory.md").read_text())
    )
    for path in MODULES:
        cited = set(re.findall(r"(?:eq|res):[a-zA-Z0-9_]+", path.read_text()))
        assert cited <= known, f"{path} cites {cited - known}"


def public_names():
    """Every public name with its module, `dynafield` or one of its named submodules."""
    homes = [dynafield, *(getattr(dynafield, name) for name in dynafield.SUBMODULES)]
    return [(home, name) for home in homes for name in public(home)]


def public(home):
    """What a module offers; what `dynafield` has itself is public there."""
    return [
        name for name in home.__all__ if home is dynafield or name not in dynafield.__all__ if name[0] != "_"
    ]


def test_every_public_name_is_exported_once_and_documented():
    homes = [name for names in dynafield.HOMES.values() for name in names]
    assert sorted([*homes, "__version__"]) == sorted(dynafield.__all__)
    assert len(homes) == 30
    public = public_names()
    assert len({name for _, name in public}) == len(public)
    reference = (ROOT / "docs/reference.md").read_text()
    for home, name in public:
        assert getattr(home, name).__doc__, name
        assert re.search(rf"\b{home.__name__}\.{name}\b", reference), f"{name} is not in docs/reference.md"


def documented(text, section):
    """Names of a NumPy section of a docstring, or None if it has no such section."""
    lines = inspect.cleandoc(text or "").splitlines()
    start = next(
        (k for k, line in enumerate(lines[:-1]) if line == section and set(lines[k + 1]) == {"-"}), None
    )
    if start is None:
        return None
    names = []
    for line, following in zip(lines[start + 2 :], [*lines[start + 3 :], ""], strict=True):
        if line and set(following) == {"-"}:
            break
        if line and not line.startswith(" "):
            names += [name.strip().lstrip("*") for name in line.split(" : ")[0].split(",")]
    return names


def arguments(function):
    """Names of the arguments of a function or class, without self and cls."""
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def class_gap(kind):
    """What the docstring of a class says of its arguments, and what they are; None if that agrees."""
    given = [] if issubclass(kind, Exception) else arguments(kind)
    told = documented(kind.__doc__, "Parameters") or documented(kind.__doc__, "Attributes") or []
    return None if sorted(told) == sorted(given) else f"{kind.__name__}: {told} for {given}"


def method_gap(kind, name):
    """The same of a method, which may leave its arguments to the docstring of the method it overrides."""
    own = [vars(base)[name] for base in kind.__mro__ if name in vars(base)]
    functions = [getattr(one, "__func__", one) for one in own if not isinstance(one, property)]
    given = arguments(functions[0])
    told = [documented(one.__doc__, "Parameters") for one in functions]
    found = next((names for names in told if names is not None), [])
    return None if sorted(found) == sorted(given) else f"{kind.__name__}.{name}: {found} for {given}"


def public_methods(kind):
    """Names of the methods of a class that are defined in this package."""
    for base in kind.__mro__:
        for name, value in vars(base).items() if base.__module__.startswith("dynafield.") else ():
            if not name.startswith("_") and inspect.isfunction(getattr(value, "__func__", value)):
                yield name


def gaps(thing):
    """Everything in a public function or class whose docstring does not have exactly its arguments."""
    if not inspect.isclass(thing):
        told = documented(thing.__doc__, "Parameters") or []
        given = arguments(thing)
        return [] if sorted(told) == sorted(given) else [f"{thing.__name__}: {told} for {given}"]
    found = [class_gap(thing), *(method_gap(thing, name) for name in sorted({*public_methods(thing)}))]
    return [one for one in found if one is not None]


def test_every_public_name_documents_its_parameters():
    for home, name in public_names():
        assert gaps(getattr(home, name)) == [], name
    reference = (ROOT / "docs/reference.md").read_text()
    for home, name in re.findall(r"autoclass:: (dynafield\.[a-z_.]+)\.([A-Z]\w+)", reference):
        if not home.startswith("dynafield.studies.paper"):
            assert gaps(getattr(importlib.import_module(home), name)) == [], name


def test_parameters_that_are_missing_are_found():
    def good(a, *b, c=1, **d):
        """One line.

        Parameters
        ----------
        a, c : number
            First: and last.
        *b, **d
            More.

        Returns
        -------
        float
            Nothing else.
        """

    def bad(a, b):
        """One line.

        Parameters
        ----------
        a : number
            First.
        c : number
            No such argument.
        """

    class Holder:
        """No argument is named."""

        def __init__(self, a):
            self.a = a

    assert gaps(good) == []
    assert gaps(bad) == ["bad: ['a', 'c'] for ['a', 'b']"]
    assert gaps(lambda a: a) == ["<lambda>: [] for ['a']"]
    assert gaps(Holder) == ["Holder: [] for ['a']"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_name_what_they_offer(path):
    if path.name != "__init__.py":
        assert "__all__" in path.read_text()


def test_nothing_committed_names_a_machine():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not files:
        pytest.skip("not a git checkout")
    place = re.compile("|".join(["/" + "work/", "/" + "root/", "python" + "hosted", "pypi" + r"\.org"]))
    for name in files:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".cff", ""} and path.is_file():
            assert not place.search(path.read_text(errors="ignore")), name


def test_errors_that_tests_must_see_are_current():
    """Formulas and tests of `tests/mutations.py` are still there, and CONTRIBUTING.md has its table."""
    for one in mutations.MUTATIONS:
        one.applied((ROOT / one.path).read_text(encoding="utf-8"))
        file, name = one.test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), one.test
    assert mutations.table() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
