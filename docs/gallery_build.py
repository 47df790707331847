"""The directive `{gallery} NAME`: a script of `gallery/`, and the picture that it makes.

Pictures are kept in `_gallery/` with a fingerprint of the script and of the library, and made anew when it
changes.
"""

import ast
import hashlib
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import dynafield

HERE = Path(__file__).parent
SCRIPTS, PICTURES = HERE / "gallery", HERE / "_gallery"
RUN = """
import runpy, sys
from dynafield.compiled import keep_compiled_code
keep_compiled_code()
runpy.run_path(sys.argv[1], run_name="__main__")
import matplotlib.pyplot as plt
if len(plt.get_fignums()) != 1:
    sys.exit(f"one figure is wanted, there are {len(plt.get_fignums())}")
plt.savefig(sys.argv[2], dpi=120)
"""


@cache
def library() -> bytes:
    """A fingerprint of the library's code."""
    root, found = Path(dynafield.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.digest()


def picture(name: str) -> Path:
    """The picture of a script, made now unless there is one of the same script and library."""
    script, made, kept = SCRIPTS / f"{name}.py", PICTURES / f"{name}.png", PICTURES / f"{name}.sha256"
    fingerprint = hashlib.sha256(library() + script.read_bytes()).hexdigest()
    if made.is_file() and kept.is_file() and kept.read_text() == fingerprint:
        return made
    log, began = logging.getLogger(__name__), time.monotonic()
    log.info(f"gallery: running {script.name}, one of {len(list(SCRIPTS.glob('*.py')))} scripts …")
    PICTURES.mkdir(exist_ok=True)
    kept.unlink(missing_ok=True)
    command = [sys.executable, "-c", RUN, str(script), str(made)]
    done = subprocess.run(
        command, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ExtensionError(f"gallery: {script.name} failed\n{done.stderr}")
    kept.write_text(fingerprint)
    log.info(f"gallery: {script.name} took {time.monotonic() - began:.0f} s")
    return made


def split(text: str) -> tuple[str, str, str]:
    """Title, description and code of a script."""
    tree = ast.parse(text)
    title, _, words = (ast.get_docstring(tree) or "").partition("\n")
    lines = text.splitlines()[tree.body[0].end_lineno :]
    return title, " ".join(words.split()), "\n".join(lines).strip()


class Gallery(SphinxDirective):
    """A section with title, description, picture and code of the script NAME."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build it; the page is read again in every build, because the library may have changed."""
        name = self.arguments[0]
        script = SCRIPTS / f"{name}.py"
        if not script.is_file():
            raise ExtensionError(f"gallery: there is no script {script.name}")
        self.env.note_reread()
        title, words, code = split(script.read_text(encoding="utf-8"))
        section = nodes.section(names=[nodes.fully_normalize_name(title)])
        section += nodes.title(title, title)
        section += nodes.paragraph(words, words)
        if self.config.gallery_pictures:
            uri = os.path.relpath(picture(name), Path(self.env.doc2path(self.env.docname)).parent)
            section += nodes.figure("", nodes.image(uri=Path(uri).as_posix(), alt=f"{title}: {words}"))
        section += nodes.literal_block(code, code, language="python")
        self.state.document.note_implicit_target(section, section)
        return [section]
