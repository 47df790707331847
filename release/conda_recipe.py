"""The recipe for conda-forge: `python release/conda_recipe.py DIST`, or `make recipe`.

Written from pyproject.toml and from the source archive in DIST, whose fingerprint it carries, so that it
cannot be out of date. The archive is to be attached to the release of its version: conda-forge fetches it
there.
"""

import hashlib
import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
NAMES = {"matplotlib": "matplotlib-base"}
"""Packages that are called otherwise on conda-forge; the smaller matplotlib has no windows."""
IMPORTS = ("dynafield", "dynafield.dmft.solve", "dynafield.theory.fixed_points", "dynafield.cli.main")
MAINTAINERS = "dynafield-developers"


def conda(requirement: str) -> str:
    """A requirement in the words of conda."""
    wanted = Requirement(requirement)
    name = NAMES.get(wanted.name, wanted.name)
    limits = ",".join(sorted(map(str, wanted.specifier), key=lambda text: (text[0] != ">", text)))
    return f"{name} {limits}".strip()


def recipe(pyproject: str, version: str, sha256: str) -> str:
    """The text of recipe.yaml, in the current format of conda-forge."""
    project = tomllib.loads(pyproject)["project"]
    home, name = project["urls"]["Repository"], project["name"]
    oldest = re.sub(r"[^\d.]", "", project["requires-python"])
    run = "\n".join(f'    - "{conda(text)}"' for text in project["dependencies"])
    imports = "\n".join(f"        - {module}" for module in IMPORTS)
    return f"""context:
  version: "{version}"
  python_min: "{oldest}"

package:
  name: {name}
  version: ${{{{ version }}}}

source:
  url: {home}/releases/download/v${{{{ version }}}}/{name}-${{{{ version }}}}.tar.gz
  sha256: {sha256}

build:
  number: 0
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
      - dynafield = dynafield.cli.main:run

requirements:
  host:
    - python ${{{{ python_min }}}}.*
    - pip
    - hatchling
  run:
    - python >=${{{{ python_min }}}}
{run}

tests:
  - python:
      imports:
{imports}
      pip_check: true
      python_version: ${{{{ python_min }}}}.*
  - script:
      - dynafield --version
      - dynafield fixed-point --json

about:
  homepage: {home}
  repository: {home}
  summary: {project["description"]}
  license: {project["license"]}
  license_file: LICENSE

extra:
  recipe-maintainers:
    - {MAINTAINERS}
"""


def main() -> None:
    """Beside the archive."""
    folder = Path(sys.argv[1])
    (archive,) = folder.glob("dynafield-*.tar.gz")
    version = archive.name.removeprefix("dynafield-").removesuffix(".tar.gz")
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = recipe((ROOT / "pyproject.toml").read_text(encoding="utf-8"), version, sha256)
    (folder / "recipe.yaml").write_text(text, encoding="utf-8")
    print(folder / "recipe.yaml")


if __name__ == "__main__":
    main()
