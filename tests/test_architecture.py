"""The rooms of the code: who may import whom, what docstrings cite, what is never committed."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

import dynafield

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dynafield"
ENGINES = {"dmft", "simulation", "theory", "endpoints"}
BASE = {"compiled", "errors", "progress", "version"}
MAY_IMPORT = {
    "numerics": BASE,
    "problem": BASE | {"numerics"},
    "records": BASE | {"problem"},
    "figures": BASE | {"records", "problem"},
    "datasets": BASE | {"problem"},
    **{engine: BASE | {"numerics", "problem", "records", "figures"} for engine in ENGINES},
    "regressor": BASE | {"problem", "simulation", "figures"},
    "explorer": BASE | {"problem", "records", "figures", "studies"} | ENGINES,
    "studies": BASE | {"numerics", "problem", "records", "datasets", "figures"} | ENGINES,
}
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path):
    """Rooms of ours a module imports, except under TYPE_CHECKING."""
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
        yield from (name.split(".")[1] for name in names if name.startswith("dynafield."))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_what_lies_below(path):
    room = path.relative_to(SOURCE).parts[0]
    if room in MAY_IMPORT:
        assert set(imports(path)) <= MAY_IMPORT[room] | {room}


def test_the_rule_can_fail(tmp_path):
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from dynafield.simulation import run\n")
    assert set(imports(module)) == {"simulation"}


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


def test_every_public_name_is_exported_once_and_documented():
    homes = [name for names in dynafield.HOMES.values() for name in names]
    assert sorted([*homes, "__version__"]) == sorted(dynafield.__all__)
    reference = (ROOT / "docs/reference.md").read_text()
    for name in homes:
        assert getattr(dynafield, name).__doc__, name
        assert re.search(rf"\b{name}\b", reference), f"{name} is not in docs/reference.md"


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
