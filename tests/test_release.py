"""What is published: the wheel, the tested versions, the workflows, the notebooks, the recipe."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from runpy import run_path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from release.check_wheel import look, ten_lines
from release.conda_recipe import recipe
from release.jax_versions import constraints

import dynafield
from tests.test_docs import PAGES

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TESTED = (ROOT / "constraints.txt").read_text()
NOTEBOOKS = run_path(str(ROOT / "docs" / "notebooks.py"), run_name="notebooks")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    assert look(wheel) == []


def test_a_wheel_with_something_else_is_refused(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    bad = tmp_path / wheel.name.replace("py3-none-any", "cp311-cp311-linux_x86_64")
    bad.write_bytes(wheel.read_bytes())
    with zipfile.ZipFile(bad, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("dynafield/tests/test_x.py", "")
        archive.writestr("dynafield/large.bin", bytes(5_000_000))
    wrong = " ".join(look(bad))
    for part in ("pure", "bytes", "test_x.py should not", "large.bin should not"):
        assert part in wrong


def test_numbers_of_the_readme_are_found():
    block, numbers = ten_lines((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "df.solve" in block
    assert len(numbers) >= 6


def pinned():
    """Names and versions of the tested packages."""
    lines = [line for line in TESTED.splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def test_tested_versions_are_allowed_and_name_no_place():
    versions, project = pinned(), PYPROJECT["project"]
    extras = [r for name, rs in project["optional-dependencies"].items() if name != "bench" for r in rs]
    for text in [*project["dependencies"], *extras]:
        wanted = Requirement(text)
        if wanted.name != "dynafield":
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), text
    assert not re.search(r"://|@|--", TESTED.split("\n", 5)[-1])


def test_constraints_for_another_jax():
    text = (ROOT / "pyproject.toml").read_text()
    oldest = constraints("oldest", text, TESTED)
    assert oldest[-1] == "jax==0.8.*"
    assert not any(re.match(r"(jaxlib|equinox|optax)\b", line) for line in oldest)
    assert "pytest==" in "\n".join(oldest)
    assert Requirement(constraints("newest", text, TESTED)[-1]).name == "jax"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_run_what_there_is(path):
    """Every `make` target and every file that a workflow names exists."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    jobs = yaml.safe_load(path.read_text())["jobs"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert lines
    for line in lines:
        for command in line.splitlines():
            words = command.split()
            if words[0] == "make":
                assert {word for word in words[1:] if "=" not in word} <= targets, command
            elif words[0] == "python":
                assert (ROOT / words[1]).is_file(), command


def test_workflows_cover_what_is_promised():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [name.split("-")[0] + name[-3:] for name in matrix["os"]] == ["ubuntu.04", "ubuntuarm", "macos-15"]
    assert jobs["jax"]["strategy"]["matrix"]["jax"] == ["oldest", "newest"]


def test_hooks_before_a_commit_are_those_of_make():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]] == [
        "make lint",
        "make types",
    ]


@pytest.mark.parametrize("name", NOTEBOOKS["PAGES"])
def test_a_notebook_is_as_new_as_its_page_and_holds_its_code(name):
    """`test_docs.py` runs the code of the page, so that it is not run again here."""
    stored = (NOTEBOOKS["FOLDER"] / f"{name}.ipynb").read_text(encoding="utf-8")
    assert stored == NOTEBOOKS["notebook"](name), "make notebooks"
    cells = json.loads(stored)["cells"]
    page = (ROOT / "docs" / f"{NOTEBOOKS['PAGES'][name]}.md").read_text(encoding="utf-8")
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code[0] == NOTEBOOKS["INSTALL"]
    assert code[1:] == [b.rstrip("\n") for b in re.findall(r"```python\n(.*?)```", page, flags=re.S)]
    assert f"docs/{NOTEBOOKS['PAGES'][name]}.md" in PAGES
    assert all(cell.get("outputs", []) == [] for cell in cells)
    assert len({cell["id"] for cell in cells}) == len(cells)
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert all(link.startswith("https://") for link in links), links
    for place in (page, (ROOT / "README.md").read_text(encoding="utf-8")):
        assert f"]({NOTEBOOKS['address'](name)})" in place


def test_the_recipe_for_conda_asks_for_what_the_wheel_asks_for():
    text = recipe((ROOT / "pyproject.toml").read_text(), "1.2.3", "0" * 64)
    made = yaml.safe_load(text)
    wanted = {Requirement(text).name for text in PYPROJECT["project"]["dependencies"]} - {"matplotlib"}
    runs = {line.split()[0]: line for line in made["requirements"]["run"]}
    assert set(runs) == wanted | {"matplotlib-base", "python"}
    assert runs["jax"] == "jax >=0.8,!=0.10.*,!=0.11.0"
    assert made["context"] == {"version": "1.2.3", "python_min": "3.11"}
    assert made["build"]["python"]["entry_points"] == ["dynafield = dynafield.cli.main:run"]


def test_who_wrote_it_and_which_version_are_said_once():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert cited["version"] == dynafield.__version__
    assert cited["repository-code"] == PYPROJECT["project"]["urls"]["Repository"]
    assert cited["title"] == archive["title"]
    assert [a["name"] for a in cited["authors"]] == [c["name"] for c in archive["creators"]]
    assert cited["license"] == archive["license"] == PYPROJECT["project"]["license"]


PAPER = run_path(str(ROOT / "paper" / "build.py"), run_name="paper")
TEXT = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")


def test_the_paper_is_what_the_journal_takes():
    entries = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert PAPER["problems"](TEXT, entries, ROOT / "paper") == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("# State of the field", "# Others", "sections"),
        ("@lu2021", "@lu2022", "lu2022 is cited"),
        ("(figure.png)", "(figures.png)", "missing"),
        ("DMFT", "DMFT " * 300, "words"),
    ],
)
def test_what_the_journal_would_send_back_is_told(old, new, word):
    entries = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert word in " ".join(PAPER["problems"](TEXT.replace(old, new), entries, ROOT / "paper"))
