"""The wheel as a stranger gets it: `python release/check_wheel.py DIST`, or `make test-wheel`.

Looks into the wheel, installs it into an empty environment, and runs from there the ten lines of the README
and the command line. Packages come from wherever pip is configured to find them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 5_000_000
"""Bytes of a wheel at most."""
DATA = {"dynafield/datasets/files/tcga_luad_top1500.npz", "dynafield/datasets/files/README.md",
        "dynafield/explorer/first_view.json"}  # fmt: skip
"""The only files of the package that are not code: a data set, and the first view of the page."""
NOT_ASKED_FOR = ("panel", "bokeh", "distributed", "optax", "pytest", "beartype", "sphinx", "zarr")
"""Packages of the extras: the library and its command line must do without."""
LINE = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"


def look(wheel: Path) -> list[str]:
    """What is wrong with the content of a wheel."""
    wrong = []
    if not wheel.name.endswith("-py3-none-any.whl"):
        wrong.append(f"{wheel.name} is not pure Python")
    if wheel.stat().st_size > LARGEST:
        wrong.append(f"{wheel.stat().st_size} bytes, more than {LARGEST}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = next((n for n in names if n.endswith(".dist-info/entry_points.txt")), None)
        commands = "" if entry_points is None else archive.read(entry_points).decode()
    for name in names:
        about = re.match(r"dynafield-[^/]+\.dist-info/", name)
        code = name.startswith("dynafield/") and (name.endswith(".py") or name == "dynafield/py.typed")
        if not (about or code or name in DATA) or "/tests/" in name or "/test_" in name:
            wrong.append(f"{name} should not be there")
    modules = (path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py"))
    wrong += [f"{name} is missing" for name in (*modules, "dynafield/py.typed", *DATA) if name not in names]
    if "dynafield = dynafield.cli.main:run" not in commands:
        wrong.append("the command dynafield is missing")
    if not any(name.endswith("LICENSE") for name in names):
        wrong.append("the licence is missing")
    return wrong


def ten_lines(readme: str) -> tuple[str, list[str]]:
    """The Python of the README, and the numbers that it promises (written as 0.0618…)."""
    (block,) = re.findall(r"```python\n(.*?)```", readme, flags=re.S)
    return block, re.findall(r"(\d\.\d+)…", block)


def run(*command: object, folder: Path, **more: str) -> str:
    """What a command says, away from this checkout and from the user's folders; SystemExit if it fails."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    place = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**kept, **place, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{command[:4]} failed\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def install(wheel: Path, folder: Path, constraints: Path | None) -> Path:
    """An empty environment with the wheel and what it needs, nothing else; its folder of programs."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    limits = [] if constraints is None else ["-c", constraints.resolve()]
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check"]
    settings = {"HOME": os.environ.get("HOME", str(folder))}  # pip's own configuration lies there
    run(*pip, "install", "--quiet", *limits, wheel.resolve(), folder=folder, **settings)
    run(*pip, "check", folder=folder)
    return programs


def use(programs: Path, folder: Path) -> None:
    """The README and the command line, from the environment."""
    python = programs / "python"
    where = run(python, "-c", "import dynafield; print(dynafield.__file__)", folder=folder).strip()
    if not Path(where).resolve().is_relative_to((folder / "env").resolve()):
        sys.exit(f"dynafield was imported from {where}, not from the environment")
    if (extra := run(python, "-c", LINE, *NOT_ASKED_FOR, folder=folder).strip()) != "[]":
        sys.exit(f"packages of the extras were installed: {extra}")
    block, numbers = ten_lines((ROOT / "README.md").read_text(encoding="utf-8"))
    (folder / "ten_lines.py").write_text(block, encoding="utf-8")
    said = run(python, "ten_lines.py", folder=folder, PYTHONUTF8="1")
    print(said, end="")
    if missing := [number for number in numbers if number not in said]:
        sys.exit(f"the README promises {missing}")
    print(run(programs / "dynafield", "--version", folder=folder), end="")
    told = json.loads(run(programs / "dynafield", "fixed-point", "--lam", "0.1", "--json", folder=folder))
    print(f"dynafield fixed-point --lam 0.1 --json: {len(told)} entries")


def main() -> None:
    """Look, install, use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, help="the folder that holds one wheel")
    parser.add_argument("--constraints", type=Path, help="a file of versions for pip")
    given = parser.parse_args()
    (wheel,) = given.dist.glob("dynafield-*.whl")
    if wrong := look(wheel):
        sys.exit("\n".join(wrong))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        use(install(wheel, folder, given.constraints), folder)


if __name__ == "__main__":
    main()
